"""Gather papers on a topic into an index, ranked, by snowballing along references and citations.

A paper's relevance is the weighted mean of that of its sections: by vectors the cosine of section and topic, by words
the BM25 of the section, as a share of what the words of the topic alone would have.

Everything follows from what was wanted and from the answers of the service, which are kept under the day on which the
gathering began. What was cut off is done again from kept answers: no question is asked twice, the log is written
again, and the papers go into the index together, at the end.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

import numpy as np
from pydantic import Field

from kgcheck.choices import SectionKind
from kgcheck.errors import IndexFault, UsageError
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Rejected, clean, sentences
from kgcheck.literature.embed import Embedder, Vectors
from kgcheck.literature.gather import SERVICES, SourceName, day_of, note_of, paper_with, whole_of, write_note
from kgcheck.literature.lexical import content_words, relevances, stems
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.polarity import clauses_of
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.progress import NoProgress, Progress
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import PaperRecord, PaperService
from kgcheck.resources import resource_dir
from kgcheck.text.words import either

Leaning = Literal["against", "comparison", "for", "none"]
"""Leaning of the words of a paper.

Only a heuristic for the choice of papers: what one says, a verifier reads.
"""


class TopicLimits(Value):
    """Limits of what is looked at in a round."""

    followed: int = Field(gt=0)
    candidates: int = Field(gt=0)
    citations: int = Field(gt=0)


class TopicRanking(Value):
    """Components of the rank of a paper."""

    relevance: float = Field(ge=0)
    citations: float = Field(ge=0)
    recency: float = Field(ge=0)
    half_life: float = Field(gt=0)


class TopicRules(Value):
    """The file ``corpus/topics/rules.toml``."""

    sections: dict[SectionKind, float]
    limits: TopicLimits
    ranking: TopicRanking
    least: dict[Leaning, float]
    leaning: dict[Leaning, tuple[str, ...]]


@cache
def topic_rules() -> TopicRules:
    """The rules that are shipped."""
    return read_value(resource_dir("corpus") / "topics" / "rules.toml", TopicRules)


SectionTexts = Mapping[SectionKind, Sequence[str]]  # the paragraphs of a paper by the kind of their section


class Fit(NamedTuple):
    """Relevance of a paper to a topic, and that of each of its sections, as far as it has them."""

    relevance: float
    sections: dict[SectionKind, float]


def section_texts(paper: WholePaper) -> SectionTexts:
    """The paragraphs of a paper that count for a topic."""
    found: dict[SectionKind, list[str]] = defaultdict(list)
    for section in paper.sections:
        found[section.kind] += [p.text for p in section.paragraphs if not p.legend]
    kept = {kind: texts for kind, texts in found.items() if texts and kind in topic_rules().sections}
    if not kept:
        return {"abstract": [paper.title, *(text for texts in found.values() for text in texts)]}
    if "abstract" in kept:
        first, *rest = kept["abstract"]
        kept["abstract"] = [f"{paper.title} {first}".strip(), *rest]
    return kept


class TopicFit:
    """Scores papers for a topic."""

    def __init__(self, topic: str, embedder: Embedder | None) -> None:
        self._topic = topic
        self._embedder = embedder
        self._means: dict[tuple[str, ...], Vectors] = {}

    def fits(self, papers: Sequence[SectionTexts]) -> list[Fit]:
        weights = topic_rules().sections
        by_section: list[dict[SectionKind, float]] = [{} for _ in papers]
        for kind in weights:
            having = [place for place, paper in enumerate(papers) if paper.get(kind)]
            texts = [tuple(papers[place][kind]) for place in having]
            values = self._cosines(texts) if self._embedder else relevances(self._topic, map(" ".join, texts))
            for place, value in zip(having, values, strict=True):
                by_section[place][kind] = round(value, 4)
        return [
            Fit(
                round(sum(weights[k] * v for k, v in values.items()) / (sum(weights[k] for k in values) or 1.0), 4),
                values,
            )
            for values in by_section
        ]

    def _cosines(self, texts: list[tuple[str, ...]]) -> list[float]:
        topic = (self._topic,)
        lacking = [t for t in dict.fromkeys((topic, *texts)) if t not in self._means]
        if lacking and texts and self._embedder:
            vectors = self._embedder.encode([p for paragraphs in lacking for p in paragraphs])
            ends = np.cumsum([len(paragraphs) for paragraphs in lacking])[:-1]
            for paragraphs, own in zip(lacking, np.split(vectors, ends), strict=True):
                mean = own.mean(axis=0)
                self._means[paragraphs] = mean / max(float(np.linalg.norm(mean)), 1e-9)
        return [float(self._means[t] @ self._means[topic]) for t in texts]


def leaning_of(paper: WholePaper, topic: str) -> Leaning:
    """Return the leaning of a paper, by the words of its title and abstract's sentences on the topic."""
    wanted = stems(content_words(topic))
    abstract = " ".join(p.text for s in paper.sections if s.kind == "abstract" for p in s.paragraphs)
    pieces = [paper.title, *(abstract[start:end] for start, end in sentences(abstract))]
    about = [piece.casefold() for piece in pieces if wanted & stems(content_words(piece))]
    rules = topic_rules().leaning
    found = {k for k, words in rules.items() if any(re.search(rf"\b(?:{either(words)})", piece) for piece in about)}
    for clause in (clause for piece in about for clause in clauses_of(piece)):
        if any(word.kind == "deny" for word in clause) and not wanted.isdisjoint(word.stem for word in clause):
            found.add("against")
    return next((kind for kind in rules if kind in found), "none")


