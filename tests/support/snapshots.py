"""Snapshots that hypothesis makes: releases that repeat, contradict and leave out each other's facts."""

from hypothesis import strategies as st

from kgcheck.checks.catalogue import State
from kgcheck.sources.facts import STATUSES
from tests.support.facts import Facts

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
