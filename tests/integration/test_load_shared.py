"""One file that feeds many labels and patterns: each row goes where it says, and none is lost untold."""

from pathlib import Path

import pytest

from kgcheck.errors import ConfigurationError, InputFormat
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.loading.load import FileCount, LoadSummary, load_directory
from kgcheck.loading.staging import OF_NONE
from kgcheck.profile.import_files import load_recipe
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.settings import Settings

GRAPH = """
[profile]
name = "shared"
version = 1
title = "two labels that share their files"

[[labels]]
name = "Gene"
meaning = "a gene"
id_pattern = "g[0-9]+"
id_example = "g1"
properties = { name = { type = "string" }, size = { type = "integer" } }

[[labels]]
name = "Disease"
meaning = "a disease"
id_pattern = "d[0-9]+"
id_example = "d1"
properties = { name = { type = "string" } }

[[relations]]
type = "related_to"
head = "Gene"
tail = "Gene"

[[relations]]
type = "related_to"
head = "Gene"
tail = "Disease"

[[relations]]
type = "subclass_of"
head = "Disease"
tail = "Disease"
"""

FILES = """
[format]
list_separator = "|"

[[nodes]]
file = "nodes.tsv"
label = "Gene"
where = { column = "category", contains = "biolink:Gene" }
id = "id"
prefix = "Gene::"
properties = { name = "name", size = "size" }
optional_columns = ["size"]

[[nodes]]
file = "nodes.tsv"
label = "Disease"
where = { column = "category", contains = ["biolink:Disease", "biolink:PhenotypicFeature"] }
id = "id"
properties = { name = "name" }

[[edges]]
file = "edges.tsv"
head = "Gene"
relation = "related_to"
tail = "Gene"
where = { column = "predicate", equals = ["biolink:related_to", "biolink:interacts_with"] }
from = "subject"
to = "object"
from_prefix = "Gene::"
to_prefix = "Gene::"

[[edges]]
file = "edges.tsv"
head = "Gene"
relation = "related_to"
tail = "Disease"
where = { column = "predicate", equals = ["biolink:related_to", "biolink:interacts_with"] }
from = "subject"
to = "object"
from_prefix = "Gene::"

[[edges]]
file = "edges.tsv"
head = "Disease"
relation = "subclass_of"
tail = "Disease"
where = { column = "predicate", equals = "biolink:subclass_of" }
from = "subject"
to = "object"
"""

NODES = """id\tcategory\tname\tsize
Gene::g1\tbiolink:Gene|biolink:NamedThing\tone\t1
Gene::g2\tbiolink:NamedThing | biolink:Gene\ttwo\t2
d1\tbiolink:Disease\td one\t
d2\tbiolink:PhenotypicFeature\td two\t
c1\tbiolink:Drug\tnobody's\t
c2\tbiolink:Drug\tnobody's\t
x\t\t\t
g9\tbiolink:Gene\tno prefix\t9
d3\tbiolink:Disease
Gene::g3\tbiolink:Gene|biolink:Disease\tof both\tmany
"""

