"""Names and ids that people write, and the nodes that they are taken for."""

import weakref
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

from kgcheck.agents.request import resolve_request
from kgcheck.errors import AmbiguousName, KgcheckError, UnknownName, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.names import NameIndex, NameLink, tokens
from kgcheck.graph.store import NO_ID
from kgcheck.grounding.facts.named import NameTable
from kgcheck.grounding.manuscripts.reading import read_given
from kgcheck.profile.schema import Label, load_schema
from kgcheck.questions.resolver import NameResolver, TakenBy
from kgcheck.reference.names import SnapshotNames
from tests.support import examples
from tests.support.audits import MemoryStore, demo

SCHEMA = load_schema()
NODES = {
    "Gene": [
        {"id": "TP53", "name": "tumor protein p53", "synonyms": ["p53", "LFS1"]},
        {"id": "PARK2", "name": "parkin", "synonyms": ["PDJ"]},
        {"id": "CAT", "name": "catalase", "synonyms": []},
    ],
    "Protein": [
        {"id": "P04637", "name": "TP53", "description": "Cellular tumor antigen p53", "synonyms": ["P53"]},
        {"id": "P04637-2", "name": "TP53", "description": "Isoform 2", "synonyms": []},
        {"id": "Q00987", "name": "MDM2", "synonyms": ["HDM2"]},
        {"id": "Q9H244", "name": "P2RY12", "synonyms": ["P2Y12"]},
        {"id": "P62805", "name": "H4C1", "synonyms": ["H4"]},
        {"id": "Q99525", "name": "H4C7", "synonyms": ["H4"]},
    ],
    "Disease": [
        {"id": "DOID:2841", "name": "asthma", "synonyms": ["bronchial asthma", "DOID:99"]},
        {"id": "DOID:1", "name": "brain tumor", "synonyms": ["Alzheimer's disease, familial"]},
        {"id": "DOID:2", "name": "fever", "synonyms": []},
        {"id": "DOID:3", "name": "Fever", "synonyms": ["pyrexia"]},
        {"id": "DOID:4", "name": "renal \u03b1-disease", "synonyms": []},
        {"id": "p53x", "name": "odd", "synonyms": []},
    ],
    "Tissue": [{"id": "BTO:0000142", "name": "brain", "synonyms": ["head"]}],
}
EDGES = {"Protein ACTS_ON Protein": [{"head": "P04637", "tail": "Q00987"}]}


@pytest.fixture(scope="module")
def resolver() -> NameResolver:
    return NameResolver(SCHEMA, MemoryStore(NODES, EDGES))


@pytest.mark.parametrize(
    ("label", "text", "node", "way"),
    [
        ("Disease", "DOID:2841", "DOID:2841", TakenBy.IN_GRAPH),
        ("Disease", "doid:2841", "DOID:2841", TakenBy.ID),
        ("Disease", "p53x", "p53x", TakenBy.IN_GRAPH),
        ("Disease", "asthma", "DOID:2841", TakenBy.NAME),
        ("Disease", "  ASTHMA ", "DOID:2841", TakenBy.NAME),
        ("Disease", "the disease asthma", "DOID:2841", TakenBy.NAME),
        ("Disease", "bronchial asthma", "DOID:2841", TakenBy.SYNONYM),
        ("Disease", "brain tumours", "DOID:1", TakenBy.NAME),
        ("Disease", "Alzheimers disease familial", "DOID:1", TakenBy.SYNONYM),
        ("Disease", "Alzheimer\u2019s disease (familial)", "DOID:1", TakenBy.SYNONYM),
        ("Disease", "renal \u03b1\u2013disease", "DOID:4", TakenBy.NAME),
        # Of two names that differ by case alone, the one that is written so.
        ("Disease", "Fever", "DOID:3", TakenBy.NAME),
        # An id that the graph lacks is one, though another node has it for a cross-reference.
        ("Disease", "DOID:99", "DOID:99", TakenBy.FORM),
        ("Gene", "TP53", "TP53", TakenBy.IN_GRAPH),
        ("Gene", "tp53", "TP53", TakenBy.ID),
        ("Gene", "p53", "TP53", TakenBy.SYNONYM),
        ("Gene", "PDJ", "PARK2", TakenBy.SYNONYM),
        ("Gene", "gene PARK2", "PARK2", TakenBy.IN_GRAPH),
        ("Gene", "NOBODY7", "NOBODY7", TakenBy.FORM),
        ("Protein", "MDM2", "Q00987", TakenBy.NAME),
        ("Protein", "HDM2", "Q00987", TakenBy.SYNONYM),
        # Isoforms of one entry are no ambiguity, and a symbol may look like an accession.
        ("Protein", "TP53", "P04637", TakenBy.NAME),
        ("Protein", "P2RY12", "Q9H244", TakenBy.NAME),
        ("Protein", "Q12345", "Q12345", TakenBy.FORM),
        ("Tissue", "cerebral", "BTO:0000142", TakenBy.NAME),
    ],
)
def test_a_text_is_taken_for_one_node(resolver: NameResolver, label: str, text: str, node: str, way: TakenBy) -> None:
    taken = resolver.resolve(label, text)

    assert (taken.ref.label, taken.ref.id, taken.way) == (label, node, way)


