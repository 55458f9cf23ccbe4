"""A reload does not undo curation: what patches changed stays, and what the files newly state of it is named."""

import subprocess
import sys
from pathlib import Path

import pytest

from kgcheck.curation import patches
from kgcheck.curation.applied import curated_in
from kgcheck.curation.operations import AddEdge, Merge, Operation, Patch, Repoint, Retire, SetValue
from kgcheck.curation.patch_maker import fitting, patch_of
from kgcheck.curation.patches import apply_patch, undo_patch
from kgcheck.curation.steps import DraftGraph
from kgcheck.graph.changes import StoreChanges
from kgcheck.graph.open import open_store
from kgcheck.graph.store import Properties
from kgcheck.loading.load import LoadSummary, load_directory
from kgcheck.model import Reason, Ref, Triple
from kgcheck.options import LoadOptions
from kgcheck.settings import Settings
from tests.contract.stores import all_edges, all_nodes
from tests.integration.import_directory import ACTS_ON, CKG, PROTEINS, ImportDirectory, check_sums, read_quarantine
from tests.support import quick_of
from tests.support.contents import content_digest
from tests.support.neo4j_fixtures import SLOWLY_ON_NEO4J

PROTEIN, INTERACTION = CKG.label("Protein"), CKG.pattern("Protein", "ACTS_ON", "Protein")
FINDING = {"finding": "0123456789abcdef", "basis": "b", "reason": Reason.ID_MERGED}
NAMES = {f"P{i}": f"n{i}" for i in range(1, 8)}
EDGES = (
    ("P1", "P2", "string", "0.5"),
    ("P1", "P3", "string", "0.6"),
    ("P1", "P3", "intact", "0.6"),
    ("P2", "P3", "string", "0.7"),
    ("P4", "P3", "string", "0.8"),
    ("P5", "P3", "string", "0.9"),
    ("P6", "P1", "string", "0.4"),
)


def ref(id_: str) -> Ref:
    return Ref(label="Protein", id=id_)


def edge(head: str, tail: str) -> Triple:
    return Triple(head=ref(head), relation="ACTS_ON", tail=ref(tail))


NAME = SetValue(what=ref("P1"), attribute="name", was="n1", to="right", **FINDING)
SCORE = SetValue(what=edge("P2", "P3"), attribute="score", was=0.7, to=0.1, **FINDING)
NO_EDGE = Retire(what=edge("P1", "P2"), **FINDING)
NO_NODE = Retire(what=ref("P4"), **FINDING)
MERGED = Merge(what=ref("P5"), into=ref("P2"), **FINDING)
RENAMED = Repoint(what=ref("P6"), to="P9", **FINDING)
MOVED = Repoint(what=edge("P1", "P3"), end="tail", to="P7", **FINDING)
ADDED = AddEdge(what=edge("P7", "P2"), properties={"source": "kgcheck", "score": 0.3}, **FINDING)
EVERYTHING = (NAME, SCORE, NO_EDGE, NO_NODE, MERGED, RENAMED, MOVED, ADDED)


