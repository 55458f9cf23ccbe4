"""Snapshots that hypothesis makes: releases that repeat, contradict and leave out each other's facts."""

from itertools import product

from hypothesis import strategies as st

from kgcheck.profile.catalogue import State
from kgcheck.reference.facts import STATUSES
from tests.support.facts import DATE, Facts

PROTEINS, TERMS, GENES = ("P10001", "P10002"), ("GO:0000011", "GO:0000012", "GO:0000013"), ("AA1", "BB1")
DATES = st.sampled_from(["", "2015", "2015-05-14", "2026-01-01"])
PAIRS = {
    ("string", "ACTS_ON"): (PROTEINS, PROTEINS),
    ("uniprot", "CURATED_INTERACTS_WITH"): (PROTEINS, PROTEINS),
    ("uniprot", "ASSOCIATED_WITH"): (PROTEINS, TERMS),
    ("goa", "ASSOCIATED_WITH"): (PROTEINS, TERMS),
    ("go", "HAS_PARENT"): (TERMS, TERMS),
    ("hgnc", "TRANSLATED_INTO"): (GENES, PROTEINS),
    ("uniprot", "TRANSLATED_INTO"): (GENES, PROTEINS),
}
LABELS = {"uniprot": ("Protein", PROTEINS), "go": ("Biological_process", TERMS), "hgnc": ("Gene", GENES)}


@st.composite
def snapshots(draw: st.DrawFn) -> Facts:
    """Releases that repeat, contradict and leave out each other's ids, values and links."""
    facts = Facts()
    for source in ("uniprot", "goa", "go", "hgnc", "string"):
        for number in range(draw(st.integers(0, 2))):
            release = facts.release(source, f"r{number}", draw(DATES), complete=draw(st.booleans()))
            label, ids = LABELS.get(source, ("", ()))
            for identifier in draw(st.sets(st.sampled_from(ids))) if ids else ():
                now = draw(st.lists(st.sampled_from(ids), max_size=2))
                release.entity(identifier, label, draw(st.sampled_from(list(State))), now=now)
                if source == "uniprot":
                    release.value(
                        identifier, "gene_name", draw(st.sampled_from(GENES)), draw(st.sampled_from(STATUSES))
                    )
            for (owner, relation), (heads, tails) in PAIRS.items():
                if owner == source:
                    for head, tail in draw(st.sets(st.tuples(st.sampled_from(heads), st.sampled_from(tails)))):
                        score = draw(st.sampled_from([None, 0.1, 0.399, 0.4, 0.95]))
                        record = draw(st.sampled_from(["", "r1", "PMID:1", "PMID:2"]))
                        release.link(relation, head, tail, score, negated=draw(st.booleans()), record=record)
                    release.covers(relation, *draw(st.sets(st.sampled_from((*heads, *tails)))))
    return facts


MANY = (*(f"P1000{n}" for n in range(1, 6)), "p10001")
"""Accessions, one of them in the wrong case."""
CROWDS = {
    "ACTS_ON": (("string",), MANY, MANY),
    "CURATED_INTERACTS_WITH": (("uniprot", "string_physical"), MANY, MANY),
    "ASSOCIATED_WITH": (("uniprot", "goa"), MANY, TERMS),
    "HAS_PARENT": (("go",), TERMS, TERMS),
    "TRANSLATED_INTO": (("hgnc", "uniprot"), (*GENES, "CC1"), MANY),
}
"""By relation: the sources that may speak of it, its heads and its tails."""

STATED = st.lists(
    st.sampled_from(
        list(product((False, True), (None, 0.1, 0.399, 0.4, 0.95), ("", "r1", "r2", "PMID:1"), (*[False] * 5, True)))
    ),
    min_size=1,
    max_size=3,
)
"""Links of a pair: whether in the other order, score, record, whether denied; a link of PMID:1 alone is retracted."""

LIVES = st.sampled_from([(State.CURRENT, 0)] * 60 + [(s, n) for s in State for n in (0, 1)])
"""Mostly current ids; others with so many replacements."""


@st.composite
def crowded_snapshots(draw: st.DrawFn) -> tuple[str, Facts]:
    """A relation, and releases whose links of it crowd on few pairs.

    In both orders, with and without a score, around the cut-off, under one record or several, denied, retracted, from
    an end to itself, in releases of one day or of two, between ids of which a few were replaced.
    """
    relation = draw(st.sampled_from(list(CROWDS)))
    sources, heads, tails = CROWDS[relation]
    (facts := Facts()).release("pubmed").entity("PMID:1", state="withdrawn")
    for source, (label, ids) in LABELS.items():
        life = facts.release(source, "life", complete=draw(st.booleans()))
        for identifier in sorted({*ids, *(i for i in (*heads, *tails) if (i in MANY) == (source == "uniprot"))}):
            state, successors = draw(LIVES)
            if draw(st.integers(0, 9)) == 0:
                # The authority has never heard of it.
                continue
            life.entity(identifier, label, state, now=draw(st.permutations(ids))[:successors])
    if draw(st.booleans()):
        facts.release("go", "tree", complete=draw(st.booleans())).link("HAS_PARENT", TERMS[0], TERMS[1])
    for source in sources:
        for number in range(draw(st.sampled_from([1, 2, 0]))):
            date = draw(st.sampled_from([DATE] * 5 + ["2015"]))
            release = facts.release(source, f"links {number}", date, complete=draw(st.booleans()))
            for head, tail in draw(st.sets(st.sampled_from(list(product(heads, tails))), min_size=6)):
                for turned, score, record, negated in draw(STATED):
                    ends = (tail, head) if turned and heads == tails else (head, tail)
                    release.link(relation, *ends, score, negated=negated, record=record)
            release.covers(relation, *draw(st.sets(st.sampled_from(sorted({*heads, *tails})))))
    return relation, facts
