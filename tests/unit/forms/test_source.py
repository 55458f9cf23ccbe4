"""Files of a graph: folders, archives, what is packed, what was made to fill the disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from kgcheck import inputs
from kgcheck.errors import InputFormat, InputMissing
from kgcheck.forms.source import sources

TEXT = b"subject\tpredicate\tobject\nA:1\tp\tB:1\n"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def kind(value: object) -> str:
    """The id of a parameter: what is packed holds the time, and workers would not agree on it."""
    return value if isinstance(value, str) else type(value).__name__


def found(path: Path, scratch: Path) -> list[tuple[str, bytes]]:
    return [(source.name, source.path.read_bytes()) for source in sources([path], scratch)]


def tarred(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("edges.tsv", TEXT),
        ("edges.tsv.gz", gzip.compress(TEXT)),
        ("edges.tsv.gz", gzip.compress(gzip.compress(TEXT))),
        ("edges.tsv.bz2", bz2.compress(TEXT)),
        ("edges.tsv.xz", lzma.compress(TEXT)),
        ("edges.tsv.zst", zstd(TEXT)),
        ("graph.zip", zipped(("a/edges.tsv", TEXT), ("__MACOSX/._edges.tsv", b"x"), ("README.md", b"x"))),
        ("graph.tar.gz", gzip.compress(tarred(("a/edges.tsv", TEXT)))),
        ("graph.tar", tarred(("a/edges.tsv.gz", gzip.compress(TEXT)), ("LICENSE", b"x"))),
        ("misnamed.txt", gzip.compress(TEXT)),
    ],
    ids=kind,
)
def test_what_is_packed_is_unpacked_by_its_content(name: str, data: bytes, tmp_path: Path, scratch: Path) -> None:
    (tmp_path / name).write_bytes(data)

    ((shown, text),) = found(tmp_path / name, scratch)

    assert text == TEXT
    assert shown in ("edges.tsv", "misnamed.txt")


def test_a_folder_is_its_files_in_order_without_what_is_said_of_them(tmp_path: Path, scratch: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    for name in ("nodes.tsv", "edges.tsv", "README.md", "LICENSE", ".hidden"):
        (folder / name).write_bytes(TEXT)

    assert [name for name, _ in found(folder, scratch)] == ["edges.tsv", "nodes.tsv"]


def test_members_that_lead_out_of_the_archive_are_written_under_names_of_our_own(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(("../../outside.tsv", TEXT), ("/etc/outside.tsv", TEXT)))
    (tmp_path / "a.tar").write_bytes(tarred(("../outside.tsv", TEXT)))

    for name in ("a.zip", "a.tar"):
        assert {text for _, text in found(tmp_path / name, scratch)} == {TEXT}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "a.zip", "scratch"]


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"\0" * (4 << 20)),
        zipped(("a.tsv", b"\0" * (4 << 20))),
        # One limit holds for all that an archive holds.
        zipped(*((f"{n}.tsv", b"0" * (1 << 19)) for n in range(8))),
    ],
    ids=kind,
)
def test_what_becomes_a_hundred_times_larger_is_refused(
    data: bytes, tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "UNPACKED_FREELY", 1 << 20)
    (tmp_path / "a").write_bytes(data)

    with pytest.raises(InputFormat, match="times larger"):
        found(tmp_path / "a", scratch)


NESTED = zipped(("a.zip", zipped(("b.zip", zipped(("c.zip", zipped(("d.zip", zipped(("e.tsv", TEXT))))))))))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(TEXT * 100)[:-40], "cannot be unpacked"),
        (zipped(("a.tsv", TEXT * 100))[:-60], "cannot be unpacked"),
        (b"PK\x03\x04", "cannot be unpacked"),
        (NESTED, "archive in an archive"),
    ],
    ids=kind,
)
def test_what_is_cut_off_or_nested_is_refused(data: bytes, message: str, tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "a.gz").write_bytes(data)

    with pytest.raises(InputFormat, match=message):
        found(tmp_path / "a.gz", scratch)


def test_what_is_not_there_or_no_file(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(InputMissing, match="there is no such file"):
        found(tmp_path / "none.tsv", scratch)
    with pytest.raises(InputMissing, match="there are no files in"):
        found(tmp_path / "empty", scratch)
    with pytest.raises(InputFormat, match="is no file"):
        found(tmp_path / "pipe", scratch)


def test_a_file_that_is_called_packed_and_is_not_is_read_as_it_is(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "edges.tsv.gz").write_bytes(TEXT)

    ((source,),) = ([*sources([tmp_path / "edges.tsv.gz"], scratch)],)

    assert (source.name, source.path.suffix, source.path.read_bytes()) == ("edges.tsv.gz", "", TEXT)
