"""A patch is applied as the ledger made it, and writes nothing that hides or that only kgcheck may write."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.curation.applied import PREFIX
from kgcheck.curation.operations import (
    AddEdge,
    Operation,
    Patch,
    SetValue,
    numbered_lines,
    read_patch,
    sealed,
    write_patch,
)
from kgcheck.curation.patch_maker import patch_of
from kgcheck.curation.patches import apply_patch, check_patch, patches_in
from kgcheck.curation.steps import expectations
from kgcheck.errors import InputFormat, StoreError
from kgcheck.graph.changes import StoreChanges
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.marks import MARKS
from kgcheck.graph.store import DONE, LOAD, UNDER_WAY
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.patches import PatchTable
from kgcheck.visible import visible
from tests.support import examples
from tests.support.audits import demo, kgcheck
from tests.support.patches import CKG, add_edge, edge, graph_file, made, ref, repoint, set_value, why


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return Path(shutil.copy(graph_file(), tmp_path / "graph.lbdb"))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    path = Path(shutil.copy(graph_file(), tmp_path_factory.mktemp("graph") / "graph.lbdb"))
    with EmbeddedStore(path, CKG, create=True) as store:
        yield store


# --- who made it


def edited(patch: Patch, folder: Path) -> Patch:
    """The patch with another value, sealed again: anybody can compute the digest."""
    first = patch.operations[0]
    operations = (first.model_copy(update={"to": "EVIL"}), *patch.operations[1:])
    other = Patch(sealed(patch.header, numbered_lines(operations)), operations)
    write_patch(folder, other)
    return other


def test_a_patch_that_was_sealed_again_is_refused(tmp_path: Path) -> None:
    store = Path(shutil.copy(demo().store, tmp_path / "graph.lbdb"))
    asked = ("--store", store)
    audit = ("audit", "--type", "existence", "--id", "PARK2", "--reference", demo().reference)
    assert kgcheck(*audit, *asked, cwd=tmp_path).code == 1
    (finding,) = json.loads(kgcheck("findings", "--format", "json", cwd=tmp_path).out)["findings"]
    assert kgcheck("patch", "make", "--finding", finding["fingerprint"], "--out", "p", *asked, cwd=tmp_path).code == 0
    made_here = read_patch(tmp_path / "p")
    shutil.copytree(tmp_path / "p", tmp_path / "q")
    other = edited(made_here, tmp_path / "q")

    said = kgcheck("patch", "apply", "q", *asked, cwd=tmp_path)

    assert said.refuses(f"the patch {other.id} was not made with the ledger .kgcheck/ledger.sqlite, or was changed")
    assert "--from-elsewhere" in said.err
    assert kgcheck("patch", "apply", made_here.id, *asked, cwd=tmp_path).code == 0
    assert kgcheck("patch", "undo", made_here.id, *asked, cwd=tmp_path).code == 0
    # What was applied stays what this ledger made, and what came from elsewhere stays that.
    assert kgcheck("patch", "apply", made_here.id, *asked, cwd=tmp_path).code == 0
    for _ in range(2):
        assert kgcheck("patch", "apply", "q", *asked, cwd=tmp_path).code == 2
        assert kgcheck("patch", "apply", "q", "--from-elsewhere", *asked, cwd=tmp_path).code in (0, 1)
    with Ledger(tmp_path / ".kgcheck" / "ledger.sqlite") as ledger:
        assert PatchTable(ledger.database).made(made_here.header.digest)
        assert not PatchTable(ledger.database).made(other.header.digest)


EDITS: dict[str, tuple[Any, str]] = {
    "a value": (lambda text: text.replace('"to": "PRKN"', '"to": "X"'), "was edited or cut short"),
    "who made it": (lambda text: text.replace('"by": "', '"by": "not '), "was edited or cut short"),
    "the store": (lambda text: text.replace("graph.lbdb", "other.lbdb"), "was edited or cut short"),
    "cut short": (lambda text: text.splitlines()[0] + "\n", "was edited or cut short"),
    "a line more": (lambda text: text + text.splitlines()[1] + "\n", "was edited or cut short"),
    "another format": (lambda text: text.replace("kgcheck patch 1", "kgcheck patch 2"), "is of the format 'kgcheck pa"),
    "empty": (lambda text: "", "is empty"),
    "no JSON": (lambda text: "x" + text, "is no patch"),
    "no header": (lambda text: text.split("\n", 1)[1], "is no patch: it has no header"),
    "nested": (lambda text: "[" * 100_000, "is no patch"),
    "not UTF-8": (lambda text: b"\xff\xfe" + text.encode(), "is not UTF-8"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_patch_is_refused(tmp_path: Path, edit: str, opened: EmbeddedStore) -> None:
    write_patch(tmp_path, made(opened, set_value(ref("A"), "name", "PRKN")))
    path = tmp_path / "patch.jsonl"
    change, message = EDITS[edit]
    text = change(path.read_text())
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

    with pytest.raises(InputFormat) as caught:
        read_patch(tmp_path)

    assert caught.value.message.startswith(f"{path} ")
    assert message in caught.value.message


def test_where_no_patch_is_none_is_applied(tmp_path: Path, graph: Path) -> None:
    for act in ("apply", "check", "undo"):
        assert kgcheck("patch", act, tmp_path, "--store", graph, cwd=tmp_path).refuses("there is no patch in ")


def test_a_store_that_is_half_loaded_or_in_use_is_left_alone(tmp_path: Path, graph: Path) -> None:
    with EmbeddedStore(graph, CKG) as store:
        write_patch(tmp_path, made(store, set_value(ref("A"), "name", "PRKN")))
    asked = ("patch", "apply", tmp_path, "--from-elsewhere", "--store", graph)
    with EmbeddedStore(graph, CKG, create=True) as store:
        store.set_meta(LOAD, UNDER_WAY)
    assert kgcheck(*asked, cwd=tmp_path).refuses("the last load into ")
    with EmbeddedStore(graph, CKG, create=True) as store:
        store.set_meta(LOAD, DONE)
    with EmbeddedStore(graph, CKG):
        assert kgcheck(*asked, cwd=tmp_path).refuses("the store ")


def test_what_a_store_has_of_a_patch_is_read_or_refused(graph: Path) -> None:
    with EmbeddedStore(graph, CKG, create=True) as store:
        patch = made(store, set_value(ref("A"), "name", "PRKN"))
        apply_patch(patch, store, by="x")
        for text in ("", "{}"):
            with store.statements(write=True) as run:
                StoreChanges(store, run).set_record(f"{PREFIX}{patch.id}", text)
            for read in (patches_in, lambda store: check_patch(patch, store)):
                with pytest.raises(StoreError, match=f"what the store says of the patch {patch.id} cannot be read"):
                    read(store)


# --- what it may write

HIDING = st.sampled_from(["\u202e", "\u200b", "\x1b[31m", "\x00", "\ufeff", "\U000e0041", "\x9b", "\u2028"])
TEXTS = st.one_of(st.text(max_size=8), st.builds("{}{}".format, st.text("ab", max_size=3), HIDING))
NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70), st.just(float("inf")), st.just(float("nan")))
VALUES: st.SearchStrategy[Any] = st.one_of(TEXTS, NUMBERS, st.none(), st.lists(TEXTS, max_size=2), st.booleans())
NAMES = st.one_of(
    st.sampled_from([*MARKS, "id", "kgcheck_x", "name", "synonyms", "taxid", "score", "source", "__x", "name`"]),
    st.text(max_size=6),
)
ATTACKS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(lambda name, to: set_value(ref("A"), name, to), NAMES, VALUES),
    st.builds(lambda name, to: set_value(edge("A", "C"), name, to, was=0.5), NAMES, VALUES),
    st.builds(
        lambda name, to: add_edge(edge("D", "C"), **{name: to}),
        NAMES.filter(lambda name: name not in ("what", "finding")),
        VALUES.filter(lambda value: value is not None),
    ),
    st.builds(lambda to: repoint(ref("A"), to), st.text("ab\u202e\u200b", min_size=1, max_size=4)),
)


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(operation=ATTACKS)
def test_no_operation_writes_what_it_must_not(operation: Operation, opened: EmbeddedStore) -> None:
    """Attacked as in a patch that somebody sealed: with the states that it must know, and any name and value."""
    with opened.statements(write=False) as run:
        ready = operation.model_copy(update={"expected": expectations(operation, StoreChanges(opened, run))})
    outcome = check_patch(patch_of([ready], opened, "run", by="x"), opened)
    if outcome.conflicts:
        return

    if isinstance(operation, SetValue | AddEdge):
        what = operation.what
        described = CKG.label("Protein") if what == ref("A") else CKG.pattern("Protein", "ACTS_ON", "Protein")
        written = {operation.attribute: operation.to} if isinstance(operation, SetValue) else operation.properties
        for name, value in written.items():
            assert name in described.properties
            assert name not in (*MARKS, "id")
            texts = value if isinstance(value, list) else [value]
            assert all(visible(one, layout=True) == one for one in texts if isinstance(one, str))
            assert not isinstance(value, float) or math.isfinite(value)
    else:
        assert not set(str(getattr(operation, "to", ""))) & set("\u202e\u200b")


def test_a_patch_says_how_all_that_it_touches_must_stand(opened: EmbeddedStore) -> None:
    """Who seals a patch cannot leave out what would not fit."""
    outcome = check_patch(patch_of([set_value(ref("A"), "name", "x")], opened, "run", by="x"), opened)

    assert why(outcome.conflicts) == ["Protein A is not as it was when the patch was made"]


def test_another_ledger_did_not_make_it(tmp_path: Path, graph: Path) -> None:
    with EmbeddedStore(graph, CKG) as store:
        write_patch(tmp_path, made(store, set_value(ref("A"), "name", "PRKN")))
    asked = ("--store", graph, "--ledger", "other.sqlite")

    assert "was not made with the ledger other.sqlite" in kgcheck("patch", "apply", tmp_path, *asked, cwd=tmp_path).err
    assert kgcheck("patch", "check", tmp_path, "--store", graph, cwd=tmp_path).code == 0
    assert kgcheck("patch", "apply", tmp_path, "--from-elsewhere", *asked, cwd=tmp_path).code == 0
