"""Grade papers and data sets for an objective, by rules or a model (which also writes queries).

What a model judges is data: a title may hold instructions. Each answer is of a form that is checked whole, against what
was asked, before it is used or kept: queries as groups of plain terms, one judgement for each paper or data set. A
search goes on with the answers that are kept.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from pydantic import BaseModel, Field, create_model, model_validator

from kgcheck.literature.documents import titled_retracted
from kgcheck.literature.lexical import stems
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.topics import TopicFit, section_texts
from kgcheck.llm.budget import Meter
from kgcheck.llm.forms import messages_of, with_schema
from kgcheck.protocols.protocol import Objective, StudyDataSet
from kgcheck.protocols.rules import model_task
from kgcheck.protocols.search.queries import (
    SearchConcept,
    SearchQuery,
    SearchRules,
    TermGroup,
    method_named,
    words_of,
)

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient


_ACCESSION = re.compile(r"\b(?:GSE\d{2,7}|GDS\d{2,5}|[SED]RP\d{4,9}|PRJ[A-Z]{2}\d{2,9}|E-[A-Z]{4}-\d{1,6}|PXD\d{6})\b")
_MOST_CHARACTERS = 10_000  # most characters of an abstract that are read


class PaperDegree(NamedTuple):
    """Helpfulness of a paper, from one to five, with the reasons."""

    degree: int
    relevance: float
    reasons: tuple[str, ...]


class DataSetUse(NamedTuple):
    """Usability of a data set, with the reasons for and against."""

    usable: bool
    reasons: tuple[str, ...]


def abstract_of(paper: WholePaper) -> str:
    """The title and the abstract of a paper."""
    inner = " ".join(p.text for s in paper.sections if s.kind == "abstract" for p in s.paragraphs)
    return f"{paper.title}. {inner}"[:_MOST_CHARACTERS]


def degrees(papers: Sequence[WholePaper], objective: Objective, concepts: Sequence[SearchConcept]) -> list[PaperDegree]:
    """Grade the helpfulness of papers, by what they name of the objective, how like it they are and what they bring."""
    # Compared with the title and the concepts: of many words, each would be little.
    fit = TopicFit(" ".join((objective.title, *(c.name for c in concepts))), None)
    fits = fit.fits([{"abstract": section_texts(p).get("abstract", (p.title,))} for p in papers])
    return [_degree(p, objective, concepts, f.relevance) for p, f in zip(papers, fits, strict=True)]


def _degree(
    paper: WholePaper, objective: Objective, concepts: Sequence[SearchConcept], relevance: float
) -> PaperDegree:
    rules = SearchRules.shipped()
    weights, words = rules.papers, rules.words
    if paper.retracted or titled_retracted(paper.title):
        return PaperDegree(1, relevance, ("it is retracted",))
    text = abstract_of(paper)
    own, folded = stems(words_of(text)), text.casefold()
    named = [c for c in concepts if c.named_in(text, own)]
    weighed, whole = (sum(rules.concepts[c.kind] for c in some) for some in (named, concepts))
    like = min(1.0, max(0.0, (relevance - weights["none"]) / (weights["full"] - weights["none"])))
    reasons = [f"it names {', '.join(c.name for c in named)}" if named else "it names nothing of the objective"]
    reasons.append(f"likeness {relevance:.2f}")
    points = 1 + 4 * (weights["named"] * (weighed / whole if concepts else 0.0) + weights["likeness"] * like)
    brought: list[tuple[str, str]] = []
    if any(word in paper.type.casefold() for word in words["no_methods"]):
        brought.append(("no_methods", "it has no methods of its own"))
    elif (method := method_named(text)) or any(word in folded for word in words["methods"]):
        brought.append(("methods", f"it brings a method{f', {method.name}' if method else ''}"))
    if _ACCESSION.search(text) or any(_as_word(word).search(text) for word in words["data"]):
        brought.append(("data_sets", "it brings data"))
    species = {name for name, own in rules.species.items() if any(_as_word(word).search(folded) for word in own)}
    if species and objective.species not in species:
        brought.append(("other_species", f"it is about {', '.join(sorted(species))}"))
    for kind, reason in brought:
        points += weights[kind]
        reasons.append(reason)
    return PaperDegree(min(5, max(1, int(points + 0.5))), relevance, tuple(reasons))


@cache
def _as_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word)}s?\b", re.IGNORECASE if word.islower() else re.NOFLAG)


def data_set_use(
    data_set: StudyDataSet, description: str, objective: Objective, concepts: Sequence[SearchConcept]
) -> DataSetUse:
    """Judge whether a data set is usable for an objective."""
    wanted, least = objective.species.casefold(), SearchRules.shipped().samples
    stated = ", ".join(data_set.species) or "no species"
    fits = any(own.casefold() == wanted or own.casefold().startswith(f"{wanted} (") for own in data_set.species)
    looked = [(fits, f"of {objective.species}", f"of {stated}, not {objective.species}")]
    if objective.assays:
        stated_of = f"{data_set.assay} {data_set.title} {description}".casefold()[:_MOST_CHARACTERS]
        methods = [(assay, method_named(assay)) for assay in objective.assays]
        words = [w for assay, method in methods for w in (assay, *((*method.data, *method.words) if method else ()))]
        fits = any(word.casefold() in stated_of for word in words)
        looked.append((fits, f"by {data_set.assay or 'a wanted assay'}", f"by {data_set.assay or _NO_ASSAY}"))
    if data_set.samples is None:
        looked.append((True, "how many samples is not stated", ""))
    else:
        count = f"{data_set.samples:,} samples"
        looked.append((data_set.samples >= least, count, f"{count}, under {least}"))
    text = f"{data_set.title}. {description}"[:_MOST_CHARACTERS]
    subjects = [c for c in concepts if c.kind == "subject"]
    if subjects:
        own = stems(words_of(text))
        named = [c.name for c in subjects if c.named_in(text, own)]
        looked.append((bool(named), f"about {', '.join(named)}", f"not about {subjects[0].name}"))
    against = [no for holds, _, no in looked if not holds] + [data_set.remark] * bool(data_set.remark)
    return DataSetUse(not against, tuple(against or (yes for _, yes, _ in looked)))


_NO_ASSAY = "no assay that is stated"
QUERY_TEMPERATURE = 0.7
JUDGE_TEMPERATURE = 0.5
_MOST_SHOWN = 2_500  # most characters of an abstract or a description in a question
J = TypeVar("J", bound="NumberedJudgement")


class QueryAnswer(BaseModel):
    """A query as a model writes it."""

    purpose: str = Field(default="", max_length=300)
    groups: list[list[str]] = Field(min_length=1, max_length=5)

    def query(self) -> SearchQuery:
        """The query; a ValueError where it is none."""
        data = {word.casefold() for word in SearchRules.shipped().words["data"]}
        groups = (TermGroup(terms=tuple(g), data=data.issuperset(t.casefold() for t in g)) for g in self.groups)
        return SearchQuery(purpose=self.purpose, groups=tuple(groups))


class QueriesAnswer(BaseModel):
    """All queries as a model writes them."""

    queries: list[QueryAnswer] = Field(min_length=1)

    @model_validator(mode="after")
    def _are_queries(self) -> Self:
        number = SearchRules.shipped().limits["queries"]
        if len(self.queries) != number:
            raise ValueError(f"{number} queries are wanted, and these are {len(self.queries)}")
        if len({q.query().groups for q in self.queries}) < number:
            raise ValueError("a query is there twice")
        return self


class NumberedJudgement(BaseModel):
    """Judgement of a model on a record that it was shown by number."""

    number: int
    reason: str = Field(min_length=1, max_length=500)


class PaperJudgement(NumberedJudgement):
    """Judgement of a model on a paper."""

    degree: int = Field(ge=1, le=5)


class DataSetJudgement(NumberedJudgement):
    """Judgement of a model on a data set."""

    usable: bool


class _Judgements(BaseModel):
    judged: list[Any]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if sorted(j.number for j in self.judged) != [*range(1, len(self.judged) + 1)]:
            raise ValueError("each number must be there once, and no other")
        return self


class SearchModel:
    """A model that helps to search: it writes the queries, and judges records by their title, text and other fields."""

    def __init__(self, client: "ChatClient", meter: Meter) -> None:
        self._client, self._meter = client, meter
        self.name = client.model

    def queries(self, objective: Objective, concepts: Sequence[SearchConcept]) -> tuple[SearchQuery, ...]:
        number = SearchRules.shipped().limits["queries"]

        def just_as_many(schema: dict[str, Any]) -> dict[str, Any]:
            schema["properties"]["queries"] |= {"minItems": number, "maxItems": number}
            return schema

        question = {"objective": objective.model_dump(mode="json"), "terms": [list(c.terms) for c in concepts]}
        messages = messages_of(model_task("search queries").format(number=number), question)
        form = with_schema(QueriesAnswer, just_as_many)
        answer, _ = self._client.answer(messages, form, meter=self._meter, temperature=QUERY_TEMPERATURE)
        return tuple(q.query() for q in answer.queries)

    def degrees(self, objective: Objective, papers: Sequence[dict[str, object]]) -> list[PaperDegree]:
        judged = self._judged("papers", objective, papers, PaperJudgement)
        return [PaperDegree(j.degree, 0.0, (j.reason,)) for j in judged]

    def uses(self, objective: Objective, data_sets: Sequence[dict[str, object]]) -> list[DataSetUse]:
        judged = self._judged("data sets", objective, data_sets, DataSetJudgement)
        return [DataSetUse(j.usable, (j.reason,)) for j in judged]

    def _judged(
        self, things: str, objective: Objective, records: Sequence[dict[str, object]], kind: type[J]
    ) -> list[J]:
        found: list[J] = []
        size = SearchRules.shipped().limits["judged"]
        for at in range(0, len(records), size):
            shown = [
                {"number": number, **record}
                | {"title": str(record["title"])[:500], "text": str(record["text"])[:_MOST_SHOWN]}
                for number, record in enumerate(records[at : at + size], 1)
            ]
            messages = messages_of(
                model_task(f"search {things}"), {"objective": objective.model_dump(mode="json"), "records": shown}
            )
            listed = (list[kind], Field(min_length=len(shown), max_length=len(shown)))  # type: ignore[valid-type]
            form: type[_Judgements] = create_model(f"{kind.__name__}s", __base__=_Judgements, judged=listed)
            answer, _ = self._client.answer(messages, form, meter=self._meter, temperature=JUDGE_TEMPERATURE)
            found += sorted(answer.judged, key=lambda j: j.number)
        return found
