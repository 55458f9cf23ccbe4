"""Topics: what a snapshot's releases cover in full or in part, and gaps of tasks outside of it."""

import duckdb

from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.model import Reason
from kgcheck.profile.catalogue import NAMING
from kgcheck.profile.schema import Label
from kgcheck.quoting import literal
from kgcheck.reference.ids_sql import base, part_of_id
from kgcheck.visible import HIDDEN_RE2


class Topics:
    """Topics of the releases of a snapshot: a small table, of which much is asked, read once."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._releases: dict[tuple[str, str], list[tuple[int, int, bool]]] = {}
        select = "SELECT t.source, t.topic, r.recency, r.id, t.complete FROM ref.topic t JOIN ref.release r"
        for source, topic, *release in db.execute(f"{select} ON r.id = t.release_id").fetchall():
            self._releases.setdefault((source, topic), []).append(tuple(release))

    def complete(self, source: str, topic: str) -> int | None:
        """The newest release that lists everything of a topic, or None."""
        whole = [(recency, number) for recency, number, whole in self._releases.get((source, topic), ()) if whole]
        return max(whole)[1] if whole else None

    def speak(self, source: str, topic: str) -> bool:
        return (source, topic) in self._releases

    def dates(self, source: str, topic: str) -> int:
        return len({recency for recency, *_ in self._releases.get((source, topic), ())})


def named_later(db: duckdb.DuckDBPyConnection, topics: Topics, source: str, dated: str, column: str) -> str:
    """SQL for whether the id in a column, which lifecycle l is of, may have become one of its own since.

    What an authority knew as a name of something else, a graph that is newer than that may have as an id. A later list
    of all ids that still lacks it must be older than the graph, too.
    """
    older = f"SELECT id FROM ref.release WHERE source = {literal(source)} AND is_older(released, {literal(dated)})"
    releases = [release for (release,) in db.execute(f"{older} ORDER BY id").fetchall()]
    if not releases or topics.complete(source, "entity") not in (None, *releases):
        return "false"
    states = ", ".join(literal(state) for state in NAMING)
    of_older = f"l.state IN ({states}) AND l.release_id IN ({', '.join(map(str, releases))})"
    return f"({of_older} AND NOT is_impossible({column}, ''))"


def add_gaps(tables: WorkingTables, topics: Topics, source: str, topic: str) -> None:
    """Gaps of the tasks in ``unseen``: the source could not be looked at for this topic."""
    cause = Reason.NOT_COVERED if topics.speak(source, topic) else Reason.REFERENCE_MISSING
    select = "SELECT task, $source AS source, $cause AS cause FROM unseen"
    tables.add("gap", select, {"source": source, "cause": cause.value})


_SPACES = r"[\s\p{Z}]+"

# Capitals and an o of other scripts that look just as Latin letters do, and those.
_GREEK = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"  # noqa: RUF001
_ALIKE = (f"АВЕЅІЈКМНОРСТУХасеіјорѕух{_GREEK}", "ABESIJKMHOPCTYXaceijopsyxABEZHIKMNOPTYXo")  # noqa: RUF001
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec"

_STYLED = r"[\x{FF01}-\x{FF5E}\x{1D400}-\x{1D7FF}]"
"""Latin letters and digits as East Asian keyboards and formulas have them."""

FOREIGN_LETTER_RE2 = r"[^\P{L}\p{Latin}\p{Greek}\p{Common}\p{Inherited}]"
"""A letter of a script in which no source writes that writes in Latin; Greek ones stand in many names."""

IMPOSSIBLE_RE2 = "|".join(
    (
        f"[{HIDDEN_RE2}]",
        FOREIGN_LETTER_RE2,
        rf"[\p{{Latin}}0-9][{_GREEK}]|[{_GREEK}][\p{{Latin}}0-9]",
        _STYLED,
        rf"(?i:^(?:[0-9]{{1,2}}-(?:{_MONTHS})|(?:{_MONTHS})-[0-9]{{2}}|[0-9]{{1,2}}-(?:{_MONTHS})-[0-9]{{2,4}})$)",
    )
)
"""Pattern of ids that no release has, however new it is.

Text that hides something, letters that only look Latin, and what a spreadsheet makes of the symbols MARCH1 and SEPT2.
"""


def _in_latin_letters(column: str) -> str:
    """SQL for an id without spaces, in the Latin letters that those of other scripts look like."""
    return f"translate(regexp_replace({column}, '{_SPACES}', '', 'g'), '{_ALIKE[0]}', '{_ALIKE[1]}')"


def find_intended_ids(tables: WorkingTables, topics: Topics, label: Label, ids: str) -> None:
    """Fill table ``intended_id``: ids that are malformed or unknown, and that one id without spaces and case equals.

    What the authority lists comes first. Where it has no complete list, the form alone tells: the id without spaces, as
    it stands or in capitals, if that is an id of the label.
    """
    pattern, source = literal(label.id_pattern), literal(label.authority.source)
    listed = topics.complete(label.authority.source, "entity") is not None
    filed = part_of_id(label, _in_latin_letters("id"), "entry", "i")
    # Of a site, the authority lists the protein, so its form alone tells.
    by_form = "false" if listed and not label.site else "true"
    known = "false" if label.site else "true"
    tables.put(
        "intended_id",
        f"""
        WITH odd AS (SELECT DISTINCT id, {_in_latin_letters("id")} AS bare, upper({filed}) AS form FROM ({ids})),
        listed AS (
            SELECT o.id, list(DISTINCT CASE WHEN upper(l.id) = upper(o.bare) THEN l.id ELSE upper(o.bare) END) AS ids
            FROM odd o JOIN ref.lifecycle l ON upper(l.id) = o.form
            WHERE {known} AND l.source = {source} AND l.state = 'current' GROUP BY o.id)
        SELECT id, intended FROM (
            SELECT o.id, CASE WHEN len(l.ids) = 1 THEN l.ids[1] WHEN l.ids IS NOT NULL THEN NULL
                              WHEN {by_form} AND regexp_full_match(bare, {pattern}) THEN bare
                              WHEN {by_form} AND regexp_full_match(upper(bare), {pattern}) THEN upper(bare) END
                   AS intended
            FROM odd o LEFT JOIN listed l USING (id))
        WHERE intended <> id
        """,
    )


def unlisted(topics: Topics, label: Label, column: str, listed: str | None = None) -> str:
    """SQL for ids that their authority, which lists all of its own, does not list."""
    if label.site or topics.complete(label.authority.source, "entity") is None:
        return "false"
    issued = literal(label.authority.pattern or ".*")
    ids = f"SELECT id FROM ref.lifecycle WHERE source = {literal(label.authority.source)}"
    listed = listed or f"{base(label, column)} IN ({ids})"
    return f"(regexp_full_match({column}, {issued}) AND NOT {listed})"


def malformed(label: Label, column: str) -> str:
    """SQL for ids that have not the form of their label.

    Whatever a profile allows: an id with characters that nobody sees is not the one that it looks like.
    """
    seen = f"NOT regexp_matches({column}, '[{HIDDEN_RE2}]')"
    return f"NOT (regexp_full_match({column}, {literal(label.id_pattern)}) AND {seen})"