@pytest.mark.parametrize(
    ("label", "text", "error", "message", "hint"),
    [
        ("Disease", "asthmaa", UnknownName, "there is no Disease called 'asthmaa'", "did you mean asthma?"),
        ("Disease", "MDM2", UnknownName, "there is no Disease called 'MDM2'", "by its id, which looks like DOID:"),
        ("Disease", "FEVER", AmbiguousName, "several Disease nodes are called 'FEVER'", "DOID:2 (fever), DOID:3"),
        ("Protein", "H4", AmbiguousName, "several Protein nodes are called 'H4'", "P62805 (H4C1), Q99525 (H4C7)"),
        # Cyrillic.
        ("Protein", "\u041c\u0414\u041c2", UnknownName, "there is no Protein called", "looks like P04637"),
        ("Protein", "", UnknownName, "there is no Protein called ''", ""),
        ("Protein", "x" * 100_000, UnknownName, "there is no Protein called", ""),
        ("Protein", "\udcff", UnknownName, "there is no Protein called", ""),
        ("Protein", "'; MATCH (n) DETACH DELETE n //", UnknownName, "there is no Protein called", ""),
    ],
)
def test_a_text_that_names_no_node_or_several_is_refused(
    resolver: NameResolver, label: str, text: str, error: type[KgcheckError], message: str, hint: str
) -> None:
    with pytest.raises(error) as caught:
        resolver.resolve(label, text)

    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("words", "meant", "taken"),
    [
        ("P04637 ACTS_ON Q00987", "P04637 ACTS_ON Q00987", []),
        ("p53 ACTS_ON MDM2", "P04637 ACTS_ON Q00987", ["p53 taken for Protein P04637 (synonym)"]),
        ("the protein TP53 acts on MDM2", "P04637 ACTS_ON Q00987", ["TP53 taken for Protein P04637 (name)"]),
        ("TP53 acts_on MDM2", "P04637 ACTS_ON Q00987", []),
        ("MDM2 is targeted by TP53", "P04637 ACTS_ON Q00987", []),
        ("gene TP53 encodes TP53", "TP53 TRANSLATED_INTO P04637", ["TP53 taken for Protein P04637 (name)"]),
        ("TP53 is encoded by TP53", "TP53 TRANSLATED_INTO P04637", []),
        ("attribute TP53 acts on MDM2 score", "attribute P04637 ACTS_ON Q00987 score", []),
        ("asthma is a kind of brain tumor", "DOID:2841 HAS_PARENT DOID:1", []),
        ("existence disease bronchial asthma", "existence Disease DOID:2841", []),
        ("attribute Disease brain tumor name", "attribute Disease DOID:1 name", []),
    ],
)
def test_a_request_by_names_is_one_by_ids(resolver: NameResolver, words: str, meant: str, taken: list[str]) -> None:
    by_text, by_words = (resolve_request(given, resolver) for given in ([words], words.split()))

    assert by_text == by_words
    assert by_text.text == meant
    assert set(taken) <= set(map(str, by_text.taken))
    assert all(one.text != one.ref.id for one in by_text.taken)


def test_a_text_of_many_relations_takes_no_ages(resolver: NameResolver) -> None:
    for text in ("acts on " * 200, "TP53 " + "acts on " * 2_000 + "MDM2", "\udcff acts on \udcff"):
        started = monotonic()
        with pytest.raises(UsageError):
            resolve_request([text], resolver)
        assert monotonic() - started < 10


def test_what_an_authority_issued_stands_for_itself_and_its_other_names_are_known() -> None:
    names = SnapshotNames(demo().reference, SCHEMA)
    try:
        resolver = NameResolver(SCHEMA, MemoryStore({"Gene": [{"id": "PRKN", "synonyms": ["PARK2"]}]}, {}), names)
        # PARK2 was a symbol; the graph has it as a name of another.
        assert resolver.resolve("Gene", "PARK2").way is TakenBy.ISSUED
        assert resolver.resolve("Gene", "apoe").ref.id == "APOE"
        by_name = resolver.resolve("Protein", "PARK2")
        assert (by_name.ref.id, by_name.way) == ("O60260", TakenBy.SOURCE)
        assert str(by_name) == "PARK2 taken for Protein O60260 (name in a source)"
    finally:
        names.close()


@pytest.fixture(scope="module")
def store() -> Iterator[EmbeddedStore]:
    with EmbeddedStore(demo().store, SCHEMA) as store:
        yield store


