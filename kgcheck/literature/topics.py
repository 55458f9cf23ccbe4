"""Gather papers on a topic into an index, ranked, by snowballing along references and citations.

Everything follows from what was wanted and from the answers of the service, which are kept under the day on which the
gathering began. What was cut off is done again from kept answers: no question is asked twice, and the papers go into
the index together, at the end.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kgcheck.errors import UsageError
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Rejected, clean
from kgcheck.literature.embed import Embedder
from kgcheck.literature.gather import SERVICES, SourceName, day_of, note_of, paper_with, whole_of, write_note
from kgcheck.literature.lexical import content_words
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.relevance import Fit, Leaning, SectionTexts, TopicFit, leaning_of, section_texts, topic_rules
from kgcheck.literature.step_log import StepLog
from kgcheck.progress import NoProgress, Progress
from kgcheck.providers.http import Http
from kgcheck.providers.paper_service import PaperRecord, PaperService


class TopicPaper(NamedTuple):
    """Values by which a paper is ranked."""

    id: str
    relevance: float
    citations: int | None
    year: int | None
    leaning: Leaning


class RankedAt(NamedTuple):
    """A paper at its place: its number among those that were given."""

    number: int
    score: float
    of: TopicPaper


def ranked(papers: Sequence[TopicPaper], year: int) -> list[RankedAt]:
    """Papers in order."""
    rules = topic_rules()
    top = max((p.relevance for p in papers), default=0.0) or 1.0
    most = max((p.citations or 0 for p in papers), default=0)
    scored = [RankedAt(n, _rank_score(p, top, most, year), p) for n, p in enumerate(papers)]
    scored.sort(key=lambda r: (-r.score, r.of.id))
    waiting = {leaning: [r for r in reversed(scored) if r.of.leaning == leaning] for leaning in rules.least}
    queue, taken = list(reversed(scored)), set[int]()
    found: list[RankedAt] = []
    have: Counter[Leaning] = Counter()
    while len(found) < len(scored):
        due = [k for k, share in rules.least.items() if waiting[k] and have[k] < math.floor(share * (len(found) + 1))]
        source = waiting[due[0]] if due else queue
        while source and source[-1].number in taken:
            source.pop()
        if not source:
            continue
        chosen = source.pop()
        taken.add(chosen.number)
        have[chosen.of.leaning] += 1
        found.append(chosen)
    return found


def _rank_score(paper: TopicPaper, top: float, most: int, year: int) -> float:
    """The weighted mean of what is known, each between 0 and 1."""
    rules = topic_rules().ranking
    parts = [(rules.relevance, max(paper.relevance, 0.0) / top)]
    if paper.citations is not None:
        parts.append((rules.citations, math.log1p(paper.citations) / math.log1p(most) if most else 0.0))
    if paper.year is not None:
        parts.append((rules.recency, 0.5 ** (max(year - paper.year, 0) / rules.half_life)))
    return round(sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts), 4)


LONGEST_TOPIC = 1_000
"""Characters."""

MOST_WORDS = 40
"""Words of a topic by which papers are searched."""

_SHOWN = 5
"""Number of the papers leading to one that the log names."""


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

    counts: dict[str, int]
    """Number of records in the index by what became of them."""
    steps: dict[str, int]
    """Papers by what was decided of them."""
    day: str
    log: Path
    kept: tuple[str, ...]
    """Ids of the papers kept, the first place first; those that are retracted are not among them."""


@dataclass
class MetPaper:
    """A paper that was met."""

    record: PaperRecord
    round: int
    by: list[str]
    """Ids of the papers whose links lead to it; of none, it was found by the search."""
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
    with StepLog(note.with_name(f"{note.stem}-{day}.jsonl")) as log:
        log.put("began", **described, day=day)
        snowball = Snowball(wanted, service, corpus, TopicFit(wanted.topic, embedder), log, progress or NoProgress())
        done = snowball.run(words, int(day[:4]))
        counts = corpus.add_records([c.paper for c in (*done.kept, *done.retracted)], wanted.source)
        log.put("ended", papers=dict(sorted(done.steps.items())), requests="kept under the day")
        log.end()
    write_note(note, described, day, ended=True)
    return TopicGathered(dict(counts), done.steps, day, log.path, tuple(c.id for c in done.kept))


class Chosen(NamedTuple):
    """The papers that a snowball ends with."""

    kept: tuple[MetPaper, ...]
    retracted: tuple[MetPaper, ...]
    steps: dict[str, int]


class Snowball:
    """One gathering for a topic; every paper that is met once has all its names here."""

    def __init__(
        self,
        wanted: TopicGathering,
        service: PaperService,
        corpus: Corpus,
        fit: TopicFit,
        log: StepLog,
        progress: Progress,
    ) -> None:
        self._wanted = wanted
        self._service = service
        self._corpus = corpus
        self._fit = fit
        self._log = log
        self._progress = progress
        self._met: dict[str, MetPaper] = {}
        """By every id, and by the service's own."""
        self._candidates: list[MetPaper] = []
        self._looked: set[str] = set()
        """Ids of links that a record was looked for, or cannot be."""
        self._passed: Counter[str] = Counter()
        """Ids that were left out, by why."""

    def run(self, words: Sequence[str], year: int) -> Chosen:
        """Search, follow, rank."""
        found = self._service.best(words, self._wanted.seeds)
        records = found.records[: self._wanted.seeds]
        self._log.put("search", words=list(words), found=len(records), total=found.total)
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
                self._log.put(
                    "links",
                    round=number,
                    paper=candidate.id,
                    references=len(candidate.cited),
                    citations=len(candidate.citing),
                )
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
        self._log.put("records", round=number, wanted=len(looked), found=len(records), left_out=gone)
        for name, candidates in by.items():
            if name in self._met:
                self._met[name].by += candidates
        self._take(((records[i], by[i]) for i in looked if i in records), number)

    def _take(self, found: Iterable[tuple[PaperRecord, list[str]]], number: int) -> None:
        """Records into the list of what was met, each paper once, and scores for all."""
        new: list[MetPaper] = []
        for record, by in found:
            names = (f"{self._service.name} {record.key}", *record.ids)
            known = next((self._met[name] for name in names if name in self._met), None)
            if known:
                known.by += by
            else:
                paper = paper_with(self._service, record, self._wanted.source, None, (), ())
                known = MetPaper(record, number, list(by), paper)
                new.append(known)
            for name in names:
                self._met.setdefault(name, known)
        self._candidates += new
        self._score()
        if self._wanted.full_text:
            self._read_whole([c for c in new if self._fits(c)])
        for candidate in new:
            self._log.put(
                "scored",
                round=number,
                paper=candidate.id,
                by=candidate.by[:_SHOWN] or "search",
                relevance=candidate.fit.relevance,
                sections=candidate.fit.sections,
                fits=self._fits(candidate),
                why=self._why(candidate),
            )

    def _read_whole(self, candidates: list[MetPaper]) -> None:
        """Take those that fit by their abstracts whole, and score them by their sections."""
        with self._progress.step("reading whole papers", len(candidates)) as step:
            for candidate in candidates:
                if candidate.record.full_text:
                    candidate.whole = whole_of(self._service, candidate.record, self._corpus.folder)
                    self._log.put("whole", paper=candidate.id, found=candidate.whole is not None)
                step.advance()
        self._score()

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

    def _choose(self, year: int) -> Chosen:
        """Rank what fits; what is retracted is kept as that, beside the others."""
        reasons = {id(c): self._why(c) for c in self._candidates}
        listed = self._corpus.store.retracted(i for c in self._candidates for i in c.record.ids)
        for candidate in self._candidates:
            if listed.intersection(candidate.record.ids) and reasons[id(candidate)] == "above_threshold":
                reasons[id(candidate)] = "retracted"
        fitting = [c for c in self._candidates if reasons[id(c)] == "above_threshold"]
        order = ranked([self._places(c) for c in fitting], year)
        kept: list[MetPaper] = []
        for at, place in enumerate(order):
            candidate = fitting[place.number]
            why = "kept" if at < self._wanted.keep else "beyond_keep"
            reasons[id(candidate)] = why
            if why == "kept":
                kept.append(self._finished(candidate))
            self._log.put(
                "ranked",
                place=at + 1,
                paper=candidate.id,
                score=place.score,
                relevance=candidate.fit.relevance,
                citations=candidate.record.cited_by,
                year=place.of.year,
                leaning=place.of.leaning,
                why=why,
            )
        gone = [self._finished(c) for c in self._candidates if reasons[id(c)] == "retracted"]
        gone = [c for c in gone if isinstance(c.paper, WholePaper)]
        for candidate in gone:
            self._log.put("retracted", paper=candidate.id, relevance=candidate.fit.relevance, kept="as retracted")
        return Chosen(tuple(kept), tuple(gone), dict(Counter(reasons.values()) + self._passed))

    def _places(self, candidate: MetPaper) -> TopicPaper:
        paper = candidate.whole or candidate.paper
        leaning: Leaning = leaning_of(paper, self._wanted.topic) if isinstance(paper, WholePaper) else "none"
        year = paper.year if isinstance(paper, WholePaper) else None
        return TopicPaper(candidate.id, candidate.fit.relevance, candidate.record.cited_by, year, leaning)

    def _finished(self, candidate: MetPaper) -> MetPaper:
        """Itself as it goes into the index, with the links that were asked for."""
        candidate.paper = paper_with(
            self._service,
            candidate.record,
            self._wanted.source,
            candidate.whole,
            candidate.cited,
            candidate.citing,
        )
        return candidate
