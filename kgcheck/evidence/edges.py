"""Evidence on edges from a snapshot's links, in SQL: merged ends, support, closed silence.

Silence of the channel that an edge itself cites, ``DISEASES (GHR)``, counts. The verdict on an edge looks at the links
that count. What tells many edges at once (kgcheck.evidence.plain_support) asks for pairs all of whose links say the
same, so that it matters to none which count.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kgcheck.evidence.coverage import Topics, add_gaps, find_intended_ids, malformed, named_later, unlisted
from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.model import Reason, Stance
from kgcheck.profile.catalogue import PARENT, EdgeCheck
from kgcheck.profile.reference_files import NETWORKS
from kgcheck.profile.schema import Label, Pattern
from kgcheck.quoting import literal
from kgcheck.reference.ids_sql import (
    REPLACEMENTS,
    STRING_ID,
    authority,
    base,
    covers_tails,
    join_of_other_label,
    key,
    unmapped_topic,
)

Cited = Callable[[], str]
"""Gives a select of head, tail and source of edges, as the graph states them; to read them all may take long."""


def cited_by(stated: Iterable[tuple[str, str, str]]) -> Cited | None:
    """Return what edges cite, as head, tail and source, for a few tasks; None where they cite nothing."""
    rows = ", ".join(f"({literal(head)}, {literal(tail)}, {literal(source)})" for head, tail, source in stated)
    return (lambda: f"SELECT * FROM (VALUES {rows}) AS t(head, tail, source)") if rows else None


def channel_topic(link: str, channel: str) -> str:
    """The topic under which a release covers the proteins and the terms of which a channel of it speaks."""
    return f"{link} {channel}"


def look_at_own_channel(tables: WorkingTables, topics: Topics, check: EdgeCheck, cited: Cited | None) -> None:
    """Closed silence for the tasks in ``unseen`` whose edges cite channels that would have stated them.

    Each channel that the edges of a task cite must be covered, for the head and for the term, and the hierarchy must be
    whole, for a link to a descendant might have been missed. All others stay in ``unseen``.
    """
    if not check.channels or not cited or topics.complete(check.ontology or "", PARENT) is None:
        return
    topic = literal(channel_topic(check.link, ""))
    covered = f"FROM ref.covered WHERE source = {literal(check.source)} AND starts_with(topic, {topic})"
    both = f"head_now IN (SELECT id {covered}) AND tail_now IN (SELECT id {covered})"
    if not tables.has(f"unseen WHERE {both}"):
        return
    tables.db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE channel_silence AS
        WITH named AS (
            SELECT DISTINCT u.task, u.head_now, u.tail_now, regexp_extract(c.source, $form, 1) AS channel
            FROM (FROM unseen WHERE {both}) u JOIN ({cited()}) c ON c.head = u.head AND c.tail = u.tail)
        SELECT n.task, max(h.release_id) AS release_id, string_agg(DISTINCT channel, ', ' ORDER BY channel) AS channels,
               any_value(n.head_now) AS record
        FROM named n
        LEFT JOIN (SELECT DISTINCT topic, id, release_id {covered}) h
        ON h.topic = {topic} || channel AND h.id = n.head_now
        LEFT JOIN (SELECT DISTINCT topic, id, release_id {covered}) t
        ON t.topic = h.topic AND t.id = n.tail_now AND t.release_id = h.release_id
        GROUP BY n.task HAVING count(DISTINCT channel) = count(DISTINCT channel) FILTER (t.id IS NOT NULL)
        """,
        {"form": rf"^{check.channels} \((.+)\)$"},
    ).fetchall()
    tables.add(
        "evidence",
        """
        SELECT task, $source AS source, release_id, record, 'silent' AS stance, 'closed' AS world, $tier AS tier,
               'no such link in the channel that the edge cites: ' || channels AS value, 'fact' AS about
        FROM channel_silence
        """,
        {"source": check.source, "tier": check.tier.value},
    )
    tables.drop("unseen", "FROM channel_silence")


SCHEMA_SOURCE = "profile"
"""Source of evidence that needs no snapshot: what an identifier says by its form."""