def test_every_node_is_found_by_its_id_and_by_its_names_or_is_ambiguous(store: EmbeddedStore) -> None:
    """By every node of the demo: never another one."""
    resolver, found, refused = NameResolver(SCHEMA, store), 0, 0
    for label in SCHEMA.labels:
        for row in (row for table in store.scan_nodes(label) for row in table.to_pylist() if row["id"] != NO_ID):
            assert resolver.resolve(label.name, row["id"]).ref.id == row["id"]
            if not (name := (row.get("name") or "").strip()) or store.nodes(label, [name]):
                continue
            meant = {taken.ref.id for taken in resolver.meant(label.name, name)}
            same = {label.base_id(row["id"])} if label.isoforms else {row["id"]}
            assert same & {label.base_id(one) for one in meant}, (label.name, row["id"], name, meant)
            found, refused = found + (len(meant) == 1), refused + (len(meant) > 1)
    assert found > 400
    assert refused < 20


def test_a_text_is_read_once_and_nothing_holds_the_table_of_names(store: EmbeddedStore) -> None:
    text = read_given("TLR4 acts on TNF.", "text")
    table = NameTable(store)
    found, kept = table.things(text), weakref.ref(table)

    assert [thing.text for thing in found[1]] == ["TLR4", "TNF"]
    assert table.things(text) is found
    assert table.things(text.model_copy()) == found
    del table
    assert kept() is None


@settings(max_examples=examples(100), deadline=None)
@given(
    st.sampled_from([label.name for label in SCHEMA.labels]),
    st.one_of(st.text(max_size=40), st.text(alphabet="TP53\u0422\u0420\u200b -'\u2013%_*", max_size=12)),
)
def test_no_text_breaks_it_and_what_it_finds_has_that_name(label: str, text: str) -> None:
    resolver = NameResolver(SCHEMA, _STORE, index=lambda: _INDEX)
    try:
        taken = resolver.resolve(label, text)
    except (UnknownName, AmbiguousName):
        return
    assert taken.way is TakenBy.FORM or taken.ref.id in {row["id"] for row in NODES.get(label, ())}
    assert taken.text.isascii() or not taken.ref.id.startswith("P0")


_STORE = MemoryStore(NODES, EDGES)
_INDEX = NameIndex.from_store(_STORE)


class Versioned(MemoryStore):
    """A store with a state, which counts how often its nodes are read."""

    version, scans = "1", 0

    def state(self) -> str | None:
        return self.version

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        self.scans += 1
        return super().scan_nodes(label)


def looked_up(store: MemoryStore, cache: Path) -> tuple[list[NameLink], bool]:
    index = NameIndex.from_store(store, cache)
    return index.links(tokens("p53, the gene CAT and bronchial asthma")), index.one_species


def test_names_are_read_once_of_a_graph_that_is_as_it_was(tmp_path: Path) -> None:
    store = Versioned(NODES, EDGES)
    first = looked_up(store, tmp_path)
    scans = store.scans

    assert scans
    assert len(first[0]) == 4
    assert first == looked_up(MemoryStore(NODES, EDGES), tmp_path / "another")
    assert looked_up(store, tmp_path) == first
    assert store.scans == scans

    store.version = "2"
    files = list(tmp_path.glob("*.arrow"))
    looked_up(store, tmp_path)

    assert not any(path.exists() for path in files)


@pytest.mark.parametrize("change", ["state", "retired", "damaged", "foreign", "other store"])
def test_names_of_another_graph_are_not_taken_for_its_own(tmp_path: Path, change: str) -> None:
    looked_up(Versioned(NODES, EDGES), tmp_path)
    store = Versioned({"Gene": [{"id": "CAT9", "name": "p53", "synonyms": []}]}, {})
    if change == "state":
        store.version = "2"
    elif change == "retired":
        store.with_retired = True
    elif change == "other store":
        store.store_id = lambda: "another"  # type: ignore[method-assign]
    for path in tmp_path.rglob("*.arrow") if change in ("damaged", "foreign") else ():
        if change == "damaged":
            path.write_bytes(path.read_bytes()[:-40])
        else:
            feather.write_feather(pa.table({"key": ["p53"], "id": [7]}), path)

    (link,) = looked_up(store, tmp_path)[0]

    assert [one.ref.id for one in link.candidates] == ["CAT9"]


def test_names_of_a_graph_that_changes_while_they_are_read_are_not_kept(tmp_path: Path) -> None:
    class Changing(Versioned):
        def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
            self.version += "1"
            return super().scan_nodes(label)

    looked_up(Changing(NODES, EDGES), tmp_path)

    assert not list(tmp_path.rglob("*.arrow"))


def test_a_cache_that_cannot_be_written_stops_no_look_up(tmp_path: Path) -> None:
    (cache := tmp_path / "cache").write_text("a file")

    assert len(looked_up(Versioned(NODES, EDGES), cache)[0]) == 4
