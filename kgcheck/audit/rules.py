"""The selects of the structure rules. Each gives: head (id), tail (id or null), tail_label, detail.

Those of NAMING give two columns more: properties, a list of the names of those that are wrong, and what would be right.
"""

from kgcheck.duck import identifier, literal
from kgcheck.evidence import written
from kgcheck.graph.scored import PLACEHOLDER_NUMBER
from kgcheck.graph.store import AS_TEXT, NO_ID
from kgcheck.profile.schema import Label, Pattern, Species

PLACEHOLDERS = ("unspecified", "unknown", "not specified", "none", "n/a", "nan", "null", "-")
"""Text that stands for a missing value, compared without case; of numbers, PLACEHOLDER_NUMBER does."""

NOTHING = "SELECT NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR WHERE false"
NOTHING_NAMED = """SELECT NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR[], NULL::VARCHAR
    WHERE false"""


def malformed(label: Label, table: str) -> str:
    """Ids that have not the form of their label."""
    example = literal(f"an id looks like {label.id_example}")
    return f"SELECT id, NULL, NULL, {example} FROM {table} WHERE {written.malformed(label, 'id')}"


def shared_names(table: str) -> str:
    """Pairs with the smallest id of a name: n nodes of one name give n - 1 hits."""
    return f"""
    SELECT min(id) OVER (PARTITION BY name) AS first, id AS tail, NULL, name
    FROM {table} WHERE trim(name) <> '' QUALIFY id <> first"""


def as_text(table: str, head: str, tail: str) -> str:
    """Numbers that the store holds as text."""
    return f"SELECT {head}, {tail}, NULL, array_to_string({AS_TEXT}, ', ') FROM {table} WHERE len({AS_TEXT}) > 0"


def placeholders(holder: Label | Pattern, table: str, head: str, tail: str) -> str:
    """Values that stand for a missing one."""
    words = ", ".join(literal(w) for w in PLACEHOLDERS)
    empty = {
        n: f"lower(trim({identifier(n)})) IN ({words})" for n, p in holder.properties.items() if p.type == "string"
    }
    empty |= {
        n: f"{identifier(n)} = {PLACEHOLDER_NUMBER}"
        for n, p in holder.properties.items()
        if p.type in ("number", "integer")
    }
    if not empty:
        return NOTHING_NAMED
    values = ", ".join(f"CASE WHEN {is_} THEN {literal(n)} || '=' || {identifier(n)} END" for n, is_ in empty.items())
    names = ", ".join(f"CASE WHEN {is_} THEN {literal(n)} END" for n, is_ in empty.items())
    return f"""
    SELECT {head}, {tail}, NULL, concat_ws(', ', {values}), list_filter([{names}], lambda x: x IS NOT NULL), NULL
    FROM {table} WHERE {" OR ".join(empty.values())}"""


def out_of_range(pattern: Pattern, table: str) -> str:
    """Scores outside the range of their property."""
    wrong = [
        f"""
        SELECT head, tail, NULL, {literal(n)} || ' is ' || {identifier(n)} FROM {table}
        WHERE {identifier(n)} NOT BETWEEN {p.range[0]} AND {p.range[1]} AND {identifier(n)} <> {PLACEHOLDER_NUMBER}
        """
        for n, p in pattern.properties.items()
        if p.range
    ]
    return " UNION ALL ".join(wrong) or NOTHING


def parallel(pattern: Pattern, table: str) -> str:
    """Edges that are alike in every property."""
    stated = ", ".join(["head", "tail", *(identifier(n) for n in pattern.properties)])
    return f"""
    SELECT head, tail, NULL, 'the same edge ' || n || ' times'
    FROM (SELECT {stated}, count(*) AS n FROM {table} GROUP BY ALL HAVING n > 1)"""