PROFILE_RELEASE = "graph.toml"
"""Release of such evidence: the file of the profile that states the form."""


def look_up_edges(
    tables: WorkingTables,
    pattern: Pattern,
    head: Label,
    tail: Label,
    cited: Cited | None = None,
    dates: Mapping[str, str] | None = None,
) -> None:
    """Fill the tables evidence and gap for the pairs in the table task; see EvidenceJoin."""
    dates = dates or {}
    topics = Topics(tables.db)
    resolve_ends(tables, head, tail)
    ends = {"head": head, "tail": tail}
    for about, is_moved, is_odd in _find_doubtful_ends(tables, topics, ends):
        if is_moved:
            _moved_ends(tables, topics, about, ends[about], dates.get(ends[about].name, ""))
        if is_odd:
            _odd_ends(tables, topics, about, ends[about], dates.get(ends[about].name, ""))
    if tail.site and not head.site:
        _read_site_ids(tables, head, tail)
    if head.name == tail.name and not pattern.loops:
        _read_loops(tables, head)
    for check in pattern.checks:
        tables.put("unseen", _look_for_links(tables, check))
        if tables.has("unseen"):
            look_at_own_channel(tables, topics, check, cited)
            _look_at_silence(tables, topics, pattern, check, head, tail, dates.get(str(pattern), ""))


def resolve_ends(tables: WorkingTables, head: Label, tail: Label) -> None:
    """Table ``ends``: each pair under the ids that its ends have now.

    Tables ``head_end`` and ``tail_end`` have each of these ids once, with whether its authority lists it and whether it
    is no longer what it was: of many pairs, the ends are few.
    """
    for about, label in {"head": head, "tail": tail}.items():
        tables.db.execute(f"""
            CREATE OR REPLACE TEMP TABLE {about}_end AS
            SELECT n.id, l.id IS NOT NULL AS listed, coalesce(l.state <> 'current', false) AS moved,
                   CASE WHEN moved AND len(l.successors) > 0 THEN l.successors[1] ELSE {key(label, "n.id")} END AS now
            FROM (SELECT DISTINCT {about} AS id FROM task) n
            LEFT JOIN ref.lifecycle l ON l.source = {authority(label)} AND l.id = {base(label, "n.id")}""").fetchall()
    tables.put(
        "ends",
        """
        SELECT t.task, t.head, t.tail, h.now AS head_now, l.now AS tail_now
        FROM task t LEFT JOIN head_end h ON h.id = t.head LEFT JOIN tail_end l ON l.id = t.tail
        """,
    )


def _moved_ends(tables: WorkingTables, topics: Topics, end: str, label: Label, dated: str) -> None:
    later = named_later(tables.db, topics, label.authority.source, dated, "e.id")
    tables.add(
        "evidence",
        f"""
        SELECT e.task, l.source, l.release_id, l.record,
               CASE WHEN {later} THEN 'silent' ELSE 'contradicts' END AS stance,
               CASE WHEN {later} THEN 'open' ELSE 'closed' END AS world, 'owner' AS tier,
               CASE WHEN {later} THEN '{Reason.REFERENCE_OLDER.value}'
                    WHEN len(l.successors) > 0 THEN '{Reason.ENDPOINT_MERGED.value}'
                    ELSE '{Reason.ENDPOINT_DELETED.value}' END AS reason,
               lifecycle_text(l.state, l.detail, l.name, l.successors)
               || CASE WHEN {later} THEN ', and the graph is of ' || $dated ELSE '' END AS value, $about AS about,
               {REPLACEMENTS} FROM (FROM doubtful_end WHERE about = $about AND moved) e JOIN ref.lifecycle l
        ON l.source = {authority(label)} AND l.id = {base(label, "e.id")} AND l.state <> 'current'
        {join_of_other_label(label)}
        """,
        {"about": end, "dated": dated},
    )


