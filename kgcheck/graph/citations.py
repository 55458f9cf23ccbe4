"""Papers that properties of edges cite by PMID, PMCID or DOI, as SQL."""

import re

from kgcheck.profile.schema import Pattern
from kgcheck.quoting import identifier, literal

_DOI = r"\b(10\.[0-9]{4,9}/(?:\(sici\)[^\s\"'|]*[a-z0-9]|[^\s\"'|<>,;]*[^\s\"'|<>,;.)\]}]))"
"""A DOI; of the old form of publishers' items, SICI, it may hold what else parts one id from the next."""

_PMID = (
    r"(?:\bpmids?[:=/_ ]*|\bpubmed(?:\.ncbi\.nlm\.nih\.gov)?[:/]\s*|/med/)0*([1-9][0-9]{0,7})"
    r"(?:$|[^0-9a-z.]|\.(?:$|[^0-9]))"
)
_PMC = r"\bpmc:?0*([1-9][0-9]{0,8})\b"

_NUMBER = r"0*([1-9][0-9]{0,7})(?:\.0)?"
"""A number alone, in a property that is named after PubMed."""

_PUBMED = re.compile(r"(?!(?:n|nr|no|num|number|count|total)_)(?:.*_)?(?:pmids?|pubmed(?:_?ids?)?)", re.IGNORECASE)
"""Names of such properties, but for counts."""


def citations_sql(pattern: Pattern, edges: str) -> str | None:
    """A select of head, tail and paper, each once, over edges of a pattern; None where no property can cite a paper."""
    texts, numbers = list[str](), list[str]()
    for name, kept in pattern.properties.items():
        column = identifier(name)
        text = f"array_to_string({column}, '|')" if kept.type == "strings" else f"{column}::VARCHAR"
        if kept.type in ("string", "strings"):
            texts.append(text)
        if _PUBMED.fullmatch(name):
            numbers.append(text)
    if not texts + numbers:
        return None
    words = "regexp_split_to_array(numbers, '[^0-9a-z.:/_+-]+')"
    alone = f"list_filter({words}, lambda x: regexp_full_match(x, {literal(_NUMBER)}))"
    found = [f"list_transform({alone}, lambda x: 'pmid:' || regexp_extract(x, {literal(_NUMBER)}, 1))"]
    # The digits of a DOI are no other id.
    others = f"regexp_replace(text, {literal(_DOI)}, ' ', 'g')"
    for prefix, expression, within in (("pmid:", _PMID, others), ("pmc:PMC", _PMC, others), ("doi:", _DOI, "text")):
        ids = f"regexp_extract_all({within}, {literal(expression)}, 1)"
        found.append(f"list_transform({ids}, lambda x: {literal(prefix)} || x)")
    text = _joined(texts)
    decoded = f"lower(coalesce(try(url_decode({text})), {text})) AS text, lower({_joined(numbers)}) AS numbers"
    return f"""
    SELECT DISTINCT head, tail, unnest(flatten([{", ".join(found)}])) AS paper
    FROM (SELECT head, tail, {decoded} FROM {edges})"""


def _joined(columns: list[str]) -> str:
    return f"concat_ws('|', {', '.join(columns)})" if columns else "''"