def reversed(pattern: Pattern, table: str) -> str:
    """Edges that are stated in both directions, alike in every property."""
    same = " AND ".join(f"a.{identifier(n)} IS NOT DISTINCT FROM b.{identifier(n)}" for n in pattern.properties)
    return f"""
    SELECT a.head, a.tail, NULL, 'stated in both directions'
    FROM {table} a JOIN {table} b ON a.head = b.tail AND a.tail = b.head AND a.head < a.tail AND {same or "true"}"""


def shared_ids(table: str) -> str:
    """Ids that several nodes of a label have."""
    return f"""
    SELECT id, NULL, NULL, count(*) || ' nodes have this id' FROM {table}
    WHERE id <> {literal(NO_ID)} GROUP BY id HAVING count(*) > 1"""


def lengths(label: Label, table: str) -> str:
    """Numbers that say how long a text is, and are not its length."""
    found = [
        f"""
        SELECT id, NULL, NULL, {literal(f"{name} is ")} || {identifier(name)} || ', the length of {spec.length_of} is '
               || length({identifier(spec.length_of)}), [{literal(name)}], length({identifier(spec.length_of)})::VARCHAR
        FROM {table} WHERE {identifier(name)} <> length({identifier(spec.length_of)})"""
        for name, spec in label.properties.items()
        if spec.length_of
    ]
    return " UNION ALL ".join(found) or NOTHING_NAMED


def parallel_scores(pattern: Pattern, table: str) -> str:
    """Edges that are alike in every property but the score, which differs."""
    scores = [name for name, spec in pattern.properties.items() if spec.range]
    if not scores:
        return NOTHING
    alike = ", ".join(["head", "tail", *(identifier(n) for n in pattern.properties if n not in scores)])
    listed = " || '; ' || ".join(f"array_to_string(list_sort(list(DISTINCT {identifier(n)})), ', ')" for n in scores)
    differ = " OR ".join(f"count(DISTINCT {identifier(n)}) > 1" for n in scores)
    return f"""
    SELECT head, tail, NULL, 'scores ' || listed
    FROM (SELECT {alike}, {listed} AS listed FROM {table} GROUP BY {alike} HAVING {differ})"""


def missing_scores(pattern: Pattern, table: str) -> str:
    """Edges without a score that every edge of the pattern ought to have."""
    found = [
        f"SELECT head, tail, NULL, {literal(f'no {name}')} FROM {table} WHERE {identifier(name)} IS NULL"
        for name, spec in pattern.properties.items()
        if spec.required
    ]
    return " UNION ALL ".join(found) or NOTHING


def two_species(pattern: Pattern, table: str, ends: tuple[Label, Label], nodes: tuple[str, str]) -> str:
    """Edges between nodes of two species, as far as both are known: that of an id comes before that of a property."""
    head, tail = (label.species for label in ends)
    if head is None or tail is None:
        return NOTHING
    known = sorted({taxon for s in (head, tail) for taxa in s.codes.values() for taxon in taxa})
    listed = ", ".join(literal(taxon) for taxon in known)
    return f"""
    SELECT e.head, e.tail, NULL, 'species ' || h.taxa[1] || ' and ' || t.taxa[1]
    FROM {table} e JOIN ({_species(head, nodes[0])}) h ON h.id = e.head JOIN ({_species(tail, nodes[1])}) t
    ON t.id = e.tail
    WHERE NOT list_has_any(h.taxa, t.taxa) AND list_has_any(h.taxa, [{listed}]) AND list_has_any(t.taxa, [{listed}])"""


def _species(species: Species, nodes: str) -> str:
    """A select of ids and their taxa."""
    stated = f"CASE WHEN coalesce({identifier(species.property)}, '') <> '' THEN [{identifier(species.property)}] END"
    if not species.form:
        return f"SELECT id, {stated} AS taxa FROM {nodes}"
    code = f"regexp_extract(id, {literal(species.form)}, 1)"
    cases = " ".join(
        f"WHEN {literal(code_)} THEN [{', '.join(literal(t) for t in taxa)}]" for code_, taxa in species.codes.items()
    )
    return f"SELECT id, CASE {code} {cases} ELSE {stated} END AS taxa FROM {nodes}"
