"""Helpfulness of a paper, from one to five, and use of a data set: by rules, each with its reasons."""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from kgcheck.literature.documents import titled_retracted
from kgcheck.literature.lexical import stems
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.relevance import TopicFit, section_texts
from kgcheck.protocols.protocol import Objective, StudyDataSet
from kgcheck.protocols.search.queries import LikenessScale, SearchConcept, method_named, search_rules, words_of

_ACCESSION = re.compile(r"\b(?:GSE\d{2,7}|GDS\d{2,5}|[SED]RP\d{4,9}|PRJ[A-Z]{2}\d{2,9}|E-[A-Z]{4}-\d{1,6}|PXD\d{6})\b")
_MOST_CHARACTERS = 10_000
"""Most characters of an abstract that are read."""


class PaperDegree(NamedTuple):
    """Helpfulness of a paper, from one to five, with the reasons."""

    degree: int
    relevance: float
    reasons: tuple[str, ...]


class DataSetUse(NamedTuple):
    """Usability of a data set, with the reasons for and against."""

    usable: bool
    reasons: tuple[str, ...]


def topic_of(objective: Objective, concepts: Sequence[SearchConcept]) -> str:
    """Topic to compare papers with: title and concepts; of many words, each would be little."""
    return " ".join((objective.title, *(c.name for c in concepts)))


def abstract_of(paper: WholePaper) -> str:
    """The title and the abstract of a paper."""
    inner = " ".join(p.text for s in paper.sections if s.kind == "abstract" for p in s.paragraphs)
    return f"{paper.title}. {inner}"[:_MOST_CHARACTERS]


def degrees(
    papers: Sequence[WholePaper], objective: Objective, concepts: Sequence[SearchConcept], fit: TopicFit, scale: str
) -> list[PaperDegree]:
    """Grade the helpfulness of papers."""
    rules = search_rules().papers
    fits = fit.fits([{"abstract": section_texts(p).get("abstract", (p.title,))} for p in papers])
    chosen = rules.vectors if scale == "vectors" else rules.words
    return [_degree(p, objective, concepts, f.relevance, chosen) for p, f in zip(papers, fits, strict=True)]


def _degree(
    paper: WholePaper,
    objective: Objective,
    concepts: Sequence[SearchConcept],
    relevance: float,
    scale: LikenessScale,
) -> PaperDegree:
    rules = search_rules().papers
    if paper.retracted or titled_retracted(paper.title):
        return PaperDegree(1, relevance, ("it is retracted",))
    text = abstract_of(paper)
    own = stems(words_of(text))
    named = [c for c in concepts if c.named_in(text, own)]
    share = _weight(named) / _weight(concepts) if concepts else 0.0
    like = min(1.0, max(0.0, (relevance - scale.none) / (scale.full - scale.none)))
    reasons = [f"it names {', '.join(c.name for c in named)}" if named else "it names nothing of the objective"]
    reasons.append(f"likeness {relevance:.2f}")
    points = 1 + 4 * (rules.named * share + rules.likeness * like)
    for worth, reason in _brought(paper, text, objective):
        points += worth
        reasons.append(reason)
    return PaperDegree(min(5, max(1, int(points + 0.5))), relevance, tuple(reasons))


def _weight(concepts: Sequence[SearchConcept]) -> float:
    return sum(search_rules().papers.concepts[c.kind] for c in concepts)


def _brought(paper: WholePaper, text: str, objective: Objective) -> list[tuple[float, str]]:
    """Weigh the methods, data and species of a paper, whatever it is about."""
    rules, words = search_rules().papers, search_rules().words
    folded = text.casefold()
    found: list[tuple[float, str]] = []
    if any(word in paper.type.casefold() for word in words.no_methods):
        found.append((rules.no_methods, "it has no methods of its own"))
    elif (method := method_named(text)) or any(word in folded for word in words.methods):
        found.append((rules.methods, f"it brings a method{f', {method.name}' if method else ''}"))
    if _ACCESSION.search(text) or any(_as_word(word).search(text) for word in words.data):
        found.append((rules.data_sets, "it brings data"))
    others = _species_named(folded) - {objective.species}
    if others and objective.species not in _species_named(folded):
        found.append((rules.other_species, f"it is about {', '.join(sorted(others))}"))
    return found


@cache
def _as_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word)}s?\b", re.IGNORECASE if word.islower() else re.NOFLAG)


def _species_named(folded: str) -> frozenset[str]:
    return frozenset(
        species for species, words in search_rules().species.items() if any(_as_word(w).search(folded) for w in words)
    )


def data_set_use(
    data_set: StudyDataSet, description: str, objective: Objective, concepts: Sequence[SearchConcept]
) -> DataSetUse:
    """Judge whether a data set is usable for an objective."""
    against: list[str] = []
    for_it: list[str] = []

    def look(holds: bool, yes: str, no: str) -> None:
        (for_it if holds else against).append(yes if holds else no)

    stated = ", ".join(data_set.species) or "no species"
    look(
        _is_of_species(data_set, objective.species), f"of {objective.species}", f"of {stated}, not {objective.species}"
    )
    if objective.assays:
        fits = _is_of_assay(data_set, description, objective.assays)
        look(fits, f"by {data_set.assay or 'a wanted assay'}", f"by {data_set.assay or 'no assay that is stated'}")
    least = search_rules().data_sets.samples
    if data_set.samples is None:
        for_it.append("how many samples is not stated")
    else:
        look(data_set.samples >= least, f"{data_set.samples:,} samples", f"{data_set.samples:,} samples, under {least}")
    text = f"{data_set.title}. {description}"[:_MOST_CHARACTERS]
    subjects = [c for c in concepts if c.kind == "subject"]
    if subjects:
        own = stems(words_of(text))
        named = [c.name for c in subjects if c.named_in(text, own)]
        look(bool(named), f"about {', '.join(named)}", f"not about {subjects[0].name}")
    if data_set.remark:
        against.append(data_set.remark)
    return DataSetUse(not against, tuple(against or for_it))


def _is_of_species(data_set: StudyDataSet, species: str) -> bool:
    wanted = species.casefold()
    return any(own.casefold() == wanted or own.casefold().startswith(f"{wanted} (") for own in data_set.species)


def _is_of_assay(data_set: StudyDataSet, description: str, assays: Sequence[str]) -> bool:
    text = f"{data_set.assay} {data_set.title} {description}".casefold()[:_MOST_CHARACTERS]
    for assay in assays:
        method = method_named(assay)
        words = (assay, *(method.data if method else ()), *(method.words if method else ()))
        if any(word.casefold() in text for word in words):
            return True
    return False
