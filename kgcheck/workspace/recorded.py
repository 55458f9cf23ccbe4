"""What a workspace knows of its runs: findings, what became of them, and what is verified."""

from collections.abc import Iterable
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.choices import FORMATS, THRESHOLDS, chosen
from kgcheck.errors import UsageError
from kgcheck.model import CheckTask, Finding, Outcome, Ref, Tally, Triple
from kgcheck.workspace.results import (
    Findings,
)

if TYPE_CHECKING:
    from kgcheck.curation.compare import RunDiff
    from kgcheck.curation.facets import Facets
    from kgcheck.curation.findings import FindingList
    from kgcheck.curation.known import KnownFinding, Occurrence
    from kgcheck.ledger.copying import Copied, LedgerFacts
    from kgcheck.ledger.ledger import Run
    from kgcheck.ledger.verified import Verified, VerifiedReader

from kgcheck.workspace.base import WorkspaceBase, member_of


class RecordedRuns(WorkspaceBase):
    """The part of a workspace that reads the ledger; see Workspace."""

    def runs(self, after: str | None = None, limit: int | None = None) -> "list[tuple[Run, list[Tally]]]":
        """The runs in the ledger, newest first, each with its counts.

        Args:
            after: Begin after the run of this id.
            limit: At most so many.

        Returns:
            The runs.

        Raises:
            UnknownName: There is no such run.
        """
        with self._reading() as ledger:
            runs = ledger.runs()
            first = runs.index(ledger.run(after)) + 1 if after else 0
            return [(run, ledger.tallies(run)) for run in runs[first:][:limit]]

    def run(self, name: str = "latest") -> "Run":
        """A run by its id, the beginning of its id, or ``latest``: the latest audit, where there is one."""
        with self._reading() as ledger:
            return ledger.run(name)

    def cut_off(self, name: str | None = None) -> "Run":
        """The run of that name, or the newest one that did not finish."""
        with self._reading() as ledger:
            return ledger.run(name) if name else ledger.cut_off()

    def tallies(self, run: "str | Run" = "latest") -> list[Tally]:
        """Counts of a run by type, part of the schema, outcome, reason and sources."""
        with self._reading() as ledger:
            return ledger.tallies(ledger.run(run) if isinstance(run, str) else run)

    def findings(
        self, run: "str | Run" = "latest", *, outcomes: Iterable[str | Outcome] = (), limit: int | None = None
    ) -> Findings:
        """The findings of a run, the refuted first.

        Args:
            run: The run, its id or the beginning of it, or ``latest``.
            outcomes: Only these; all if none is named.
            limit: At most so many.

        Returns:
            The findings, to go through, or as a table.

        Raises:
            UnknownName: There is no such run or outcome.
        """
        wanted = [member_of(Outcome, "outcome", o) for o in outcomes]
        with self._reading() as ledger:
            return Findings(self.ledger, ledger.run(run) if isinstance(run, str) else run, wanted, limit)

    def finding(self, fingerprint: str) -> Finding:
        """The finding of that fingerprint, or its beginning, in the newest run that has it."""
        with self._reading() as ledger:
            return ledger.finding(fingerprint)

    def known_finding(self, fingerprint: str) -> "KnownFinding":
        """The finding of that fingerprint, or its beginning, in the newest run that has it, and where it stands."""
        from kgcheck.curation.known import known_finding

        with self._reading() as ledger:
            return known_finding(ledger, fingerprint)

    def occurrences(self, fingerprint: str, limit: int = 100) -> "list[Occurrence]":
        """The runs that have the finding of that fingerprint, or its beginning, the newest first."""
        from kgcheck.curation.known import occurrences

        with self._reading() as ledger:
            return occurrences(ledger, fingerprint, limit)

    def report(
        self,
        run: "str | Run" = "latest",
        format_: str = "markdown",
        *,
        output: str | Path | None = None,
        limit: int | None = None,
        fail_on: str = "refuted",
        exit_code: int = 0,
    ) -> str:
        """A run as text.

        Args:
            run: The run, its id or the beginning of it, or ``latest``.
            format_: table, json, jsonl, csv, markdown, html, junit, sarif or prometheus.
            output: Also write it to this file, whole or not at all.
            limit: At most so many findings.
            fail_on: What junit takes for a failure: refuted, insufficient, new or never.
            exit_code: What the program that writes it will end with, for sarif.

        Returns:
            The text.

        Raises:
            UnknownName: There is no such run or form.
        """
        from kgcheck.curation.standing import standing
        from kgcheck.outputs import write_text
        from kgcheck.report.render import render

        chosen("form", format_, FORMATS)
        chosen("threshold", fail_on, THRESHOLDS)
        with self._reading() as ledger:
            found = ledger.run(run) if isinstance(run, str) else run
            beside = standing(ledger, found)
            text = render(ledger, found, format_, limit, compared=beside, fail_on=fail_on, exit_code=exit_code)
        if output:
            write_text(Path(output), text)
        return text

    def diff(self, before: "str | Run | None" = None, after: "str | Run | None" = None) -> "RunDiff":
        """What became of the findings of one run in a later one.

        Args:
            before: The earlier run; unless named, the run before of the same store and options.
            after: The later run; the latest audit, unless named.

        Returns:
            The states, with their counts and findings.

        Raises:
            UnknownName: There is no such run.
            UsageError: They cannot be compared.
        """
        from kgcheck.curation.compare import diff_of

        with self._reading() as ledger:
            return diff_of(ledger, before, after)

    def verified(self, what: "CheckTask | Triple | str") -> "Verified | None":
        """What the newest audit of the store found that looked at an edge, a node or an attribute.

        Findings, and what is right as well: by which record of which release, in which run, and when that began. The
        graph and the references are not asked, and decisions of people change nothing here.

        Args:
            what: An edge, in words too (``"P04637 ACTS_ON Q00987"``), or a task.

        Returns:
            None where nobody has looked, which says nothing about the edge.

        Raises:
            UsageError: The words are no edge.
        """
        from kgcheck.workspace.verified import verified_of

        return verified_of(self._verified_reader(), self.schema, what)

    def verified_edges(self, edges: Iterable[str | Triple]) -> "list[tuple[CheckTask, Verified | None]]":
        """What is verified of each of some edges, as `verified` has it, beside the task that was meant."""
        from kgcheck.workspace.verified import edge_facts

        return edge_facts(self._verified_reader(), self.schema, edges)

    def verified_of_node(self, node: Ref, limit: int = 100) -> "tuple[list[tuple[CheckTask, Verified | None]], bool]":
        """What is verified of a node: that it exists, its attributes, and its edges, of which the graph is asked.

        Args:
            node: The node.
            limit: Most facts.

        Returns:
            Each fact with what is verified of it, and whether these are all.
        """
        from kgcheck.workspace.verified import node_facts

        return node_facts(self._verified_reader(), self.graph, node, limit)

    def list_findings(
        self,
        run: "str | Run" = "latest",
        *,
        before: "str | Run | None" = None,
        states: Iterable[str] = (),
        decisions: Iterable[str] = (),
        outcomes: Iterable[str] = (),
        types: Iterable[str] = (),
        reasons: Iterable[str] = (),
        labels: Iterable[str] = (),
        relations: Iterable[str] = (),
        since: str | date | None = None,
        text: str | None = None,
    ) -> "FindingList":
        """The findings of a run with what became of them and what was decided, filtered, page by page.

        Args:
            run: The run, its id or the beginning of it, or ``latest``.
            before: The run that it is compared with; see `diff`.
            states: new, still, changed; and fixed, gone, unchecked, which the run has not any more.
            decisions: open, reopened, accepted, rejected, deferred.
            outcomes: refuted, insufficient.
            types: existence, attribute, triple, potential, structure.
            reasons: Why.
            labels: Of the subject or the object.
            relations: Of the edge.
            since: First found on this day or later.
            text: Part of an id, a name, a value or a proposed value.

        Returns:
            The list; what is left out means any.

        Raises:
            UnknownName: There is no such run or name.
        """
        from kgcheck.curation.findings import FindingList, wanted

        diff = self.diff(before, run)
        filters = {"states": states, "decisions": decisions, "outcomes": outcomes, "types": types, "reasons": reasons}
        return FindingList(diff, wanted(**filters, labels=labels, relations=relations, since=since, text=text))

    def facets(self, findings: "FindingList") -> "Facets":
        """The findings of a list, counted by what it can be filtered by.

        Args:
            findings: As `list_findings` gives it.

        Returns:
            How many there are, and how many each other choice would leave.
        """
        from kgcheck.curation.facets import facets_of

        return facets_of(findings)

    def state_of(self, finding: Finding) -> "str | None":
        """What became of a finding from the run before to its own; None where its run is no audit."""
        from kgcheck.curation.compare import diff_of

        with self._reading() as ledger:
            run = ledger.run(finding.run)
            state = None if run.is_check else diff_of(ledger, after=run).state_of(finding.fingerprint)
        return state.value if state else None

    def copy_ledger(self, to: str | Path) -> "list[Copied]":
        """Write into another ledger what this one has, all of it or nothing.

        Args:
            to: A SQLite file or ``postgresql://HOST/DATABASE``: new, empty, or with nothing that is not here.

        Returns:
            Each table, with the rows that it has in both now and those that were added.

        Raises:
            LedgerError: It has other rows; nothing was written.
            UsageError: It is no place of a ledger, or this one.
        """
        from kgcheck.ledger.copying import copy_ledger
        from kgcheck.ledger.ledger import Ledger
        from kgcheck.ledger.place import is_same_place, ledger_place

        place = ledger_place(to, self.settings)
        with self._reading() as ledger:
            if is_same_place(self.ledger, place):
                raise UsageError("the two ledgers are the same", "name another place to copy to")
            with Ledger(place) as target:
                return copy_ledger(ledger.database, target.database, self.progress)

    def ledger_facts(self) -> "LedgerFacts":
        """What the ledger is kept in, its format and size, and how many rows its tables have."""
        from kgcheck.ledger.copying import facts_of

        with self._reading() as ledger:
            return facts_of(ledger.database)

    def _verified_reader(self) -> "VerifiedReader":
        """The files of what was judged; they and the ledger stay open."""
        from kgcheck.ledger.ledger import Ledger
        from kgcheck.ledger.verified import VerifiedFiles, VerifiedReader

        ledger = self._opened.get("verified ledger", lambda: Ledger(self.ledger, create=False))
        files = VerifiedFiles.of(ledger, self.settings.home)
        return self._opened.get("verified", lambda: nullcontext(VerifiedReader(ledger, files, self.graph.store_id())))
