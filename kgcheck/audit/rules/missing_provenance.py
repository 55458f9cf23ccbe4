"""Edges that do not say where they come from."""

from kgcheck.rules import Rule

_SELECT = """SELECT head, tail, NULL, 'no source' FROM {} WHERE coalesce(trim("source"), '') = ''"""


RULE = Rule(
    name="missing_provenance",
    words="Edge that does not say where it comes from",
    meaning="an edge without a source",
    groups=("edges",),
    is_fault=False,
    bad="an edge whose source is empty",
    good="the same edge with the source DISEASES",
    is_of_one_row=True,
    of_pattern=lambda graph, p: _SELECT.format(graph.edges(p)) if "source" in p.properties else None,
)
