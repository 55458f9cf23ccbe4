"""Fetching the providers' files over real HTTP, and comparing two snapshots."""

import hashlib
import json
import time
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import UnknownName
from kgcheck.profile.reference_files import ReferenceFile, ReferenceRecipe
from kgcheck.providers.http import Http
from kgcheck.reference import download as fetch
from kgcheck.reference.download import LOG, Fetched, fetch_references
from kgcheck.reference.ontologies import ontology_file
from kgcheck.settings import Settings
from tests.support import loopback
from tests.support.audits import kgcheck
from tests.support.facts import SCHEMA, Facts
from tests.support.loopback import Loopback, Reply, Seen

BODY = bytes(range(256)) * 4000


class Provider:
    """A file at a provider that takes ranges."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self.server = server
        self.folder = folder / "files"
        self.body, self.etag, self.ranges = BODY, '"one"', True
        self._cache = folder / "cache"
        server.route("GET", "/pub/data.dat", self._data)

    def _data(self, seen: Seen) -> Reply:
        headers = {"ETag": self.etag, "Content-Type": "application/octet-stream"}
        if seen.headers.get("If-None-Match") == self.etag:
            return Reply(304, b"", headers)
        wanted = seen.headers.get("Range", "")
        if wanted and self.ranges and seen.headers.get("If-Range") == self.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            told = f"bytes {start}-{len(self.body) - 1}/{len(self.body)}"
            return Reply(206, self.body[start:], headers | {"Content-Range": told})
        return Reply(200, self.body, headers)

    def fetch(self, **more: Any) -> Fetched:
        given: dict[str, Any] = {"cache_dir": self._cache, "http_attempts": 1, "http_wait_s": 0}
        with Http(Settings(**(given | loopback.limits() | more)), sleep=lambda seconds: None) as http:
            (done,) = fetch_references(self.folder, SCHEMA, http)
        return done

    @property
    def saved(self) -> bytes:
        return (self.folder / "data.dat").read_bytes()

    @property
    def ranges_asked(self) -> list[str]:
        return [call.headers["Range"] for call in self.server.calls if "Range" in call.headers]


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Loopback() as server:
        file = ReferenceFile(glob="data.dat", format="tsv", url=f"{server.url}/pub/data.dat")
        recipe = ReferenceRecipe(source="made", name="Made up", licence="CC0", files=(file,))
        monkeypatch.setattr(fetch, "load_reference_recipes", lambda schema: [recipe])
        yield Provider(server, tmp_path)


def _half(handler: Any, reply: Reply) -> None:
    loopback.send(handler, reply, length=len(reply.raw), body=reply.raw[: len(reply.raw) // 2])
    handler.close_connection = True


def test_a_file_is_fetched_whole(provider: Provider) -> None:
    done = provider.fetch()

    assert (done.failure, done.bytes, provider.saved) == ("", len(BODY), BODY)
    assert done.sha256 == hashlib.sha256(BODY).hexdigest()
    assert json.loads((provider.folder / LOG).read_text())["data.dat"]["sha256"] == done.sha256
    assert sorted(p.name for p in provider.folder.iterdir()) == ["data.dat", LOG]


def test_a_file_that_was_cut_off_goes_on_where_it_was(provider: Provider) -> None:
    provider.server.faults.append(_half)
    cut = provider.fetch()
    assert cut.failure
    assert not (provider.folder / "data.dat").exists()

    assert provider.fetch().failure == ""
    assert provider.saved == BODY
    assert provider.ranges_asked == [f"bytes={len(BODY) // 2}-"]


@pytest.mark.parametrize("told", [True, False], ids=["as its length says", "which no header tells"])
def test_no_more_of_a_file_is_fetched_than_the_limit(told: bool, provider: Provider) -> None:
    def without_length(handler: Any, reply: Reply) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + reply.raw)
        handler.close_connection = True

    provider.server.always = None if told else without_length
    done = provider.fetch(fetch_max_gb=0.0005, http_attempts=3)

    assert "over 500,000 bytes" in done.failure
    assert len(provider.server.calls) == 1
    assert list(provider.folder.iterdir()) == []


def test_it_goes_on_within_one_command_too(provider: Provider) -> None:
    provider.server.faults += [_half, loopback.busy()]

    assert provider.fetch(http_attempts=4).failure == ""
    assert provider.saved == BODY
    assert provider.ranges_asked[-1] == f"bytes={len(BODY) // 2}-"


@pytest.mark.parametrize(
    ("before", "later"),
    [({}, {"body": BODY[::-1], "etag": '"two"'}), ({"ranges": False}, {}), ({"etag": 'W/"one"'}, {})],
    ids=["the file changed meanwhile", "a provider without ranges", "a weak tag"],
)
def test_a_file_begins_again(before: dict[str, Any], later: dict[str, Any], provider: Provider) -> None:
    vars(provider).update(before)
    provider.server.faults.append(_half)
    provider.fetch()
    vars(provider).update(later)

    assert provider.fetch().failure == ""
    assert provider.saved == provider.body
    assert provider.ranges_asked == [] or "etag" not in before


def test_a_range_from_another_place_is_refused(provider: Provider) -> None:
    provider.server.faults.append(_half)
    provider.fetch()
    wrong = {"Content_Range": f"bytes 5-{len(BODY) - 1}/{len(BODY)}"}
    provider.server.faults.append(loopback.answers(206, BODY[5:], **wrong))

    assert "another place" in provider.fetch().failure
    assert provider.fetch().failure == ""
    assert provider.saved == BODY


def test_a_file_that_is_unchanged_is_left(provider: Provider) -> None:
    provider.fetch()
    before = (provider.folder / "data.dat").stat().st_mtime_ns

    assert provider.fetch().unchanged
    assert (provider.folder / "data.dat").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (loopback.page(404), "answered 404"),
        (loopback.answers(302, b"", Location="http://127.0.0.2/x"), "moved to http://127.0.0.2/x"),
        (loopback.answers(500, b""), "answered 500"),
        (loopback.busy(), "answered 429"),
        (loopback.reset, "cannot be reached"),
        (loopback.slow_headers(5), "did not answer in time"),
    ],
)
def test_a_file_that_cannot_be_had_says_why(fault: Any, told: str, provider: Provider) -> None:
    provider.server.always = fault

    assert told in provider.fetch(**loopback.limits(fault)).failure
    assert not (provider.folder / "data.dat").exists()


def _dripping(handler: Any, reply: Reply) -> None:
    """Half of the file at once, and then a byte now and then."""
    half = len(reply.raw) // 2
    loopback.send(handler, reply, length=len(reply.raw), body=reply.raw[:half])
    for at in range(half, half + 400):
        handler.wfile.write(reply.raw[at : at + 1])
        handler.wfile.flush()
        time.sleep(0.05)
    handler.close_connection = True


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"http_timeout_s": 0.3, "fetch_least_kb_s": 1.0}, "kB/s"),
        ({"fetch_total_s": 0.3, "http_attempts": 5}, "took longer than 0.3 s"),
    ],
)
def test_a_file_that_drips_is_given_up_and_goes_on_later(limits: dict[str, Any], told: str, provider: Provider) -> None:
    provider.server.faults.append(_dripping)
    started = time.monotonic()
    slow = provider.fetch(**limits)

    assert told in slow.failure
    assert time.monotonic() - started < 10
    assert provider.fetch().failure == ""
    assert provider.saved == BODY
    (went_on,) = provider.ranges_asked
    assert len(BODY) // 2 < int(went_on.removeprefix("bytes=").removesuffix("-")) < len(BODY) // 2 + 400


@pytest.fixture
def ontology(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """A provider whose file is reached by a permanent address, as those of the OBO Foundry are."""
    url = f"{provider.server.url}/obo/zzo.obo"
    file = ReferenceFile(glob="zzo.obo", format="ontology", url=url, save_as="data.dat", is_permanent=True)
    monkeypatch.setattr(fetch, "ontology_file", lambda name: file if name == "zzo" else None)
    monkeypatch.setattr(fetch, "load_reference_recipes", lambda schema: [])
    return provider


def led(to: str) -> Any:
    return lambda seen: Reply(302, b"", {"Location": to})


def fetched_ontology(provider: Provider) -> Fetched:
    given: dict[str, Any] = {"cache_dir": provider.folder.parent / "cache", "http_attempts": 1} | loopback.limits()
    with Http(Settings(**given), sleep=lambda seconds: None) as http:
        (done,) = fetch_references(provider.folder, SCHEMA, http, sources=("zzo",))
    return done


def test_a_permanent_address_is_followed_to_the_file(ontology: Provider) -> None:
    ontology.server.route("GET", "/obo/zzo.obo", led("/next"))
    ontology.server.route("GET", "/next", led(f"{ontology.server.url}/pub/data.dat"))

    done = fetched_ontology(ontology)

    assert (done.failure, ontology.saved) == ("", BODY)
    assert done.url.endswith("/obo/zzo.obo")


@pytest.mark.parametrize(
    "to",
    [
        *("file:///etc/passwd", "ftp://x.test/y", "https://", "gopher:x", "", "/obo/zzo.obo", "http://10.0.0.1/x"),
        *("http://169.254.169.254/latest", "http://localhost:9/x", "http://u:p@127.0.0.1/x", "http://[::1"),
        *("http://[::1]/x", "http://box.local/x"),
    ],
    ids=repr,
)
def test_an_address_that_leads_astray_is_not_followed(to: str, ontology: Provider) -> None:
    ontology.server.route("GET", "/obo/zzo.obo", led(to))

    done = fetched_ontology(ontology)

    assert "leads to" in done.failure or "moved" in done.failure
    assert len(ontology.server.calls) <= 6
    assert not (ontology.folder / "data.dat").exists()


def spellings(address: IPv4Address) -> list[str]:
    """Forms in which the system reads an IPv4 address."""
    parts, number = address.packed, int(address)
    last = int.from_bytes(parts[1:], "big"), int.from_bytes(parts[2:], "big")
    return [
        str(address),
        f"{address}.",
        ".".join(map(hex, parts)),
        ".".join(f"0{part:o}" for part in parts),
        f"{parts[0]}.{last[0]}",
        f"{parts[0]}.{parts[1]}.{last[1]}",
        f"{number}",
        hex(number),
        f"0{number:o}",
        f"[::ffff:{address}]",
    ]


@given(
    st.sampled_from(["127.0.0.0/8", "10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12", "169.254.0.0/16", "0.0.0.0/8"]),
    st.integers(0, 2**32),
)
def test_no_form_of_a_private_address_is_public(network: str, number: int) -> None:
    within = ip_network(network)
    address = IPv4Address(int(within.network_address) + number % within.num_addresses)

    assert [one for one in spellings(address) if fetch._is_public(urlsplit(f"https://{one}/x").hostname)] == []
    assert all(map(fetch._is_public, spellings(IPv4Address("8.8.8.8"))[:6]))


def test_an_ontology_is_known_by_its_prefix_in_any_spelling() -> None:
    known = ontology_file("MONDO")

    assert known
    assert known == ontology_file("mondo")
    assert known.url.startswith("https://purl.obolibrary.org/obo/mondo.")
    assert ontology_file("no such prefix") is None


def test_offline_fetches_nothing(provider: Provider) -> None:
    assert "offline" in provider.fetch(offline=True).failure
    assert provider.server.calls == []


def test_a_source_without_an_address_is_unknown(provider: Provider, tmp_path: Path) -> None:
    with Http(Settings(cache_dir=tmp_path)) as http, pytest.raises(UnknownName, match="nowhere"):
        fetch_references(tmp_path, SCHEMA, http, sources=("nowhere",))


def test_the_command_line_fetches(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CACHE_DIR", tmp_path / "c"), ("HTTP_ATTEMPTS", 1), ("HTTP_WAIT_S", 0)):
        monkeypatch.setenv(f"KGCHECK_{name}", str(value))
    said = kgcheck("reference", "fetch", tmp_path / "in", "--format", "json")
    assert (said.code, json.loads(said.out)[0]["file"]) == (0, "data.dat")
    provider.server.always = loopback.page(404)
    provider.etag = '"two"'

    failed = kgcheck("reference", "fetch", tmp_path / "in")
    assert (failed.code, "answered 404" in failed.out) == (3, True)


@pytest.fixture
def snapshots(tmp_path: Path) -> tuple[Path, Path]:
    older, newer = Facts(), Facts()
    for facts, date, state in ((older, "2025-01-01", "current"), (newer, "2026-01-01", "merged")):
        release = facts.release("uniprot", date, date).entities("Protein", "P10001", "P10002")
        release.entity("P10003", "Protein", state, now=["P10001"] if state == "merged" else [])
        release.link("HAS_STRUCTURE", "P10001", "1TUP")
        release.value("P10001", "gene_name", "ONE")
        facts.release("string", date, date).link("ACTS_ON", "P10001", "P10002", 0.5 if facts is older else 0.6)
    older.release("hgnc", "x").entities("Gene", "GONE")
    newer.release("uniprot", "more", "2026-01-01").link("HAS_STRUCTURE", "P10001", "4HHB")
    return older.build(tmp_path / "a"), newer.build(tmp_path / "b")


def test_the_command_line_compares(snapshots: tuple[Path, Path]) -> None:
    table = kgcheck("reference", "diff", *snapshots)
    rows = kgcheck("reference", "diff", *snapshots, "--format", "json")

    assert table.code == rows.code == 0
    assert "P10003: current -> merged now P10001" in table.out
    counts = "before", "after", "added", "removed", "changed"
    found = {(c["source"], c["table"]): (*(c[name] for name in counts), *c["examples"]) for c in json.loads(rows.out)}
    assert found == {
        ("hgnc", "lifecycle"): (1, 0, 0, 1, 0, "removed: GONE: current"),
        ("uniprot", "lifecycle"): (3, 3, 0, 0, 1, "changed: P10003: current -> merged now P10001"),
        ("uniprot", "value"): (1, 1, 0, 0, 0),
        ("string", "link"): (1, 1, 0, 0, 1, "changed: association P10001 P10002: 0.5 -> 0.6"),
        ("uniprot", "link"): (1, 2, 1, 0, 0, "added: structure P10001 4HHB"),
    }
    assert kgcheck("reference", "diff", snapshots[0], "nowhere.duckdb").refuses("there is no snapshot")
