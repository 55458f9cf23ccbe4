"""The commands of README.md and of the pages of docs/ run as they are written, on the demo or the core of it."""

import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.patches import PatchTable
from tests.support import ROOT
from tests.support.audits import DEMO, core_demo, core_import, kgcheck
from tests.support.jats import article
from tests.support.neo4j_fixtures import Neo4jTarget
from tests.support.paper_services import crossref_work

ON_SERVER = "docs/tutorial_neo4j.md"
"""Page whose commands are run on a Neo4j server."""

SERVER = "bolt://localhost:7687"
"""Address of the reader's server."""

PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))]

_OF_OTHERS = (
    r"bench (?:claims|code|models|insights|sign|grade|filter)|(?:questions|scv) (?:insights|test)|--by model"
    r"|--agent "
)

NOT_RUN = {
    r"^make |^pip ": "sets up the very environment that the tests run in",
    r"bolt://": "needs a Neo4j server: tests/integration/test_load.py and test_neo4j_server.py load and audit one",
    r"--neo4j-home": "needs a stopped Neo4j installation: tests/integration/test_load_offline.py",
    "job run nightly": "asks services: test_nightly.py",
    r"--live|--team-budget|reference fetch": "asks services: test_live.py, test_reference_fetch.py",
    r"--brain llm|--verifier llm|kgcheck improve": "needs a model: test_real_model.py, test_improve.py, test_protocol*",
    r"gather --topic": "asks services: tests/integration/test_gather_topic.py",
    r"protocol search (?!.*--offline)": "asks services: tests/integration/test_protocol_search.py",
    r"^npx ": "needs a program of npm's",
    r"Klippel-Feil": "asks the graph of ../shared/data: tests/integration/test_kgqa_real.py",
    "createdb|postgresql": "needs a PostgreSQL server: tests/integration/test_ledger_places.py, test_ledger_copy.py",
    r"job serve": "does not end: tests/integration/test_jobs_again.py",
    r"mcp --http": "does not end: tests/integration/test_mcp.py",
    r"^curl |kgcheck serve .*kgcheck-demo": "a session with a service: tests/integration/test_service_session.py",
    r"\.xml\.gz": "needs a file of a provider: tests/unit/test_literature_formats.py",
    _OF_OTHERS: (
        "needs papers, models or sets of others: test_claim_sets.py, test_benchmark_models.py, test_question_sets.py"
    ),
    "--index index": "needs whole papers, or asks services: test_whole_papers.py, test_gather.py",
}
"""Commands that are not run here, each with the reason and where the like of it is."""

NOT_RUN_COUNT = {
    "^make |^pip ": 7,
    "bolt://": 7,
    "--neo4j-home": 1,
    "job serve": 1,
    r"\.xml\.gz": 1,
    "Klippel-Feil": 1,
    "--index index": 5,
}
NOT_RUN_COUNT |= {r"^curl |kgcheck serve .*kgcheck-demo": 17, "mcp --http": 1}
NOT_RUN_COUNT |= {"createdb|postgresql": 4, "job serve": 1, "job run nightly": 2}
NOT_RUN_COUNT |= {"--live|--team-budget|reference fetch": 9, "--brain llm|--verifier llm|kgcheck improve": 8}
NOT_RUN_COUNT |= {
    _OF_OTHERS: 18,
}
NOT_RUN_COUNT |= {"gather --topic": 2, "^npx ": 1, r"protocol search (?!.*--offline)": 1}

CODES = {"audit": (0, 1), "diff": (0, 1), "job": (0, 1), "check": (0, 1), "verify": (0, 1), "ground": (0, 1)}
"""Exit codes that mean that a command did its work; 0 for the others."""

ENDS = {"audit --resume": (2, "no run was cut off")}
"""Commands for which the page says that they end with an error here: code, and what the page says of it."""


class Command(NamedTuple):
    """A command of a page."""

    line: str
    words: list[str]
    on_server: bool = False

    @property
    def not_run(self) -> str | None:
        """The pattern under which it is left out."""
        return next((pattern for pattern in NOT_RUN if re.search(pattern, self.line) and not self.on_server), None)