class Place:
    """An import directory, a store, and what is done with them."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self.directory = ImportDirectory(folder / "import")
        self.store = store or str(folder / "graph.lbdb")
        self._quarantine = folder / "quarantine.jsonl"
        self.write()

    def write(
        self, *edges: tuple[str, str, str, str], without: tuple[str, ...] = (), about: str = "about", **names: str
    ) -> None:
        """Write the files: some edges in place of those of the same ends and source, and some nodes otherwise."""
        named = {i: n for i, n in (NAMES | names).items() if i not in without}
        by_key = {e[:3]: e for e in (*EDGES, *edges) if not {*e[:2]} & set(without)}
        d = self.directory
        d.write(PROTEINS, *(d.row(PROTEINS, ID=i, name=n, description=f"{about} {i}") for i, n in named.items()))
        rows = (d.row(ACTS_ON, start=h, end=t, source=s, score=x) for h, t, s, x in by_key.values())
        d.write(ACTS_ON, *rows)

    def load(self, **options: bool) -> LoadSummary:
        with open_store(self.store, CKG, Settings(), create=True) as store:
            summary = load_directory(
                self.directory.folder,
                store,
                Settings(),
                quarantine=self._quarantine,
                options=LoadOptions(**options),
                curated=curated_in(store),
            )
        if not summary.dry_run:
            check_sums(summary, read_quarantine(summary))
        return summary

    def apply(self, *operations: Operation, delete: bool = False) -> Patch:
        with open_store(self.store, CKG, Settings(), create=True) as store:
            store.prepare_records()
            with store.statements(write=False) as run:
                drafted, misfits = fitting(operations, DraftGraph(StoreChanges(store, run)))
            assert misfits == []
            patch = patch_of([d.operation for d in drafted], store, "run", by="tester")
            assert apply_patch(patch, store, by="tester", delete=delete).conflicts == ()
        return patch

    def undo(self, patch: Patch) -> list[str]:
        with open_store(self.store, CKG, Settings(), create=True) as store:
            return [c.why for c in undo_patch(patch, store, by="tester").conflicts]

    def digest(self) -> str:
        with open_store(self.store, CKG, Settings()) as store:
            return content_digest(store)

    def nodes(self) -> dict[str, Properties]:
        with open_store(self.store, CKG, Settings()) as store:
            return {node["id"]: node for node in all_nodes(store, PROTEIN)}

    def edges(self) -> set[tuple[str, str, str, float]]:
        with open_store(self.store, CKG, Settings()) as store:
            return {(e["head"], e["tail"], e["source"], e["score"]) for e in all_edges(store, INTERACTION)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.load()
    return made


@pytest.fixture
def anywhere(tmp_path: Path, store: str) -> Place:
    """The same in each kind of store."""
    made = Place(tmp_path, store)
    made.load()
    return made


def said(summary: LoadSummary) -> set[tuple[str, str, str]]:
    return {(s.kind, s.what, s.why) for s in summary.settled}


@pytest.mark.parametrize("options", quick_of([{}, {"full": True, "prune": True}], {}))
@SLOWLY_ON_NEO4J
def test_the_same_files_again_change_nothing_of_a_patched_graph(anywhere: Place, options: dict[str, bool]) -> None:
    before = anywhere.digest()
    patch = anywhere.apply(*EVERYTHING)
    patched = anywhere.digest()
    assert patched != before

    summary = anywhere.load(**options)
    again = anywhere.load(full=True)

    assert anywhere.digest() == patched
    assert (summary.settled, again.settled) == ((), ())
    assert (summary.total("loaded"), summary.total("changed"), summary.removed, summary.left) == (0, 0, {}, {})
    assert again.curated > len(EVERYTHING)
    assert anywhere.undo(patch) == []
    assert anywhere.digest() == before


@pytest.mark.slow
@pytest.mark.parametrize("patched", [(2040, 2026, 2025), pytest.param((2026, 2025, 2040), marks=pytest.mark.slow)])
def test_the_patch_that_came_last_is_the_curated_state_whatever_clocks_said(
    place: Place, patched: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    was, chosen = "n1", [f"of {year}" for year in patched]
    for year, name in zip(patched, chosen, strict=True):
        monkeypatch.setattr(patches, "_now", lambda year=year: f"{year}-01-01T00:00:00+00:00")
        place.apply(NAME.model_copy(update={"was": was, "to": name}))
        was = name

    summary = place.load(full=True)

    assert summary.settled == ()
    assert place.nodes()["P1"]["name"] == chosen[-1]


@pytest.mark.slow
def test_what_a_patch_did_not_touch_is_loaded_and_the_patch_can_still_be_undone(place: Place) -> None:
    patch = place.apply(NAME, SCORE, NO_EDGE)
    place.write(("P3", "P2", "string", "0.2"), about="more of", P2="new", P8="n8")

    summary = place.load()

    assert summary.settled == ()
    assert {i: n["name"] for i, n in place.nodes().items() if i in {"P1", "P2", "P8"}} == {
        "P1": "right",
        "P2": "new",
        "P8": "n8",
    }
    assert place.nodes()["P1"]["description"] == "more of P1"
    assert {("P2", "P3", "string", 0.1), ("P3", "P2", "string", 0.2)} <= place.edges()
    assert place.undo(patch) == []
    assert place.nodes()["P1"]["name"] == "n1"
    assert {("P2", "P3", "string", 0.7), ("P1", "P2", "string", 0.5)} <= place.edges()


@pytest.mark.slow
def test_what_a_file_states_otherwise_is_a_conflict_and_the_curated_state_stays(anywhere: Place) -> None:
    anywhere.apply(*EVERYTHING)
    patched = anywhere.digest()
    anywhere.write(
        ("P2", "P3", "string", "0.9"),
        ("P1", "P2", "string", "0.55"),
        ("P1", "P2", "intact", "0.5"),
        ("P3", "P4", "string", "0.5"),
        ("P7", "P2", "kgcheck", "0.9"),
        P1="other",
        P4="still there",
        P9="called so",
    )

    for options in ({}, {}, {"full": True, "prune": True}):
        summary = anywhere.load(**options)
        assert anywhere.digest() == patched
        assert said(summary) == {
            ("conflict", "Protein P1 name", "a file states 'other', and no longer 'n1'; 'right' stays"),
            ("conflict", "Protein P4", "a file states it otherwise, and it stays retired"),
            ("conflict", "Protein P9", "a file states it otherwise"),
            ("conflict", "P2 ACTS_ON P3 score", "a file states 0.9, and no longer 0.7; 0.1 stays"),
            ("conflict", "P1 ACTS_ON P2", "a file states it otherwise, and it stays retired"),
            ("conflict", "P1 ACTS_ON P2", "a file states it anew, and it stays retired"),
            ("conflict", "P3 ACTS_ON P4", "a file states it anew, and Protein P4 is retired"),
            ("conflict", "P7 ACTS_ON P2", "a file states it otherwise"),
        }
    assert {(s.file, s.line) for s in summary.settled if s.what == "Protein P1 name"} == {(PROTEINS, 2)}
    assert {s.finding for s in summary.settled} == {"0123456789abcdef"}


@pytest.mark.slow
def test_what_is_right_upstream_now_is_said_and_left(anywhere: Place) -> None:
    patch = anywhere.apply(*EVERYTHING)
    patched = anywhere.digest()
    anywhere.write(
        ("P2", "P3", "string", "0.1"),
        ("P1", "P7", "string", "0.6"),
        ("P1", "P7", "intact", "0.6"),
        ("P7", "P2", "kgcheck", "0.3"),
        ("P9", "P1", "string", "0.4"),
        without=("P4", "P5", "P6"),
        P1="right",
    )
    d = anywhere.directory
    lines = [
        line for line in (d.folder / ACTS_ON).read_text().splitlines()[1:] if not line.startswith(("P1\tP2", "P1\tP3"))
    ]
    d.write(ACTS_ON, *lines)

    summary = anywhere.load(prune=True)

    assert anywhere.digest() == patched
    assert {kind for kind, _, _ in said(summary)} == {"upstream"}
    assert {
        ("upstream", "Protein P1 name", "a file states what the patch made"),
        ("upstream", "Protein P4", "no file states it any more"),
        ("upstream", "P2 ACTS_ON P3", "a file states what the patch made"),
        ("upstream", "P1 ACTS_ON P7", "a file states what the patch made"),
        ("upstream", "P1 ACTS_ON P2", "no file states it any more"),
    } <= said(summary)
    assert anywhere.undo(patch) == []
    anywhere.load()
    assert anywhere.nodes()["P1"]["name"] == "right", (
        "the files are read again, as they do not state what the undone graph has"
    )


@pytest.mark.slow
def test_another_property_of_a_patched_edge_is_loaded_again_and_again(anywhere: Place) -> None:
    patch = anywhere.apply(SCORE)
    anywhere.directory.write(
        ACTS_ON,
        *(
            anywhere.directory.row(ACTS_ON, start=h, end=t, source=s, score=x, action="binding" if h == "P2" else "")
            for h, t, s, x in EDGES
        ),
    )

    summary = anywhere.load()
    patched = anywhere.digest()

    assert (summary.total("changed"), summary.settled) == (1, ())
    with open_store(anywhere.store, CKG, Settings()) as store:
        assert store.edges(edge("P2", "P3")) == [{"source": "string", "score": 0.1, "action": "binding"}]
    assert anywhere.load(full=True).total("changed") == 0
    assert anywhere.digest() == patched
    assert anywhere.undo(patch) == []
    assert ("P2", "P3", "string", 0.7) in anywhere.edges()


@pytest.mark.slow
def test_taken_away_for_good_it_stays_away(place: Place) -> None:
    place.apply(NO_EDGE, NO_NODE, MERGED, delete=True)
    patched = place.digest()

    assert place.load(full=True, prune=True).settled == ()
    assert place.digest() == patched


@pytest.mark.slow
def test_a_store_without_patches_is_loaded_without_what_patches_need(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.load()
    program = (
        "import sys\n"
        "from kgcheck.curation.applied import curated_in\n"
        "from kgcheck.graph.open import open_store\n"
        "from kgcheck.profile.schema import load_schema\n"
        "from kgcheck.settings import Settings\n"
        "with open_store(sys.argv[1], load_schema(), Settings()) as store:\n"
        "    assert store.meta() and not any(curated_in(store))\n"
        "print([m for m in ('kgcheck.curation.patches', 'kgcheck.audit.run', 'sqlalchemy') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, place.store], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
