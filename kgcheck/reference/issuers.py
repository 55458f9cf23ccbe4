"""Issuers of ids: the sources of a snapshot that list the ids of a graph's prefixes."""

import re
from collections.abc import Collection, Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kgcheck.duck import connected
from kgcheck.plurals import how_many
from kgcheck.profile.catalogue import AttributeCheck, Authority
from kgcheck.profile.schema import Label, Schema
from kgcheck.quoting import literal
from kgcheck.reference.snapshot import attach_snapshots, damage_named
from kgcheck.standards.bioregistry import registry

_NAME = "name"
"""Property that holds what a node is called, and attribute of sources that do."""

_ENOUGH = 0.9
"""Share of a graph's ids that a source must know: else it does not list all, whatever it says."""

_BARE = {
    "uniprot": ("uniprot", "[A-Z0-9]+"),
    "ncbigene": ("ncbigene", "[0-9]+"),
    "reactome": ("reactome", "R-[A-Z0-9-]+"),
}
"""By source whose own ids have no prefix, their prefix in the Bioregistry and their form."""

_KIND = "(?:[A-Za-z][A-Za-z0-9 _-]*::)?"
"""Expression of the kind that ids of Hetionet and graphs like it have before the CURIE."""


class Issued(NamedTuple):
    """Ids of a graph of one prefix: how many there are, the source that knows most of them, how many it knows."""

    prefix: str
    stated: int
    source: str
    known: int
    is_bare: bool
    is_whole: bool
    has_kind: bool

    @property
    def authority(self) -> Authority:
        """The source as issuer of these ids; of one that does not list all, only what it knows is asked."""
        prefix = f"{re.escape(self.prefix)}:"
        form = f"{prefix}(?P<entry>{_BARE[self.source][1]})" if self.is_bare else rf"{prefix}\S+"
        if self.has_kind:
            form = f"{_KIND}{form}" if self.is_bare else f"{_KIND}(?P<entry>{form})"
        partial = not self.is_whole or self.known < self.stated * _ENOUGH
        return Authority(source=self.source, pattern=form, is_partial=partial)

    def note(self) -> str:
        """Tell of a source that knows too few ids."""
        ids = how_many(self.stated, f"id of {self.prefix}", f"ids of {self.prefix}")
        return f"{self.source} knows {self.known:,} of {ids}, so that nothing is said of the others"


def with_issuers(schema: Schema, ids: pa.Table, snapshot: Path) -> tuple[Schema, list[str]]:
    """A drafted schema with those who issue the ids of labels without an issuer, and notes on who knows few.

    `ids` has a row for each node: label and id. A source issues the ids of a prefix as the graph spells it.
    """
    found, prefixes = _issued(ids, snapshot)

    def of(label: Label) -> Label:
        if label.sources:
            return label
        authorities = tuple(found[p].authority for p in prefixes.get(label.name, ()) if p in found)
        named = {_NAME: AttributeCheck(reference=_NAME, synonyms=True)} if _NAME in label.properties else {}
        return Label(
            **dict(label)
            | {"authorities": authorities, "attributes": (named if authorities else {}) | label.attributes}
        )

    notes = [one.note() for one in found.values() if one.authority.is_partial and one.known < one.stated]
    notes += _other_spellings({prefix for some in prefixes.values() for prefix in some} - found.keys(), snapshot)
    return Schema(**dict(schema) | {"labels": tuple(map(of, schema.labels))}), notes


def _issued(ids: pa.Table, snapshot: Path) -> tuple[dict[str, Issued], dict[str, list[str]]]:
    """Find the issuer of each prefix, where there is one, and the prefixes of each label."""
    with closing(connected()) as db:
        db.register("stated", ids)
        db.execute(f"""
            CREATE TEMP TABLE curie AS
            SELECT DISTINCT label, id, whole <> id AS has_kind,
                   regexp_extract(id, '^([A-Za-z][A-Za-z0-9_.-]*):[^/:\\s]', 1) AS prefix
            FROM (SELECT label, id AS whole, regexp_replace(id, {literal("^" + _KIND)}, '') AS id FROM stated)
            WHERE prefix <> ''""").fetchall()
        of_labels = db.execute(
            "SELECT label, list(DISTINCT prefix ORDER BY prefix) FROM curie GROUP BY label"
        ).fetchall()
        attach_snapshots(db, {"ref": snapshot})
        with damage_named(snapshot):
            rows = db.execute(f"""
                WITH one AS (SELECT id, prefix, bool_or(has_kind) AS has_kind FROM curie GROUP BY ALL),
                issuer AS (
                    SELECT source, bool_or(complete) AS is_whole FROM ref.topic WHERE topic = 'entity' GROUP BY source),
                -- What the newest release lacks is no sign that it lists all there is.
                life AS (FROM ref.lifecycle JOIN issuer USING (source) WHERE state <> 'dropped'),
                known AS (
                    SELECT prefix, source, is_whole, false AS is_bare, count(*) AS n
                    FROM one JOIN life USING (id) GROUP BY ALL
                    UNION ALL
                    SELECT prefix, source, is_whole, true AS is_bare, count(*) AS n
                    FROM one JOIN life ON life.id = substr(one.id, length(prefix) + 2)
                    WHERE {_are_bare(p for _, some in of_labels for p in some)} GROUP BY ALL)
                SELECT prefix, total, source, n, is_bare, is_whole, has_kind FROM known
                JOIN (SELECT prefix, count(*) AS total, bool_or(has_kind) AS has_kind FROM one GROUP BY prefix)
                USING (prefix)
                QUALIFY row_number() OVER (PARTITION BY prefix ORDER BY is_whole DESC, n DESC, source) = 1
                ORDER BY prefix""").fetchall()
    return {row[0]: Issued(*row) for row in rows}, dict(of_labels)


def _other_spellings(prefixes: Collection[str], snapshot: Path) -> list[str]:
    """Notes on prefixes that the snapshot spells otherwise, so that their ids are not looked up."""
    if not prefixes:
        return []
    with closing(connected()) as db:
        attach_snapshots(db, {"ref": snapshot})
        with damage_named(snapshot):
            rows = db.execute(
                "SELECT DISTINCT split_part(id, ':', 1) AS prefix FROM ref.lifecycle WHERE contains(id, ':')"
                " AND list_contains($folded, lower(prefix)) ORDER BY prefix",
                {"folded": [prefix.lower() for prefix in prefixes]},
            ).fetchall()
    listed = {prefix.lower(): prefix for (prefix,) in rows}
    return [
        f"the snapshot has ids of {listed[prefix.lower()]}, and the graph writes {prefix}: they are not looked up"
        for prefix in sorted(prefixes)
        if prefix.lower() in listed
    ]


def _are_bare(prefixes: Iterable[str]) -> str:
    """SQL for the sources whose ids are those of a prefix without it."""
    pairs = [
        f"(prefix = {literal(prefix)} AND source = {literal(source)})"
        for prefix in sorted(set(prefixes))
        for source, (name, _) in _BARE.items()
        if (known := registry().find(prefix)) and known.prefix == name
    ]
    return " OR ".join(pairs) or "false"