class TopicPaper(NamedTuple):
    """Values by which a paper is ranked."""

    id: str
    relevance: float
    citations: int | None
    year: int | None
    leaning: Leaning


def ranked(papers: Sequence[TopicPaper], year: int) -> list[tuple[int, float]]:
    """Numbers of papers among those given, the best first, with their scores."""
    rules = topic_rules()
    top = max((p.relevance for p in papers), default=0.0) or 1.0
    most = max((p.citations or 0 for p in papers), default=0)
    scored = [(n, _rank_score(p, top, most, year)) for n, p in enumerate(papers)]
    scored.sort(key=lambda place: (-place[1], papers[place[0]].id))
    found: list[tuple[int, float]] = []
    have, left = Counter[Leaning](), Counter(p.leaning for p in papers)
    while scored:
        due = (k for k, least in rules.least.items() if left[k] and have[k] < math.floor(least * (len(found) + 1)))
        leaning = next(due, None)
        chosen = next(place for place in scored if leaning is None or papers[place[0]].leaning == leaning)
        scored.remove(chosen)
        have[papers[chosen[0]].leaning] += 1
        left[papers[chosen[0]].leaning] -= 1
        found.append(chosen)

    return found


def _rank_score(paper: TopicPaper, top: float, most: int, year: int) -> float:
    rules = topic_rules().ranking
    parts = [(rules.relevance, max(paper.relevance, 0.0) / top)]
    if paper.citations is not None:
        parts.append((rules.citations, math.log1p(paper.citations) / math.log1p(most) if most else 0.0))
    if paper.year is not None:
        parts.append((rules.recency, 0.5 ** (max(year - paper.year, 0) / rules.half_life)))
    return round(sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts), 4)


LONGEST_TOPIC = 1_000  # characters
MOST_WORDS = 40  # words of a topic by which papers are searched
_SHOWN = 5  # number of the papers leading to one that the log names


class TopicGathering(NamedTuple):
    """Parameters of a gathering for a topic."""

    source: SourceName
    topic: str
    seeds: int = 60
    rounds: int = 2
    threshold: float = 0.065
    keep: int = 100
    full_text: bool = False


class TopicGathered(NamedTuple):
    """Result of a gathering for a topic."""

    counts: dict[str, int]  # number of records in the index by what became of them
    steps: dict[str, int]  # papers by what was decided of them
    day: str
    log: Path
    kept: tuple[str, ...]  # ids of the papers kept, the first place first; those that are retracted are not among them


@dataclass
class MetPaper:
    """A paper that was met."""

    record: PaperRecord
    by: list[str]  # ids of the papers whose links lead to it; of none, it was found by the search
    paper: WholePaper | Rejected
    whole: WholePaper | None = None
    followed: bool = False
    cited: tuple[str, ...] = ()
    citing: tuple[str, ...] = ()
    fit: Fit = field(default_factory=lambda: Fit(0.0, {}))

    @property
    def id(self) -> str:
        return self.record.ids[0]

    @property
    def retracted(self) -> bool:
        """Tell whether its record, or the paper itself, says that it is retracted."""
        paper = self.whole or self.paper
        return self.record.retracted or (isinstance(paper, WholePaper) and paper.retracted)

    @property
    def texts(self) -> SectionTexts:
        """Texts that it is scored by; of a record without abstract the title."""
        paper = self.whole or self.paper
        return section_texts(paper) if isinstance(paper, WholePaper) else {"abstract": (clean(self.record.title),)}


