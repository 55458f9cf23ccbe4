"""The measures of a manuscript by the formulas of Prompt-to-Paper; pure."""

from collections.abc import Collection, Sequence

from kgcheck.grounding.manuscript import Manuscript
from kgcheck.model import Value

_RECALLED = 20


class CitationMeasures(Value):
    """How a manuscript cites. A measure is None where it cannot be had, never a neutral value.

    ``out_of_range``: share of the keys of its markers that its list does not have (b_cite). ``coverage``: share of the
    works that it could cite (its list, or the corpus) which its text cites (kappa). ``recall``: share of the 20 most
    important works of the corpus that it cites.
    """

    keys: int
    out_of_range: float | None
    coverage: float | None
    recall: float | None = None


def citation_measures(
    manuscript: Manuscript, corpus: Collection[str] | None = None, ranked: Sequence[str] = ()
) -> CitationMeasures:
    """Measure the citations of a manuscript."""
    keys = [key for block in manuscript.blocks for marker in block.markers for key in marker.keys]
    known = {r.key for r in manuscript.references} if corpus is None else set(corpus)
    cited = set(keys) & known
    first = list(dict.fromkeys(ranked))[:_RECALLED]
    return CitationMeasures(
        keys=len(keys),
        out_of_range=sum(key not in known for key in keys) / len(keys) if keys and known else None,
        coverage=len(cited) / len(known) if known else None,
        recall=len(cited & set(first)) / len(first) if first else None,
    )


def hallucination_penalty(out_of_range: float, mismatches: int, coverage: float) -> float:
    """The hallucination penalty P_h.

    >>> hallucination_penalty(0.0, 3, 0.30), hallucination_penalty(1.0, 100, 0.0)
    (0.045, 0.86)
    """
    penalty = 0.5 * out_of_range + 0.3 * min(1.0, 0.05 * mismatches) + 0.2 * max(0.0, 0.30 - coverage)
    return round(min(1.0, penalty), 12)
