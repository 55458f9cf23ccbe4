"""Download the files that recipes name: resumed, checksummed, skipped if unchanged."""

import json
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests
from pydantic import Field, TypeAdapter, ValidationError

from kgcheck import clock
from kgcheck.errors import (
    InputError,
    SourceAnswer,
    SourceError,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
    UnknownName,
)
from kgcheck.inputs import sha256_of
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.profile.reference_files import ReferenceFile, ReferenceRecipe, load_reference_recipes, shared_recipes
from kgcheck.profile.schema import Schema
from kgcheck.progress import NoProgress, Progress
from kgcheck.providers.http import WIRE_ERRORS, Http, ProviderService, error_for
from kgcheck.reference.ontologies import ontology_file
from kgcheck.standards.bioregistry import registry

LOG = "fetched.json"
"""Beside the files: what was fetched from where, with its SHA-256."""

_CHUNK = 1 << 20

_CALLS_PER_S = 5.0
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5


class Fetched(Value, extra="ignore"):
    """A file that was fetched."""

    source: str
    file: str
    url: str
    sha256: str = ""
    bytes: int = 0
    etag: str = ""
    last_modified: str = ""
    fetched_at: datetime | None = None
    unchanged: bool = Field(default=False, description="the provider has nothing newer")
    failure: str = ""


_LOG = TypeAdapter(dict[str, Fetched])


def fetch_references(
    folder: Path, schema: Schema, http: Http, *, sources: tuple[str, ...] = (), progress: Progress | None = None
) -> list[Fetched]:
    """Download every file for which a recipe has an address; of some sources, also ontologies without a recipe.

    Of a source that is named and has files for a person to get, the licence and the way to them are told.
    """
    wanted, by_hand = _wanted(load_reference_recipes(schema), sources)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            log = _LOG.validate_json((folder / LOG).read_bytes())
        except (OSError, ValidationError):
            log = {}
        done: list[Fetched] = []
        with (progress or NoProgress()).step("fetching reference files", len(wanted)) as step:
            for source, file in wanted:
                done.append(_Download(http, folder, source, file, log).run())
                if not done[-1].failure:
                    log[done[-1].file] = done[-1]
                    write_text(folder / LOG, _LOG.dump_json(log, indent=2).decode())
                step.advance()
        for recipe in by_hand:
            globs = [file.glob for file in recipe.files if not file.url]
            there = sorted(path.name for glob in globs for path in folder.rglob(glob))
            failure = "" if there else f"not fetched, under the licence {recipe.licence}: {recipe.obtain}"
            named, is_there = ", ".join(there or globs), bool(there)
            done.append(Fetched(source=recipe.source, file=named, url="", unchanged=is_there, failure=failure))
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}", "free space, or name another folder") from error
    return done


def _wanted(
    recipes: Sequence[ReferenceRecipe], sources: Sequence[str]
) -> tuple[list[tuple[str, ReferenceFile]], list[ReferenceRecipe]]:
    """The files to fetch, and of sources that are named, the recipes that have files for a person to get."""
    addressed = [(r.source, f) for r in recipes for f in r.files if f.url]
    if not sources:
        return addressed, []
    own = {recipe.source for recipe in recipes}
    recipes = [*recipes, *(recipe for recipe in shared_recipes() if recipe.source not in own)]
    addressed = [(r.source, f) for r in recipes for f in r.files if f.url]
    by_hand = [recipe for recipe in recipes if recipe.obtain and recipe.source in sources]
    known = {source for source, _ in addressed} | {recipe.source for recipe in recipes if recipe.obtain}
    found = [(source, file) for source, file in addressed if source in sources]
    for source in dict.fromkeys(sources):
        if source in known:
            continue
        if not (file := ontology_file(source)):
            known |= {prefix.prefix for prefix in registry() if prefix.ontology}
            raise UnknownName("source with an address", source, known)
        found.append((source, file))
    return found, by_hand


def _is_public(host: str | None) -> bool:
    """Tell whether a host is none of this machine or its network, in whatever form its address is written.

    The system reads it, as it will when it connects. One that it does not know is left to a proxy, if it has a name of
    the public.
    """
    name = (host or "").rstrip(".")
    if "." not in name and ":" not in name:
        return False
    try:
        found = socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return not name.endswith((".localhost", ".local", ".internal")) and not name[-1].isdigit()
    return all(ip_address(str(address[4][0]).partition("%")[0]).is_global for address in found)