def _find_doubtful_ends(tables: WorkingTables, topics: Topics, ends: Mapping[str, Label]) -> list[tuple[Any, ...]]:
    """Table ``doubtful_end``: ends that moved, are malformed (bad), or that a list lacks; nearly all are none of it."""
    selects = " UNION ALL ".join(
        f"""
        SELECT e.task, '{end}' AS about, d.* FROM ends e JOIN (
            SELECT id, {malformed(label, "id")} AS bad, {unlisted(topics, label, "id", "listed")} AS unknown, moved
            FROM {end}_end WHERE bad OR unknown OR moved) d ON d.id = e.{end}"""
        for end, label in ends.items()
    )
    tables.db.execute(f"CREATE OR REPLACE TEMP TABLE doubtful_end AS {selects}").fetchall()
    return tables.db.execute(
        "SELECT about, bool_or(moved), bool_or(bad OR unknown) FROM doubtful_end GROUP BY about ORDER BY about"
    ).fetchall()


def _odd_ends(tables: WorkingTables, topics: Topics, end: str, label: Label, dated: str) -> None:
    """Ends that are no ids of their label, or that a complete list lacks: the fault is the node's, not the edge's.

    Where one can tell which id was meant, the edge is looked up with that. A list that is older than the graph may lack
    an id that is newer than it.
    """
    odd = f"FROM doubtful_end WHERE about = '{end}' AND (bad OR unknown)"
    find_intended_ids(tables, topics, label, f"SELECT id {odd}")
    listing = topics.complete(label.authority.source, "entity") or 0
    tables.add(
        "evidence",
        f"""
        SELECT task, CASE WHEN bad THEN '{SCHEMA_SOURCE}' ELSE $source END AS source,
               CASE WHEN NOT bad THEN {listing} END AS release_id,
               CASE WHEN bad THEN '{PROFILE_RELEASE}' END AS release, id AS record,
               CASE WHEN intended IS NULL THEN 'silent' ELSE 'contradicts' END AS stance, 'closed' AS world,
               'owner' AS tier,
               CASE WHEN bad OR is_impossible(id, '') THEN '{Reason.ENDPOINT_MALFORMED.value}'
                    ELSE '{Reason.ENDPOINT_UNKNOWN.value}' END AS reason,
               CASE WHEN bad THEN 'an id looks like ' || $example ELSE 'not in this release' END AS value,
               $about AS about, CASE WHEN intended IS NOT NULL THEN [intended] END AS replacements
        FROM ({odd}) LEFT JOIN intended_id USING (id)
        WHERE bad OR intended IS NOT NULL OR is_impossible(id, '')
           OR NOT (SELECT coalesce(bool_or(is_older(released, $dated)), false) FROM ref.release WHERE id = {listing})
        """,
        {"source": label.authority.source, "example": label.id_example, "about": end, "dated": dated},
    )
    tables.put_intended_ends(end, key(label, "intended"))


def _read_loops(tables: WorkingTables, label: Label) -> None:
    """An edge of a node to itself, as it stands or with the ids that replace its ends, where none means anything.

    No source states it: a link whose ends became one says nothing any more. Isoforms of an entry are two nodes. One
    that the graph has as it stands is a fault of structure.
    """
    ends = [f"CASE WHEN {e}_now = {key(label, e)} THEN {e} ELSE {e}_now END" for e in ("head", "tail")]
    loops = f"ends WHERE {ends[0]} = {ends[1]}"
    if not tables.has(loops):
        return
    tables.add(
        "evidence",
        f"""
        SELECT task, '{SCHEMA_SOURCE}' AS source, '{PROFILE_RELEASE}' AS release, head || ' ' || tail AS record,
               'contradicts' AS stance, 'closed' AS world, 'owner' AS tier,
               CASE WHEN head = tail THEN '{Reason.EDGE_UNSUPPORTED.value}' ELSE '{Reason.SELF_LOOP.value}' END
               AS reason,
               CASE WHEN head = tail THEN 'from the node to itself'
                    ELSE 'with the replacement it would lead from ' || head_now || ' to itself' END AS value,
               'fact' AS about
        FROM {loops}
        """,
    )
    tables.drop("ends", "FROM evidence WHERE about = 'fact'")