def gather_topic(
    wanted: TopicGathering,
    corpus: Corpus,
    http: Http,
    embedder: Embedder | None,
    today: str | None = None,
    progress: Progress | None = None,
) -> TopicGathered:
    """Gather papers for a topic into an index, which is not built yet."""
    words = content_words(wanted.topic)[:MOST_WORDS]
    if not words:
        raise UsageError("the topic names nothing to look for", "name it in a few plain words")
    if len(wanted.topic) > LONGEST_TOPIC:
        raise UsageError(f"the topic is longer than {LONGEST_TOPIC:,} characters", "name it in a few plain words")
    model = f"{embedder.name} {embedder.digest}" if embedder else "words"
    described = wanted._asdict() | {"model": model}
    note = note_of(corpus.folder, wanted.source, json.dumps(described))
    day = day_of(note, today)
    write_note(note, described, day, ended=False)
    service = SERVICES[wanted.source](http, http.settings, day)
    log = note.with_name(f"{note.stem}-{day}.jsonl")
    with _failing(log):
        lines = log.open("w", encoding="utf-8")
    with lines:
        fit = TopicFit(wanted.topic, embedder)
        snowball = _Snowball(wanted, service, corpus, fit, lines, progress or NoProgress())
        snowball.log("began", **described, day=day)
        kept, retracted, steps = snowball.run(words, int(day[:4]))
        counts = corpus.add_records([c.paper for c in (*kept, *retracted)], wanted.source)
        snowball.log("ended", papers=dict(sorted(steps.items())), requests="kept under the day")
    write_note(note, described, day, ended=True)
    return TopicGathered(dict(counts), steps, day, log, tuple(c.id for c in kept))


@contextmanager
def _failing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IndexFault(f"cannot write {path}: {error.strerror}", "free disk space") from error


