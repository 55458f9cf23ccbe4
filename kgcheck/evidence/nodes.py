"""EvidenceJoin: look up tasks (existence, attributes, scores, edges) in a snapshot by SQL joins.

The caller adds tasks to the working tables (kgcheck.evidence.working_tables); the methods of `EvidenceJoin` add
evidence, and gaps of deciding sources that could not be looked at.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb

from kgcheck.checks.lists import JOINED_SQL, SPLIT_SQL
from kgcheck.evidence.coverage import (
    FOREIGN_LETTER_RE2,
    IMPOSSIBLE_RE2,
    Topics,
    add_gaps,
    find_intended_ids,
    malformed,
    named_later,
    unlisted,
)
from kgcheck.evidence.edges import PROFILE_RELEASE, SCHEMA_SOURCE, Cited, look_up_edges, resolve_ends
from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.model import Reason
from kgcheck.profile.catalogue import STATE_REASONS, AttributeCheck, EdgeCheck, LinkedValue
from kgcheck.profile.schema import Label, Pattern
from kgcheck.quoting import literal
from kgcheck.reference.ids_sql import (
    OF_ONE_SEQUENCE,
    REPLACEMENTS,
    base,
    filed_elsewhere,
    in_scope_of_issuer,
    join_of_other_label,
    part_of_id,
    sequence,
)
from kgcheck.reference.overlay import attach_snapshot

_CHANNEL = r"\(([^()]+)\)$"
"""Channel of a source, at the end of what an edge cites, ``TISSUES (HPA)``, and of a record."""


class EvidenceJoin:
    """Joins between tasks and a snapshot."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        snapshot: Path | None,
        attach: Callable[[duckdb.DuckDBPyConnection, Path | None], None] = attach_snapshot,
        dates: Mapping[str, str] | None = None,
    ) -> None:
        self._db = db
        self._dates = dates or {}
        attach(db, snapshot)
        db.execute("CREATE TEMP TABLE state_reason (state VARCHAR, reason VARCHAR)").fetchall()
        reasons = ", ".join(f"({literal(state)}, {literal(reason)})" for state, reason in STATE_REASONS.items())
        db.execute(f"INSERT INTO state_reason VALUES {reasons}").fetchall()
        db.execute(
            r"""
            CREATE TEMP MACRO folded(x) AS trim(regexp_replace(lower(nfc_normalize(x)), '[\s\p{Z}]+', ' ', 'g'));
            CREATE TEMP MACRO lifecycle_text(state, detail, name, successors) AS concat_ws('; ',
                state, CASE WHEN lower(detail) NOT IN (state, '') THEN detail END,
                CASE WHEN state = 'current' THEN name END,
                CASE WHEN len(successors) > 0 THEN 'now ' || array_to_string(successors, ', ') END);
            CREATE TEMP MACRO is_older(released, dated) AS
                regexp_matches(coalesce(released, ''), '^[0-9]{4}') AND coalesce(dated, '') <> ''
                AND left(released, length(dated)) < left(dated, length(released));
            CREATE TEMP MACRO is_impossible(x, names) AS regexp_matches(x, $impossible)
                AND NOT regexp_matches(coalesce(names, ''), $foreign);
            """.replace("$impossible", literal(IMPOSSIBLE_RE2)).replace("$foreign", literal(FOREIGN_LETTER_RE2))
        ).fetchall()
        self.tables = WorkingTables(db)

    def existence(self, label: Label) -> None:
        """Look every task's id up at the authority of its label, or at those of several."""
        for issued, among in self._in_scope(label):
            self._existence(issued, among, one_of_several=bool(label.authorities))

    def _in_scope(self, label: Label, attribute: str = "") -> Iterator[tuple[Label, str]]:
        """The label as each issuer of ids among the tasks has it, with SQL for the tasks about which it is asked."""
        if not label.authorities:
            yield label, "true"
            return
        for issued in label.issued:
            among = in_scope_of_issuer(issued, "head", attribute)
            if self.tables.has(f"task WHERE {among}"):
                yield issued, among

    def _existence(self, label: Label, among: str, *, one_of_several: bool) -> None:
        authority = label.authority
        topics = Topics(self._db)
        # What is no id of one of several issuers is one of another.
        odd = "false" if one_of_several else malformed(label, "head")
        odd += f" OR ({unlisted(topics, label, 'head')} AND ({among}))"
        if self.tables.has(f"task WHERE {odd}"):
            find_intended_ids(self.tables, topics, label, f"SELECT head AS id FROM task WHERE {odd}")
            if not one_of_several:
                self._malformed(label)
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE node_key AS
            SELECT task, head, {base(label, "head")} AS base, {sequence(label, "head")} AS sequence FROM task
            WHERE regexp_full_match(head, $pattern) AND regexp_full_match(head, $issued) AND ({among})
            """,
            {"pattern": label.id_pattern, "issued": authority.pattern or ".*"},
        ).fetchall()
        self._lifecycles(topics, label, self._dates.get(label.name, ""))
        if label.site:
            self._sites(label)
        older = _MAY_BE_OLDER if one_of_several else _IS_OLDER
        self._silence_of_ids(topics, authority.source, self._dates.get(label.name, ""), older)
        if authority.other:
            self.tables.add(
                "gap",
                f"""
                SELECT task, $source AS source, '{Reason.REFERENCE_MISSING.value}' AS cause FROM task
                WHERE NOT regexp_full_match(head, $issued) AND regexp_full_match(head, $pattern)
                """,
                {"source": authority.other, "issued": authority.pattern, "pattern": label.id_pattern},
            )

    def _malformed(self, label: Label) -> None:
        self.tables.add(
            "evidence",
            f"""
            SELECT task, $source AS source, $release AS release, head AS record, 'contradicts' AS stance,
                   'closed' AS world, 'owner' AS tier, $reason AS reason, 'an id looks like ' || $example AS value,
                   'fact' AS about,
                   CASE WHEN intended IS NOT NULL THEN [intended] END AS replacements
            FROM task LEFT JOIN intended_id ON id = head WHERE {malformed(label, "head")}
            """,
            {
                "source": SCHEMA_SOURCE,
                "release": PROFILE_RELEASE,
                "reason": Reason.MALFORMED_ID.value,
                "example": label.id_example,
            },
        )

    def attribute(self, label: Label, check: AttributeCheck) -> None:
        """Compare every task's value with the reference value of its node.

        The newest release that states a value speaks. One that is older than what the graph has cannot tell a name that
        came later from a wrong one, unless no release can have it.
        """
        for issued, among in self._in_scope(label, check.reference):
            own = check.model_copy(update={"source": check.source or issued.authority.source})
            self._attribute(issued, own, among)

    def _attribute(self, label: Label, check: AttributeCheck, among: str) -> None:
        known_by = sequence if check.reference in OF_ONE_SEQUENCE else base
        self._db.execute(f"""
            CREATE OR REPLACE TEMP TABLE node_key AS SELECT *, {known_by(label, "head")} AS base FROM task
            WHERE {among};
            CREATE OR REPLACE TEMP TABLE reference_value AS
            WITH stated AS (
                SELECT v.*, r.recency, max(r.recency) FILTER (status = 'current') OVER (PARTITION BY v.id) AS newest
                FROM ref.value v JOIN ref.release r ON r.id = v.release_id
                WHERE v.source = {literal(check.source)} AND attribute IN ({", ".join(map(literal, check.stated_as))})
                  AND folded(value) <> '' AND v.id IN (SELECT base FROM node_key))
            SELECT id, list(DISTINCT value ORDER BY value) FILTER (status = 'current' AND recency = newest) AS now,
                   list(DISTINCT folded(value)) FILTER (status <> 'current') AS former,
                   list(DISTINCT value ORDER BY value)
                       FILTER (status IN ('current', 'synonym') AND recency = newest) AS every,
                   {_STATING.format(value="value")} FILTER (status = 'current' AND recency = newest) AS stating,
                   {_STATING.format(value="value")} FILTER (status = 'current' AND recency < newest) AS undated
            FROM stated GROUP BY id HAVING now IS NOT NULL""").fetchall()
        self._compare(label, check, check.source, "owner")
        self.tables.add(
            "gap",
            """
            SELECT task, $source AS source,
                   CASE WHEN EXISTS (FROM ref.value WHERE source = $source AND attribute = $attribute)
                        THEN 'not_covered' ELSE 'reference_missing' END AS cause
            FROM node_key ANTI JOIN (SELECT id AS base FROM reference_value) USING (base)
            """,
            {"source": check.source, "attribute": check.reference},
        )
        if check.otherwise:
            self._read_links(check.otherwise)
            self._compare(label, check, check.otherwise.source, "curated")

    def _read_links(self, linked: LinkedValue) -> None:
        """Table ``reference_value`` for nodes without a value: heads of links to them, and what these were before."""
        self._db.execute(f"""
            DELETE FROM node_key WHERE base IN (SELECT id FROM reference_value);
            CREATE OR REPLACE TEMP TABLE reference_value AS
            WITH former AS (
                SELECT id, unnest(successors) AS now FROM ref.lifecycle
                WHERE source = {literal(linked.source)} AND state <> 'current')
            SELECT l.tail_now AS id, list(DISTINCT l.head_now ORDER BY l.head_now) AS now,
                   list(DISTINCT folded(f.id)) FILTER (f.id IS NOT NULL) AS former,
                   list(DISTINCT l.head_now ORDER BY l.head_now) AS every,
                   {_STATING.format(value="l.head_now")} AS stating,
                   {_STATING.format(value="l.head_now")} FILTER (false) AS undated
            FROM ref.link l JOIN ref.release r ON r.id = l.release_id LEFT JOIN former f ON f.now = l.head_now
            WHERE l.source = {literal(linked.source)} AND l.relation = {literal(linked.link)}
              AND NOT l.negated AND NOT l.retracted AND l.tail_now IN (SELECT base FROM node_key)
            GROUP BY l.tail_now""").fetchall()

    def _compare(self, label: Label, check: AttributeCheck, source: str, tier: str) -> None:
        as_good = "s.every" if check.synonyms else "s.now"
        same = f"list_contains(list_transform({as_good}, lambda x: folded(x)), folded(a.value))"
        if check.synonyms:
            # Of a list of names, one that is right will do.
            own = "list_transform(list_append(string_split(a.value, '|'), a.value), lambda x: folded(x))"
            same = f"list_has_any(list_transform({as_good}, lambda x: folded(x)), {own})"
        same = "false" if check.exact else same
        judged = _LIST_COMPARISON if check.every else _VALUE_COMPARISON.format(same=same)
        self.tables.add(
            "evidence",
            f"""
            SELECT task, $source AS source, release_id, record,
                   CASE WHEN too_old THEN 'silent'
                        WHEN reason IS NULL OR reason = '{Reason.FORMATTING.value}' THEN 'supports'
                        ELSE 'contradicts' END AS stance,
                   CASE WHEN too_old THEN 'open' ELSE 'closed' END AS world, $tier AS tier,
                   CASE WHEN too_old THEN {_OLDER} ELSE reason END AS reason, value, 'fact' AS about,
                   CASE WHEN NOT too_old THEN candidates END AS candidates
            FROM (SELECT s.*, place.release_id, place.record,
                         coalesce(reason IN ({_MISMATCH}, '{Reason.VALUE_OUTDATED.value}')
                                  AND {_MAY_BE_OLDER if check.synonyms else _IS_OLDER}
                                  AND NOT is_impossible(own, names), false) AS too_old
                  FROM (SELECT a.task, a.value AS own, array_to_string(s.now, ' ') AS names,
                               coalesce({_PLACE.format(of="s.stating")}, s.stating[1]) AS place, {judged}
                        FROM node_key a JOIN reference_value s ON s.id = a.base) s
                  JOIN ref.release r ON r.id = place.release_id)
            """,
            {"source": source, "tier": tier, "dated": self._dates.get(label.name, "")},
        )
        # One without a date is neither older nor newer: it does not speak, and what it states is no plain error.
        self.tables.add(
            "evidence",
            f"""
            SELECT task, $source AS source, place.release_id AS release_id, place.record AS record,
                   'supports' AS stance, 'closed' AS world, $tier AS tier, place.value AS value, 'fact' AS about
            FROM (SELECT a.task, {_PLACE.format(of="s.undated")} AS place
                  FROM node_key a JOIN reference_value s ON s.id = a.base WHERE s.undated IS NOT NULL)
            SEMI JOIN (FROM evidence WHERE reason IN ({_MISMATCH}, {_OLDER})) USING (task) WHERE place IS NOT NULL
            """,
            {"source": source, "tier": tier},
        )

    def scores(self, pattern: Pattern, head: Label, tail: Label, check: EdgeCheck, cited: Cited | None = None) -> None:
        """Compare the score of every task's edge, in ``value``, with that of the source that it cites.

        Of several scores that the newest release gives a pair, the nearest counts; so it does of both orders. Of a
        source with channels, only the one counts that the edges of the pair cite.
        """
        if check.score is None:
            return
        resolve_ends(self.tables, head, tail)
        ends = [("e.head_now", "e.tail_now")]
        if check.match == "either_order":
            ends.append(("e.tail_now", "e.head_now"))
        own_channel = ""
        if check.channels:
            # Nothing is compared where nothing is cited; of several channels, a task does not tell whose its score is.
            sources = cited() if cited else "SELECT head, tail, '' AS source FROM task"
            own_channel = f"""
            AND (e.task, regexp_extract(l.record, '{_CHANNEL}', 1)) IN (
                SELECT t.task, any_value(regexp_extract(c.source, '{_CHANNEL}', 1))
                FROM task t JOIN ({sources}) c ON c.head = t.head AND c.tail = t.tail
                WHERE starts_with(lower(c.source), {literal(f"{check.score.cited} (".lower())})
                GROUP BY t.task HAVING count(DISTINCT c.source) = 1)"""
        stated = " UNION ALL ".join(
            f"""
            SELECT e.task, l.score, l.release_id, l.record, r.recency, r.released
            FROM ends e JOIN ref.link l ON l.head_now = {one} AND l.tail_now = {other}
            JOIN ref.release r ON r.id = l.release_id
            WHERE l.source = $source AND l.relation = $relation AND NOT l.negated AND l.score IS NOT NULL
            {own_channel}"""
            for one, other in ends
        )
        self.tables.add(
            "evidence",
            f"""
            SELECT task, $source AS source, release_id, record,
                   CASE WHEN reason IS NULL THEN 'supports' WHEN reason = {_OLDER} THEN 'silent' ELSE 'contradicts' END
                   AS stance,
                   CASE WHEN reason = {_OLDER} THEN 'open' ELSE 'closed' END AS world, 'owner' AS tier, reason,
                   score::DECIMAL(18, 3)::DOUBLE::VARCHAR AS value, 'fact' AS about
            FROM (
                SELECT *, CASE WHEN own IS NULL THEN {_MISSING} WHEN round(abs(score - own), 6) <= $most THEN NULL
                               WHEN is_older(released, $dated) THEN {_OLDER} ELSE {_MISMATCH} END AS reason
                FROM (SELECT s.*, try_cast(t.value AS DOUBLE) AS own FROM ({stated}) s JOIN task t USING (task))
                QUALIFY row_number() OVER (
                    PARTITION BY task ORDER BY recency DESC, abs(score - own), score DESC, release_id, record) = 1)
            """,
            {
                "source": check.source,
                "relation": check.link,
                "most": check.score.most,
                "dated": self._dates.get(str(pattern), ""),
            },
        )
        self.tables.put("unseen", "FROM ends ANTI JOIN evidence USING (task)")
        add_gaps(self.tables, Topics(self._db), check.source, check.link)

    def edges(self, pattern: Pattern, head: Label, tail: Label, cited: Cited | None = None) -> None:
        look_up_edges(self.tables, pattern, head, tail, cited, self._dates)

    def _lifecycles(self, topics: Topics, label: Label, dated: str) -> None:
        later = named_later(self._db, topics, label.authority.source, dated, "a.head")
        elsewhere = f"coalesce({filed_elsewhere(label, 'l')}, false)"
        # A site exists when its residue does, which the entry alone does not tell.
        decided = "l.state <> 'current'" if label.site else "true"
        self.tables.add(
            "evidence",
            f"""
            SELECT a.task, l.source, l.release_id, l.record,
                   CASE WHEN {later} THEN 'silent'
                        WHEN l.state = 'current' AND NOT {elsewhere} THEN 'supports' ELSE 'contradicts' END AS stance,
                   CASE WHEN {later} THEN 'open' ELSE 'closed' END AS world, 'owner' AS tier,
                   CASE WHEN {later} THEN '{Reason.REFERENCE_OLDER.value}'
                        WHEN l.state = 'secondary' AND o.id IS NOT NULL THEN '{Reason.WRONG_NAMESPACE.value}'
                        WHEN l.state <> 'current' THEN s.reason
                        WHEN {elsewhere} THEN '{Reason.WRONG_NAMESPACE.value}' END AS reason,
                   CASE WHEN o.id IS NOT NULL THEN 'replaced by a ' || o.namespace || '; '
                        WHEN {elsewhere} THEN 'a ' || l.namespace || '; ' ELSE '' END
                   || lifecycle_text(l.state, l.detail, l.name, l.successors)
                   || CASE WHEN {later} THEN {_NEWER} ELSE '' END AS value, 'fact' AS about, {REPLACEMENTS}
            FROM node_key a JOIN ref.lifecycle l ON l.source = $source AND l.id = a.base
            {join_of_other_label(label)} LEFT JOIN state_reason s ON s.state = l.state WHERE {decided}
            """,
            {"source": label.authority.source, "dated": dated},
        )

    def _sites(self, label: Label) -> None:
        self.tables.add(
            "evidence",
            f"""
            SELECT task, $source AS source, release_id, record,
                   CASE WHEN reason IS NULL THEN 'supports' ELSE 'contradicts' END AS stance,
                   'closed' AS world, 'owner' AS tier, reason, value, 'fact' AS about
            FROM (
                SELECT task, release_id, record,
                       CASE WHEN position BETWEEN 1 AND length(residues) THEN
                                CASE WHEN residues[position] <> residue THEN '{Reason.RESIDUE_MISMATCH.value}' END
                            ELSE '{Reason.POSITION_OUT_OF_RANGE.value}' END AS reason,
                       CASE WHEN position BETWEEN 1 AND length(residues)
                            THEN 'residue ' || position || ' is ' || residues[position]
                            ELSE 'the sequence has ' || length(residues) || ' residues' END AS value
                FROM (SELECT task, v.release_id, v.record, v.value AS residues, r.recency,
                             {part_of_id(label, "head", "residue")} AS residue,
                             try_cast({part_of_id(label, "head", "position")} AS BIGINT) AS position
                      FROM node_key a JOIN ref.value v ON v.id = a.sequence JOIN ref.release r ON r.id = v.release_id
                      WHERE v.source = $source AND v.attribute = 'sequence' AND v.status = 'current')
                ANTI JOIN (SELECT task FROM evidence WHERE stance = 'contradicts') USING (task)
                QUALIFY row_number() OVER (PARTITION BY task ORDER BY recency DESC, release_id, residues) = 1)
            """,
            {"source": label.authority.source},
        )

    def _silence_of_ids(self, topics: Topics, source: str, dated: str, older: str) -> None:
        self.tables.put("unseen", "SELECT task, head, base AS head_now FROM node_key ANTI JOIN evidence USING (task)")
        if not self.tables.has("unseen"):
            return
        # An id that a release was asked for by itself, and did not know, is not there.
        requested = "SELECT id AS head_now, max(release_id) AS release_id FROM ref.covered WHERE source = $source"
        self._unknown_ids(f"{requested} AND topic = 'entity' GROUP BY id", source, dated, older)
        listing = topics.complete(source, "entity")
        if listing is None:
            add_gaps(self.tables, topics, source, "entity")
            return
        # A listed id whose parts the source does not show (a site without its sequence) was not looked at.
        self.tables.add(
            "gap",
            """
            SELECT task, $source AS source, 'not_covered' AS cause FROM unseen
            SEMI JOIN (SELECT id AS head_now FROM ref.lifecycle WHERE source = $source) USING (head_now)
            """,
            {"source": source},
        )
        self._unknown_ids(
            f"""
            SELECT DISTINCT head_now, {listing} AS release_id
            FROM unseen ANTI JOIN (SELECT id AS head_now FROM ref.lifecycle WHERE source = $source) USING (head_now)
            """,
            source,
            dated,
            older,
        )

    def _unknown_ids(self, unknown: str, source: str, dated: str, older: str) -> None:
        """Silence of a release about ids; of a list that is older than the graph, it says nothing of newer ones."""
        self.tables.add(
            "evidence",
            f"""
            SELECT task, $source AS source, release_id, head_now AS record, 'silent' AS stance,
                   CASE WHEN too_old THEN 'open' ELSE 'closed' END AS world, 'owner' AS tier,
                   CASE WHEN too_old THEN {_OLDER}
                        WHEN impossible THEN '{Reason.MALFORMED_ID.value}' END AS reason,
                   'not in this release' || CASE WHEN too_old THEN {_NEWER} ELSE '' END AS value, 'fact' AS about,
                   CASE WHEN intended IS NOT NULL THEN [intended] END AS replacements
            FROM (SELECT u.task, u.head_now, n.release_id, m.intended, is_impossible(u.head, '') AS impossible,
                         m.intended IS NULL AND NOT impossible AND {older} AS too_old
                  FROM unseen u JOIN ({unknown}) n USING (head_now) JOIN ref.release r ON r.id = n.release_id
                  LEFT JOIN intended_id m ON m.id = u.head)
            """,
            {"source": source, "dated": dated},
        )
        self.tables.drop("unseen", "FROM evidence")


_IS_OLDER = "is_older(r.released, $dated)"
_MAY_BE_OLDER = f"({_IS_OLDER} OR NOT regexp_matches(coalesce(r.released, ''), '^[0-9]{{4}}'))"
"""SQL for whether release r is older than the graph; or may be, for it has no date."""

_NEWER = "', and the graph is of ' || $dated"

_STATING = """list({{'value': {value}, 'release_id': release_id, 'record': record}}
    ORDER BY recency DESC, release_id DESC, record)"""
_PLACE = "list_filter({of}, lambda x: folded(x.value) = folded(a.value))[1]"
"""SQL for the places of values, and for the place of the value that the graph has."""

_OLDER, _MISSING, _MISMATCH = (
    literal(reason.value) for reason in (Reason.REFERENCE_OLDER, Reason.VALUE_MISSING, Reason.VALUE_MISMATCH)
)

_VALUE_COMPARISON = f"""
    CASE WHEN folded(coalesce(a.value, '')) = '' THEN {_MISSING}
         WHEN list_contains(s.now, a.value) THEN NULL
         WHEN {{same}} THEN '{Reason.FORMATTING.value}'
         WHEN list_contains(s.former, folded(a.value)) THEN '{Reason.VALUE_OUTDATED.value}'
         ELSE {_MISMATCH} END AS reason,
    array_to_string(s.now, '; ') AS value, CASE WHEN len(s.now) > 1 THEN s.now END AS candidates
"""

_LACKING = f"""list_filter(s.every, lambda x: NOT list_contains(
    list_transform(coalesce({SPLIT_SQL.format(items="a.items")}, []), lambda y: folded(y)), folded(x)))"""

_LIST_COMPARISON = f"""
    CASE WHEN len({_LACKING}) > 0 THEN {_MISSING} END AS reason,
    CASE WHEN len({_LACKING}) > 0 THEN {JOINED_SQL.format(items=_LACKING)}
         ELSE {JOINED_SQL.format(items="s.every")} END AS value,
    NULL::VARCHAR[] AS candidates
"""
"""Comparison of a list: the names that it lacks are what the source says."""