def _read_site_ids(tables: WorkingTables, head: Label, tail: Label) -> None:
    """A site names its protein in its own id, so it is a site of no other."""
    tables.add(
        "evidence",
        f"""
        SELECT e.task, '{SCHEMA_SOURCE}' AS source, '{PROFILE_RELEASE}' AS release, e.tail AS record,
               'contradicts' AS stance, 'closed' AS world, 'owner' AS tier, '{Reason.EDGE_UNSUPPORTED.value}' AS reason,
               'the id names a site of ' || {base(tail, "e.tail")} AS value, 'fact' AS about
        FROM ends e LEFT JOIN ref.lifecycle l
        ON l.source = {literal(tail.authority.source)} AND l.id = {base(tail, "e.tail")} AND l.state <> 'current'
        WHERE regexp_full_match(e.tail, $pattern) AND {base(tail, "e.tail")} NOT IN ({base(head, "e.head")}, e.head_now)
          AND coalesce(l.successors[1] <> e.head_now, true)
        """,
        {"pattern": tail.id_pattern},
    )


def _look_for_links(tables: WorkingTables, check: EdgeCheck) -> str:
    """Evidence from links that the source states; `stance` and `counting` say which of them count."""
    links = _links_of_pairs(tables, check)
    if not tables.has("found_link"):
        return "FROM ends"
    # Most tasks have one link, which counts as it is: of the others alone it is asked which count.
    several = "(SELECT task FROM found_link GROUP BY task HAVING count(*) > 1)"
    counted = f"""
    WITH stated_link AS MATERIALIZED ({links})
    SELECT *, {stance(check)} AS stance FROM stated_link ANTI JOIN {several} USING (task) UNION ALL BY NAME
    ({counting(check, f"SELECT * FROM stated_link SEMI JOIN {several} USING (task)")})"""
    tables.db.execute(f"CREATE OR REPLACE TEMP TABLE counted_link AS {counted}").fetchall()
    tables.add(
        "evidence",
        f"""
        SELECT task, $source AS source, release_id, record, stance,
               CASE WHEN retracted THEN 'open' ELSE $world END AS world, $tier AS tier,
               CASE WHEN retracted THEN '{Reason.RETRACTED_EVIDENCE.value}'
                    WHEN negated THEN '{Reason.EDGE_NEGATED.value}'
                    WHEN stance = 'silent' THEN '{Reason.BELOW_THRESHOLD.value}' ELSE way END AS reason,
               CASE WHEN retracted THEN said || '; rests on retracted publications alone: ' || papers
                    WHEN negated THEN said || ', stated with NOT' ELSE concat_ws('; ', said, nullif($note, '')) END
               AS value,
               score, 'fact' AS about
        FROM counted_link
        """,
        {"source": check.source, "world": check.world.value, "tier": check.tier.value, "note": check.note},
    )
    return "FROM ends ANTI JOIN counted_link USING (task)"


def _look_at_silence(
    tables: WorkingTables, topics: Topics, pattern: Pattern, check: EdgeCheck, head: Label, tail: Label, dated: str
) -> None:
    """Add evidence for tasks without a link: silence where the source would have stated one, else a gap."""
    complete = topics.complete(check.source, check.link)
    if check.both_ends_mapped:
        looked = _mapped_pairs(check.source, check.link)
    elif complete is not None:
        looked = f"SELECT task, head_now AS record, {complete} AS release_id FROM unseen"
    else:
        tails = check.match == "either_order" or covers_tails(head, tail)
        looked = _covered(check.source, check.link, ("head_now", "tail_now") if tails else ("head_now",))
    tables.db.execute(f"CREATE OR REPLACE TEMP TABLE silent_release AS {looked}").fetchall()
    tables.add(
        "evidence",
        f"""
        SELECT task, $source AS source, release_id, record, 'silent' AS stance,
               CASE WHEN too_old OR way IS NOT NULL THEN 'open'
                    ELSE {_silent_world(topics, check, head)} END AS world, $tier AS tier,
               CASE WHEN too_old THEN '{Reason.REFERENCE_OLDER.value}'
                    WHEN way IS NOT NULL THEN '{Reason.PARENT_INDIRECT.value}' END AS reason,
               CASE WHEN too_old THEN 'an end is not in this release, and the graph is of ' || $dated
                    WHEN way IS NOT NULL THEN 'an ancestor, by ' || array_to_string(way, ', ')
                    ELSE 'no such link in this release' END AS value, 'fact' AS about, way AS candidates
        FROM (SELECT l.*, e.head_now, e.tail_now, {_too_old(tables, check, head, tail, dated)} AS too_old,
                     {_way_up(pattern, check)} AS way FROM silent_release l JOIN ends e USING (task))
        """,
        {"source": check.source, "tier": check.tier.value, "dated": dated},
    )
    tables.drop("unseen", "FROM silent_release")
    if check.both_ends_mapped:
        _look_at_unmapped(tables, check, complete)
    if not check.optional or topics.speak(check.source, check.link):
        add_gaps(tables, topics, check.source, check.link)


