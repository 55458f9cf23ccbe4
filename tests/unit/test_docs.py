"""The pages: their links and anchors, the width of their lines, and that their tables say what the code says."""

import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from kgcheck.checks.repair import propose
from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Outcome, Reason, Ref, Verdict
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
    # kgcheck.toml is a file of the reader's own.
    for dotted in re.findall(r"`(kgcheck(?!\.toml`)(?:\.\w+)+)`", text):
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

    assert {name for names in told.values() for name in names} == set(Reason)


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


def test_settings_are_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_texts_are_all_looked_at() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is no git checkout")
    tracked = listed_by_git("*.md")

    # Prompts go to a model as they stand, and templates become reports.
    assert {n for n in tracked if not n.startswith("kgcheck/")} - set(TEXTS) == set()
