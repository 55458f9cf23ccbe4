"""Rows of delimited text: any separator, quotes, cut-off rows, what cannot be read."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgcheck.errors import KgcheckError
from kgcheck.forms.source import Source
from kgcheck.forms.text_rows import TextRows, dialect_of

HEADER = ["subject", "predicate", "object", "publications"]


def source(folder: Path, data: bytes, name: str = "edges.tsv") -> Source:
    path = folder / name
    path.write_bytes(data)
    return Source(name, path)


def read(folder: Path, data: bytes) -> tuple[list[list[str]], TextRows]:
    made = source(folder, data)
    dialect = dialect_of(made)
    assert dialect
    rows = TextRows(made, dialect, len(dialect.header) or 3)
    return [row for batch in rows.batches() for row in batch.column("fields").to_pylist()], rows


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|"])
def test_every_separator_is_told_from_the_others(separator: str, tmp_path: Path) -> None:
    text = "\n".join(separator.join(row) for row in (HEADER, ["A:1", "is a", "B:2", "x"], ["A:2", "is a", "B:3", ""]))
    found, _ = read(tmp_path, text.encode())

    assert found == [["A:1", "is a", "B:2", "x"], ["A:2", "is a", "B:3", ""]]


def test_lists_within_fields_are_no_separators(tmp_path: Path) -> None:
    text = "id\tcategory\txref\nA:1\tx|y|z\ta,b\nA:2\tx|y|z\tc,d\n"
    dialect = dialect_of(source(tmp_path, text.encode()))

    assert dialect
    assert (dialect.separator, dialect.header) == ("\t", ("id", "category", "xref"))


def test_comments_before_the_header_and_a_header_in_a_comment(tmp_path: Path) -> None:
    below = dialect_of(source(tmp_path, b"#a: b\n#c\nsubject\tpredicate\tobject\nA:1\tp\tB:1\n"))
    within = dialect_of(source(tmp_path, b"#note\n#DatabaseID\tName\tCode\nOMIM:1\tn1\tHP:1\nOMIM:2\tn2\tHP:1\n"))

    assert below
    assert within
    assert (below.header, below.first) == (("subject", "predicate", "object"), 4)
    assert (within.header, within.first) == (("DatabaseID", "Name", "Code"), 3)


def test_a_first_row_whose_values_recur_is_no_header(tmp_path: Path) -> None:
    dialect = dialect_of(source(tmp_path, b"steroid\taffects\tcell\nlipid\taffects\ttissue\n"))

    assert dialect
    assert dialect.header == ()


TABS, COMMAS = b"subject\tpredicate\tobject\n", b"subject,predicate,object\n"


@pytest.mark.parametrize(
    ("data", "wanted", "rejected"),
    [
        # Rows that are short are filled; a field too many shifts the others, in commas even where the last is empty.
        (TABS + b"A\tp\nA\tp\tC\tmore\nA\tp\tD\t\n", [["A", "p", ""], ["A", "p", "D"]], [(3, "field_count")]),
        (COMMAS + b"A,p,\nA,text,C,\n", [["A", "p", ""]], [(3, "field_count")]),
        # A quote that is not closed is a sign in tabs, and a fault in commas.
        (TABS + b'"A\tp\tB\n5" x\tp\t"C ""c"""\n', [['"A', "p", "B"], ['5" x', "p", 'C "c"']], []),
        (COMMAS + b'"A,p,B\nC,p,D\n', [["C", "p", "D"]], [(2, "quoting")]),
        (COMMAS + b'A,p,"two\n\nlines"\nB,p,C\n', [["A", "p", "two\n\nlines"], ["B", "p", "C"]], []),
        # Bytes that are no text cost their row alone.
        (TABS + b"A\tp\t\xff\nB\tp\t\x00\nC\tp\tD\n", [["C", "p", "D"]], [(2, "not_utf8"), (3, "nul_byte")]),
        # The numbers of columns of a data frame are no row.
        (b"0\t1\t2\na\tis\tb\nb\tis\tc\n", [["a", "is", "b"], ["b", "is", "c"]], [(1, "header_as_data")]),
    ],
)
def test_rows_are_read_or_rejected_with_their_line(
    data: bytes, wanted: list[list[str]], rejected: list[tuple[int, str]], tmp_path: Path
) -> None:
    found, rows = read(tmp_path, data)

    assert (found, [(r.line, r.reason) for r in rows.rejected]) == (wanted, rejected)
    assert rows.short == (1 if data.startswith(TABS + b"A\tp\n") else 0)
    assert all(r.row for r in rows.rejected)


def test_a_quote_that_is_not_closed_costs_its_row_alone(tmp_path: Path) -> None:
    lines = [f"A:{n},p,B:{n}" for n in range(1_200)]
    lines[3], lines[40], lines[41] = 'A:3,p,"B:3', 'A:40,p,"B:40', '"A:41","p","two\nlines"'
    found, rows = read(tmp_path, "\n".join(["subject,predicate,object", *lines]).encode())

    assert [(r.line, r.reason) for r in rows.rejected] == [(5, "quoting"), (42, "quoting")]
    assert [row[0] for row in found] == [f"A:{n}" for n in range(1_200) if n not in (3, 40)]
    assert found[39] == ["A:41", "p", "two\nlines"]


@pytest.mark.parametrize("quoted", ["", '"x"'])
def test_a_header_that_stands_between_rows_is_none(quoted: str, tmp_path: Path) -> None:
    text = f"subject,predicate,object\nA:1,p,B:1\nsubject,predicate,object\nA:2,p,B:2{quoted and ',' + quoted}\n"
    found, rows = read(tmp_path, text.encode())

    assert found[0] == ["A:1", "p", "B:1"]
    assert (3, "header_as_data") in [(r.line, r.reason) for r in rows.rejected]


FIELDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8).map(str.strip)


@given(
    st.lists(st.tuples(FIELDS, FIELDS, FIELDS, FIELDS), min_size=1, max_size=8),
    st.sampled_from(["\t", ",", ";", "|"]),
)
def test_what_a_library_writes_is_read_as_it_was(rows: list[tuple[str, ...]], separator: str) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    # Enough plain rows that the separator can be told.
    plain = [("A:1", "p", "B:1", "x")] * 30
    writer.writerows([HEADER, *plain, *rows])
    with TemporaryDirectory() as folder:
        found, read_rows = read(Path(folder), text.getvalue().encode())

    assert [tuple(row) for row in found[30:]] == rows
    assert read_rows.rejected == []


@given(st.binary(max_size=200))
@example(b'a,b\n"')
@example(b"\xef\xbb\xbfa\tb\n1\t2")
@example(b"#\n#\n")
@example(b"id\tcategory\n\n\n")
def test_any_bytes_are_rows_or_an_error_that_people_can_read(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        made = source(Path(folder), data)
        if b"\x00" in data or (dialect := dialect_of(made)) is None:
            return
        rows = TextRows(made, dialect, len(dialect.header) or 2)
        try:
            widths = {len(row) for batch in rows.batches() for row in batch.column("fields").to_pylist()}
        except KgcheckError:
            return
        assert widths <= {len(dialect.header) or 2}