def _too_old(tables: WorkingTables, check: EdgeCheck, head: Label, tail: Label, dated: str) -> str:
    """SQL for silence of a release that is older than the graph, and has an end at most as a name of something else."""
    source, topic = literal(check.source), literal(check.link)
    older = f"SELECT r.id FROM ref.release r WHERE r.source = {source} AND is_older(r.released, {literal(dated)})"
    if not tables.has(f"({older})"):
        return "false"

    def unheard(end: str, label: Label) -> str:
        return f"""(e.{end} NOT IN (SELECT id FROM ref.lifecycle WHERE source = {authority(label)})
            AND e.{end} NOT IN (SELECT id FROM ref.covered WHERE source = {source} AND topic = {topic})
            AND e.{end} NOT IN (SELECT {end} FROM ref.link WHERE source = {source} AND relation = {topic}))"""

    named = f"l.task IN (SELECT task FROM evidence WHERE about <> 'fact' AND reason = '{Reason.REFERENCE_OLDER.value}')"
    return f"l.release_id IN ({older}) AND ({unheard('head_now', head)} OR {unheard('tail_now', tail)} OR {named})"


def _way_up(pattern: Pattern, check: EdgeCheck) -> str:
    """SQL for the parents of the head by which the tail is an ancestor: true, if redundant. NULL where it is none."""
    if not pattern.hierarchy or check.match != "exact":
        return "NULL::VARCHAR[]"
    return f"""(SELECT list(DISTINCT p.tail_now ORDER BY p.tail_now) FROM ref.link p JOIN ref.ancestor a
        ON a.ontology = {literal(check.source)} AND a.id = p.tail_now AND a.ancestor = e.tail_now
        WHERE p.source = {literal(check.source)} AND p.relation = {literal(check.link)} AND NOT p.negated
        AND p.head_now = e.head_now AND e.head_now <> e.tail_now)"""


def _look_at_unmapped(tables: WorkingTables, check: EdgeCheck, complete: int | None) -> None:
    """Open silence of a network about pairs of which it cannot tell, and which then are no longer in ``unseen``."""
    networks = ", ".join(map(literal, NETWORKS))
    known = f"attribute = {literal(STRING_ID)} AND status = 'current' AND source IN ({networks})"
    code, unmapped = "split_part(value, '.', 1)", literal(Reason.UNMAPPED_IDENTIFIER)
    selects = []
    if tables.has(f"ref.value WHERE {known} HAVING count(DISTINCT {code}) > 1"):
        # A network has proteins of one species.
        selects.append(f"""
            WITH species AS MATERIALIZED (
                SELECT id, list(DISTINCT {code} ORDER BY {code}) AS species, max(release_id) AS release_id
                FROM ref.value WHERE {known} GROUP BY id)
            SELECT task, head_now, tail_now, greatest(a.release_id, b.release_id) AS release_id, NULL AS reason,
                   'no network links proteins of two species, ' || a.species[1] || ' and ' || b.species[1] AS value
            FROM unseen u JOIN species a ON a.id = u.head_now JOIN species b ON b.id = u.tail_now
            WHERE NOT list_has_any(a.species, b.species)""")
    # A release may have been asked for an id by itself, and not map it.
    selects.append(f"""
        SELECT task, head_now, tail_now, max(c.release_id) AS release_id, {unmapped} AS reason,
               min(c.id) || ', which the source does not map' AS value
        FROM unseen JOIN ref.covered c ON c.source = {literal(check.source)}
        AND c.topic = {literal(unmapped_topic(check.link))} AND c.id IN (head_now, tail_now) GROUP BY ALL""")
    if complete is not None:
        selects.append(f"""
            SELECT task, head_now, tail_now, {complete} AS release_id, {unmapped} AS reason,
                   'an id that the source does not map' AS value FROM unseen WHERE head_now <> tail_now""")
    for select in selects:
        silence = f"""
            SELECT task, $source AS source, release_id, head_now || ' ' || tail_now AS record, 'silent' AS stance,
                   'open' AS world, $tier AS tier, reason, value, 'fact' AS about FROM ({select})"""
        tables.add("evidence", silence, {"source": check.source, "tier": check.tier.value})
        tables.drop("unseen", "FROM evidence WHERE source = $source", {"source": check.source})


