"""Reading many files: what one of them does to the others, and what any table at all does to the reader."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.forms.draft import draft_schema
from kgcheck.forms.read import ReadFiles, read_files
from kgcheck.progress import NoProgress
from tests.support.graph_files import graphml

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def reading(*paths: Path) -> Iterator[ReadFiles]:
    with duckdb.connect() as db, TemporaryDirectory() as scratch:
        yield read_files(paths, db, Path(scratch), NoProgress())


def broken_parquet(path: Path) -> None:
    """Write a table whose schema can be read, and whose rows cannot."""
    table = pa.table({"id": [f"HGNC:{n}" for n in range(9_000)], "category": ["biolink:Gene"] * 9_000})
    parquet.write_table(table, path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4:2_000] = b"\xff" * 1_996
    path.write_bytes(data)


def test_headers_in_a_file_of_their_own_serve_the_parts_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "Gene-header.csv").write_text("geneId:ID(Gene);symbol:string;:LABEL\n", encoding="utf-8")
    (tmp_path / "Gene-part000.csv").write_text("A1;BRCA1;Gene\nA2;TP53;Gene\n", encoding="utf-8")
    broken_parquet(tmp_path / "nodes.parquet")

    with reading(tmp_path) as found:
        assert {file.name: file.nodes for file in found.files} == {"Gene-header.csv": 0, "Gene-part000.csv": 2}
        assert [line for line in found.lines() if "nodes.parquet" in line and "left out" in line]


def test_of_broken_files_alone_an_error_tells(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        broken_parquet(tmp_path / name)

    with pytest.raises(InputFormat, match=r"b\.parquet"), reading(tmp_path):
        pass


def test_files_of_one_name_in_two_folders_are_told_apart(tmp_path: Path) -> None:
    for folder, rows in (("one", ["a\tb"]), ("two", ["a\tc", "a\td", "a"])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "edges.tsv").write_text("\n".join(["source\ttarget", *rows]), encoding="utf-8")

    with reading(tmp_path / "one", tmp_path / "two") as found:
        assert [(file.name, file.edges) for file in found.files] == [("edges.tsv", 1), ("two/edges.tsv", 2)]
        assert found.tables.db.execute("SELECT file FROM quarantine").fetchall() == [("two/edges.tsv",)]


def test_what_is_read_again_without_a_broken_file_is_told_once(tmp_path: Path) -> None:
    whole = graphml(("a", "b"), names={"a": "A", "b": "B"})
    (tmp_path / "a.graphml").write_text(whole.replace('target="b"', ""), encoding="utf-8")
    many = graphml(names={f"n{n}": "x" for n in range(25_000)})
    (tmp_path / "b.graphml").write_text(many[:-40], encoding="utf-8")

    with reading(tmp_path / "a.graphml", tmp_path / "b.graphml") as found:
        assert len([line for line in found.lines() if "b.graphml" in line]) == 1
        assert found.tables.db.execute("SELECT file, count(*) FROM quarantine GROUP BY 1").fetchall() == [
            ("a.graphml", 1)
        ]


NAMES = st.sampled_from(
    "id name category subject predicate object negated relation :ID :ID(Gene) :LABEL :START_ID(Gene) :END_ID :TYPE"
    " score:float tags:string[] :IGNORE source target metaedge kind from to type node1 node2 x_id x_name x_type y_id"
    " y_name y_type relation display_relation subject_id predicate_id object_id mapping_justification".split()
)
CELLS = st.one_of(
    st.sampled_from(["HGNC:1", "biolink:Gene", "a", "b", "", '"', "'", ";", "1", "true", "[]", '["a"]', "a|b", "NULL"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
)
TABLES = st.tuples(
    st.lists(st.one_of(NAMES, CELLS), min_size=1, max_size=5),
    st.lists(st.lists(CELLS, max_size=6), max_size=5),
    st.sampled_from(["\t", ",", ";", "|"]),
    st.sampled_from(["nodes.tsv", "edges.csv", "a_nodes.csv", "Gene-header.csv", "Gene-part0.csv", "x.txt", "x.sif"]),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"]),
)


@given(st.lists(TABLES, min_size=1, max_size=3))
def test_any_tables_are_a_graph_or_are_refused(drawn: list[tuple[list[str], list[list[str]], str, str, str]]) -> None:
    with TemporaryDirectory() as folder:
        for number, (header, rows, delimiter, name, encoding) in enumerate(drawn):
            (Path(folder) / str(number)).mkdir()
            text = "\n".join(delimiter.join(row) for row in [header, *rows])
            (Path(folder) / str(number) / name).write_text(text, encoding, errors="replace", newline="")
        try:
            with reading(*sorted(Path(folder).iterdir())) as found:
                schema = draft_schema(found.tables, "x", found.digest)
                assert schema.labels or found.tables.count("node") == 0
        except KgcheckError as error:
            told = error.message, error.hint
        else:
            return
    assert all(told)
