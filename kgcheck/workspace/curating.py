"""What people decide in a workspace, and the patches that come of it."""

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.choices import chosen
from kgcheck.errors import InputMissing
from kgcheck.model import Finding

if TYPE_CHECKING:
    from kgcheck.curation.decisions import CurrentDecision, Decision, Made
    from kgcheck.curation.exchange import Imported
    from kgcheck.curation.export import Exported
    from kgcheck.curation.findings import FindingList
    from kgcheck.curation.making import PatchMade
    from kgcheck.curation.patches import PatchOutcome
    from kgcheck.ledger.patches import OperationEntry, PatchEntry

from kgcheck.workspace.base import import_folder, member_of
from kgcheck.workspace.recorded import RecordedRuns


class Curating(RecordedRuns):
    """The part of a workspace for decisions and patches; see Workspace."""

    def decide(
        self,
        findings: "str | Iterable[str | Finding] | FindingList",
        action: str,
        *,
        by: str,
        choose: str | None = None,
        note: str = "",
        until: str | date | None = None,
        seen: Mapping[str, str] | None = None,
        expected: int | None = None,
    ) -> "list[Made]":
        """Decide about findings, all or none. Nothing that was decided before is overwritten.

        Args:
            findings: Fingerprints or their beginnings, in the newest run that has each; or findings, or a list of them.
            action: accept, reject, defer or reopen.
            by: Who decides.
            choose: Of what is proposed, what to take; with accept.
            note: Why.
            until: The day on which it comes back; with defer.
            seen: The versions of findings that whoever decides looked at, by fingerprint: of `known_finding`, or of a
                list.
            expected: How many findings are meant.

        Returns:
            The decisions, each with where the finding stood before.

        Raises:
            UnknownName: There is no such finding or action.
            UsageError: It cannot be decided so.
            ChangedMeanwhile: A finding is not as it was seen, or it is another number of them: nothing was decided.
        """
        from kgcheck.curation.decisions import decide

        with self._writing() as ledger:
            return decide(
                ledger, findings, action, by=by, chosen=choose, note=note, until=until, seen=seen, expected=expected
            )

    def take_back(self, first: int, count: int, action: str, *, by: str) -> "list[Made]":
        """Reopen what somebody decided about at once; what was decided about since is left as it is.

        Args:
            first: Number of the first of the decisions.
            count: How many they are.
            action: What was decided.
            by: Who decided, and takes it back.

        Returns:
            The decisions that reopen.

        Raises:
            UnknownName: There is no such action.
            ChangedMeanwhile: Somebody else has just decided about one of them: nothing was taken back.
        """
        from kgcheck.curation.taking_back import take_back
        from kgcheck.ledger.decisions import Action

        with self._writing() as ledger:
            return take_back(ledger, first, count, member_of(Action, "action", action), by)

    def history(self, fingerprint: str) -> "list[Decision]":
        """Every decision about the finding of that fingerprint, or its beginning, the oldest first."""
        from kgcheck.curation.decisions import Decisions

        with self._reading() as ledger:
            return list(Decisions(ledger).table.of([ledger.finding(fingerprint).fingerprint]))

    def decisions(self, before: int | None = None, limit: int | None = None) -> "list[Decision]":
        """Every decision, the newest first.

        Args:
            before: Only older ones than that of this number.
            limit: At most so many.

        Returns:
            The decisions.
        """
        from kgcheck.ledger.decisions import DecisionTable

        with self._reading() as ledger:
            return DecisionTable(ledger.database).newest_first(before, limit)

    def decisions_text(self, format_: str = "toml") -> str:
        """What `export_decisions` writes to a file of that ending, toml or jsonl."""
        from kgcheck.curation.exchange import decisions_text

        with self._reading() as ledger:
            return decisions_text(ledger, chosen("form", format_, ("toml", "jsonl")))

    def export_decisions(self, path: str | Path) -> int:
        """Write every decision to a file, .toml or .jsonl, in an order that does not depend on the ledger.

        Args:
            path: The file.

        Returns:
            How many there are.

        Raises:
            UsageError: The name ends otherwise.
        """
        from kgcheck.curation.exchange import export_decisions

        with self._reading() as ledger:
            return export_decisions(ledger, Path(path))

    def import_decisions(self, path: str | Path, *, quarantine: str | Path | None = None) -> "Imported":
        """Add the decisions of a file; both are kept where others decided otherwise, and the newer one counts.

        Args:
            path: As `export_decisions` writes it.
            quarantine: JSON lines file for decisions about findings that are not in the ledger; beside the file, unless
                named.

        Returns:
            What came of each, with the conflicts.

        Raises:
            InputError: Something in it is wrong; nothing is taken over.
        """
        from kgcheck.curation.exchange import import_decisions

        file = Path(path)
        kept = Path(quarantine) if quarantine else file.with_name(f"{file.stem}.quarantine.jsonl")
        with self._writing() as ledger:
            return import_decisions(ledger, file, kept)

    def decided(self, finding: Finding) -> "CurrentDecision":
        """Where a finding stands by what was decided about it."""
        from kgcheck.curation.decisions import Decisions

        with self._reading() as ledger:
            return Decisions(ledger).beside([finding])[finding.fingerprint]

    # Patches

    def make_patch(
        self,
        folder: str | Path,
        *,
        findings: Mapping[str, str | None] | Iterable[str] = (),
        accepted: bool = False,
        run: str = "latest",
        by: str = "",
    ) -> "PatchMade":
        """Make a patch that repairs findings. Nothing is done to the graph.

        Args:
            folder: Where its files are written: ``patch.jsonl``, Cypher with parameters, and pages to read.
            findings: Fingerprints or their beginnings; of a mapping, each with what is chosen where there is a choice.
            accepted: Every finding of the run that was accepted, instead.
            run: The run, with `accepted`.
            by: Who makes it; the user, unless named.

        Returns:
            The patch, and the findings for which it does nothing, with why.

        Raises:
            UsageError: Not one of findings and `accepted`; the run is of another store; the folder holds a patch.
            UnknownName: There is no such finding or run.
        """
        from kgcheck.workspace.patching import make

        named = dict(findings) if isinstance(findings, Mapping) else dict.fromkeys(findings)
        return make(self, Path(folder), findings=named, accepted=accepted, run=run, by=by)

    def check_patch(self, folder: str | Path) -> "PatchOutcome":
        """Say what of the patch in a folder would conflict now; nothing is written."""
        from kgcheck.workspace.patching import check

        return check(self, Path(folder))

    def apply_patch(
        self, folder: str | Path, *, by: str = "", delete: bool = False, from_elsewhere: bool = False
    ) -> "PatchOutcome":
        """Do every operation of the patch in a folder that the graph still fits; go on with one that was cut short.

        Args:
            folder: Of the patch.
            by: Who does it; the user, unless named.
            delete: Take away what is retired, and do not only mark it.
            from_elsewhere: Also one that this ledger did not make, or that was changed since.

        Returns:
            What was done, and the conflicts.

        Raises:
            InputError: There is no patch, or it was edited.
            UsageError: It is for another store, or not as this ledger made it.
            StoreError: The store cannot be written.
        """
        from kgcheck.workspace.patching import apply

        return apply(self, Path(folder), by=by, delete=delete, from_elsewhere=from_elsewhere)

    def undo_patch(self, folder: str | Path, *, by: str = "") -> "PatchOutcome":
        """Give the graph back as it was before the patch in a folder.

        Args:
            folder: Of the patch.
            by: Who does it; the user, unless named.

        Returns:
            What was undone, and what was changed again since, which stays.

        Raises:
            InputError: There is no patch, or it was edited.
            UsageError: It is for another store, or nothing of it is done.
            StoreError: The store cannot be written.
        """
        from kgcheck.workspace.patching import undo

        return undo(self, Path(folder), by=by)

    def export_patch(self, folder: str | Path, of: str | Path, out: str | Path) -> "Exported":
        """Write an import directory with what the patch in a folder changes, whether it is applied or not.

        Args:
            folder: Of the patch.
            of: The import directory that the graph was loaded from.
            out: A new or empty folder to write to.

        Returns:
            What was written, and what no row of the files can be made to state.

        Raises:
            InputError: There is no patch, it was edited, or a folder cannot be read or written.
            UsageError: It is for another store, or `out` is not empty.
        """
        from kgcheck.workspace.patching import export

        return export(self, Path(folder), import_folder(of), Path(out))

    def patches(self) -> "list[PatchEntry]":
        """The patches in the ledger, newest first."""
        from kgcheck.ledger.patches import PatchTable

        with self._reading() as ledger:
            return PatchTable(ledger.database).all()

    def patch(self, name: str) -> "tuple[PatchEntry, list[OperationEntry]]":
        """A patch in the ledger by its id, or the beginning of it, with its operations."""
        from kgcheck.ledger.patches import PatchTable

        with self._reading() as ledger:
            return PatchTable(ledger.database).one(name)

    def patch_folder(self, name: str) -> Path:
        """The folder of a patch in the ledger, by its id or the beginning of it.

        Returns:
            The folder.

        Raises:
            UnknownName: There is no such patch.
            InputMissing: The folder is not there any more.
        """
        entry, _ = self.patch(name)
        folder = Path(entry.folder)
        if not folder.is_dir():
            raise InputMissing(f"the files of the patch {entry.id} are not there any more", "make it again")
        return folder
