"""What a workspace gives back: typed, frozen, and with what is to be noted of how it came about."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgcheck.choices import CHECK_THRESHOLDS, THRESHOLDS, chosen
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.model import Finding, Outcome, Tally, Verdict

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

    from kgcheck.agents.team import TeamConclusion
    from kgcheck.audit.papers import PapersOnEdge
    from kgcheck.curation.compare import RunDiff
    from kgcheck.grounding.claims.claim_map import ClaimMap
    from kgcheck.ledger.ledger import Run
    from kgcheck.ledger.place import LedgerPlace
    from kgcheck.literature.documents import Document
    from kgcheck.literature.verify import ClaimVerdict
    from kgcheck.loading.admin_import import OfflineImport
    from kgcheck.loading.load import LoadSummary
    from kgcheck.questions.answer import Answer


def exit_code(tallies: Sequence[Tally], fail_on: str = "refuted") -> int:
    """1 for outcomes at or over a threshold, else 3 if anything could not be looked at, else 0.

    Args:
        tallies: Of a run.
        fail_on: refuted, insufficient or never.

    Returns:
        The exit code that `kgcheck audit` ends with.

    Raises:
        UnknownName: There is no such threshold.

    >>> exit_code([])
    0
    """
    chosen("threshold", fail_on, CHECK_THRESHOLDS)
    outcomes = {t.outcome for t in tallies}
    failing = {
        "refuted": {Outcome.REFUTED},
        "insufficient": {Outcome.REFUTED, Outcome.INSUFFICIENT},
        "never": set(),
    }[fail_on]
    if outcomes & failing:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if Outcome.UNAVAILABLE in outcomes else EXIT_CLEAN


class Findings:
    """The findings of a run, the refuted first. They are read from the ledger whenever they are gone through.

    Args:
        ledger: Where it is.
        run: The run.
        outcomes: Only these; all if empty.
        limit: At most so many.
    """

    def __init__(
        self, ledger: "LedgerPlace", run: "Run", outcomes: Sequence[Outcome] = (), limit: int | None = None
    ) -> None:
        self.run = run
        self._ledger = ledger
        self._outcomes = tuple(outcomes)
        self._limit = limit

    def __iter__(self) -> Iterator[Finding]:
        from kgcheck.ledger.ledger import Ledger

        with Ledger(self._ledger, create=False) as ledger:
            yield from ledger.findings(self.run, self._outcomes, self._limit)

    def __repr__(self) -> str:
        return f"<findings of run {self.run.id}>"

    def to_arrow(self) -> "pa.Table":
        """One row a finding, with the columns of kgcheck.report.frames.FINDINGS."""
        from kgcheck.report.frames import findings_arrow

        return findings_arrow(self)

    def to_pandas(self) -> "pandas.DataFrame":
        """The same as a data frame.

        Returns:
            One row a finding; evidence is a list of dictionaries.

        Raises:
            MissingExtra: pandas is not installed.
        """
        from kgcheck.report.frames import as_data_frame

        return as_data_frame(self.to_arrow())


@dataclass(frozen=True)
class AuditResult:
    """How an audit ended: every task is counted in the tallies, also those that make no finding."""

    run: "Run"
    tallies: tuple[Tally, ...]
    findings: Findings
    notes: tuple[str, ...] = ()
    papers: "tuple[PapersOnEdge, ...]" = ()
    """What papers say of edges, where they were asked and speak."""
    diff: "RunDiff | None" = None
    """What became of the findings of the run before."""

    @property
    def outcomes(self) -> Counter[Outcome]:
        """Tasks by outcome."""
        counts = Counter[Outcome]()
        for t in self.tallies:
            counts[t.outcome] += t.count
        return counts

    def exit_code(self, fail_on: str = "refuted") -> int:
        """1 for findings at or over a threshold, else 3 if anything could not be looked at, else 0.

        What was rejected, or deferred to a later day, does not count.

        Args:
            fail_on: refuted, insufficient, new or never.

        Returns:
            The exit code that `kgcheck audit` ends with.

        Raises:
            UnknownName: There is no such threshold.
        """
        chosen("threshold", fail_on, THRESHOLDS)
        if self.diff is None:
            return exit_code(self.tallies, fail_on)
        return EXIT_FINDINGS if self.diff.fails(fail_on) else exit_code(self.tallies, "never")

    def to_arrow(self) -> "pa.Table":
        """The findings, one row each, with the columns of kgcheck.report.frames.FINDINGS."""
        return self.findings.to_arrow()

    def to_pandas(self) -> "pandas.DataFrame":
        """The findings as a data frame; without pandas, MissingExtra."""
        return self.findings.to_pandas()


@dataclass(frozen=True)
class CheckResult:
    """What the team came to about one node, attribute or edge."""

    finding: Finding
    run: "Run"
    tally: Tally
    checked: "TeamConclusion"
    transcript: Path | None
    """The file; None where the check was not kept."""
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The outcome, why, and the evidence."""
        return self.finding.verdict

    def exit_code(self, fail_on: str = "refuted") -> int:
        """1 for an outcome at or over refuted or insufficient, else 3 if it could not be looked at, else 0."""
        return exit_code([self.tally], fail_on)


@dataclass(frozen=True)
class AskResult:
    """What a question came to."""

    answer: "Answer"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerifyResult:
    """What papers say of a claim."""

    verdict: "ClaimVerdict"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MapResult:
    """What papers claim, and how that stands together."""

    map: "ClaimMap"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperHit:
    """A paper that a search found, with its best passage: ``document.abstract[start:end]``."""

    document: "Document"
    score: float
    start: int
    end: int

    @property
    def passage(self) -> str:
        """The passage."""
        return self.document.abstract[self.start : self.end]

    def as_row(self) -> dict[str, Any]:
        """The hit in the flat form that `kgcheck search --format json` prints."""
        document = self.document
        return {
            "id": document.id,
            "also": list(document.ids[1:]),
            "score": round(self.score, 4),
            "year": document.year,
            "retracted": document.retracted,
            "title": document.title,
            "paper": document.paper_id,
            "section": document.section,
            "heading": document.heading,
            "passage": {"start": self.start, "end": self.end, "text": self.passage},
        }


@dataclass(frozen=True)
class PassageHit:
    """A passage that was given, with its place among those, from 1."""

    line: int
    score: float
    passage: str

    def as_row(self) -> dict[str, Any]:
        """The hit in the flat form that `kgcheck search --passages --format json` prints."""
        return {"line": self.line, "score": round(self.score, 4), "passage": self.passage}


@dataclass(frozen=True)
class SearchResult:
    """What a search found, best first."""

    hits: tuple[PaperHit, ...] | tuple[PassageHit, ...]
    also: tuple[str, ...] = field(default=())
    """Further names that were looked for."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AdminImport:
    """Files for ``neo4j-admin database import``, with what went into them."""

    summary: "LoadSummary"
    files: "OfflineImport"
