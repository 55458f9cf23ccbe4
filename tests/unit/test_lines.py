"""Lines and records of source files, whatever bytes they are made of."""

import csv
import gzip
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import InputFormat, InputMissing
from kgcheck.loading import lines
from kgcheck.loading.lines import Records, find, read_lines

PIECES = [
    *(b"\n", b"\r", b"\r\n", b"\t", b'"', b"\\", b"a", b" ", b"\x00", b"\x01", b"\xff", b"\xef\xbb\xbf"),
    "é".encode(),
]
ANY_BYTES = st.lists(st.sampled_from(PIECES) | st.binary(max_size=5), max_size=30).map(b"".join)


def reference(data: bytes) -> list[tuple[int, bytes]]:
    """Numbered lines, the plain way."""
    found = re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))
    return list(enumerate(found if found[-1] else found[:-1], 1))


def numbered(path: Path) -> list[tuple[int, bytes]]:
    return [(first + i, line) for first, block in read_lines(path) for i, line in enumerate(block.to_pylist())]


def records(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = Records(path).rows().read_all().to_pylist()
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


@given(data=ANY_BYTES, block=st.integers(1, 9))
def test_line_numbers_and_contents_agree_with_a_plain_reader(folder: Path, data: bytes, block: int) -> None:
    path = folder / "any"
    path.write_bytes(data)
    wanted = reference(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", block)
        if wanted:
            assert numbered(path) == wanted
        else:
            with pytest.raises(InputFormat, match="is empty"):
                numbered(path)


@given(data=ANY_BYTES)
def test_compressed_lines_are_the_same_lines(folder: Path, data: bytes) -> None:
    data = b"first\n" + data
    (folder / "any.gz").write_bytes(gzip.compress(data[:9]) + gzip.compress(data[9:]))
    with pa.output_stream(folder / "any.zst", compression="zstd") as stream:
        stream.write(data)
    assert numbered(folder / "any.gz") == numbered(folder / "any.zst") == reference(data)


@given(data=ANY_BYTES)
def test_records_agree_with_a_plain_reader(folder: Path, data: bytes) -> None:
    path = folder / "records"
    path.write_bytes(b"ID\tname\r\n" + data)
    wanted = [(number, line) for number, line in reference(path.read_bytes())[1:] if line]
    found = records(path)
    assert [row["line"] for row in found] == [number for number, _ in wanted]
    for row, (_, line) in zip(found, wanted, strict=True):
        try:
            assert (row["text"], row["odd_bytes"]) == (line.decode(), None)
        except UnicodeDecodeError:
            assert row["text"] is None
            assert unescaped(str(row["odd_bytes"])) == line
        assert row["quoted"] == (fields(str(row["text"])) if b'"' in line and row["text"] else None)


def unescaped(text: str) -> bytes:
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes.fromhex(m[1].decode()), text.encode())


def fields(text: str) -> list[str] | None:
    try:
        return next(csv.reader([text], delimiter="\t", strict=True))
    except csv.Error:
        return None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"a ""b"" c"\td', ['a "b" c', "d"]),
        ('5"-end\td', ['5"-end', "d"]),
        ('"a\td"', ["a\td"]),
        ('""\t""', ["", ""]),
        ('"open\td', None),
        ('"a"b\td', None),
    ],
)
def test_quotes_follow_rfc_4180_and_stray_ones_inside_a_field_are_text(
    folder: Path, line: str, expected: list[str] | None
) -> None:
    (folder / "quotes").write_text(f"ID\tname\n{line}\n")
    assert records(folder / "quotes")[0]["quoted"] == expected


def test_a_quoted_field_may_be_longer_than_the_csv_module_likes(folder: Path) -> None:
    before = csv.field_size_limit()
    (folder / "wide").write_text('ID\tname\nA\t"' + "x" * (10 << 20) + '"\n')
    (row,) = records(folder / "wide")
    quoted = row["quoted"]
    assert isinstance(quoted, list)
    assert len(quoted[1]) == 10 << 20
    assert csv.field_size_limit() == before


def test_the_header_may_be_quoted(folder: Path) -> None:
    (folder / "header").write_bytes(b'\xef\xbb\xbf"ID"\t"na""me"\r\nA\tb\r\n')
    assert Records(folder / "header").header == ["ID", 'na"me']


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(lines, "LONGEST_LINE", 1 << 20)
    (folder / "endless").write_bytes(b"ID\n" + b"x" * (2 << 20))
    with pytest.raises(InputFormat, match="a line of more than 1 MiB"):
        numbered(folder / "endless")


@pytest.mark.parametrize("cut", [0, 5, 30, -1])
def test_a_truncated_archive_is_refused(folder: Path, cut: int) -> None:
    (folder / "cut.gz").write_bytes(gzip.compress(b"ID\tname\n" * 1000)[:cut])
    with pytest.raises(InputFormat, match=r"cut\.gz"):
        numbered(folder / "cut.gz")


def test_an_archive_that_is_none_is_refused(folder: Path) -> None:
    for suffix in (".gz", ".zst"):
        (folder / f"plain{suffix}").write_bytes(b"ID\tname\nA\tb\n")
        with pytest.raises(InputFormat, match="cannot be read") as caught:
            numbered(folder / f"plain{suffix}")
        assert "not what its suffix says" in caught.value.hint


def test_a_file_that_is_not_there_or_is_a_folder_is_named(folder: Path) -> None:
    with pytest.raises(InputMissing, match="nothing"):
        numbered(folder / "nothing")
    with pytest.raises(InputFormat, match="cannot be read"):
        numbered(folder)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_name_is_found_in_one_form_or_none_and_not_in_two(tmp_path: Path, suffix: str) -> None:
    assert find(tmp_path, "a.tsv") is None
    (tmp_path / f"a.tsv{suffix}").touch()
    assert find(tmp_path, "a.tsv") == tmp_path / f"a.tsv{suffix}"
    (tmp_path / ("a.tsv" if suffix else "a.tsv.gz")).touch()
    with pytest.raises(InputFormat, match="one file under two names"):
        find(tmp_path, "a.tsv")
