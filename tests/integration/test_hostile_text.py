"""What graphs, sources, papers, models and files say does not reach a terminal as anything but text."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.cli.checks import _Live
from kgcheck.cli.main import _failed
from kgcheck.cli.output import note
from kgcheck.errors import InputError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import edge_schema, node_schema
from kgcheck.ledger.ledger import Ledger, PinnedRelease
from kgcheck.literature.documents import Document
from kgcheck.model import CheckType, Outcome, Target
from kgcheck.profile.schema import load_schema
from kgcheck.visible import HIDDEN
from tests.integration.import_directory import GENES, ImportDirectory
from tests.support import ROOT, quick_of
from tests.support.audits import Said, audited, kgcheck
from tests.support.facts import Facts
from tests.support.literature import build_index
from tests.support.reports import RUN, finding, tally

ESC = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;AAAA\x07"
SIGNS = ESC + "\x9b31m\x9d\x7f\x85\u061c\u200b\u200e\u2028\u2029\u202e\u2066\u2069\ufeff\U000e0041"
"""At least one of each kind; what stands in an id has no C0, which stores and tables of TSV cannot have."""

NAME = f"kinase {SIGNS}[red]A[/red][link=https://example.org]x[/link] :skull:"
ID = "".join(c for c in NAME if ord(c) >= 32)
RAW = re.compile(f"(?![\n\t])[{HIDDEN}]")


def clean(said: Said) -> bool:
    """Whether nothing reached the terminal but text, and the text of the names did."""
    return not RAW.search(said.out) and not RAW.search(said.err) and "fault in kgcheck" not in said.err


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, a snapshot, an index and an audit, all of them hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    schema = load_schema()
    protein, acts_on = schema.label("Protein"), schema.pattern("Protein", "ACTS_ON", "Protein")
    with EmbeddedStore(folder / "graph.lbdb", schema, create=True) as store:
        store.prepare()
        rows = [{"id": i, "name": NAME, "accession": NAME} for i in ("P10001", "P10002", ID)]
        store.add_nodes(protein, pa.Table.from_pylist(rows, schema=node_schema(protein)))
        gene = schema.label("Gene")
        store.add_nodes(gene, pa.Table.from_pylist([{"id": "TP53", "name": NAME}], schema=node_schema(gene)))
        edges = [{"head": "P10001", "tail": tail, "source": NAME} for tail in ("P10002", ID)]
        store.add_edges(acts_on, pa.Table.from_pylist(edges, schema=edge_schema(acts_on)))
        store.set_meta("profile_version", str(schema.profile.version))
        store.set_meta("profile", schema.profile.name)
    facts = Facts()
    line = NAME.replace("\x85", "").replace("\u2028", "").replace("\u2029", "")
    uniprot = facts.release("uniprot", f"2026{line}", url="https://example.org/{id}")
    uniprot.entity("P10001", "Protein", name=line, detail=line, record=line)
    uniprot.entity("P10002", "Protein", "deleted", detail=line)
    uniprot.value("P10001", "name", f"other {line}", record=line)
    facts.build(folder).rename(folder / "snapshot.duckdb")
    said = f"Kinase A binds kinase B {NAME}."
    paper = Document(ids=("p1",), title=f"Kinase A {NAME}", abstract=said, year=2001, recipe="jsonl")
    build_index(folder / "index", [paper])
    with EmbeddedStore(folder / "graph.lbdb", schema) as store:
        audited(store, folder / ".kgcheck" / "ledger.sqlite", folder / "snapshot.duckdb", keep_all=True)
    return folder


STORE = ("--store", "graph.lbdb")
BOTH = (*STORE, "--reference", "snapshot.duckdb")


@pytest.mark.parametrize("form", [(), ("--format", "json")])
@pytest.mark.parametrize(
    "command",
    [
        ("check", "existence", "Protein", "P10001", *BOTH),
        ("check", "attribute", "Protein", "P10001", "name", "--transcript", *BOTH),
        ("check", "existence", "Protein", ID, "--transcript", *BOTH),
        ("check", f"P10001 ACTS_ON {ID}", *BOTH),
        ("check", "P10001", "ACTS_ON", ID, "--transcript", *BOTH),
        ("check", NAME, *BOTH),
        ("check", "existence", NAME, "x", *BOTH),
        ("audit", "--label", NAME, *BOTH),
        ("audit", *BOTH),
        ("report",),
        ("report", NAME),
        ("explain", NAME),
        ("runs",),
        ("search", "kinase", "--index", "index"),
        ("search", f"kinase {NAME}", "--index", "index"),
        ("search", "kinase", "--index", f"no {ID}"),
        ("verify", f"Kinase A binds kinase B {NAME}", "--index", "index"),
        ("verify", "--triple", f"P10001 ACTS_ON {ID}", "--index", "index", *STORE),
        ("ask", f"Which proteins act on {NAME}?", *STORE),
        ("ask", "What is the name of the protein P10001?", *STORE),
        ("reference", "show", "snapshot.duckdb"),
        ("reference", "diff", "snapshot.duckdb", "snapshot.duckdb"),
        ("corpus", "list", "--ids", "--index", "index"),
        ("load", f"no {ID}"),
    ],
)
def test_commands_show_text_and_nothing_else(place: Path, command: tuple[str, ...], form: tuple[str, ...]) -> None:
    said = kgcheck(*command, *form, cwd=place)

    assert clean(said)
    assert said.out or said.err
    if form and said.out:
        json.loads(said.out)


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "markdown", "html"])
def test_reports_and_their_files_have_none_of_it(place: Path, form: str, tmp_path: Path) -> None:
    said = kgcheck("report", "--format", form, cwd=place)
    kgcheck("report", "--format", form, "--out", tmp_path / "report", cwd=place)

    assert clean(said)
    assert "kinase" in said.out
    assert not RAW.search((tmp_path / "report").read_text(encoding="utf-8"))


def test_every_finding_is_explained(place: Path) -> None:
    with Ledger(place / ".kgcheck/ledger.sqlite") as ledger:
        names = [f.fingerprint for f in ledger.findings(ledger.run("latest"))]

    assert len(names) > 5
    assert all(clean(kgcheck("explain", name, cwd=place)) for name in names)


def test_a_malformed_id_is_a_finding(place: Path) -> None:
    said = kgcheck("report", "--format", "jsonl", "--limit", "500", cwd=place)
    rows = [json.loads(line) for line in said.out.splitlines()]

    assert ID in {r["subject"]["id"] for r in rows if r["reason"] == "malformed_id"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "sign", quick_of(["\x85", "\x9b", "\u202e", "\u2066", "\u2028", "\u200b", "\ufeff", "\x7f"], "\u200b")
)
def test_an_id_with_a_sign_that_nobody_sees_is_not_loaded(tmp_path: Path, sign: str) -> None:
    directory = ImportDirectory(tmp_path / "import")
    directory.write(GENES, *(directory.row(GENES, ID=name, name="x") for name in (f"TP5{sign}3", "TP53")))
    said = kgcheck("load", directory.folder, "--store", tmp_path / "g.lbdb", "--format", "json", cwd=tmp_path)

    (gene,) = [f for f in json.loads(said.out)["files"] if f["target"] == "Gene"]
    assert (gene["loaded"], gene["quarantined"]) == (1, {"bad_id": 1})


# --- one by one


HOSTILE = st.text(st.sampled_from([*SIGNS, *"ab [/]:=-+@|<>&'\"\\\n\t\r\x00", "\ud800"]), min_size=1, max_size=40)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=HOSTILE)
def test_whatever_a_ledger_holds(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("ledger")
    text = text.replace("\ud800", "")
    name = "x" + "".join(c for c in text if ord(c) >= 32)
    kept = finding(name, kind=CheckType.ATTRIBUTE, said=text, value=text, url=f"https://example.org/{text}", label=name)
    releases = (PinnedRelease(source=text, release=text, file=text, sha256=text),)
    run = RUN.model_copy(update={"store": text, "warnings": (text,), "releases": releases, "reference": text})
    with Ledger(folder / "l.sqlite") as ledger:
        ledger.keep(run, kept, tally(1, Outcome.REFUTED, sources=(text,), target=Target(label=text)))

    for form in ("table", "json", "jsonl", "markdown", "html"):
        assert clean(kgcheck("report", "--ledger", folder / "l.sqlite", "--format", form))
    assert clean(kgcheck("runs", "--ledger", folder / "l.sqlite"))
    assert clean(kgcheck("explain", kept.fingerprint, "--ledger", folder / "l.sqlite"))


@given(HOSTILE)
def test_messages_hints_notes_and_what_a_model_says(text: str) -> None:
    err = io.StringIO()
    with redirect_stderr(err):
        _failed(InputError(text, text))
        note(text)
        _Live().hear(text)

    assert not re.search(f"(?![\n\t])[{HIDDEN}]", err.getvalue())


WRITES = re.compile(r"click\.(echo|secho)|print|Console|rich\.print|sys\.std(out|err)\.write")


def _calls() -> Iterator[str]:
    """Where the program writes to a stream by itself; that of the guarded process is a pipe to its parent."""
    for path in sorted((ROOT / "kgcheck").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name in (
            "kgcheck/cli/output.py",
            "kgcheck/cli/console.py",
            "kgcheck/report/safe_console.py",
            "kgcheck/graph/query_worker.py",
        ):
            continue
        text = path.read_text(encoding="utf-8")
        if not WRITES.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            # Only what is called: the arguments are calls of their own.
            if isinstance(node, ast.Call) and WRITES.fullmatch(ast.unparse(node.func)):
                yield f"{name}:{node.lineno}: {ast.unparse(node)}"


def test_nothing_writes_to_a_terminal_but_the_two_places_that_clean() -> None:
    assert list(_calls()) == []
