"""English of names and counts: the words in a name, plurals, and counts with their nouns."""

import re

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_IRREGULAR = {
    "child": "children",
    "mitochondrion": "mitochondria",
    "person": "people",
    "phenomenon": "phenomena",
    "series": "series",
    "species": "species",
    "taxon": "taxa",
}


def how_many(count: int, one: str, many: str = "") -> str:
    """A count and what is counted.

    >>> how_many(1, "row"), how_many(2_000, "row"), how_many(0, "study", "studies")
    ('1 row', '2,000 rows', '0 studies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def words_in(name: str) -> list[str]:
    """The words in a name, in lower case; its prefix says nothing.

    >>> words_in("biolink:PhenotypicFeature"), words_in("Biological_process"), words_in("has_RNAProduct")
    (['phenotypic', 'feature'], ['biological', 'process'], ['has', 'rna', 'product'])
    """
    return [word.lower() for word in _WORD.findall(name.rpartition(":")[2])]


def folded(name: str) -> str:
    """A name without what writers change.

    >>> folded("Biological_process") == folded("biolink:BiologicalProcess")
    True
    """
    return re.sub(r"[^a-z0-9]", "", name.rpartition(":")[2].lower())


def plural(noun: str) -> str:
    """A noun as people write more of one; what looks like a plural stays.

    >>> [plural(noun) for noun in ("biological process", "molecular activity", "organism taxon", "diagnosis", "genes")]
    ['biological processes', 'molecular activities', 'organism taxa', 'diagnoses', 'genes']
    """
    before, sign, last = noun.rpartition(" ")
    if last in _IRREGULAR:
        return f"{before}{sign}{_IRREGULAR[last]}"
    if noun.endswith("sis"):
        return f"{noun[:-2]}es"
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    if noun.endswith(("ss", "us", "is", "x", "z", "ch", "sh")):
        return f"{noun}es"
    return noun if noun.endswith("s") else f"{noun}s"
