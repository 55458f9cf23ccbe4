"""The pages: their links and anchors, the width of their lines, and that their tables say what the code says."""

import csv
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt

from kgcheck.agents import asker, toolbox
from kgcheck.audit import papers, worker
from kgcheck.checks.repair import propose
from kgcheck.cli.late import RENAMED
from kgcheck.cli.main import _COMMANDS, cli
from kgcheck.cli.show import TABLE_LIMIT
from kgcheck.graph import bounds, statement_writer
from kgcheck.graph.store import MOST_HOPS
from kgcheck.grounding.claims import claim_map
from kgcheck.ledger.tables import METADATA
from kgcheck.literature import search
from kgcheck.literature.topics import LONGEST_TOPIC, TopicGathering
from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Outcome, Reason, Ref, Verdict, all_reasons
from kgcheck.questions import answer
from kgcheck.questions.reading import LONGEST_QUESTION
from kgcheck.service import bodies
from kgcheck.service.limits import LEAST_BYTES_S, ServiceLimits
from kgcheck.settings import Settings
from tests.support import ROOT, listed_by_git

WIDTH = 120
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
TEXTS = [*PAGES, *(f"{n}.md" for n in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG"))]
TEXTS += ["benchmarks/README.md", "corpus/README.md", "corpus/verifier/README.md", "loaders/README.md"]
TEXTS += ["examples/grounding/note.md", "examples/jobs/README.md"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def outside_fences(name: str) -> list[tuple[int, str]]:
    """Numbered lines of a page, without those of code and its output."""
    kept, fenced = [], False
    for number, line in enumerate(read(name).splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            kept.append((number, line))
    return kept


@pytest.mark.parametrize("name", TEXTS)
def test_lines_are_not_wider_than_the_code(name: str) -> None:
    # A row of a table cannot be broken.
    wide = [n for n, line in outside_fences(name) if len(line) > WIDTH and not line.lstrip().startswith("|")]

    assert wide == [], f"{name}: break these lines at {WIDTH}"


@cache
def anchors(path: Path) -> set[str]:
    """Anchors of headings, as GitHub makes them."""
    found: set[str] = set()
    text = path.read_text(encoding="utf-8")
    for part in re.findall(r"^```\{include\} (\S+)", text, re.M):
        found |= anchors((path.parent / part).resolve())
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            text = "".join(child.content for child in tokens[at + 1].children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = sum(1 for known in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", known))
            found.add(f"{slug}-{count}" if count else slug)
    return found


def links(name: str) -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(read(name))
    children = [child for token in tokens for child in token.children or ()]
    return [str(child.attrs["href"]) for child in children if child.type == "link_open"]


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    broken = []
    for link in links(name):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = ((ROOT / name).parent / place).resolve() if place else ROOT / name
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_page_is_in_the_contents() -> None:
    trees = re.findall(r"```\{toctree\}\n(.*?)```", read("docs/index.md"), re.S)
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]

    assert sorted(f"docs/{page}.md" for page in [*listed, "index"]) == PAGES
    assert len(trees) == 4


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "CHANGELOG.md"])
def test_files_and_modules_that_a_page_names_are_there(name: str) -> None:
    text = read(name)
    files = re.findall(
        r"`((?:kgcheck|tests|benchmarks|loaders|corpus|cypher|requirements|docs|examples)/[\w/.-]*)`", text
    )
    missing = [file for file in files if not (ROOT / file).exists()]
    # kgcheck.toml and kgcheck.pins.tsv are files of the reader's own.
    for dotted in re.findall(r"`(kgcheck(?!\.toml`|\.pins\.tsv`)(?:\.\w+)+)`", text):
        try:
            pkgutil.resolve_name(dotted)
        except (ImportError, AttributeError):
            missing.append(dotted)

    assert missing == []


def rows(name: str) -> list[list[str]]:
    """Rows of all tables of a page, as cells."""
    lines = [line for _, line in outside_fences(name) if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


REPAIRED = {
    ChangeKind.REPOINT: "re-point",
    ChangeKind.SET_VALUE: "set the value",
    ChangeKind.RETIRE: "retire",
    ChangeKind.ADD_EDGE: "add the edge",
    ChangeKind.REVIEW: "review",
}
TYPES = {
    "Refuted nodes": CheckType.EXISTENCE,
    "Refuted attributes": CheckType.ATTRIBUTE,
    "Refuted edges": CheckType.TRIPLE,
    "Structure": CheckType.STRUCTURE,
}


def bare_repair(type_: CheckType, reason: Reason) -> Change | None:
    """What is proposed where no evidence names a replacement."""
    end = Ref(label="Protein", id="P00001")
    edge = {"relation": "ACTS_ON", "object": end} if type_ in (CheckType.TRIPLE, CheckType.POTENTIAL) else {}
    task = CheckTask(type=type_, subject=end, attribute="name" if type_ is CheckType.ATTRIBUTE else None, **edge)
    outcome = Outcome.SUPPORTED if type_ is CheckType.POTENTIAL else Outcome.REFUTED
    return propose(task, Verdict(outcome=outcome, reason=reason, confidence=1))


def test_every_reason_has_a_line_with_its_repair() -> None:
    parts = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", read("docs/reasons.md"), re.M | re.S))
    told: dict[str, list[str]] = {}
    for title, part in parts.items():
        for name, *cells in re.findall(r"^\| `(\w+)` \| (.*?) \|(?: (.*?) \|)?(?: (.*?) ?\|)?$", part, re.M):
            assert cells[0], name
            told.setdefault(title, []).append(name)
            if title not in TYPES:
                continue
            reason, repair = Reason(name), [c for c in cells if c][-1]
            type_ = CheckType.POTENTIAL if reason is Reason.EDGE_MISSING else TYPES[title]
            change = bare_repair(type_, reason)
            assert change, name
            # Where nothing names a replacement; what else may come is said beside it.
            assert REPAIRED[change.kind] in repair or reason in NEVER_BARE, (name, change.kind, repair)

    assert set(Reason) <= {name for names in told.values() for name in names} <= set(all_reasons())


NEVER_BARE = {
    Reason.ID_MERGED,
    Reason.ID_PREVIOUS,
    Reason.ID_ALIAS,
    Reason.ID_SECONDARY,
    Reason.ID_SUPERSEDED,
    Reason.ID_DEMERGED,
}
"""They are given only with a replacement or candidates."""


def settings_table() -> list[list[str]]:
    """Each setting with its default and what it is, from the code."""
    table = []
    for name, field in Settings.model_fields.items():
        # A folder of the user's is another one on each machine.
        default = None if field.default_factory else field.default
        shown = "" if default is None or repr(default) == "PydanticUndefined" else str(default)
        table.append([f"`KGCHECK_{name.upper()}`", f"`{shown}`" if shown else "", field.description or ""])
    return table


def test_every_setting_has_its_line() -> None:
    wanted = settings_table()
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in wanted)

    found = [row for row in rows("docs/settings.md") if row[0].startswith("`KGCHECK")]
    assert [[r.replace("|  |", "| |") for r in row] for row in found] == wanted, f"docs/settings.md should have\n{text}"


def test_texts_are_all_looked_at() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is no git checkout")
    tracked = listed_by_git("*.md")

    # Prompts go to a model as they stand, and templates become reports.
    assert {n for n in tracked if not n.startswith(("kgcheck/", "corpus/bench/"))} - set(TEXTS) == set()


# --- commands, options and numbers


OLD_NAMES = ("docs/cli.md", "CHANGELOG.md")
"""Texts that tell what something was called before."""

Tree = dict[tuple[str, ...], dict[str, click.Option]]


@cache
def command_tree() -> Tree:
    """Each command by its words, with its options by their flags."""

    def walk(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
        yield words, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below
                yield from walk(below, (*words, name))

    helping = click.Option(["--help", "-h"], is_flag=True)
    return {
        words: {
            flag: option
            for option in (*command.params, helping)
            if isinstance(option, click.Option)
            for flag in option.opts
        }
        for words, command in walk(cli, ())
    }


def said(name: str) -> list[str]:
    """Command lines of a page, and what it sets as code."""
    text = read(name)
    consoles = re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
    lines = [line for console in consoles for line in re.sub(r"\\\n\s*", "", console).splitlines()]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]
    return [re.sub(r"\s+#.*", "", line[2:]) for line in lines if line.startswith("$ ")] + spans


def mistakes(text: str) -> Iterator[str]:
    """What of a command in words kgcheck does not have: a command, an option, or a value of one."""
    tree, words, path = command_tree(), text.removeprefix("kgcheck ").split(), tuple[str, ...]()
    while words and (*path, words[0]) in tree:
        path = (*path, words.pop(0))
    is_group = any(len(other) == len(path) + 1 and other[: len(path)] == path for other in tree)
    if is_group and words and not words[0].startswith("-"):
        yield f"{' '.join(path)} has no {words[0]}"
    for word, after in pairwise([*words, ""]):
        flag, _, value = word.partition("=")
        if not re.fullmatch(r"--?[a-z][\w-]*", flag):
            continue
        option = tree[path].get(flag)
        if option is None:
            yield f"{' '.join(path)} has no {flag}"
        elif isinstance(option.type, click.Choice) and (chosen := value or after) and not chosen.isupper():
            # Words of the page that stand for a value are upper case, or between bars.
            if not {*chosen.split("|")} <= {*option.type.choices}:
                yield f"{flag} takes no {chosen}"


@cache
def other_options() -> set[str]:
    """Options of programs of the repository that are no commands of kgcheck."""
    programs = [
        path for folder in ("benchmarks", "corpus", "loaders", "requirements") for path in (ROOT / folder).rglob("*.py")
    ]
    return {flag for path in programs for flag in re.findall(r"[\"'](--[a-z][\w-]*)", path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "CHANGELOG.md"])
def test_commands_and_options_that_a_page_names_are_there(name: str) -> None:
    known = {flag for options in command_tree().values() for flag in options} | other_options()
    known |= {f"--{old}" for old in RENAMED} if name in OLD_NAMES else set()
    wrong = []
    for text in said(name):
        first = text.split()[0] if text.split() else ""
        if text.startswith("kgcheck ") or ((first,) in command_tree() and "--" in text):
            wrong += [f"{text}: {mistake}" for mistake in mistakes(text)]
        elif text.startswith("--"):
            wrong += [text for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", text) if flag not in known]

    assert wrong == []


def test_nobody_uses_a_name_of_the_last_release() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is no git checkout")
    old = re.compile(rf"\bkgcheck (?:[a-z]+ )*?(?:{'|'.join(RENAMED)})\b(?! of| is| has)|(?<![\w-])--output(?![\w-])")
    of_others = {"docker-compose.yml", "Makefile"}
    allowed = {
        *OLD_NAMES,
        *of_others,
        "kgcheck/cli/late.py",
        "tests/unit/test_docs.py",
        "tests/integration/test_cli.py",
    }
    used = []
    for name in listed_by_git("*.md", "*.py", "*.toml", "*.yml", "*.html", "*.ipynb", "*.sh", "Makefile", "Dockerfile"):
        if name not in allowed and old.search(read(name)):
            used.append(name)

    assert used == []


def test_pages_that_code_and_data_name_are_there() -> None:
    named = {}
    for path in [*(ROOT / "kgcheck").rglob("*.py"), *(ROOT / "loaders").rglob("*.toml")]:
        # A name alone, say in a docstring, is meant of a page; others are written, or are templates.
        for page_name in re.findall(
            r"(?<![\w/.\"'{}-])((?:docs/)?[a-z_]+\.md)\b(?![\"'])", path.read_text(encoding="utf-8")
        ):
            named[page_name] = path.relative_to(ROOT).as_posix()
    known = {path.name for path in (ROOT / "kgcheck" / "report" / "templates").glob("*.md")}
    # kgcheck improve writes these.
    known |= {"best.md", "log.md"}

    missing = {n: where for n, where in named.items() if n not in known and not (ROOT / n).exists()}
    assert {n: where for n, where in missing.items() if not (ROOT / "docs" / n).exists()} == {}


def test_formats_lists_every_table_of_the_ledger() -> None:
    part = read("docs/formats.md").split("## The ledger")[1].split("## ")[0]
    listed = [table for row in re.findall(r"^\| (`.*?) \|", part, re.M) for table in re.findall(r"`(\w+)`", row)]

    assert sorted(listed) == sorted([*METADATA.tables, "ledger_format"])


def test_readme_names_every_command_in_its_group() -> None:
    table = {row[0]: re.findall(r"`(\w+)`", row[1]) for row in rows("README.md")[2:]}

    assert [*table.values()] == [[*commands] for commands in _COMMANDS.values()]


@cache
def demo() -> dict[str, int]:
    """The numbers of the demo, from its table and its page."""
    with (ROOT / "tests/integration/demo_findings.tsv").open(encoding="utf-8", newline="") as file:
        found = [(row["type"], row["outcome"]) for row in csv.DictReader(file, delimiter="\t")]
    outcomes = Counter("lacks_it" if type_ == "potential" else outcome for type_, outcome in found)
    facts = len(re.findall(r"^\| \d+ \| \w", read("docs/demo.md"), re.M))
    return {"findings": len(found), "facts": facts, **outcomes}


NUMBERS: dict[str, list[tuple[str, Callable[[], float]]]] = {
    "README.md": [
        ("{} facts that are stale", lambda: demo()["facts"]),
        ("They make {} findings", lambda: demo()["findings"]),
        ("{} refuted", lambda: demo()["refuted"]),
        ("{} lacks_it", lambda: demo()["lacks_it"]),
        ("{} insufficient", lambda: demo()["insufficient"]),
    ],
    "docs/tutorial.md": [("it has the first {}.", lambda: TABLE_LIMIT)],
    "docs/kgqa.md": [
        ("at most {} characters, and goes", lambda: LONGEST_QUESTION),
        ("the first {} in", lambda: answer.MOST_PATHS),
        ("start from over {} nodes", lambda: answer.MOST_NODES),
        ("take over {} edges", lambda: MOST_HOPS),
        ("look through over {} edges", lambda: answer.MOST_EDGES),
        ("at most {} actions", lambda: asker.MOST_ACTIONS),
    ],
    "docs/agents.md": [
        ("Rows ({})", lambda: toolbox._MOST_ROWS),
        ("seconds ({})", lambda: round(toolbox._CYPHER_SECONDS)),
        ("more than {} others", lambda: bounds.MOST_COPIES),
        ("ways of at most {} steps", lambda: statement_writer.MOST_HOPS),
        ("collected lists of a row at {} values", lambda: bounds._LISTED_COPIES),
        ("cut off at {} nodes", lambda: toolbox.MOST_NODES),
        ("nodes and {} parallel edges", lambda: toolbox.MOST_EDGES),
    ],
    "docs/sources.md": [("asks of at most {} checks", lambda: worker.LIVE_TASKS)],
    "docs/literature.md": [
        ("is {} times its cosine", lambda: search.COSINE_WEIGHT),
        ("papers about up to {} edges", lambda: papers.MOST_EDGES),
    ],
    "docs/claims.md": [("PageRank (damping {})", lambda: claim_map.DAMPING)],
    "docs/howto_ground.md": [
        ("up to {} characters. kgcheck", lambda: LONGEST_TOPIC),
        ("`--seeds`, {} |", lambda: TopicGathering._field_defaults["seeds"]),
        ("`--rounds`, {} |", lambda: TopicGathering._field_defaults["rounds"]),
    ],
    "docs/access.md": [
        ("More than {} requests of one token", lambda: ServiceLimits().per_minute),
        ("There are {} at a time", lambda: ServiceLimits().connections),
        ("of which one address has {}", lambda: ServiceLimits().per_address),
        ("no request comes for {} seconds", lambda: round(ServiceLimits().waiting_s)),
        ("less than {} bytes a second", lambda: LEAST_BYTES_S),
        ("more than {} values", lambda: bodies.MOST_VALUES),
        ("the first {} are said", lambda: bodies.SHOWN_ERRORS),
    ],
}
"""Numbers of the pages, each with the words beside it and where it is from."""


@pytest.mark.parametrize(("name", "words", "number"), [(name, *row) for name, told in NUMBERS.items() for row in told])
def test_a_number_of_a_page_is_that_of_the_code(name: str, words: str, number: Callable[[], float]) -> None:
    text = " ".join(read(name).split())

    assert words.format(f"{number():,}") in text, f"{name}: {words}"


def test_defaults_beside_a_setting_are_its_own() -> None:
    wrong, seen = [], 0
    for name in PAGES:
        for names, told, *_ in rows(name):
            fields = re.findall(r"`KGCHECK_(\w+)`", names)
            values = re.findall(r"(?<![\w.])[\d.]+(?![\w.])", told) if not told.startswith("`") else []
            if fields and len(values) == len(fields):
                seen += len(values)
                defaults = [Settings.model_fields[field.lower()].default for field in fields]
                wrong += [(name, names) for one, own in zip(values, defaults, strict=True) if float(one) != float(own)]

    assert wrong == []
    assert seen > 10
