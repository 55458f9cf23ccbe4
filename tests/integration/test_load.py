"""What a load makes of the rows and files it is given, good and bad."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.model import Ref
from tests.integration.import_directory import (
    ACTS_ON,
    CKG,
    DISEASES,
    DISGENET,
    GENES,
    PARENTS,
    PROTEINS,
    REACTOME,
    SEQUENCES,
    SMPDB,
    ImportDirectory,
    Loaded,
    content,
)
from tests.support import quick_of

Load = Callable[[], Loaded]


@pytest.fixture
def directory(tmp_path: Path) -> ImportDirectory:
    """Two proteins that act on each other, and headers."""
    made = ImportDirectory(tmp_path / "import")
    made.write(PROTEINS, made.row(PROTEINS, ID="P1", name="A"), made.row(PROTEINS, ID="P2", name="B"))
    made.write(ACTS_ON, made.row(ACTS_ON, start="P1", end="P2", score="0.5"))
    return made


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "graph.lbdb"


@pytest.fixture
def load(directory: ImportDirectory, store: Path, tmp_path: Path) -> Load:
    return lambda: Loaded(directory, store, tmp_path / "q" / "quarantine.jsonl")


def names(store: Path, label: str = "Protein") -> dict[str, object]:
    with EmbeddedStore(store, CKG) as opened:
        return {row["id"]: row.get("name") for t in opened.scan_nodes(CKG.label(label)) for row in t.to_pylist()}


def held(store: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    with EmbeddedStore(store, CKG) as opened:
        return content(opened), opened.meta()


# --- whole files -----------------------------------------------------------------------------------


def test_header_only_files_and_a_missing_optional_one_are_fine(load: Load, store: Path) -> None:
    first = load()
    assert (first.summary.nodes, first.summary.edges, first.summary.quarantine) == (2, 1, None)
    assert first.file(GENES).read == 0
    assert {f.file for f in first.summary.files} >= {PROTEINS, GENES, PARENTS}
    assert len(first.summary.files) == 35
    second = load()
    assert (second.summary.total("loaded"), second.summary.total("unchanged")) == (0, 3)
    assert names(store) == {"P1": "A", "P2": "B"}


def test_missing_files_and_a_missing_folder_are_named(directory: ImportDirectory, load: Load, store: Path) -> None:
    (directory.folder / GENES).unlink()
    with pytest.raises(InputMissing, match=r"lacks 1 of 35 source files: databases/Gene\.tsv") as caught:
        load()
    assert "only its header line" in caught.value.hint
    directory.folder = directory.folder / "nowhere"
    with pytest.raises(InputMissing, match=r"there is no folder .*nowhere"):
        load()
    assert not store.exists()


BROKEN = [
    (b"", "is empty"),
    (b"\xef\xbb\xbf", "is empty"),
    (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "binary or not UTF-8"),
    (b"\x00\x01\x02\x03\n", "binary or not UTF-8"),
    (b"ID\tn\xe4me\n", "binary or not UTF-8"),
    (b"identifier\tname\n", "has another header: it lacks ID"),
    (b"\nID\tname\n", "has another header: it lacks ID"),
    (b"P1\tA\n", "has another header"),
    (b"ID;name\n", "has another header"),
    (b"ID\tID\tname\tfamily\tsynonyms\ttaxid\n", "more than one column ID"),
]


@pytest.mark.slow
def test_a_broken_file_leaves_the_store_as_it_was(directory: ImportDirectory, load: Load, store: Path) -> None:
    load()
    before = held(store)
    # The recipe names Gene.tsv after Protein.tsv, so that a change has been read when it turns out to be broken.
    directory.write(PROTEINS, directory.row(PROTEINS, ID="P3"))
    for broken, message in BROKEN:
        directory.raw(GENES, broken)
        with pytest.raises(InputFormat, match=message) as caught:
            load()
        assert caught.value.hint, broken
        # Not its bytes: LadybugDB writes a checkpoint when it closes a file that it opened for writing.
        assert held(store) == before, broken
        assert [p.name for p in store.parent.glob("graph.lbdb*")] == ["graph.lbdb"], broken


@pytest.mark.parametrize(("broken", "message"), BROKEN[:3])
def test_a_broken_file_leaves_no_new_store_behind(
    directory: ImportDirectory, load: Load, store: Path, broken: bytes, message: str
) -> None:
    directory.raw(PARENTS, broken)
    with pytest.raises(InputFormat, match=message):
        load()
    assert list(store.parent.glob("graph.lbdb*")) == []


# --- rows ------------------------------------------------------------------------------------------


def test_rows_that_cannot_be_read_are_quarantined_as_they_stand(directory: ImportDirectory, load: Load) -> None:
    good = directory.row(PROTEINS, ID="P9")
    rows = [
        *(b"P3\tx\xff\\\t\t\t\t\t", b"P4\ta\x00b\t\t\t\t\t", b"P5\ttoo\tfew", good.encode() + b"\tmore"),
        *(b'P6\t"open\t\t\t\t\t', b'P7\t"a"b\t\t\t\t\t', good.encode()),
    ]
    directory.raw(PROTEINS, directory.header(PROTEINS).encode() + b"\n" + b"\n".join(rows))
    directory.write(ACTS_ON)
    loaded = load()
    reasons = ["not_utf8", "nul_byte", "field_count", "field_count", "quoting", "quoting"]
    assert loaded.reasons(PROTEINS) == list(enumerate(reasons, 2))
    assert [r["detail"] for r in loaded.rejected] == [None, None, "3 fields", "8 fields", None, None]
    assert (loaded.file(PROTEINS).read, loaded.file(PROTEINS).loaded) == (7, 1)


def test_quotes_inside_a_field_are_kept(directory: ImportDirectory, load: Load, store: Path) -> None:
    named = {"P1": '5"-end', "P2": '"a ""b"" c"', "P3": '"with\ttab"', "P4": "it's `x` \\ $y", "P5": '""'}
    directory.write(PROTEINS, *(directory.row(PROTEINS, ID=i, name=n) for i, n in named.items()))
    assert load().rejected == []
    assert names(store) == {"P1": '5"-end', "P2": 'a "b" c', "P3": "with\ttab", "P4": "it's `x` \\ $y", "P5": None}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", quick_of([b"", b"\xef\xbb\xbf"], b"\xef\xbb\xbf"))
def test_line_ends_blank_lines_and_a_byte_order_mark(
    directory: ImportDirectory, load: Load, store: Path, end: bytes, mark: bytes
) -> None:
    header, bad = directory.header(PROTEINS).encode(), b"too\tfew"
    one, two = (directory.row(PROTEINS, ID=i, name="x").encode() for i in ("P1", "P2"))
    directory.raw(PROTEINS, mark + header + end + one + b"\r\n" + end + end + two + b"\n\n" + bad)
    loaded = load()
    # CRLF then CR or LF is one line end and one blank line.
    assert loaded.file(PROTEINS).read == 3
    assert loaded.reasons(PROTEINS) == [(7, "field_count")]
    assert names(store) == {"P1": "x", "P2": "x"}


@pytest.mark.slow
def test_a_very_long_field_is_a_value_but_no_id(directory: ImportDirectory, load: Load, store: Path) -> None:
    long = "x" * (10 << 20)
    directory.write(
        PROTEINS,
        directory.row(PROTEINS, ID="P1", name=long),
        directory.row(PROTEINS, ID=long),
        directory.row(PROTEINS, ID="P2"),
    )
    assert load().reasons(PROTEINS) == [(3, "bad_id")]
    assert len(str(names(store)["P1"])) == 10 << 20


def test_an_id_must_be_one_that_can_be_referred_to(directory: ImportDirectory, load: Load) -> None:
    bad = ["", " ", "P\x01", "P\x1f", "\x0bP", "x" * 513]
    directory.write(PROTEINS, *(directory.row(PROTEINS, ID=i) for i in (*bad, "P2")))
    directory.write(ACTS_ON, *(directory.row(ACTS_ON, start="P2", end=i) for i in bad))
    loaded = load()
    assert loaded.reasons(PROTEINS) == [(line, "bad_id") for line in range(2, 8)]
    assert loaded.reasons(ACTS_ON) == [(line, "bad_id") for line in range(2, 8)]


def test_numbers(directory: ImportDirectory, load: Load, store: Path) -> None:
    good = ["393", " 12 ", "1e3", "12.0", "-7", str(2**62 + 1), ""]
    bad = ["many", "3.7", "1_000", "0x10", "nan", "inf", "1e999", str(2**63), "--1", "1 2", " ", "٣"]
    sizes = [directory.row(SEQUENCES, ID=f"P{i}", size=n) for i, n in enumerate(good + bad)]
    directory.write(SEQUENCES, *sizes)
    directory.write(DISEASES, directory.row(DISEASES, ID="DOID:1"))
    scores = ["-1.0", ".5", "5.", "-2.5e-3", "1e999", "1,5", "0.5.5"]
    directory.write(DISGENET, *(directory.row(DISGENET, start="P1", end="DOID:1", score=n) for n in scores))
    loaded = load()
    assert loaded.reasons(SEQUENCES) == [(i, "bad_number") for i in range(9, 9 + len(bad))]
    assert [r["detail"] for r in loaded.rejected if r["file"] == SEQUENCES] == [f"size is {n}" for n in bad]
    assert loaded.reasons(DISGENET) == [(6, "bad_number"), (7, "bad_number"), (8, "bad_number")]
    with EmbeddedStore(store, CKG) as opened:
        rows = [row for t in opened.scan_nodes(CKG.label("Amino_acid_sequence")) for row in t.to_pylist()]
    assert {r["id"]: r["size"] for r in rows} == {
        f"P{i}": n for i, n in enumerate([393, 12, 1000, 12, -7, 2**62 + 1, None])
    }


def test_of_nodes_with_one_id_the_first_stays(directory: ImportDirectory, load: Load, store: Path) -> None:
    stated = (("P1", "A"), ("P1", "B"), ("P1", "A"), ("P2", "B"), ("P1", "B"))
    directory.write(PROTEINS, *(directory.row(PROTEINS, ID=i, name=n) for i, n in stated))
    directory.write(REACTOME, directory.row(REACTOME, ID="R-HSA-1", name="first"))
    directory.write(SMPDB, directory.row(SMPDB, ID="R-HSA-1", name="second"), directory.row(SMPDB, ID="SMP00001"))
    loaded = load()
    assert loaded.reasons(PROTEINS) == [(3, "duplicate_id"), (4, "duplicate_row"), (6, "duplicate_row")]
    # Of two files, too.
    assert (loaded.reasons(REACTOME), loaded.reasons(SMPDB)) == ([], [(2, "duplicate_id")])
    assert names(store) == {"P1": "A", "P2": "B"}
    assert names(store, "Pathway") == {"R-HSA-1": "first", "SMP00001": None}


def test_parallel_edges_are_kept_and_repeated_rows_are_not(directory: ImportDirectory, load: Load) -> None:
    rows = [directory.row(ACTS_ON, start="P1", end="P2", score=s) for s in ("0.5", "0.6", "", "0.50", "")]
    directory.write(ACTS_ON, *rows)
    loaded = load()
    assert (loaded.file(ACTS_ON).loaded, loaded.summary.edges) == (3, 3)
    assert loaded.reasons(ACTS_ON) == [(5, "duplicate_row"), (6, "duplicate_row")]
    assert load().file(ACTS_ON).unchanged == 3


def test_dangling_edges_say_which_end_is_missing(directory: ImportDirectory, load: Load) -> None:
    ends = (("P9", "P2"), ("P1", "P9"), ("P9", "P8"), ("P2", "P2"), ("P1", "P9"))
    directory.write(ACTS_ON, *(directory.row(ACTS_ON, start=a, end=b) for a, b in ends))
    loaded = load()
    reasons = [(2, "unknown_head"), (3, "unknown_tail"), (4, "unknown_head"), (6, "unknown_tail")]
    assert loaded.reasons(ACTS_ON) == reasons
    assert [r["detail"] for r in loaded.rejected] == ["no Protein P9"] * 4


@pytest.mark.slow
def test_a_changed_property_is_written_and_counted(directory: ImportDirectory, load: Load, store: Path) -> None:
    directory.write(
        PROTEINS,
        directory.row(PROTEINS, ID="P1", name="A", synonyms="x, y,,"),
        directory.row(PROTEINS, ID="P2", name="B", taxid="9606"),
    )
    load()
    directory.write(
        PROTEINS,
        directory.row(PROTEINS, ID="P1", name="A", synonyms="x,z"),
        directory.row(PROTEINS, ID="P2", name="B2"),
    )
    file = load().file(PROTEINS)
    assert (file.loaded, file.changed, file.unchanged) == (0, 2, 0)
    with EmbeddedStore(store, CKG) as opened:
        assert opened.nodes(CKG.label("Protein"), ["P1", "P2"]) == {
            "P1": {"id": "P1", "name": "A", "synonyms": ["x", "z"]},
            "P2": {"id": "P2", "name": "B2"},
        }


def test_columns_that_the_recipe_does_not_name_are_told(directory: ImportDirectory, load: Load) -> None:
    rows = [directory.header(PROTEINS) + "\tmass\tnote", directory.row(PROTEINS, ID="P1") + "\t1\t2"]
    directory.raw(PROTEINS, "\n".join(rows).encode())
    assert load().file(PROTEINS).ignored_columns == "mass, note"


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["P1", "P2", "P3", "", "P\x01", 'P"4', "é"]) | st.text(max_size=4),
        st.sampled_from(["A", '"A"', '"', "a,b", "\\N"]) | st.text(max_size=4),
    ),
    max_size=12,
)


@pytest.mark.slow
def test_no_row_is_lost_whatever_stands_in_it(directory: ImportDirectory, tmp_path: Path) -> None:
    @settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
    @given(rows=ROWS)
    def check(rows: list[tuple[str, str]]) -> None:
        lines = [f"{i}\t\t{n}\t\t\t\t".encode(errors="surrogatepass") for i, n in rows]
        directory.raw(PROTEINS, b"\n".join([directory.header(PROTEINS).encode(), *lines]))
        directory.write(ACTS_ON)
        store = tmp_path / "graph.lbdb"
        store.unlink(missing_ok=True)
        loaded = Loaded(directory, store, tmp_path / "q.jsonl")
        for identifier in names(store):
            assert is_identifier(identifier)
        assert len(names(store)) == loaded.file(PROTEINS).loaded

    check()


def is_identifier(text: str) -> bool:
    try:
        Ref(label="Protein", id=text)
    except ValidationError:
        return False
    return True
