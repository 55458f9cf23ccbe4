"""Rules of the house that no linter knows."""

import ast
import re
from pathlib import Path

import pytest

from kgcheck.profile.schema import load_schema
from tests.support import ROOT, listed_by_git

NO_ADVICE = {
    "kgcheck/graph/queries.py": "it is a fault of ours",
    "kgcheck/graph/embedded.py": "it is a fault of whoever goes on with a store that was closed",
    "kgcheck/graph/sandbox.py": "whoever starts the process adds it",
    "kgcheck/llm/client.py": "the model is told what was wrong, and tries again",
    "kgcheck/providers/uniprot.py": "nobody here can do anything about it",
    "kgcheck/providers/uniprot_entry.py": "nobody here can do anything about it",
}
"""Modules with errors that nobody reads or that leave nothing to do; those of agents are what a model is told."""
# In two halves, so that this file does not break its own rule.
REGISTRIES = [
    first + second
    for first, second in (
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("npm", "js.org"),
        ("npm", "js.com"),
        ("yarn", "pkg.com"),
        ("crates", ".io"),
        ("maven", ".org"),
        ("maven.apache", ".org"),
        ("proxy.golang", ".org"),
        ("deb.debian", ".org"),
        ("security.debian", ".org"),
        ("ana", "conda.org"),
        ("ruby", "gems.org"),
    )
]
PURPOSE = re.compile(r"// (?!Parameters:|Places:|Returns:)[A-Z].+\.")


def _statements() -> list[Path]:
    return sorted((ROOT / "cypher").rglob("*.cypher"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _modules_with(pattern: str) -> list[tuple[Path, str]]:
    """Modules of kgcheck in which an expression is found anywhere, with their text; the others need no parsing."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "kgcheck").rglob("*.py"))]
    return [(path, text) for path, text in texts if re.search(pattern, text)]


@pytest.fixture(scope="module")
def files_in_git() -> list[Path]:
    """What git tracks or would track; skips outside a checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is no git checkout")
    names = listed_by_git("--cached", "--others", "--exclude-standard")
    return [path for name in names if (path := ROOT / name).is_file()]


def test_no_file_names_a_package_registry(files_in_git: list[Path]) -> None:
    found = []
    for path in files_in_git:
        text = path.read_text(encoding="utf-8", errors="replace").casefold()
        places = [(text.index(host), host) for host in REGISTRIES if host in text]
        found += [f"{_name(path)}:{text.count(chr(10), 0, place) + 1}: {host}" for place, host in places]

    assert found == []


def test_no_lock_file_records_download_addresses(files_in_git: list[Path]) -> None:
    assert [_name(path) for path in files_in_git if path.name == "uv.lock"] == []


def test_package_does_not_print() -> None:
    found = [
        f"{_name(path)}:{node.lineno}"
        for path, text in _modules_with(r"\bprint\b")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]

    assert found == []


def _profile_names() -> set[str]:
    """Labels and relation types of every profile that is shipped."""
    schemas = [load_schema(path.parent.name) for path in sorted((ROOT / "loaders").glob("*/graph.toml"))]
    return {name for schema in schemas for name in (*schema.label_names, *schema.relation_types)}


def _mentions(text: str, names: set[str]) -> list[tuple[int, str]]:
    """Lines and names of a profile that the strings of a module mention; what a docstring says is no matter."""
    tree = ast.parse(text)
    # A string that is a statement is a docstring, of what is above it or of what it stands in.
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, word)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        for word in re.findall(r"\w+", node.value)
        if word in names
    ]


def test_the_time_of_day_comes_from_the_clock_alone() -> None:
    """A test puts another time there, which a function that was imported by its name would not follow."""
    asks = r"\b(datetime\.(now|utcnow|today)|date\.today|time\.(time|time_ns|gmtime|localtime|strftime))\("
    wrong = [
        _name(path) for path, _ in _modules_with(rf"{asks}|from kgcheck\.clock import|\bCURRENT_(TIMESTAMP|DATE)\b")
    ]

    assert wrong == ["kgcheck/clock.py"]


