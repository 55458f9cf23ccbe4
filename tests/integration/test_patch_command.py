"""kgcheck patch: from findings to a repaired graph and back, and everything that is refused."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kgcheck import clock
from kgcheck.curation.operations import Patch, read_patch
from kgcheck.curation.patch_maker import LeftOut, patch_page
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import STORE_ID
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.decisions import Action, Decision, DecisionTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import ChangeKind, Finding
from kgcheck.profile.schema import load_schema
from tests.support.audits import Said, audited, demo, kgcheck
from tests.support.contents import content_digest
from tests.support.patches import CKG, HOSTILE, HOSTILE_ID, WRITABLE, graph_file, made, merge, ref, set_value

IDS = ("PARK2", "O60260", "B4DFC2", "FGFR2", "P00001", "CYCS", "A12M1", "P22303", "P02649", "Q00LT1", "GO:0005887")


class Place(NamedTuple):
    """A copy of the demo with an audit of some of it."""

    folder: Path
    findings: list[Finding]

    @property
    def store(self) -> Path:
        return self.folder / "graph.lbdb"

    @property
    def out(self) -> Path:
        return self.folder / "patch"

    @property
    def id(self) -> str:
        return read_patch(self.out).id

    def run(self, *words: object) -> Said:
        where: tuple[object, ...] = ("--ledger", self.folder / "ledger.sqlite")
        if words[0] not in ("list", "show"):
            where = (*where, "--store", self.store)
        return kgcheck("patch", *words, *where, cwd=self.folder)

    def finding(self, identifier: str, type_: str, attribute: str | None = None) -> Finding:
        return next(
            f
            for f in self.findings
            if identifier in (f.task.subject.id, f.task.object and f.task.object.id)
            and (f.task.type.value, f.task.attribute) == (type_, attribute)
        )

    def digest(self) -> str:
        with EmbeddedStore(self.store, CKG) as store:
            return content_digest(store)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("patch-demo")
    shutil.copy(demo().store, folder / "graph.lbdb")
    with EmbeddedStore(folder / "graph.lbdb", load_schema()) as store:
        found = audited(store, folder / "ledger.sqlite", demo().reference, ids=IDS)
    shutil.copy(folder / "ledger.sqlite", folder / "kept.sqlite")
    return Place(folder, found.findings)


@pytest.fixture
def place(looked_at: Place) -> Iterator[Place]:
    """The same again for every test: a run is of the place of its store."""
    shutil.copy(demo().store, looked_at.store)
    shutil.copy(looked_at.folder / "kept.sqlite", looked_at.folder / "ledger.sqlite")
    yield looked_at
    shutil.rmtree(looked_at.out, ignore_errors=True)
    for left in looked_at.folder.glob("ledger.sqlite-*"):
        left.unlink()


def decided(place: Place, *decisions: tuple[Finding, Action, str | None]) -> None:
    with Ledger(place.folder / "ledger.sqlite") as ledger:
        DecisionTable(ledger.database).add(
            Decision(
                fingerprint=finding.fingerprint,
                basis=basis_of(finding),
                action=action,
                chosen=chosen,
                by="Anna",
                at=clock.exact_now(),
            )
            for finding, action, chosen in decisions
        )


def test_a_graph_is_repaired_and_given_back(place: Place) -> None:
    before = place.digest()
    wanted = [
        place.finding("PARK2", "existence"),
        place.finding("O60260", "attribute", "name"),
        place.finding("PARK2", "triple"),
        place.finding("GO:0005887", "existence"),
    ]
    named = [word for f in wanted for word in ("--finding", f.fingerprint[:10])]

    make = place.run("make", *named, "--out", place.out)
    check = place.run("check", place.id)
    apply = place.run("apply", place.id, "--by", "Anna")
    between = place.digest()
    again = place.run("apply", place.id)

    assert (make.code, check.code, apply.code, again.code) == (0, 0, 0, 0)
    assert "give Gene PARK2 the id PRKN" in make.out
    assert 'set name of Protein O60260: "PARK2" becomes "PRKN"' in make.out
    assert "it comes with another operation: give Gene PARK2 the id PRKN" in make.err
    assert "3 would fit, 0 in conflict" in check.err
    assert "3 done, 0 in conflict" in apply.err
    assert "was applied already: nothing was done" in again.err
    assert place.digest() == between != before
    with EmbeddedStore(place.store, CKG) as store:
        ids = ("PARK2", "PRKN", "O60260", "GO:0005887")
        after = audited(store, place.folder / "after.sqlite", demo().reference, ids=ids[1:3], keep_all=True)
    shown = {(f.task.type.value, str(f.task)): f.verdict.outcome.value for f in after.findings}
    assert shown["existence", "Gene PRKN"] == "supported"
    assert shown["attribute", "Protein O60260.name"] == "supported"
    assert shown["triple", "PRKN TRANSLATED_INTO O60260"] == "supported"

    undo = place.run("undo", place.id)
    twice = place.run("undo", place.out)
    assert f"is named by its id, {place.id}" in twice.err

    assert (undo.code, place.digest()) == (0, before)
    assert twice.refuses("nothing of the patch")
    listed = json.loads(place.run("list", "--format", "json").out)
    assert [(p["id"], p["state"], p["operations"]) for p in listed] == [(read_patch(place.out).id, "undone", 3)]
    one = json.loads(place.run("show", listed[0]["id"][:6], "--format", "json").out)
    assert [o["state"] for o in one["listed"]] == ["open"] * 3
    assert place.run("show", "zz").refuses("there is no patch 'zz'")


def test_what_is_accepted_is_repaired_with_what_was_chosen_and_nothing_else(place: Place) -> None:
    decided(
        place,
        (place.finding("P00001", "existence"), Action.ACCEPT, "P99999"),
        (place.finding("Q00LT1", "attribute", "size"), Action.ACCEPT, None),
        (place.finding("O60260", "attribute", "name"), Action.REJECT, None),
    )

    make = place.run("make", "--accepted", "--out", place.out, "--format", "json")

    operations = json.loads(make.out)["operations"]
    assert make.code == 0
    assert [(o["kind"], o["what"]["id"]) for o in operations] == [("set_value", "Q00LT1"), ("repoint", "P00001")]
    assert (operations[0]["was"], operations[0]["to"], operations[1]["to"]) == (45, 54, "P99999")
    assert all(o["evidence"] and o["expected"] and o["basis"] for o in operations)


@pytest.mark.parametrize(
    ("identifier", "type_", "chosen", "message"),
    [
        ("P00001", "existence", "", "choose one of P99999, P99998"),
        ("P00001", "existence", "=P04637", "'P04637' is none of its candidates: P99999, P99998"),
    ],
)
def test_where_a_person_must_choose_nothing_is_guessed(
    place: Place, identifier: str, type_: str, chosen: str, message: str
) -> None:
    finding = place.finding(identifier, type_)

    made_ = place.run("make", "--finding", finding.fingerprint + chosen, "--out", place.out)

    assert (made_.code, place.out.exists()) == (1, False)
    assert message in made_.err


@pytest.mark.slow
def test_every_kind_of_change_of_the_demo_becomes_an_operation(place: Place) -> None:
    kinds = {f.change.kind for f in place.findings if f.change}
    named = [word for f in place.findings for word in ("--finding", f.fingerprint)]
    before = place.digest()

    made_ = place.run("make", *named, "--out", place.out, "--format", "json")
    apply = place.run("apply", place.id, "--delete")

    assert kinds == {
        ChangeKind.REPOINT, ChangeKind.SET_VALUE, ChangeKind.RETIRE, ChangeKind.ADD_EDGE, ChangeKind.REVIEW,
    }  # fmt: skip
    found = {o["kind"] for o in json.loads(made_.out)["operations"]}
    assert found == {"repoint", "merge", "set_value", "retire", "add_edge"}
    assert (made_.code, apply.code) == (0, 0)
    assert place.run("undo", place.id).code == 0
    assert place.digest() == before


# --- refused -----------------------------------------------------------------------------------------


def patched(place: Place) -> Patch:
    finding = place.finding("O60260", "attribute", "name")
    assert place.run("make", "--finding", finding.fingerprint, "--out", place.out).code == 0
    return read_patch(place.out)


def as_another(store: Path, path: Path) -> None:
    """Copy a store, and make another one of the copy."""
    shutil.copy(store, path)
    with EmbeddedStore(path, CKG, create=True) as other:
        other.set_meta(STORE_ID, "another")


def test_make_refuses(place: Place) -> None:
    finding = place.finding("O60260", "attribute", "name").fingerprint
    assert place.run("make", "--out", place.out).refuses("name findings, or all that are accepted")
    assert place.run("make", "--accepted", "--finding", finding, "--out", place.out).refuses("name findings, or all")
    assert place.run("make", "--finding", "ffffffff", "--out", place.out).refuses("there is no finding 'ffffffff'")
    assert place.run("make", "--accepted", "--run", "1999", "--out", place.out).refuses("there is no run '1999'")
    patched(place)
    assert place.run("make", "--finding", finding, "--out", place.out).refuses(f"{place.out} holds a patch already")
    other = place.folder / "other.lbdb"
    as_another(place.store, other)
    refused = kgcheck(
        "patch", "make", "--finding", finding, "--out", place.folder / "p2", "--store", other,
        "--ledger", place.folder / "ledger.sqlite",
    )  # fmt: skip
    assert refused.refuses("run ")
    assert f"is of the store that was at {place.store}" in refused.err
    assert not (place.folder / "p2").exists()


def test_a_value_that_changed_since_the_audit_is_left_out(place: Place) -> None:
    with EmbeddedStore(place.store, CKG, create=True) as store, store.statements(write=True) as run:
        run("MATCH (n:Protein {id: 'O60260'}) SET n.name = $name", {"name": HOSTILE})
    finding = place.finding("O60260", "attribute", "name")

    made_ = place.run("make", "--finding", finding.fingerprint, "--out", place.out)

    assert made_.code == 1
    assert "Protein O60260.name is another value now than the finding saw" in made_.err


# --- what people read ----------------------------------------------------------------------------------


def test_a_page_escapes_whatever_a_graph_holds(tmp_path: Path, looked_at: Place) -> None:
    store = tmp_path / "graph.lbdb"
    shutil.copy(graph_file(), store)
    with EmbeddedStore(store, CKG) as opened:
        patch = made(opened, set_value(ref("A"), "name", WRITABLE), merge(ref(HOSTILE_ID), ref("A")))
    task = looked_at.findings[0].task.model_copy(update={"subject": ref(HOSTILE_ID), "value": HOSTILE})
    left = LeftOut(looked_at.findings[0].model_copy(update={"task": task}), HOSTILE)

    markdown = patch_page(patch, {}, [left])

    assert not set("\x1b\u202e") & set(markdown)
    assert "<script>" not in markdown


def test_cypher_holds_no_value(place: Place) -> None:
    named = [word for f in place.findings for word in ("--finding", f.fingerprint)]
    assert place.run("make", *named, "--out", place.out).code == 0

    text = (place.out / "patch.cypher").read_text()
    parameters = json.loads((place.out / "patch.params.json").read_text())

    body = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    assert set(re.findall(r"\$(rows\d+)", body)) == set(parameters)
    # The one text is how the names of kgcheck's own marks begin.
    assert not re.search(r"['\"]", body.replace("STARTS WITH 'kgcheck_'", ""))
    for value in ("PRKN", "P21802", "GO:0005886", "STRING"):
        assert value in json.dumps(parameters)
        assert value not in body
