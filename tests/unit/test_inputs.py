"""Limits of every reader of files: what was made to fill the memory is refused in one line, at once."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kgcheck import inputs
from kgcheck.agents.replay import read_transcript
from kgcheck.bench.batches import keep_options, read_results
from kgcheck.bench.kgqa import read_rows
from kgcheck.bench.scv import read_items
from kgcheck.errors import InputError, InputFormat, KgcheckError
from kgcheck.inputs import DEEPEST, MIB, check_packed, parse_json, plain_pattern, read_toml, read_whole
from kgcheck.literature.formats import read_documents
from kgcheck.loading.lines import read_lines
from kgcheck.profile.corpus_files import corpus_recipe
from kgcheck.providers.tsv import open_text
from kgcheck.reference.build import build_snapshot
from tests.support import ROOT, quick_of
from tests.support.facts import SCHEMA, SETTINGS

DEEP = "[" * 100_000


def _documents(path: Path, recipe: str) -> list[object]:
    return list(read_documents(path, corpus_recipe(recipe)))


def _bomb(path: Path, begin: bytes, repeat: bytes, times: int, end: bytes = b"") -> Path:
    # Of parts, each packed by itself: what is in them is packed once, however often they follow.
    block = gzip.compress(repeat * max(MIB // len(repeat), 1))
    path.write_bytes(gzip.compress(begin) + block * times + gzip.compress(end))
    return path


BOMBS: dict[str, tuple[bytes, bytes, bytes, Callable[[Path], object]]] = {
    "a line of JSON": (b'{"id": "1", "abstract": "', b"a", b'"}', lambda p: _documents(p, "jsonl")),
    "empty objects": (b"", b" \n", b"", lambda p: _documents(p, "jsonl")),
    "a field of csv": (b'id,title,abstract\n1,x,"', b"a", b'"', lambda p: _documents(p, "csv")),
    "one XML element": (b"<PubmedArticleSet><PubmedArticle>", b"<a>x</a>", b"", lambda p: _documents(p, "pubmed")),
    "XML elements": (b"<PubmedArticleSet>", b"<a/>", b"", lambda p: _documents(p, "pubmed")),
    "a JSON list": (b"[", b"[],", b"[]]", lambda p: _documents(p, "pubmedqa")),
    "PubTator": (b"1|t|", b"a", b"", lambda p: _documents(p, "pubtator")),
    "an import file": (b"ID\n", b"a\n", b"", lambda p: list(read_lines(p))),
    "a line of an import file": (b"ID\n", b"a", b"", lambda p: list(read_lines(p))),
    "a text": (b"", b"a", b"", lambda p: open_text(p).read()),
    "a table": (b"a\tb\n", b"1\t2\n", b"", check_packed),
    "a whole file": (b"", b"a", b"", read_whole),
}


@pytest.mark.parametrize("name", quick_of(BOMBS, *(BOMBS.keys() - {"XML elements", "one XML element"})))
def test_bomb_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Smaller limits, so that a small bomb meets them: the whole ones are met below.
    monkeypatch.setattr(inputs, "UNPACKED_FREELY", MIB)
    monkeypatch.setattr(inputs, "LARGEST_WHOLE", MIB)
    begin, repeat, end, read = BOMBS[name]
    path = _bomb(tmp_path / "bomb.gz", begin, repeat, 24, end)

    try:
        found = read(path)
    except InputFormat as error:
        told = error.message
    else:
        told = str(found[-1] if isinstance(found, list) else found)
    assert str(path) in told
    assert "MiB" in told or "100 times larger" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "begin", "repeat"), [("jsonl", b'{"id": "1", "abstract": "', b"a"), ("json", b"[", b"[],")]
)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells the most memory that was used")
def test_bomb_takes_no_memory(tmp_path: Path, kind: str, begin: bytes, repeat: bytes) -> None:
    bomb = _bomb(tmp_path / f"bomb.{kind}.gz", begin, repeat, 600)
    script = (
        "import re, sys; from kgcheck.cli.main import run; code = run(sys.argv[1:]);"
        "print(code, re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    command = [
        sys.executable,
        "-c",
        script,
        "corpus",
        "add",
        str(bomb),
        "--index",
        str(tmp_path / "i"),
        "--model",
        "none",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)

    code, kilobytes = map(int, done.stdout.split())
    assert code == 2
    assert bomb.stat().st_size < 2 * MIB
    assert kilobytes < 350_000, done.stderr


@pytest.mark.parametrize(
    "content", [DEEP, DEEP + "]" * 100_000, '{"a":' * 100_000, json.dumps({"a": json.loads("[" * 300 + "]" * 300)})]
)
@pytest.mark.parametrize(
    "read",
    [
        read_rows,
        read_items,
        read_results,
        read_transcript,
        lambda p: keep_options(p.parent, {"a": 1}),
        lambda p: _documents(p, "pubmedqa"),
    ],
)
def test_deep_file_is_refused(tmp_path: Path, content: str, read: Callable[[Path], object]) -> None:
    path = tmp_path / "batch.json"
    path.write_text(content + "\n")

    with pytest.raises(KgcheckError) as caught:
        read(path)
    assert str(path) in caught.value.message


def test_json_may_nest_as_deep_as_the_limit() -> None:
    assert parse_json("[" * DEEPEST + "]" * DEEPEST)
    with pytest.raises(ValueError, match="deeper than"):
        parse_json("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))
    assert len(parse_json("[" + "[]," * 1000 + "[]]")) == 1001


@pytest.mark.parametrize("content", ["a = " + DEEP, "a = 1\n" * 1_000_000, "[" + "a." * 5_000 + "a]", "a = \xff"])
def test_recipe_beyond_the_limits_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content.encode("latin-1"))

    try:
        read_toml(path)
    except ValueError:
        return
    assert content.startswith("[a.")


def test_deep_xml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.xml"
    path.write_text("<PubmedArticleSet>" + "<a>" * 100_000)

    with pytest.raises(InputFormat, match="deeper than"):
        _documents(path, "pubmed")


def test_packed_table_of_a_build_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "UNPACKED_FREELY", 4 * MIB)
    _bomb(tmp_path / "HUMAN_9606_idmapping.dat.gz", b"", b"P04637\tPDB\t1TUP\n", 5)

    with pytest.raises(InputFormat, match="100 times larger"):
        build_snapshot(tmp_path, tmp_path / "x.duckdb", SCHEMA, SETTINGS)


@pytest.mark.parametrize("pattern", ["a.tsv", "a/b*.tsv", "*[!0]_x*.tsv", "a..b"])
def test_patterns_inside_the_folder(pattern: str) -> None:
    assert plain_pattern(pattern) == pattern


def test_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\\xff is not UTF-8"):
        inputs.refuse_odd_name(tmp_path / "x\udcff")