def commands(page: str) -> list[Command]:
    """The commands of the consoles of a page, without prompts and comments."""
    text = (ROOT / page).read_text(encoding="utf-8")
    consoles = re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
    lines = [line for console in consoles for line in re.sub(r"\\\n\s*", "", console).splitlines()]
    typed = [line[2:] for line in lines if line.startswith("$ ")]
    return [Command(line, shlex.split(line, comments=True), page == ON_SERVER) for line in typed]


def test_commands_that_are_left_out_are_counted() -> None:
    found = Counter(command.not_run for page in PAGES for command in commands(page))

    ran = found.pop(None)
    assert found == NOT_RUN_COUNT
    assert ran > 50


def test_no_command_stands_in_a_block_that_is_not_run() -> None:
    odd = []
    for page in PAGES:
        text = re.sub(r"^```console\n.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
        odd += [(page, line) for block in blocks for line in re.findall(r"^(?:\$ )?kgcheck .*", block, re.M)]

    assert odd == []


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages take for granted, under the names that they use."""
    folder = tmp_path_factory.mktemp("pages")
    # The reader's graph is smaller than the demo, which README.md loads and audits as a whole.
    shutil.copytree(core_import(), folder / "ckg_import")
    shutil.copytree(DEMO / "reference", folder / "sources")
    for place in ("graph.lbdb", ".kgcheck/graph.lbdb", "kgcheck-demo/graph.lbdb"):
        (folder / place).parent.mkdir(exist_ok=True)
        shutil.copy(core_demo().store, folder / place)
    for place in ("reference.duckdb", "old.duckdb", "new.duckdb", "kgcheck-demo/reference.duckdb"):
        shutil.copy(core_demo().reference, folder / place)
    objective = 'title = "SOD1 in sclerosis"\nobjective = "Find it."\n'
    (folder / "objective.toml").write_text(objective, encoding="utf-8")
    _add_loaders(folder)
    for name in ("nodes.tsv", "edges.tsv"):
        shutil.copy(ROOT / "loaders/kgx/demo/import" / name, folder / name)
    (folder / "corpus").symlink_to(ROOT / "corpus")
    shutil.copy(ROOT / "corpus/demo/notes.jsonl", folder / "notes.jsonl")
    assert kgcheck("corpus", "add", "notes.jsonl", "--index", "papers", "--model", "none", cwd=folder).code == 0
    _add_manuscript(folder)
    bench = (DEMO / "kgcheck_bench.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "set.jsonl").write_text("\n".join(bench[:4]))
    questions = [{"question": "Which protein is O60502?", "type": "one-hop", "answer": [{"id": "O60502"}]}]
    for place in ("questions.json", "kgqa_dev.json"):
        (folder / place).write_text(json.dumps(questions))
    (folder / "claims.jsonl").write_text('{"id": "1", "claim": "SOD1 causes sclerosis.", "label": "yes"}\n')
    return folder


def _add_loaders(folder: Path) -> None:
    """The profiles, with the smaller graph for the demo's."""
    (folder / "loaders" / "ckg" / "demo").mkdir(parents=True)
    for path in (ROOT / "loaders").iterdir():
        if path.name != "ckg":
            (folder / "loaders" / path.name).symlink_to(path)
    places = {path.name: path for path in DEMO.iterdir()} | {"import": core_import()}
    for name, place in places.items():
        (folder / "loaders" / "ckg" / "demo" / name).symlink_to(place)


def _add_manuscript(folder: Path) -> None:
    """A manuscript with its results, references and works, and the ledger of an audit."""
    (folder / "examples").symlink_to(ROOT / "examples")
    for name, place in (("note.md", "paper.md"), ("results.json", "results.json")):
        shutil.copy(ROOT / "examples" / "grounding" / name, folder / place)
    (folder / "refs.bib").write_text("@article{lee2010, author={Lee, A.}, title={A made-up title}, year={2010}}")
    for place in ("index", "kgcheck-demo/literature"):
        shutil.copytree(folder / "papers", folder / place)
    (folder / "works").mkdir()
    (folder / "works" / "works.jsonl").write_text(json.dumps(crossref_work("10.5555/p")))
    (folder / "retracted.tsv").write_text("99990001\n")
    (folder / "article.xml").write_text(article(), encoding="utf-8")
    (folder / "objective.toml").write_text('title = "Kinases"\nobjective = "Stain cells."\n')
    build = ("reference", "build", "works", "--kind", "bibliography", "--out", "works.duckdb")
    assert kgcheck(*build, cwd=folder).code == 0
    where = ("--store", "graph.lbdb", "--reference", "reference.duckdb", "--ledger", "kgcheck-demo/ledger.sqlite")
    assert kgcheck("audit", "--type", "existence", "--id", "PARK2", *where, cwd=folder).code == 1


def of_the_reader(word: str, folder: Path) -> str:
    """What a reader has to put in himself: a finding and a transcript of his own."""
    ledger = folder / ".kgcheck" / "ledger.sqlite"
    if re.fullmatch("[0-9a-f]{8}", word) and ledger.exists():
        with Ledger(ledger) as opened:
            return next(f.fingerprint[:8] for run in opened.runs()[:1] for f in opened.findings(run))
    if re.fullmatch("[0-9a-f]{16}", word):
        with Ledger(ledger) as opened:
            patches = [patch.id for patch in PatchTable(opened.database).all()]
            return next(iter(patches), None) or next(f.fingerprint for f in opened.findings(opened.run("latest")))
    if "/transcripts/" in word:
        return str(next((folder / ".kgcheck" / "transcripts").glob("*.jsonl")))
    return word


def of_the_server(word: str, server: Neo4jTarget | None) -> str:
    """A word with the address of the server of the tests for the reader's."""
    return word.replace(SERVER, server.uri) if server else word


SLOW = {
    "docs/howto_curate.md",
    "docs/howto_jobs.md",
    "docs/claims.md",
    "docs/howto_check.md",
    "docs/loading.md",
    "docs/rules.md",
    "docs/snapshot.md",
    "docs/sources.md",
    "docs/howto_audit.md",
    "docs/howto_ground.md",
    "docs/howto_machines.md",
    "docs/howto_repair.md",
    "docs/profiles.md",
    "docs/howto_papers.md",
    "docs/literature.md",
    "README.md",
    "docs/agents.md",
    "docs/tutorial.md",
    ON_SERVER,
}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow) if page in SLOW else page for page in PAGES if commands(page)]
)
def test_commands_of_a_page(
    page: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    folder = tmp_path / "work"
    server: Neo4jTarget | None = request.getfixturevalue("clean_neo4j") if page == ON_SERVER else None
    shutil.copytree(prepared, folder, symlinks=True)
    if page == "README.md":
        shutil.rmtree(folder / "loaders")
        (folder / "loaders").symlink_to(ROOT / "loaders")
    ran = 0
    for command in commands(page):
        if command.not_run:
            continue
        if command.words[0] == "export":
            for name, value in (word.split("=", 1) for word in command.words[1:]):
                secret = server and name == "KGCHECK_NEO4J_PASSWORD"
                monkeypatch.setenv(name, server.password if server and secret else of_the_server(value, server))
            continue
        if command.words[0] != "kgcheck":
            assert (page, command.words[0]) == ("docs/snapshot.md", "cat"), command.line
            continue
        words = [of_the_server(of_the_reader(word, folder), server) for word in command.words[1:]]
        codes = CODES.get(words[0], (0,))
        if end := ENDS.get(" ".join(words)):
            codes = (end[0],)
            assert end[1] in (ROOT / page).read_text(encoding="utf-8")
        ended = kgcheck(*words, cwd=folder)
        assert ended.code in codes, (command.line, ended.err)
        ran += 1
    if page == "README.md":
        assert (folder / "report.html").stat().st_size > 10_000
        assert ran >= 6


def programs(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.slow
def test_python_of_the_pages_runs(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(prepared, tmp_path / "work", symlinks=True)
    monkeypatch.chdir(tmp_path / "work")
    printed = {}
    for page in PAGES:
        for number, text in enumerate(programs(page)):
            exec(compile(text, f"{page}, program {number}", "exec"), {})  # noqa: S102
            printed[page, number] = capsys.readouterr().out

    assert {page for page, _ in printed} >= {"README.md", "docs/howto_python.md"}
    told = printed["docs/howto_python.md", 0]
    assert "id_previous" in told
    assert "refuted" in told
    assert "unavailable" in printed["docs/howto_python.md", 1]