def _silent_world(topics: Topics, check: EdgeCheck, head: Label) -> str:
    """SQL for the world of silence.

    Silence found by walking a hierarchy that is not complete is no closed silence. A source that lists a site says what
    it is, so there its silence about another term is closed.
    """
    if check.match != "descendant":
        return literal(check.world.value)
    if topics.complete(check.ontology or "", PARENT) is None:
        return "'open'"
    if not head.site:
        return literal(check.world.value)
    listed = f"FROM ref.link k WHERE k.source = {literal(check.source)} AND k.relation = {literal(check.link)}"
    return f"CASE WHEN head_now IN (SELECT k.head_now {listed}) THEN 'closed' ELSE {literal(check.world.value)} END"


def _links_of_pairs(tables: WorkingTables, check: EdgeCheck) -> str:
    """A select of the links between the very ends, found by few columns; in both orders, where order means nothing."""
    has_rows = tables.links_have_places
    place = "l.rowid" if has_rows else "l"
    of_check = f"l.source = {literal(check.source)} AND l.relation = {literal(check.link)}"
    found = f"""SELECT e.task, {place} AS place, {{turned}} AS turned, false AS below
        FROM ends e JOIN ref.link l ON {of_check} AND """
    same = found.format(turned="false") + "l.head_now = e.head_now AND l.tail_now = e.tail_now"
    if check.match == "either_order":
        turned = "l.head_now = e.tail_now AND l.tail_now = e.head_now AND e.head_now <> e.tail_now"
        same += f" UNION ALL {found.format(turned='true')}{turned}"
    elif check.match == "descendant":
        same = _places_at_or_below(check.ontology or "", of_check, place)
    tables.db.execute(f"CREATE OR REPLACE TEMP TABLE found_link AS {same}").fetchall()
    links = "found_link f JOIN ref.link l ON l.rowid = f.place"
    if not has_rows:
        links = "(SELECT task, turned, below, unnest(place) FROM found_link) l"
    return f"""
    SELECT task, l.release_id, r.recency, l.record, l.score, l.negated,
           CASE WHEN below THEN '{Reason.CONFIRMED_BY_DESCENDANT.value}' END AS way, turned,
           l.head || CASE WHEN below THEN ' to its descendant ' ELSE ' ' END || l.tail AS said, l.retracted,
           CASE WHEN l.retracted THEN coalesce(array_to_string(l.citations, ', '), l.record) END AS papers
    FROM {links} JOIN ref.release r ON r.id = l.release_id WHERE NOT (below AND l.negated)"""


def _places_at_or_below(ontology: str, of_check: str, place: str) -> str:
    """A select of task and place of links to the tail, and to terms below it, by number: there may be millions."""
    of_it = f"FROM ref.ancestor WHERE ontology = {literal(ontology)}"
    return f"""
    WITH head AS MATERIALIZED (
        SELECT row_number() OVER () << 32 AS number, id FROM (SELECT DISTINCT head_now AS id FROM ends)),
    way AS MATERIALIZED (SELECT id, ancestor {of_it} AND ancestor IN (SELECT tail_now FROM ends)),
    term AS MATERIALIZED (
        SELECT row_number() OVER () AS number, id FROM (SELECT id FROM way UNION SELECT tail_now FROM ends)),
    above AS MATERIALIZED (
        SELECT low.number AS id, high.number AS ancestor
        FROM way a JOIN term low ON low.id = a.id JOIN term high ON high.id = a.ancestor),
    pair AS MATERIALIZED (
        SELECT task, h.number | t.number AS number FROM ends
        JOIN head h ON h.id = ends.head_now JOIN term t ON t.id = ends.tail_now),
    own AS MATERIALIZED (
        SELECT {place} AS place, h.number AS head, t.number AS term FROM ref.link l
        JOIN head h ON h.id = l.head_now JOIN term t ON t.id = l.tail_now WHERE {of_check})
    SELECT task, place, false AS turned, false AS below FROM own JOIN pair ON pair.number = own.head | own.term
    UNION ALL
    SELECT DISTINCT task, place, false AS turned, true AS below
    FROM own JOIN above ON above.id = own.term JOIN pair ON pair.number = own.head | above.ancestor"""


