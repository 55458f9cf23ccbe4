"""The kinds of errors that tests put into an import directory; see tests.support.injection.

Each function makes one error, or raises NotHere. Its name is the kind.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from kgcheck.model import CheckTask, CheckType, Ref
from tests.support.injection import ENDS, Expected, Ground, Injected, NotHere, Row, edge_key, node_key, triple

Make = Callable[[Ground], Injected]

DECIDABLE: dict[str, Make] = {}
"""Kinds that references, structure or the loader can decide."""

UNDECIDABLE: dict[str, Make] = {}
"""Kinds that nothing at hand can decide: silence is no fault, a false finding is."""

HARMLESS: dict[str, Make] = {}
"""Changes that are no errors: no finding may come of them."""

ONTOLOGIES = {"Disease": "do", "Tissue": "bto", "Modification": "psimod"}
GO_LABELS = ("Biological_process", "Molecular_function", "Cellular_component")
TERMS = (*ONTOLOGIES, *GO_LABELS)


def _decidable(make: Make) -> Make:
    DECIDABLE[make.__name__] = make
    return make


def _undecidable(make: Make) -> Make:
    UNDECIDABLE[make.__name__] = make
    return make


def _harmless(make: Make) -> Make:
    HARMLESS[make.__name__] = make
    return make


def _pattern(ground: Ground, name: str):  # type: ignore[no-untyped-def]
    return next(p for p in ground.directory.schema.relations if str(p) == name)


def _one_of(ground: Ground, labels: tuple[str, ...], attribute: str = "") -> tuple[str, Row]:
    for label in ground.drawn(list(labels)):
        try:
            return label, ground.node(label, attribute)
        except NotHere:
            continue
    raise NotHere


# --- ids ----------------------------------------------------------------------------------------------------------


def _renamed(ground: Ground, kind: str, label: str, old: str, new: str, reasons: tuple[str, ...]) -> Injected:
    """A node under another id, also where edges name it: right is its old id."""
    about = ground.take(old, new)
    ground.directory.rename(label, old, new)
    expected = Expected(node_key("existence", new), reasons, "repoint", old)
    # Two nodes of one name are told under their new ids.
    return Injected(kind, (expected,), about=about, also=ENDS | {"shared_name"}, renamed=((new, old),))


def _former(ground: Ground, kind: str, label: str, source: str, states: tuple[str, ...], reason: str) -> Injected:
    held = {row["ID"] for row in ground.directory.nodes(label)}
    for former, now in ground.former_ids(source, states):
        known = held >= {now} and former not in held and ground.free(former, now)
        if known and ground.known(label, now):
            return _renamed(ground, kind, label, now, former, (reason,))
    raise NotHere


@_decidable
def merged_accession(ground: Ground) -> Injected:
    return _former(ground, "merged_accession", "Protein", "uniprot", ("merged",), "id_merged")


@_decidable
def withdrawn_symbol(ground: Ground) -> Injected:
    return _former(ground, "withdrawn_symbol", "Gene", "hgnc", ("withdrawn",), "id_withdrawn")


@_decidable
def previous_symbol(ground: Ground) -> Injected:
    return _former(ground, "previous_symbol", "Gene", "hgnc", ("previous",), "id_previous")


@_decidable
def alias_symbol(ground: Ground) -> Injected:
    return _former(ground, "alias_symbol", "Gene", "hgnc", ("alias",), "id_alias")


@_decidable
def secondary_go_id(ground: Ground) -> Injected:
    for label in ground.drawn(list(GO_LABELS)):
        try:
            return _former(ground, "secondary_go_id", label, "go", ("secondary",), "id_secondary")
        except NotHere:
            continue
    raise NotHere


def _added(ground: Ground, kind: str, label: str, new: str, want: Expected) -> Injected:
    """A node more, with the columns of another one."""
    like = ground.drawn(ground.directory.nodes(label))[0]
    ground.directory.nodes(label).append(dict.fromkeys(like, "") | {"ID": new, ":LABEL": like.get(":LABEL", "")})
    also = frozenset({"orphan_node", "value_missing", "edge_missing"}) | ENDS
    return Injected(kind, (want,), about=ground.take(new), also=also)


def _gone(ground: Ground, kind: str, label: str, source: str, states: tuple[str, ...], reason: str) -> Injected:
    held = {row["ID"] for row in ground.directory.nodes(label)}
    for gone, successors, candidates in ground.gone_ids(label, source, states):
        if gone not in held and ground.free(gone) and ground.directory.schema.label(label).matches(gone):
            choices = successors + candidates
            change, to = ("review", choices[0]) if choices else ("retire", None)
            want = Expected(node_key("existence", gone), (reason,), change, to)
            return _added(ground, kind, label, gone, want)
    raise NotHere


@_decidable
def deleted_accession(ground: Ground) -> Injected:
    return _gone(ground, "deleted_accession", "Protein", "uniprot", ("deleted",), "id_deleted")


@_decidable
def demerged_accession(ground: Ground) -> Injected:
    return _gone(ground, "demerged_accession", "Protein", "uniprot", ("demerged",), "id_demerged")


@_decidable
def obsolete_term(ground: Ground) -> Injected:
    for label in ground.drawn(list(TERMS)):
        source = ONTOLOGIES.get(label, "go")
        with suppress(NotHere):
            return _gone(ground, "obsolete_term", label, source, ("obsolete", "dropped"), "id_obsolete")
    raise NotHere


@_decidable
def superseded_structure(ground: Ground) -> Injected:
    held = {row["ID"] for row in ground.directory.nodes("Protein_structure")}
    rows = ground.db.execute(
        "SELECT id, successors FROM lifecycle WHERE source = 'pdb' AND state = 'superseded' ORDER BY ALL"
    ).fetchall()
    for gone, successors in ground.drawn(rows):
        if gone not in held and ground.free(gone):
            change = "repoint" if len(successors) == 1 else "review"
            want = Expected(node_key("existence", gone), ("id_superseded",), change, (successors or [None])[0])
            return _added(ground, "superseded_structure", "Protein_structure", gone, want)
    raise NotHere


@_decidable
def wrong_label(ground: Ground) -> Injected:
    """A GO term under the label of another branch."""
    label, row = _one_of(ground, GO_LABELS)
    other = ground.drawn([name for name in GO_LABELS if name != label])[0]
    for _, edge in ground.edges_of(label, row["ID"]):
        ground.directory.drop(edge)
    ground.directory.drop(row)
    ground.directory.nodes(other).append(row)
    want = Expected(node_key("existence", row["ID"]), ("wrong_namespace",), "review", None)
    also = frozenset({"orphan_node", "id_secondary"})
    return Injected("wrong_label", (want,), about=ground.take(row["ID"]), also=also)


def _lists_all(ground: Ground, label: str) -> bool:
    """Whether the authority of a label lists all of its ids."""
    listed = "SELECT 1 FROM topic WHERE source = ? AND topic = 'entity' AND complete"
    return bool(ground.db.execute(listed, [ground.directory.schema.label(label).authority.source]).fetchall())


def _bad_form(ground: Ground, kind: str, change: Callable[[str], str], labels: tuple[str, ...]) -> Injected:
    label, row = _one_of(ground, labels)
    old, new = row["ID"], change(row["ID"])
    held = {r["ID"] for r in ground.directory.nodes(label)}
    # An id of the right form is only wrong where its authority lists all of its own.
    told = not ground.directory.schema.label(label).matches(new) or _lists_all(ground, label)
    if new == old or new in held or not told:
        ground.take(old)
        return _bad_form(ground, kind, change, labels)
    return _renamed(ground, kind, label, old, new, ("malformed_id", "unknown_id"))


@_decidable
def wrong_case(ground: Ground) -> Injected:
    return _bad_form(ground, "wrong_case", str.lower, (*TERMS, "Gene", "Pathway"))


@_decidable
def id_with_space(ground: Ground) -> Injected:
    place = ground.drawn([0, 1, 2])[0]
    change = (lambda i: f" {i}", lambda i: f"{i} ", lambda i: f"{i[:4]} {i[4:]}")[place]
    return _bad_form(ground, "id_with_space", change, (*TERMS, "Gene"))


@_decidable
def malformed_id(ground: Ground) -> Injected:
    label, row = _one_of(ground, (*TERMS, "Pathway"))
    old, new = row["ID"], f"{row['ID']}?x"
    ground.directory.rename(label, old, new)
    want = Expected(node_key("existence", new), ("malformed_id",), "review", None)
    return Injected("malformed_id", (want,), about=ground.take(old, new), also=ENDS, renamed=((new, old),))


@_decidable
def unknown_id(ground: Ground) -> Injected:
    label, row = _one_of(ground, ("Disease", "Tissue", *GO_LABELS))
    prefix, number = row["ID"].split(":")
    old, new = row["ID"], f"{prefix}:9{number[1:]}"
    known = ground.db.execute("SELECT 1 FROM lifecycle WHERE id = ?", [new]).fetchall()
    if known or not _lists_all(ground, label):
        raise NotHere
    ground.directory.rename(label, old, new)
    want = Expected(node_key("existence", new), ("unknown_id",), "review", None)
    return Injected("unknown_id", (want,), about=ground.take(old, new), also=ENDS, renamed=((new, old),))


@_decidable
def id_on_two_labels(ground: Ground) -> Injected:
    label, row = _one_of(ground, GO_LABELS)
    other = ground.drawn([name for name in GO_LABELS if name != label])[0]
    ground.directory.nodes(other).append(dict(row))
    first, _ = sorted((label, other))
    want = Expected(node_key("structure", row["ID"], rule="id_on_two_labels", other=row["ID"]), ("id_on_two_labels",))
    assert first in (label, other)
    also = frozenset({"orphan_node", "wrong_namespace", "wrong_end_label"})
    return Injected("id_on_two_labels", (want,), about=ground.take(row["ID"]), also=also)


@_decidable
def orphan(ground: Ground) -> Injected:
    for label in ground.drawn(["Tissue", "Disease", "Modification"]):
        for row in ground.drawn(ground.directory.nodes(label)):
            edges = list(ground.edges_of(label, row["ID"]))
            others = {e["START_ID"] for _, e in edges} | {e["END_ID"] for _, e in edges}
            if len(edges) == 1 and ground.free(*others) and ground.known(label, row["ID"]):
                pattern, edge = edges[0]
                if len(list(ground.edges_of(pattern.tail, edge["END_ID"]))) < 2:
                    continue
                ground.directory.drop(edge)
                want = Expected(node_key("structure", row["ID"], rule="orphan_node"), ("orphan_node",))
                also = frozenset({"edge_missing", "orphan_node"})
                return Injected("orphan", (want,), about=ground.take(*others), also=also)
    raise NotHere


# --- values -------------------------------------------------------------------------------------------------------


def _valued(
    ground: Ground, kind: str, labels: tuple[str, ...], attribute: str, wrong: Callable[[str], str], *reasons: str
) -> Injected:
    _label, row = _one_of(ground, labels, attribute)
    old = row[attribute]
    row[attribute] = wrong(old)
    want = Expected(node_key("attribute", row["ID"], attribute=attribute), reasons, "set_value", old)
    also = frozenset({"length_mismatch", "shared_name", "placeholder_value", "residue_mismatch", "species_mismatch"})
    return Injected(kind, (want,), about=ground.take(row["ID"]), also=also)


@_decidable
def wrong_name(ground: Ground) -> Injected:
    return _valued(
        ground, "wrong_name", (*TERMS, "Pathway"), "name", lambda v: f"{v[::-1]} of nothing", "value_mismatch"
    )


@_decidable
def empty_name(ground: Ground) -> Injected:
    return _valued(ground, "empty_name", (*TERMS, "Gene", "Pathway"), "name", lambda _: "", "value_missing")


@_decidable
def outdated_name(ground: Ground) -> Injected:
    for label in ground.drawn([*TERMS, "Gene"]):
        source = ground.directory.schema.label(label).attributes["name"].source
        rows = {row["ID"]: row for row in ground.directory.nodes(label)}
        former = ground.db.execute(
            """
            SELECT id, value FROM value WHERE source = ? AND attribute = 'name' AND status <> 'current'
            AND (source, id, lower(value)) NOT IN (SELECT source, id, lower(value) FROM value
            WHERE attribute = 'name' AND status = 'current') ORDER BY ALL
            """,
            [source],
        ).fetchall()
        for identifier, value in ground.drawn(former):
            row = rows.get(identifier)
            subject = Ref(label=label, id=identifier)
            if (
                row
                and ground.free(identifier)
                and ground.holds(
                    CheckTask(type=CheckType.ATTRIBUTE, subject=subject, attribute="name", value=row["name"])
                )
            ):
                old, row["name"] = row["name"], value
                want = Expected(
                    node_key("attribute", identifier, attribute="name"), ("value_outdated",), "set_value", old
                )
                also = frozenset({"shared_name"})
                return Injected("outdated_name", (want,), about=ground.take(identifier), also=also)
    raise NotHere


@_decidable
def wrong_taxid(ground: Ground) -> Injected:
    return _valued(ground, "wrong_taxid", ("Protein",), "taxid", lambda _: "10090", "value_mismatch")


@_decidable
def wrong_entry_name(ground: Ground) -> Injected:
    return _valued(ground, "wrong_entry_name", ("Protein",), "accession", lambda _: "XYZ9Q_HUMAN", "value_mismatch")


@_decidable
def wrong_gene_name(ground: Ground) -> Injected:
    return _valued(ground, "wrong_gene_name", ("Protein",), "name", lambda _: "ZZQX9", "value_mismatch")


@_decidable
def altered_sequence(ground: Ground) -> Injected:
    def altered(sequence: str) -> str:
        place = len(sequence) // 2
        return sequence[:place] + ("W" if sequence[place] != "W" else "A") + sequence[place + 1 :]

    return _valued(ground, "altered_sequence", ("Amino_acid_sequence",), "sequence", altered, "value_mismatch")


@_decidable
def wrong_size(ground: Ground) -> Injected:
    """A size that is not the length of the sequence in the graph, of whatever entry."""
    for row in ground.drawn(ground.directory.nodes("Amino_acid_sequence")):
        if ground.free(row["ID"]) and row["sequence"] and row["size"] == str(len(row["sequence"])):
            row["size"] = str(len(row["sequence"]) + 7)
            key = node_key("structure", row["ID"], rule="length_mismatch", attribute="size")
            want = Expected(key, ("length_mismatch",), "set_value", str(len(row["sequence"])))
            also = frozenset({"value_mismatch"})
            return Injected("wrong_size", (want,), about=ground.take(row["ID"]), also=also)
    raise NotHere


@_decidable
def residue_mismatch(ground: Ground) -> Injected:
    return _site(ground, "residue_mismatch", lambda residue, place: ("W" if residue != "W" else "C", place))


@_decidable
def position_out_of_range(ground: Ground) -> Injected:
    return _site(ground, "position_out_of_range", lambda residue, place: (residue, place + 90_000))


def _site(ground: Ground, kind: str, change: Callable[[str, int], tuple[str, int]]) -> Injected:
    row = ground.node("Modified_protein")
    protein, site = row["ID"].split("_")
    place, code = site[1:].split("-")
    residue, position = change(site[0], int(place))
    old, new = row["ID"], f"{protein}_{residue}{position}-{code}"
    ground.directory.rename("Modified_protein", old, new)
    want = Expected(node_key("existence", new), (kind,), None, None)
    return Injected(
        kind, (want,), about=ground.take(old, new), also=ENDS | {"edge_unsupported", "edge_missing", "nothing_found"}
    )


# --- edges --------------------------------------------------------------------------------------------------------

CLOSED = (
    "Disease HAS_PARENT Disease",
    "Tissue HAS_PARENT Tissue",
    "Modification HAS_PARENT Modification",
    "Gene TRANSLATED_INTO Protein",
    "Protein ACTS_ON Protein",
    "Protein ANNOTATED_IN_PATHWAY Pathway",
    "Protein HAS_STRUCTURE Protein_structure",
)
PARENTS = CLOSED[:3]


def _edge_of(ground: Ground, names: tuple[str, ...]):  # type: ignore[no-untyped-def]
    for name in ground.drawn(list(names)):
        pattern = _pattern(ground, name)
        try:
            return pattern, ground.edge(pattern)
        except NotHere:
            continue
    raise NotHere


def _pairs(edges: list[Row]) -> set[tuple[str, str]]:
    return {(row["START_ID"], row["END_ID"]) for row in edges}


@_decidable
def repointed_edge(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, CLOSED)
    head, old = row["START_ID"], row["END_ID"]
    held = _pairs(ground.directory.edges(str(pattern)))
    # Where a source knows the tail from other edges, its silence counts.
    for other in ground.drawn(ground.stated_edges(pattern))[:40]:
        new = other["END_ID"]
        fits = new not in (head, old) and ground.free(new) and not held & {(head, new), (new, head)}
        if fits and verdict_of(ground, pattern, row | {"END_ID": new}) == "edge_unsupported":
            row["END_ID"] = new
            wants = [Expected(edge_key("triple", head, pattern.type, new), ("edge_unsupported",), "retire", None)]
            ends = tuple(sorted((head, old))) if pattern.symmetric else (head, old)
            if (old, head) not in held and [r for r in held if r == (head, old)]:
                key = edge_key("potential", ends[0], pattern.type, ends[1])
                wants.append(Expected(key, ("edge_missing",), "add_edge", None))
            also = frozenset({"edge_missing", "orphan_node", "parent_cycle"})
            return Injected("repointed_edge", tuple(wants), about=ground.take(head, old, new), also=also)
    raise NotHere


def verdict_of(ground: Ground, pattern, row: Row) -> str:  # type: ignore[no-untyped-def]
    """The reason that the references give for an edge by itself."""
    from kgcheck.checks.verdicts import verdict

    task = triple(pattern, row)
    return verdict(task.type, *ground._source.observe(task)).reason.value


@_decidable
def removed_edge(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, CLOSED)
    head, tail = row["START_ID"], row["END_ID"]
    if len([r for r in ground.directory.edges(str(pattern)) if {r["START_ID"], r["END_ID"]} == {head, tail}]) > 1:
        ground.take(head, tail)
        return removed_edge(ground)
    ground.directory.drop(row)
    ends = tuple(sorted((head, tail))) if pattern.symmetric else (head, tail)
    want = Expected(edge_key("potential", ends[0], pattern.type, ends[1]), ("edge_missing",), "add_edge", None)
    also = frozenset({"orphan_node", "edge_missing"})
    return Injected("removed_edge", (want,), about=ground.take(head, tail), also=also)


@_decidable
def reversed_edge(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, PARENTS)
    head, tail = row["START_ID"], row["END_ID"]
    row["START_ID"], row["END_ID"] = tail, head
    want = Expected(edge_key("triple", tail, pattern.type, head), ("edge_unsupported",), "retire", None)
    also = frozenset({"edge_missing", "parent_cycle"})
    return Injected("reversed_edge", (want,), about=ground.take(head, tail), also=also)


@_decidable
def edge_to_grandparent(ground: Ground) -> Injected:
    """A parent that is an ancestor by another term: stated indirectly, not wrong."""
    for name in ground.drawn(list(PARENTS)):
        pattern = _pattern(ground, name)
        above: dict[str, list[str]] = {}
        for row in ground.directory.edges(name):
            above.setdefault(row["START_ID"], []).append(row["END_ID"])
        for row in ground.drawn(ground.directory.edges(name)):
            head, parent = row["START_ID"], row["END_ID"]
            for top in above.get(parent, []):
                if top in above[head] or not ground.free(head, parent, top) or not ground.holds(triple(pattern, row)):
                    continue
                up = row | {"START_ID": parent, "END_ID": top}
                if ground.holds(triple(pattern, up)):
                    ground.directory.add_edge(name, row | {"END_ID": top})
                    key = edge_key("triple", head, pattern.type, top)
                    want = Expected(key, ("parent_indirect",))
                    return Injected("edge_to_grandparent", (want,), about=ground.take(head, parent, top))
    raise NotHere


@_decidable
def parent_cycle(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, PARENTS)
    head, tail = row["START_ID"], row["END_ID"]
    ground.directory.add_edge(str(pattern), row | {"START_ID": tail, "END_ID": head})
    want = Expected(edge_key("triple", tail, pattern.type, head), ("edge_unsupported",), "retire", None)
    also = frozenset({"parent_cycle"})
    return Injected("parent_cycle", (want,), about=ground.take(head, tail), also=also)


@_decidable
def self_loop(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, (*PARENTS, "Protein ACTS_ON Protein"))
    head = row["START_ID"]
    ground.directory.add_edge(str(pattern), row | {"END_ID": head})
    want = Expected(edge_key("structure", head, pattern.type, head, rule="self_loop"), ("self_loop",), "retire", None)
    also = frozenset({"edge_unsupported", "parent_cycle"})
    return Injected("self_loop", (want,), about=ground.take(head, row["END_ID"]), also=also)


@_decidable
def negated_annotation(ground: Ground) -> Injected:
    rows = ground.db.execute(
        "SELECT DISTINCT head_now, tail_now FROM link WHERE source = 'goa' AND negated ORDER BY ALL"
    ).fetchall()
    proteins = {row["ID"] for row in ground.directory.nodes("Protein")}
    for label in GO_LABELS:
        pattern = _pattern(ground, f"Protein ASSOCIATED_WITH {label}")
        edges = ground.directory.edges(str(pattern))
        terms, stated = {row["ID"] for row in ground.directory.nodes(label)}, _pairs(edges)
        for head, tail in ground.drawn(rows):
            fits = tail in terms and head in proteins and (head, tail) not in stated and ground.free(head, tail)
            if fits and verdict_of(ground, pattern, {"START_ID": head, "END_ID": tail}) == "edge_negated":
                ground.directory.add_edge(str(pattern), edges[0] | {"START_ID": head, "END_ID": tail})
                key = edge_key("triple", head, pattern.type, tail)
                want = Expected(key, ("edge_negated",), "retire", None)
                return Injected("negated_annotation", (want,), about=ground.take(head, tail))
    raise NotHere


@_decidable
def pathway_of_another_species(ground: Ground) -> Injected:
    pattern = _pattern(ground, "Protein ANNOTATED_IN_PATHWAY Pathway")
    row = ground.edge(pattern)
    old = row["END_ID"]
    new = old.replace("R-HSA-", "R-MMU-")
    nodes = ground.directory.nodes("Pathway")
    if new == old or any(n["ID"] == new for n in nodes):
        raise NotHere
    like = next(n for n in nodes if n["ID"] == old)
    nodes.append(like | {"ID": new, "organism": "10090"})
    head = row["START_ID"]
    ground.directory.add_edge(str(pattern), row | {"END_ID": new})
    key = edge_key("structure", head, pattern.type, new, rule="species_mismatch")
    want = Expected(key, ("species_mismatch",), "retire", None)
    also = frozenset({"edge_unsupported", "shared_name", "unknown_id", "endpoint_unknown", "nothing_found"})
    also |= {"placeholder_value"}  # Of the edge that it is a copy of.
    return Injected("pathway_of_another_species", (want,), about=ground.take(head, old, new), also=also)


@_decidable
def reversed_duplicate(ground: Ground) -> Injected:
    pattern = _pattern(ground, "Protein ACTS_ON Protein")
    row = ground.edge(pattern)
    head, tail = row["START_ID"], row["END_ID"]
    ground.directory.add_edge(str(pattern), row | {"START_ID": tail, "END_ID": head})
    ends = tuple(sorted((head, tail)))
    key = edge_key("structure", ends[0], pattern.type, ends[1], rule="reversed_duplicate")
    return Injected("reversed_duplicate", (Expected(key, ("reversed_duplicate",)),), about=ground.take(head, tail))


SCORED = ("Protein ACTS_ON Protein", "Protein ASSOCIATED_WITH Tissue", "Protein ASSOCIATED_WITH Disease")


def _scored(ground: Ground, names: tuple[str, ...] = SCORED):  # type: ignore[no-untyped-def]
    """An edge whose score its own source states, and no parallel one."""
    for name in ground.drawn(list(names)):
        pattern = _pattern(ground, name)
        edges = ground.directory.edges(name)
        pairs = Counter(tuple(sorted((r["START_ID"], r["END_ID"]))) for r in edges)
        for row in ground.drawn(ground.stated_edges(pattern)):
            pair = tuple(sorted((row["START_ID"], row["END_ID"])))
            if not row["score"] or not ground.free(*pair) or pairs[pair] > 1:
                continue
            if ground.holds(triple(pattern, row)):
                return pattern, row
    raise NotHere


@_decidable
def parallel_scores(ground: Ground) -> Injected:
    pattern, row = _scored(ground)
    head, tail = row["START_ID"], row["END_ID"]
    top = next(p.range[1] for n, p in pattern.properties.items() if n == "score" and p.range)
    other = f"{float(row['score']) - top / 4:g}" if float(row["score"]) > top / 2 else f"{top * 0.9:g}"
    ground.directory.add_edge(str(pattern), row | {"score": other})
    key = edge_key("structure", head, pattern.type, tail, rule="parallel_scores")
    also = frozenset({"value_mismatch"})
    want = Expected(key, ("parallel_scores",), "review", None)
    return Injected("parallel_scores", (want,), about=ground.take(head, tail), also=also)


@_decidable
def score_out_of_range(ground: Ground) -> Injected:
    pattern, row = _scored(ground)
    old, row["score"] = row["score"], str(float(row["score"]) * 1000)
    head, tail = row["START_ID"], row["END_ID"]
    key = edge_key("structure", head, pattern.type, tail, rule="score_out_of_range")
    also = frozenset({"value_mismatch"})
    want = Expected(key, ("score_out_of_range",), "review", None)
    assert old
    return Injected("score_out_of_range", (want,), about=ground.take(head, tail), also=also)


@_decidable
def score_drifted(ground: Ground) -> Injected:
    pattern, row = _scored(ground, SCORED[:1])
    old = row["score"]
    row["score"] = f"{float(old) - 0.25:.3f}" if float(old) > 0.7 else f"{float(old) + 0.25:.3f}"
    head, tail = row["START_ID"], row["END_ID"]
    key = edge_key("attribute", head, pattern.type, tail, attribute="score")
    want = Expected(key, ("value_mismatch",), "set_value", old)
    return Injected("score_drifted", (want,), about=ground.take(head, tail))


@_decidable
def score_empty(ground: Ground) -> Injected:
    pattern, row = _scored(ground, SCORED[:1])
    old, row["score"] = row["score"], ""
    head, tail = row["START_ID"], row["END_ID"]
    key = edge_key("attribute", head, pattern.type, tail, attribute="score")
    want = Expected(key, ("value_missing",), "set_value", old)
    also = frozenset({"missing_score"})
    return Injected("score_empty", (want,), about=ground.take(head, tail), also=also)


@_decidable
def missing_source(ground: Ground) -> Injected:
    pattern = _pattern(ground, ground.drawn(list(CLOSED[3:]))[0])
    row = ground.any_edge(pattern)
    row["source"] = ""
    head, tail = row["START_ID"], row["END_ID"]
    key = edge_key("structure", head, pattern.type, tail, rule="missing_provenance")
    return Injected("missing_source", (Expected(key, ("missing_provenance",)),), about=ground.take(head, tail))


@_decidable
def placeholder(ground: Ground) -> Injected:
    pattern = _pattern(ground, "Protein ACTS_ON Protein")
    row = ground.edge(pattern, lambda r: r["action"] not in ("", "unknown"))
    row["action"] = "unspecified"
    head, tail = row["START_ID"], row["END_ID"]
    key = edge_key("structure", head, pattern.type, tail, rule="placeholder_value")
    return Injected("placeholder", (Expected(key, ("placeholder_value",)),), about=ground.take(head, tail))


# --- rows that the loader sets aside -------------------------------------------------------------------------------


@_decidable
def duplicate_edge(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, CLOSED)
    ground.directory.add_edge(str(pattern), dict(row))
    return Injected("duplicate_edge", quarantined="duplicate_row", about=ground.take(row["START_ID"], row["END_ID"]))


@_decidable
def duplicate_node(ground: Ground) -> Injected:
    label, row = _one_of(ground, TERMS)
    ground.directory.nodes(label).append(row | {"name": "another name"})
    return Injected("duplicate_node", quarantined="duplicate_id", about=ground.take(row["ID"]))


@_decidable
def edge_without_end(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, CLOSED)
    ground.directory.add_edge(str(pattern), row | {"END_ID": f"{row['END_ID']}999999"})
    return Injected("edge_without_end", quarantined="unknown_tail", about=ground.take(row["START_ID"]))


@_decidable
def score_as_text(ground: Ground) -> Injected:
    pattern, row = _scored(ground)
    ground.directory.add_edge(str(pattern), row | {"score": "high"})
    return Injected("score_as_text", quarantined="bad_number", about=ground.take(row["START_ID"], row["END_ID"]))


@_decidable
def empty_id(ground: Ground) -> Injected:
    label, row = _one_of(ground, TERMS)
    ground.directory.nodes(label).append(row | {"ID": "  "})
    return Injected("empty_id", quarantined="bad_id", about=ground.take(row["ID"]))


@_decidable
def short_row(ground: Ground) -> Injected:
    pattern, row = _edge_of(ground, CLOSED)
    ground.directory.add_edge(str(pattern), dict(row))
    last = next(r for r in reversed(ground.directory.edges(str(pattern))) if r == row and r is not row)
    del last["TYPE"]
    return Injected("short_row", quarantined="field_count", about=ground.take(row["START_ID"], row["END_ID"]))


# --- what nothing at hand can decide, and what is no error ----------------------------------------------------------


@_undecidable
def altered_description(ground: Ground) -> Injected:
    _, row = _one_of(ground, ("Disease", "Tissue", "Modification"))
    row["description"] = "something else"
    want = Expected(node_key("attribute", row["ID"], attribute="description"), ("value_mismatch",))
    return Injected("altered_description", (want,), about=ground.take(row["ID"]))


@_undecidable
def altered_action(ground: Ground) -> Injected:
    pattern = _pattern(ground, "Protein ACTS_ON Protein")
    row = ground.edge(pattern)
    row["action"] = "inhibition"
    head, tail = row["START_ID"], row["END_ID"]
    key = edge_key("attribute", head, pattern.type, tail, attribute="action")
    return Injected("altered_action", (Expected(key, ("value_mismatch",)),), about=ground.take(head, tail))


@_undecidable
def invented_tissue(ground: Ground) -> Injected:
    """An edge between known nodes that only open sources could state."""
    pattern = _pattern(ground, "Protein ASSOCIATED_WITH Tissue")
    row = ground.any_edge(pattern)
    other = ground.node("Tissue")["ID"]
    head = row["START_ID"]
    ground.directory.add_edge(str(pattern), row | {"END_ID": other, "source": "somebody"})
    key = edge_key("triple", head, pattern.type, other)
    want = Expected(key, ("edge_unsupported",))
    also = frozenset({"nothing_found", "conflicting_evidence"})
    return Injected("invented_tissue", (want,), about=ground.take(head, other), also=also)


@_harmless
def name_in_capitals(ground: Ground) -> Injected:
    _, row = _one_of(ground, TERMS, "name")
    row["name"] = row["name"].upper()
    return Injected("name_in_capitals", about=ground.take(row["ID"]))


@_harmless
def name_with_spaces(ground: Ground) -> Injected:
    _, row = _one_of(ground, TERMS, "name")
    row["name"] = "  ".join(row["name"].split(" ")) + " "
    return Injected("name_with_spaces", about=ground.take(row["ID"]))


@_harmless
def turned_symmetric_edge(ground: Ground) -> Injected:
    _, row = _scored(ground, SCORED[:1])
    row["START_ID"], row["END_ID"] = row["END_ID"], row["START_ID"]
    return Injected("turned_symmetric_edge", about=ground.take(row["START_ID"], row["END_ID"]))


@_harmless
def score_rounded(ground: Ground) -> Injected:
    _, row = _scored(ground, SCORED[:1])
    row["score"] = f"{float(row['score']):.2f}"
    return Injected("score_rounded", about=ground.take(row["START_ID"], row["END_ID"]))
