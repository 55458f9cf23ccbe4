"""Bibliography: look up works in a bibliography snapshot, by id, title or volume and page."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from kgcheck.closing import Closing
from kgcheck.duck import confine, connected
from kgcheck.errors import SnapshotError
from kgcheck.literature.bibliography import FORMAT, KIND, TABLES
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.titles import title_keys
from kgcheck.literature.works import Work, WorksFound, WorkStatement, ids_of_reference, silent
from kgcheck.model import Evidence
from kgcheck.quoting import literal
from kgcheck.reference.snapshot import SourceRelease, attaching, catalog_of, damage_named, refuse_place

_AGAIN = "build it again"

_MOST_ALIKE = 40
"""Works of one key that are looked at; a key of more says nothing."""

_NUMBER = re.compile(r"[a-z]{0,3}\d{1,9}(?:[a-z]\d{1,9})?", re.IGNORECASE)
_MOST_NUMBERS = 40
_MOST_AROUND = 1_000
_DOI = re.compile(r"\b10\.\d{4,9}/\S{1,200}")
_OWNERS = {"doi": ("crossref",), "pmid": ("pubmed",)}
"""Sources that would have every work with an id of a kind, where their files are complete."""


_STATED = ("stated_by", "record", "url", "titles", "years", "journal", "author", "volume", "issue", "page",
    "last_page")  # fmt: skip


class _FileRelease(NamedTuple):
    """A row of the table of this name."""

    id: int
    source: str
    release: str
    released: str
    file: str
    sha256: str
    retrieved_at: datetime
    built_at: datetime
    recency: int
    complete: bool


class Bibliography(Closing):
    """A bibliography snapshot, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = connected()
        try:
            refuse_place(path)
            with attaching(path):
                self._db.execute(f"ATTACH {literal(str(path.absolute()))} AS bib (READ_ONLY, TYPE duckdb)").fetchall()
            confine(self._db)
            with attaching(path):
                self._refuse_foreign()
            self._releases = {row[0]: _FileRelease(*row) for row in self._rows("SELECT * FROM bib.release ORDER BY id")}
        except BaseException:
            self.close()
            raise

    def _refuse_foreign(self) -> None:
        if catalog_of(self._db, "bib") != _expected():
            raise SnapshotError(
                f"{self.path} is no bibliography snapshot of this version of kgcheck",
                f"build one: kgcheck reference build DIR --kind {KIND} --out {self.path}",
            )
        meta = dict(self._rows("SELECT key, value FROM bib.meta"))
        if (meta.get("kind"), meta.get("format")) != (KIND, FORMAT):
            raise SnapshotError(f"{self.path} is a bibliography of format {meta.get('format')}, not {FORMAT}", _AGAIN)

    def close(self) -> None:
        self._db.close()

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with damage_named(self.path):
            return self._db.execute(sql, list(parameters)).fetchall()

    def _listed(self, sql: str, parameters: Sequence[Any]) -> defaultdict[Any, list[Any]]:
        """Values of the second column, by those of the first."""
        found: defaultdict[Any, list[Any]] = defaultdict(list)
        for key, value in self._rows(sql, parameters):
            found[key].append(value)
        return found

    def releases(self) -> list[SourceRelease]:
        """List the files that it was built from, a row a file."""
        counts: dict[int, dict[str, int]] = defaultdict(dict)
        for release, kind, count in self._rows(
            "SELECT release_id, stated_by, count(*) FROM bib.statement GROUP BY ALL ORDER BY ALL"
        ):
            counts[release][kind] = count
        for release, count in self._rows("SELECT release_id, count(*) FROM bib.notice GROUP BY ALL"):
            counts[release]["retracted"] = count
        return [
            SourceRelease(
                name=f"{r.source}, complete" if r.complete else r.source,
                licence="",
                rows=counts[number],
                **{name: getattr(r, name) for name in SourceRelease.model_fields.keys() & r._fields},
            )
            for number, r in self._releases.items()
        ]

    def find(self, references: Sequence[CitedWork]) -> list[WorksFound]:
        """See Works: two look-ups for all of them."""
        ids = [ids_of_reference(r) for r in references]
        keys = [_keys_of(r) for r in references]
        named = self._numbers("name", "id", "VARCHAR", {i for some in ids for i in some})
        alike = self._numbers("lookup", "key", "UBIGINT", {k for some in keys for k in some})
        works = self._works({n for found in (named, alike) for some in found.values() for n in some})
        return [
            WorksFound(
                by_id=_distinct(works, (n for i in own for n in named.get(i, ()))),
                similar=_distinct(works, (n for k in some for n in alike.get(k, ()))),
                absent=tuple(e for i in own if i not in named and (e := self._absent(i))),
                looked=self._looked(reference),
            )
            for reference, own, some in zip(references, ids, keys, strict=True)
        ]

    def cites(self, name: str) -> tuple[str, ...]:
        """Ids of what a work cites."""
        rows = self._rows(
            "SELECT cited FROM bib.cites WHERE work IN (SELECT work FROM bib.name WHERE id = ?) ORDER BY cited", [name]
        )
        return tuple(cited for (cited,) in rows)

    def _numbers(self, table: str, column: str, kind: str, wanted: Iterable[Any]) -> dict[Any, list[int]]:
        return self._listed(
            f"""
            SELECT {column}, work FROM bib.{table} WHERE {column} IN (SELECT unnest(?::{kind}[]))
            QUALIFY count(*) OVER (PARTITION BY {column}) <= {_MOST_ALIKE} ORDER BY ALL
            """,
            [sorted(wanted)],
        )

    def _works(self, numbers: set[int]) -> dict[int, Work]:
        wanted = [sorted(numbers)]
        among = "(SELECT unnest(?::BIGINT[]))"
        ids = self._listed(f"SELECT work, id FROM bib.name WHERE work IN {among} ORDER BY ALL", wanted)
        notices = self._listed(
            f"SELECT work, notice FROM bib.notice WHERE notice IS NOT NULL AND work IN {among} ORDER BY ALL", wanted
        )
        statements: dict[int, list[WorkStatement]] = defaultdict(list)
        for number, release, *stated in self._rows(
            f"SELECT * FROM bib.statement WHERE work IN {among} ORDER BY ALL", wanted
        ):
            try:
                source = self._releases[release]
                fields = dict(zip(_STATED, stated, strict=True))
                statements[number].append(
                    WorkStatement(
                        source=source.source, release=source.release, retrieved_at=source.retrieved_at, **fields
                    )
                )
            except (ValidationError, KeyError) as error:
                raise SnapshotError(f"{self.path} is damaged: a statement of work {number} is none", _AGAIN) from error
        gone = dict(self._rows(f"SELECT number, retracted FROM bib.work WHERE number IN {among}", wanted))
        return {
            number: Work(
                ids=tuple(ids[number]),
                statements=tuple(stated),
                retracted=gone.get(number, False),
                notices=tuple(dict.fromkeys(notices[number])),
            )
            for number, stated in statements.items()
        }

    def _absent(self, name: str) -> Evidence | None:
        """Evidence that an id does not exist, where one that would have it says that it has all."""
        owners = _OWNERS[name.partition(":")[0]]
        complete = [r for r in self._releases.values() if r.source in owners and r.complete]
        newest = max(complete, key=lambda r: r.recency, default=None)
        if newest and not self._issues(newest, name):
            return None
        return newest and silent(newest.source, newest.release, newest.retrieved_at, name, complete=True)

    def _issues(self, release: _FileRelease, name: str) -> bool:
        """Tell whether ids that begin like one are of a source: a DOI of another agency is not for it to deny."""
        prefix = f"{name.partition('/')[0]}/" if name.startswith("doi:") else "pmid:"
        return bool(
            self._rows(
                """
                SELECT 1 FROM bib.name JOIN bib.statement USING (work) JOIN bib.release AS r ON r.id = release_id
                WHERE starts_with(name.id, ?) AND stated_by = 'record' AND source = ? LIMIT 1
                """,
                [prefix, release.source],
            )
        )

    def _looked(self, reference: CitedWork) -> tuple[Evidence, ...]:
        record = ", ".join(ids_of_reference(reference)) or reference.title or reference.text
        newest = {r.source: r for r in sorted(self._releases.values(), key=lambda r: r.recency)}
        return tuple(
            silent(r.source, r.release, r.retrieved_at, record, complete=False)
            for r in newest.values()
            if r.source != "retractions"
        )