def _covered(source: str, topic: str, ends: Iterable[str]) -> str:
    found = " UNION ALL ".join(
        f"SELECT u.task, c.id, c.release_id FROM unseen u JOIN ref.covered c ON c.id = u.{end} "
        f"WHERE c.source = {literal(source)} AND c.topic = {literal(topic)}"
        for end in ends
    )
    return f"""
    SELECT task, min(f.id) AS record, max_by(r.id, [r.recency, r.id]) AS release_id
    FROM ({found}) f JOIN ref.release r ON r.id = f.release_id GROUP BY task"""


def _mapped_pairs(source: str, topic: str) -> str:
    """A select of the unseen tasks whose two ends one release maps; no network links a protein to itself."""
    return f"""
    SELECT u.task, any_value(head_now || ' ' || tail_now) AS record, max_by(r.id, [r.recency, r.id]) AS release_id
    FROM unseen u
    JOIN ref.covered a ON a.source = {literal(source)} AND a.topic = {literal(topic)} AND a.id = u.head_now
    JOIN ref.covered b ON b.release_id = a.release_id AND b.topic = a.topic AND b.id = u.tail_now
    JOIN ref.release r ON r.id = a.release_id
    WHERE head_now <> tail_now GROUP BY u.task"""


MAX_RECORDS_SHOWN = 3
"""Records of one source kept for one task and stance, the best first; signatures count no more."""


def stance(check: EdgeCheck) -> str:
    """SQL for what a link says, over its columns retracted, negated and score.

    One that rests on retracted papers is silent, also where it denies. A score just at the cut-off is enough, and so is
    no score at all.
    """
    weak = f"WHEN score < {check.threshold} THEN '{Stance.SILENT.value}' " if check.threshold is not None else ""
    return f"""CASE WHEN retracted THEN '{Stance.SILENT.value}' WHEN negated THEN '{Stance.CONTRADICTS.value}'
               {weak}ELSE '{Stance.SUPPORTS.value}' END"""


def counting(check: EdgeCheck, links: str) -> str:
    """A select of the links that count, out of all links of some tasks, each with its stance.

    A record that several releases state counts once, as the newest has it; and where order means nothing, so does a
    link that is stated in both orders. Of those, the best of each stance are kept.
    """
    best = "way NULLS FIRST, score DESC NULLS LAST, release_id DESC, record, said"
    by_record = f"""
    WITH by_record AS (
        SELECT * FROM ({links}) QUALIFY row_number() OVER (
            PARTITION BY task, negated, record ORDER BY recency DESC, {best}) = 1)"""
    chosen = f"""QUALIFY row_number() OVER (
        PARTITION BY task, stance, retracted ORDER BY {best}) <= {MAX_RECORDS_SHOWN}"""
    if check.match != "either_order":
        return f"{by_record} SELECT *, {stance(check)} AS stance FROM by_record {chosen}"
    return f"""
    {by_record}, placed AS (
        SELECT *, row_number() OVER (PARTITION BY task, negated, retracted, turned ORDER BY {best}) AS place
        FROM by_record
    ), unordered AS (
        SELECT *, {stance(check)} AS stance FROM placed QUALIFY row_number() OVER (
            PARTITION BY task, negated, retracted, place ORDER BY recency DESC, {best}) = 1
    )
    SELECT * EXCLUDE (place) FROM unordered {chosen}"""