EDGES = """id\tsubject\tpredicate\tobject
1\tGene::g1\tbiolink:interacts_with\tGene::g2
2\tGene::g1\tbiolink:related_to\td1
3\td1\tbiolink:subclass_of\td2
4\tGene::g1\tbiolink:treats\td2
5\tGene::g1\tbiolink:related_to\tGene::g7
"""


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    """A profile in a folder of its own."""
    folder = tmp_path / "profile"
    folder.mkdir()
    (folder / "graph.toml").write_text(GRAPH)
    (folder / "files.toml").write_text(FILES)
    return load_schema(str(folder))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The import directory."""
    folder = tmp_path / "import"
    folder.mkdir()
    (folder / "nodes.tsv").write_text(NODES)
    (folder / "edges.tsv").write_text(EDGES)
    return folder


def load(schema: Schema, source: Path, tmp_path: Path) -> LoadSummary:
    with EmbeddedStore(tmp_path / "graph.lbdb", schema, create=True) as store:
        return load_directory(source, store, Settings(), quarantine=tmp_path / "quarantine.jsonl")


def counted(summary: LoadSummary) -> dict[tuple[str, str], FileCount]:
    return {(f.file, f.target): f for f in summary.files}


def test_each_row_goes_where_it_says_and_none_is_lost(schema: Schema, source: Path, tmp_path: Path) -> None:
    summary = load(schema, source, tmp_path)
    files = counted(summary)
    assert {key: (f.read, f.loaded, f.quarantined) for key, f in files.items()} == {
        ("nodes.tsv", "Gene"): (4, 2, {"bad_id": 1, "bad_number": 1}),
        ("nodes.tsv", "Disease"): (2, 2, {}),
        ("nodes.tsv", OF_NONE): (4, 0, {"field_count": 1}),
        ("edges.tsv", "Gene related_to Gene"): (2, 1, {"unknown_tail": 1}),
        ("edges.tsv", "Gene related_to Disease"): (1, 1, {}),
        ("edges.tsv", "Disease subclass_of Disease"): (1, 1, {}),
        ("edges.tsv", OF_NONE): (1, 0, {}),
    }
    assert summary.of_none == {
        "nodes.tsv: category biolink:Drug": 2,
        "nodes.tsv: category ": 1,
        "edges.tsv: predicate biolink:treats": 1,
    }
    assert sum(f.read for f in summary.files) == NODES.count("\n") + EDGES.count("\n") - 2
    rejected = (tmp_path / "quarantine.jsonl").read_text()
    assert "g9 does not begin with Gene::" in rejected
    # Every rejected row stands there as it does in its file.
    assert rejected.count('"row":null') == 0
    assert "Gene::g3\\tbiolink:Gene|biolink:Disease\\tof both\\tmany" in rejected
    with EmbeddedStore(tmp_path / "graph.lbdb", schema) as store:
        assert store.node(schema.ref("Gene", "g2")) == {"id": "g2", "name": "two", "size": 2}
        assert store.counts().edges["Gene related_to Disease"] == 1


def test_a_second_load_reads_nothing_again(schema: Schema, source: Path, tmp_path: Path) -> None:
    first = load(schema, source, tmp_path)
    before = (tmp_path / "quarantine.jsonl").read_text()
    again = load(schema, source, tmp_path)
    assert again.total("loaded") == again.total("changed") == 0
    assert again.total("unchanged") == first.total("loaded")
    assert (again.of_none, again.quarantined, again.total("read")) == (
        first.of_none,
        first.quarantined,
        first.total("read"),
    )
    assert (tmp_path / "quarantine.jsonl").read_text() == before


def test_an_edge_file_that_changes_alone_finds_its_ends(schema: Schema, source: Path, tmp_path: Path) -> None:
    load(schema, source, tmp_path)
    with (source / "edges.tsv").open("a") as stream:
        stream.write("6\tGene::g2\tbiolink:related_to\td2\n")
    files = counted(load(schema, source, tmp_path))
    added = files["edges.tsv", "Gene related_to Disease"]
    assert (added.read, added.loaded, added.unchanged) == (2, 1, 1)
    assert files["edges.tsv", "Gene related_to Gene"].quarantined == {"unknown_tail": 1}
    # Rejected rows of the other file are kept once.
    assert (tmp_path / "quarantine.jsonl").read_text().count("g9 does not begin") == 1


def test_a_column_may_be_missing_only_where_the_recipe_says_so(schema: Schema, source: Path, tmp_path: Path) -> None:
    lines = [line.split("\t") for line in NODES.splitlines()]
    without = "\n".join("\t".join(cells[:3]) for cells in lines if len(cells) == 4)
    (source / "nodes.tsv").write_text(without + "\n")
    assert counted(load(schema, source, tmp_path))["nodes.tsv", "Gene"].loaded == 3
    (source / "nodes.tsv").write_text(NODES.replace("\tname\t", "\ttitle\t", 1))
    with pytest.raises(InputFormat, match="lacks name"):
        load(schema, source, tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('where = { column = "category", contains = "biolink:Gene" }\n', "", "1 of them without `where`"),
        ('label = "Disease"\n', 'label = "Gene"\n', "2 times for Gene"),
        ('contains = "biolink:Gene"', 'contains = ["biolink:Disease", "biolink:PhenotypicFeature"]', "2 labels take"),
        ('contains = "biolink:Gene"', 'contains = "a", equals = "b"', "either equals or contains"),
        ('column = "category", contains = "biolink:Gene"', 'column = "category"', "either equals or contains"),
        ('file = "edges.tsv"', 'file = "nodes.tsv"', "both nodes and edges"),
        ('file = "nodes.tsv"', 'file = "../nodes.tsv"', "must name files inside"),
    ],
)
def test_a_recipe_that_shares_a_file_wrongly_is_refused(schema: Schema, before: str, after: str, message: str) -> None:
    (schema.folder / "files.toml").write_text(FILES.replace(before, after, 1))
    with pytest.raises(ConfigurationError, match=message):
        load_recipe(schema)
