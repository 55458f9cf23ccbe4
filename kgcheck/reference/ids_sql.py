"""SQL for the id under which a source files a node: base entry, isoform, site, namespace."""

from kgcheck.profile.patterns import anchored
from kgcheck.profile.schema import Label
from kgcheck.quoting import literal

STRING_ID = "string_id"
"""Attribute under which a network's ids of proteins are kept; they begin with the species."""

OF_ONE_SEQUENCE = ("sequence", "length")
"""Reference values that each isoform has of its own; all others an isoform shares with its entry."""


def base(label: Label, column: str) -> str:
    """SQL for the id under which the authority files the id in a column; see Label.base_id."""
    entry = part_of_id(label, column, "entry")
    if not label.isoforms or not label.isoform_sign:
        return entry
    # Few ids are of an isoform, and looking for the sign takes a tenth of the time of reading the form.
    return f"CASE WHEN contains({column}, {literal(label.isoform_sign)}) THEN {entry} ELSE {column} END"


def part_of_id(label: Label, column: str, group: str, options: str = "") -> str:
    """SQL for a part of the ids in a column, as the form of the label names it; of an id of another form, all of it."""
    if group not in label.groups:
        return column
    number = label.groups.index(group) + 1
    read = f"regexp_extract({column}, {literal(anchored(label.id_pattern))}, {number}, '{options}')"
    return f"coalesce(nullif({read}, ''), {column})"


def sequence(label: Label, column: str) -> str:
    """SQL for the id of the very sequence that the id in a column speaks of: an isoform is not its entry."""
    return part_of_id(label, column, "sequence") if label.site else column


def key(label: Label, column: str) -> str:
    """SQL for the id under which links name an end: a site by its own id, an isoform by its entry."""
    return column if label.site else base(label, column)


def authority(label: Label) -> str:
    """SQL for the source whose lifecycle speaks of an end; none for sites, which are parts of another node."""
    return literal("" if label.site else label.authority.source)


REPLACEMENTS = """CASE WHEN o.id IS NULL THEN l.successors END AS replacements,
    CASE WHEN o.id IS NULL THEN l.candidates ELSE list_concat(l.successors, l.candidates) END AS candidates"""
"""SQL for what replaces an id of lifecycle l, and what may: o as in join_of_other_label."""


def join_of_other_label(label: Label) -> str:
    """SQL that joins, as o, the one replacement of an id of lifecycle l that is an id of another label.

    Where labels are branches of one authority's ids, such a replacement is no id of the node's label: a curator moves
    the node.
    """
    return f"""LEFT JOIN ref.lifecycle o ON o.source = l.source AND o.id = l.successors[1] AND len(l.successors) = 1
        AND l.state <> 'current' AND {filed_elsewhere(label, "o")}"""


def filed_elsewhere(label: Label, alias: str) -> str:
    """SQL for whether the authority files an id of its lifecycle under another namespace than that of the label."""
    return f"{alias}.namespace <> {literal(label.authority.namespace)}" if label.authority.namespace else "false"


def in_scope(label: Label, column: str, attribute: str = "") -> str:
    """SQL for whether any issuer of a label's ids is asked about the id in a column, or about an attribute of it."""
    return (
        " OR ".join(in_scope_of_issuer(one, column, attribute) for one in label.issued) if label.authorities else "true"
    )


def in_scope_of_issuer(label: Label, column: str, attribute: str = "") -> str:
    """SQL for whether one of several issuers is asked about the id in a column; see Label.issued.

    It is asked about all ids of its form but for those that another source lists, or where it does not list all, about
    those that it knows; and about an attribute where it states that.
    """
    form = f"regexp_full_match({column}, {literal(label.id_pattern)})"
    source, known = literal(label.authority.source), base(label, column)
    if attribute:
        stated = f"SELECT id FROM ref.value WHERE source = {source} AND attribute = {literal(attribute)}"
        return f"{form} AND {known} IN ({stated})"
    own = f"{known} IN (SELECT id FROM ref.lifecycle WHERE source = {source}"
    if label.authority.is_partial:
        return f"{form} AND {own} AND state <> 'dropped')"
    return f"{form} AND ({own}) OR {known} NOT IN (SELECT id FROM ref.lifecycle))"


def covers_tails(head: Label, tail: Label) -> bool:
    """Tell whether coverage may name the tail: only where no id can be that of a head as well."""
    return head.name != tail.name and tail.name not in head.shares_ids_with and head.name not in tail.shares_ids_with


def unmapped_topic(link: str) -> str:
    """The topic under which a network's release covers the ids that it does not map."""
    return f"{link} unmapped"
