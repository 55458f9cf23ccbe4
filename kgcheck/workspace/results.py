"""Results of Workspace methods: AuditResult, Findings, AskResult and SearchResult."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgcheck.choices import THRESHOLDS, chosen
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.model import Finding, Outcome, Tally
from kgcheck.report.frames import as_data_frame, findings_arrow

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

    from kgcheck.audit.papers import PapersOnEdge
    from kgcheck.curation.compare import RunDiff
    from kgcheck.ledger.ledger import Run
    from kgcheck.ledger.place import LedgerPlace
    from kgcheck.literature.search import PaperHit
    from kgcheck.questions.answer import Answer


class Findings:
    """The findings of a run, what is wrong first. They are read from the ledger whenever they are gone through."""

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
        return findings_arrow(self)

    def to_pandas(self) -> "pandas.DataFrame":
        return as_data_frame(self.to_arrow())


@dataclass(frozen=True)
class AuditResult:
    """Result of an audit: every task is counted in the tallies, also those that make no finding."""

    run: "Run"
    tallies: tuple[Tally, ...]
    findings: Findings
    notes: tuple[str, ...] = ()
    papers: "tuple[PapersOnEdge, ...]" = ()
    """Evidence of papers on edges, where they were asked and speak."""
    diff: "RunDiff | None" = None
    """Comparison with the findings of the run before."""
    left_out: str = ""
    """Reason why an audit of files is incomplete: too much of them stayed out."""

    @property
    def outcomes(self) -> Counter[Outcome]:
        from kgcheck.report.tables import outcomes

        return outcomes(self.tallies)

    def exit_code(self, fail_on: str = "refuted") -> int:
        """1 for findings at or over a threshold, else 3 if the audit is incomplete, else 0.

        An audit is incomplete where anything could not be looked at, others changed the graph meanwhile, or too much of
        its files could not be read. What was rejected, or deferred to a later day, does not count.
        """
        from kgcheck.audit.checks import exit_code

        chosen("threshold", fail_on, THRESHOLDS)
        if self.diff is None:
            code = exit_code(self.tallies, fail_on)
        else:
            code = EXIT_FINDINGS if self.diff.fails(fail_on) else exit_code(self.tallies, "never")
        return EXIT_INCOMPLETE if code == EXIT_CLEAN and (self.run.is_mixed or self.left_out) else code

    def to_arrow(self) -> "pa.Table":
        return self.findings.to_arrow()

    def to_pandas(self) -> "pandas.DataFrame":
        return self.findings.to_pandas()


@dataclass(frozen=True)
class AskResult:
    """Result of a question."""

    answer: "Answer"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchResult:
    """Papers that a search found, the best first."""

    hits: "tuple[PaperHit, ...]"
    notes: tuple[str, ...] = ()