class _Download:
    def __init__(self, http: Http, folder: Path, source: str, file: ReferenceFile, log: dict[str, Fetched]) -> None:
        self._http = http
        self._source = source
        self._file = file
        parts = urlsplit(file.url)
        self._path = folder / (file.save_as or Path(parts.path).name)
        self._partial = self._path.with_name(self._path.name + ".part")
        self._mark = self._path.with_name(self._path.name + ".part.json")
        self._before = log.get(self._path.name) if self._path.is_file() else None
        self._limits = http.settings
        self._ends = 0.0
        self._known = Fetched(source=source, file=self._path.name, url=file.url)

    def run(self) -> Fetched:
        self._ends = time.monotonic() + self._limits.fetch_total_s
        try:
            return self._http.repeat(self._once)
        except SourceError as error:
            return self._known.model_copy(update={"failure": error.message})

    def _once(self) -> Fetched:
        start, mark = self._resumable()
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers |= {"Range": f"bytes={start}-", "If-Range": mark["etag"] or mark["last_modified"]}
        elif self._before:
            headers |= {"If-None-Match": self._before.etag} if self._before.etag else {}
            headers |= {"If-Modified-Since": self._before.last_modified} if self._before.last_modified else {}
        with self._led_to(self._file.url, headers) as response:
            if response.status_code == 304 and self._before:
                return self._before.model_copy(update={"unchanged": True})
            self._save(response, start)
        return self._finish(response)

    @contextmanager
    def _led_to(self, url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
        """Open a file at its address, or where a permanent address leads."""
        left = _MOST_REDIRECTS if self._file.is_permanent else 0
        while True:
            parts = urlsplit(url)
            address, words = f"{parts.scheme}://{parts.netloc}", f"the address of {self._source}"
            service = ProviderService(self._source, address, _CALLS_PER_S, words)
            with self._http.stream(service, url, headers) as response:
                if response.status_code not in _REDIRECTS or not left:
                    yield response
                    return
                url, left = self._next(url, response.headers.get("Location", "")), left - 1

    def _next(self, url: str, location: str) -> str:
        """The address where a permanent one leads: a place in the same network, and of the same scheme."""
        with suppress(ValueError):
            to = urljoin(url, location)
            named, parts = urlsplit(self._file.url), urlsplit(to)
            is_same = parts.hostname == named.hostname
            if parts.scheme == named.scheme and not parts.username and (is_same or _is_public(parts.hostname)):
                return to
        raise SourceRefused(
            f"{self._file.url} leads to {location[:200]!r}", "get the file by hand, and put it into the folder"
        )

    def _resumable(self) -> tuple[int, dict[str, str]]:
        """Return the number of bytes there already, and the mark of the state of the provider's file."""
        try:
            mark: dict[str, str] = json.loads(self._mark.read_text(encoding="utf-8"))
            size = self._partial.stat().st_size
        except (OSError, ValueError):
            return 0, {}
        named = mark.get("etag") or mark.get("last_modified")
        return (size, mark) if named and mark.get("url") == self._file.url else (0, {})

    def _save(self, response: requests.Response, start: int) -> None:
        total = self._total(response, start)
        going_on = response.status_code == 206
        most = int(self._limits.fetch_max_gb * 1_000_000_000)
        self._refuse_over(most, total or 0)
        etag, last = (response.headers.get(name, "") for name in ("ETag", "Last-Modified"))
        # A weak tag does not say that the bytes are the same.
        mark = {"url": self._file.url, "etag": "" if etag.startswith("W/") else etag, "last_modified": last}
        self._mark.write_text(json.dumps(mark), encoding="utf-8")
        size = start if going_on else 0
        with self._partial.open("ab" if going_on else "wb") as out:
            for chunk in self._chunks(response):
                size += len(chunk)
                self._refuse_over(most, size)
                out.write(chunk)
        size = self._partial.stat().st_size
        if total is not None and size != total:
            raise SourceUnreachable(
                f"{self._file.url} ended after {size:,} of {total:,} bytes", "fetch again: it goes on"
            )

    def _refuse_over(self, most: int, size: int) -> None:
        if size > most:
            self._forget()
            raise SourceRefused(f"{self._file.url} has over {most:,} bytes", "raise KGCHECK_FETCH_MAX_GB")

    def _chunks(self, response: requests.Response) -> Iterator[bytes]:
        """Yield the bytes as they come, also those of a connection that then breaks, or is too slow."""
        span, least = self._limits.http_timeout_s, self._limits.fetch_least_kb_s * 1_000
        since, came = time.monotonic(), 0
        while True:
            try:
                chunk = response.raw.read1(_CHUNK, decode_content=False)
            except WIRE_ERRORS as error:
                raise error_for(error, self._source, self._file.url) from error
            if not chunk:
                return
            yield chunk
            came += len(chunk)
            now = time.monotonic()
            if now > self._ends:
                # Not an error that is worth another attempt now.
                raise SourceError(
                    f"{self._file.url} took longer than {self._limits.fetch_total_s:g} s",
                    "fetch again: it goes on; or raise KGCHECK_FETCH_TOTAL_S",
                )
            if now - since >= span:
                if came < least * (now - since):
                    raise SourceTimeout(
                        f"{self._file.url} came at {came / (now - since) / 1_000:.2f} kB/s", "fetch again: it goes on"
                    )
                since, came = now, 0

    def _total(self, response: requests.Response, start: int) -> int | None:
        match response.status_code:
            case 200:
                length = response.headers.get("Content-Length", "")
                return int(length) if length.isdecimal() else None
            case 206:
                part = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
                if part and int(part[1]) == start:
                    return int(part[2])
                self._forget()
                raise SourceAnswer(f"{self._file.url} went on at another place than was asked", "fetch again")
            case 416:
                self._forget()
                raise SourceAnswer(f"{self._file.url} is shorter than what was fetched of it", "fetch again")
            case code if code in _REDIRECTS:
                to = response.headers.get("Location", "nowhere")
                raise SourceRefused(f"{self._file.url} has moved to {to}", "correct the address in the recipe")
            case status:
                raise SourceRefused(f"{self._file.url} answered {status}", "correct the address in the recipe")

    def _finish(self, response: requests.Response) -> Fetched:
        size, digest = self._partial.stat().st_size, sha256_of(self._partial)
        state = {"etag": response.headers.get("ETag", ""), "last_modified": response.headers.get("Last-Modified", "")}
        done = self._known.model_copy(update={"sha256": digest, "bytes": size, "fetched_at": clock.now(), **state})
        os.replace(self._partial, self._path)
        self._mark.unlink(missing_ok=True)
        return done

    def _forget(self) -> None:
        self._partial.unlink(missing_ok=True)
        self._mark.unlink(missing_ok=True)