OTHERS = ("kgcheck/forms/", "kgcheck/standards/", "kgcheck/audit/rules/")
"""Rooms that speak of graphs in the forms of others, and of standards, whose names some profiles have, too."""


def test_no_module_names_a_label_or_a_relation_of_a_profile() -> None:
    names = _profile_names()

    found = [
        f"{_name(path)}:{line}: {word}"
        for path, text in _modules_with(rf"\b({'|'.join(names)})\b")
        if not _name(path).startswith(OTHERS)
        for line, word in _mentions(text, names)
    ]

    assert {"Protein", "HAS_PARENT"} <= names
    assert found == []


@pytest.mark.parametrize(
    "text", ['x = "HAS_PARENT"', "x = f\"... '{y}' AND type = 'HAS_PARENT'\"", 'f(f"{y} HAS_PARENT")']
)
def test_a_name_of_a_profile_is_seen_in_any_string(text: str) -> None:
    assert _mentions(text, {"HAS_PARENT"}) == [(1, "HAS_PARENT")]
    assert _mentions(f'"""It follows HAS_PARENT."""\n{text}', {"HAS_PARENT"}) == [(2, "HAS_PARENT")]
    assert _mentions('"""It follows HAS_PARENT."""\nx = 1\n"""So is HAS_PARENT."""', {"HAS_PARENT"}) == []


def test_the_package_imports_nothing_through_what_it_exports() -> None:
    # The layers hold for modules: `from kgcheck import Workspace` would go around them.
    submodules = {path.stem for path in (ROOT / "kgcheck").iterdir()} | {"__version__"}
    found = [
        f"{_name(path)}:{node.lineno}: {alias.name}"
        for path, text in _modules_with(r"from\s+kgcheck\s+import")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "kgcheck"
        for alias in node.names
        if alias.name not in submodules
    ]

    assert found == []


def test_statements_say_what_they_are_for() -> None:
    first = {_name(path): path.read_text(encoding="utf-8").split("\n", 1)[0] for path in _statements()}

    assert len(first) > 20
    assert {name: line for name, line in first.items() if not PURPOSE.fullmatch(line)} == {}


def test_statements_declare_their_parameters_and_places() -> None:
    wrong = {}
    for path in _statements():
        lines = path.read_text(encoding="utf-8").splitlines()
        header = " ".join(line for line in lines if line.startswith("//"))
        body = " ".join(line for line in lines if not line.startswith("//"))
        used = set(re.findall(r"\$(\w+)", body)), set(re.findall(r"<([a-z_]+)>", body))
        declared = _declared(header, "Parameters"), _declared(header, "Places")
        if used != declared:
            wrong[_name(path)] = used, declared

    assert wrong == {}


def _declared(header: str, heading: str) -> set[str]:
    """Names after a heading up to the full stop: `id, rows (list of maps: id).` gives id and rows."""
    found = re.search(rf"{heading}: (.*?)\.(?: |$)", re.sub(r"\([^)]*\)", "", header))
    return set(re.findall(r"\w+", found[1])) - {"none"} if found else set()


def test_every_error_has_advice() -> None:
    tree = ast.parse((ROOT / "kgcheck/errors.py").read_text(encoding="utf-8"))
    # Its advice is the nearest names.
    kinds = {node.name for node in tree.body if isinstance(node, ast.ClassDef)} - {"UnknownName"}
    without = {
        f"{_name(path)}: {ast.unparse(node)}"
        for path, text in _modules_with(rf"raise (?:{'|'.join(kinds)})\(")
        if not path.is_relative_to(ROOT / "kgcheck/agents") and _name(path) not in NO_ADVICE
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Raise)
        and isinstance(call := node.exc, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in kinds
        and len(call.args) + len(call.keywords) < 2
        and not any(isinstance(argument, ast.Starred) for argument in call.args)
    }
    assert not without