def _distinct(works: dict[int, Work], numbers: Iterable[int]) -> tuple[Work, ...]:
    return tuple(works[n] for n in dict.fromkeys(numbers) if n in works)


def _keys_of(reference: CitedWork) -> tuple[int, ...]:
    """Return the keys of a reference without an id: its title, or two numbers of it as volume and page."""
    author = reference.authors[0] if reference.authors else ""
    titles = (reference.title,) if reference.title else ()
    return tuple(dict.fromkeys(title_keys(titles, author, places_in(reference))))


def places_in(reference: CitedWork) -> list[tuple[str, str]]:
    """Pairs of numbers in the text of a reference that may be volume and first page.

    >>> places_in(CitedWork(key="1", text="Doe J (2001) On cells. Nature 12: 345.", doi="10.5555/1"))
    [('2001', '12'), ('2001', '345'), ('12', '345'), ('345', '')]
    """
    before, _, after = reference.text.partition(reference.title) if reference.title else ("", "", reference.text)
    text = _DOI.sub(" ", f"{before[-_MOST_AROUND:]} {after[:_MOST_AROUND]}")
    found = [m.casefold() for m in _NUMBER.findall(text)][:_MOST_NUMBERS]
    return [(a, b) for at, a in enumerate(found) for b in found[at + 1 : at + 3] or ("",)]


@cache
def _expected() -> dict[tuple[str, str], tuple[object, ...]]:
    with connected() as db:
        db.execute(f"ATTACH ':memory:' AS bib; USE bib; {TABLES}").fetchall()
        return catalog_of(db, "bib")
