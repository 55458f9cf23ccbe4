"""Prefixes in another spelling than the preferred one."""

from collections.abc import Iterator

from kgcheck.rules import Rule, RuleGraph, RuleHit


def _other_spellings(graph: RuleGraph) -> Iterator[RuleHit]:
    curies = graph.curies
    # Another's prefix that is a synonym by chance: gc of the genetic code, where ids are gc:mid1.
    strange = {one.record.prefix for one in curies.misfits if one.is_of_another}
    for one in curies.namespaces if curies.is_of_curies else ():
        of_registry = (one.record.preferred, one.record.prefix) if one.record else ()
        follows_biolink = one.biolink and "biolink" in graph.schema.profile.standards
        preferred = one.biolink if follows_biolink else (*one.biolink, *of_registry)
        is_synonym = one.spelled.casefold() not in {name.casefold() for name in (*preferred, *of_registry)}
        if not one.is_known or one.spelled in preferred or (is_synonym and one.key in strange):
            continue
        registry = f"the Bioregistry has it as {' or '.join(dict.fromkeys(of_registry))}" if of_registry else ""
        biolink = f"Biolink writes {' or '.join(one.biolink)}" if one.biolink else ""
        yield one.hit(f"{one.spelled}: {', '.join(filter(None, (biolink, registry)))}; {one.counted}")


RULE = Rule(
    name="prefix_spelling",
    words="Prefix in another spelling than the preferred one",
    meaning="ids of a prefix that Biolink or the Bioregistry spells otherwise",
    groups=("ids", "standards"),
    is_fault=False,
    bad="the id POMBASE:SPAC2F7.03c",
    good="the id PomBase:SPAC2F7.03c",
    source="bioregistry",
    is_remark=True,
    of_graph=_other_spellings,
)