class _Snowball:
    """One gathering for a topic; every paper that is met once has all its names here."""

    def __init__(
        self,
        wanted: TopicGathering,
        service: PaperService,
        corpus: Corpus,
        fit: TopicFit,
        lines: TextIO,
        progress: Progress,
    ) -> None:
        self._wanted = wanted
        self._service = service
        self._corpus = corpus
        self._fit = fit
        self._lines = lines
        self._progress = progress
        self._met: dict[str, MetPaper] = {}
        """By every id, and by the service's own."""
        self._candidates: list[MetPaper] = []
        self._looked: set[str] = set()
        """Ids of links that a record was looked for, or cannot be."""
        self._passed: Counter[str] = Counter()
        """Ids that were left out, by why."""

    def log(self, step: str, **values: object) -> None:
        with _failing(Path(self._lines.name)):
            self._lines.write(json.dumps({"step": step, **values}) + "\n")
            # Killed after this, the line is in the file.
            self._lines.flush()

    def run(self, words: Sequence[str], year: int) -> tuple[list[MetPaper], list[MetPaper], dict[str, int]]:
        """Search, follow, rank; the papers kept, those that are retracted, and all by what was decided."""
        found = self._service.best(words, self._wanted.seeds)
        records = found.records[: self._wanted.seeds]
        self.log("search", words=list(words), found=len(records), total=found.total)
        self._take(((record, []) for record in records), 0)
        for number in range(1, self._wanted.rounds + 1):
            self._round(number)
        return self._choose(year)

    def _round(self, number: int) -> None:
        """Follow the links of the papers that fit best, of those that were not followed yet."""
        limits = topic_rules().limits
        fitting = sorted(
            (c for c in self._candidates if not c.followed and not c.retracted and self._fits(c)),
            key=lambda c: (-c.fit.relevance, c.id),
        )[: limits.followed]
        by: dict[str, list[str]] = {}
        with self._progress.step(f"round {number}: following links", len(fitting)) as step:
            for candidate in fitting:
                candidate.followed = True
                candidate.cited = self._service.references(candidate.record)
                candidate.citing = self._service.citations(candidate.record, limits.citations)[: limits.citations]
                counts = {"references": len(candidate.cited), "citations": len(candidate.citing)}
                self.log("links", round=number, paper=candidate.id, **counts)
                for name in dict.fromkeys((*candidate.cited, *candidate.citing)):
                    by.setdefault(name, []).append(candidate.id)
                step.advance()
        new = sorted((i for i in by if i not in self._met and i not in self._looked), key=lambda i: (-len(by[i]), i))
        askable = [i for i in new if i.partition(":")[0] in self._service.kinds]
        looked = askable[: limits.candidates]
        self._looked |= set(new) - set(askable[limits.candidates :])
        with self._progress.step(f"round {number}: fetching records"):
            records = self._service.records(looked)
        gone = {"no_such_id": len(new) - len(askable), "too_many": len(askable) - len(looked)}
        gone["no_record"] = len(looked) - len(records)
        self._passed.update(gone)
        self.log("records", round=number, wanted=len(looked), found=len(records), left_out=gone)
        for name, candidates in by.items():
            if name in self._met:
                self._met[name].by += candidates
        self._take(((records[i], by[i]) for i in looked if i in records), number)

    def _take(self, found: Iterable[tuple[PaperRecord, list[str]]], number: int) -> None:
        new: list[MetPaper] = []
        for record, by in found:
            names = (f"{self._service.name} {record.key}", *record.ids)
            known = next((self._met[name] for name in names if name in self._met), None)
            if known:
                known.by += by
            else:
                known = MetPaper(record, list(by), paper_with(self._service, record, self._wanted.source))
                new.append(known)
            for name in names:
                self._met.setdefault(name, known)
        self._candidates += new
        self._score()
        if self._wanted.full_text:
            # Those that fit by their abstracts are taken whole, and scored by their sections.
            fitting = [c for c in new if self._fits(c)]
            with self._progress.step("reading whole papers", len(fitting)) as step:
                for candidate in fitting:
                    if candidate.record.full_text:
                        candidate.whole = whole_of(self._service, candidate.record, self._corpus.folder)
                        self.log("whole", paper=candidate.id, found=candidate.whole is not None)
                    step.advance()
            self._score()
        for candidate in new:
            self.log(
                "scored",
                round=number,
                paper=candidate.id,
                by=candidate.by[:_SHOWN] or "search",
                relevance=candidate.fit.relevance,
                sections=candidate.fit.sections,
                fits=self._fits(candidate),
                why=self._why(candidate),
            )

    def _score(self) -> None:
        for candidate, fit in zip(self._candidates, self._fit.fits([c.texts for c in self._candidates]), strict=True):
            candidate.fit = fit

    def _fits(self, candidate: MetPaper) -> bool:
        return candidate.fit.relevance > self._wanted.threshold

    def _why(self, candidate: MetPaper) -> str:
        if not self._fits(candidate):
            return "below_threshold"
        if candidate.retracted:
            return "retracted"
        paper = candidate.whole or candidate.paper
        return paper.reason if isinstance(paper, Rejected) else "above_threshold"

    def _choose(self, year: int) -> tuple[list[MetPaper], list[MetPaper], dict[str, int]]:
        """Rank what fits; what is retracted is kept as that, beside the others."""
        listed = self._corpus.store.retracted(i for c in self._candidates for i in c.record.ids)
        reasons = []
        fitting: list[tuple[MetPaper, TopicPaper]] = []
        gone: list[MetPaper] = []
        for candidate in self._candidates:
            why, paper = self._why(candidate), candidate.whole or candidate.paper
            if why == "above_threshold" and not listed.isdisjoint(candidate.record.ids):
                why = "retracted"
            if why == "retracted":
                gone.append(candidate)
            if why == "above_threshold" and isinstance(paper, WholePaper):
                leaning = leaning_of(paper, self._wanted.topic)
                cited_by = candidate.record.cited_by
                place = TopicPaper(candidate.id, candidate.fit.relevance, cited_by, paper.year, leaning)
                fitting.append((candidate, place))
            else:
                reasons.append(why)
        kept: list[MetPaper] = []
        for at, (number, score) in enumerate(ranked([place for _, place in fitting], year), 1):
            candidate, place = fitting[number]
            why = "kept" if at <= self._wanted.keep else "beyond_keep"
            reasons.append(why)
            if why == "kept":
                kept.append(self._finished(candidate))
            fields = place._asdict()
            self.log("ranked", place=at, paper=fields.pop("id"), score=score, **fields, why=why)
        gone = [c for c in map(self._finished, gone) if isinstance(c.paper, WholePaper)]
        for candidate in gone:
            self.log("retracted", paper=candidate.id, relevance=candidate.fit.relevance, kept="as retracted")
        return kept, gone, dict(Counter(reasons) + self._passed)

    def _finished(self, candidate: MetPaper) -> MetPaper:
        """Itself as it goes into the index, with the links that were asked for."""
        links = (candidate.cited, candidate.citing)
        candidate.paper = paper_with(self._service, candidate.record, self._wanted.source, candidate.whole, *links)
        return candidate
