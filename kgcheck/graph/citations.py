"""Papers that properties of edges cite by PMID, PMCID or DOI, as SQL."""

import re

from kgcheck.profile.schema import Pattern
from kgcheck.quoting import identifier, literal

_IDS = (
    ("pmid:", r"(?:pubmed(?:\.ncbi\.nlm\.nih\.gov)?|pmid)[:/ ]+0*([1-9][0-9]{0,7})\b"),
    ("pmc:PMC", r"\bpmc:?0*([1-9][0-9]{0,8})\b"),
    ("doi:", r"\b(10\.[0-9]{4,9}/[^\s\"'|<>,;]*[^\s\"'|<>,;.)\]])"),
)
"""Prefix of an id in an index of papers, and the expression that finds it in a text in small letters."""

_BARE = r"(?:^|[^0-9a-z./:])0*([1-9][0-9]{0,7})(?:\.0)?(?:$|[^0-9a-z./:])"
"""A number alone, in a property that is named after PubMed."""

_PUBMED = re.compile(r"(?:.*_)?(?:pmids?|pubmed(?:_?ids?)?)", re.IGNORECASE)


def citations_sql(pattern: Pattern, edges: str) -> str | None:
    """A select of head, tail and paper, each once, over edges of a pattern; None where no property can cite a paper."""
    found = []
    for name, kept in pattern.properties.items():
        column = identifier(name)
        text = f"lower({f'array_to_string({column}, chr(124))' if kept.type == 'strings' else f'{column}::VARCHAR'})"
        if kept.type in ("string", "strings"):
            found += [_found(text, prefix, expression) for prefix, expression in _IDS]
        if _PUBMED.fullmatch(name):
            found.append(_found(text, "pmid:", _BARE))
    if not found:
        return None
    papers = f"list_distinct(flatten([{', '.join(found)}]))"
    return f"SELECT DISTINCT head, tail, paper FROM (SELECT head, tail, unnest({papers}) AS paper FROM {edges})"


def _found(text: str, prefix: str, expression: str) -> str:
    numbers = f"regexp_extract_all(coalesce({text}, ''), {literal(expression)}, 1)"
    return f"list_transform({numbers}, lambda x: {literal(prefix)} || x)"
