"""Run the jobs of kgcheck.toml: load, refresh, audit, batch, ground and protocols."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from kgcheck import clock
from kgcheck.audit.audits import options_in
from kgcheck.bench.batches import answer_questions, check_items, verify_claims
from kgcheck.bench.runner import Batch, set_aside
from kgcheck.curation.facets import counted_of, example_rows, new_findings, settled
from kgcheck.curation.jobs import EXAMPLES, Delivery, JobWork, notify, old_runs, open_since, work_by_rule
from kgcheck.curation.project import (
    AuditJob,
    BatchJob,
    Checking,
    CheckingFiles,
    GroundJob,
    LoadJob,
    Project,
    ProtocolsJob,
    ReferenceEntry,
    RefreshJob,
    Retention,
)
from kgcheck.curation.thresholds import Severity, judge, worst
from kgcheck.errors import (
    ChangedMeanwhile,
    InputError,
    InputMissing,
    KgcheckError,
    LedgerError,
    SourceError,
    SourceUnreachable,
    UnknownName,
    UsageError,
)
from kgcheck.grounding.ground import FAILING, Grounded, not_looked_notes, open_grounder
from kgcheck.grounding.manuscripts.reading import read_manuscript
from kgcheck.grounding.remarks import LIMITED, Remarked, SentenceState
from kgcheck.grounding.rendering import place_of, rendered
from kgcheck.grounding.revising import text_digest
from kgcheck.inputs import refuse_outside
from kgcheck.ledger.ledger import Ledger, Run, forget, needed
from kgcheck.ledger.place import LedgerPlace, ledger_place
from kgcheck.ledger.verified import VerifiedFiles
from kgcheck.ledger.work import Lease, WorkItem, WorkState, WorkTable, this_worker
from kgcheck.model import Outcome, TallyMark
from kgcheck.options import AuditOptions, GroundLimits, LoadOptions, TextOptions
from kgcheck.outputs import write_text
from kgcheck.plurals import how_many
from kgcheck.progress import Progress
from kgcheck.protocols.checking.check import CheckedProtocol
from kgcheck.protocols.checking.remarks import StudyRemark, StudyState
from kgcheck.protocols.protocol import read_protocol
from kgcheck.protocols.rendering import rendered_checks
from kgcheck.providers.http import Http
from kgcheck.reference.difference import compare_snapshots
from kgcheck.reference.download import fetch_references
from kgcheck.report.tables import marks
from kgcheck.settings import Settings, read_settings
from kgcheck.workspace.results import AuditResult
from kgcheck.workspace.workspace import Workspace


def run_job(
    project: Project, name: str, *, planned: datetime | None = None, progress: Progress | None = None
) -> tuple[WorkItem, JobWork]:
    """Run a job, and those that come after it; JobUnderWay where it is under way elsewhere."""
    project.check_outputs(project.job(name))
    with Ledger(job_ledger(project)) as ledger:
        runs = WorkTable(ledger.database)
        wanted = WorkItem(job=name, parameters={"job": name}, planned=planned, created=clock.now())
        run = runs.begin(wanted, this_worker(), clock.now())
        with Lease(runs, run).keep() as lease:
            worker = JobWorker(project, lease, ledger, progress)
            lease.perform(worker.work)
        ended, done = runs.get(run.number), worker.done
    notes = [_follow(project, follower, progress) for follower in project.following(name)]
    return ended, replace(done, notes=(*done.notes, *notes))


def _follow(project: Project, name: str, progress: Progress | None) -> str:
    """Run a job that comes after another one: how it ended. What goes wrong in it is its own, and written down."""
    try:
        _, done = run_job(project, name, progress=progress)
    except KgcheckError as error:
        return f"then {name} failed: {error.message}"
    return f"then {name}: {done.severity.value}: {done.message}"


@contextmanager
def job_runs(project: Project) -> Iterator[WorkTable]:
    """The runs of jobs in the ledger of a project, which is made where it is missing."""
    with Ledger(job_ledger(project)) as ledger:
        yield WorkTable(ledger.database)


def job_ledger(project: Project) -> LedgerPlace:
    """The ledger of a project: that of the environment, of kgcheck.toml, or the one in the home."""
    settings = project_settings(project)
    return ledger_place(settings.ledger or project.ledger or settings.ledger_file, settings)


def project_settings(project: Project) -> Settings:
    """Settings from the environment; the home is beside kgcheck.toml, unless the environment names another."""
    return read_settings() if "KGCHECK_HOME" in os.environ else read_settings(home=project.folder / ".kgcheck")


class JobWorker:
    """The work of one run of a job, or of what a run before left."""

    done: JobWork

    def __init__(self, project: Project, lease: Lease, ledger: Ledger, progress: Progress | None = None) -> None:
        self._project = project
        self._lease = lease
        self._name = lease.work.job or ""
        self._job = project.job(self._name)
        self._ledger = ledger
        self._runs = WorkTable(ledger.database)
        self._settings = project_settings(project)
        self._progress = lease.watch(progress)

    def work(self) -> dict[str, Any]:
        """Do the work, tell of it, and forget the audits that the job does not keep; what the ledger has of it."""
        self._project.check_outputs(self._job)
        if self._job.notify:
            # Refused before the work, not after it.
            self._project.check_trusted()
        self.done = work_by_rule(self._lease, self._job.retry, self._work, self._notify)
        keep, ledger = self._job.keep, self._ledger
        old = set[str]()
        if keep != Retention():
            old = old_runs(keep, self._runs.history(self._name), clock.now()) - needed(ledger)
        forget(ledger.database, sorted(old))
        files = VerifiedFiles.of(ledger, self._settings.home)
        for run in old:
            files.remove(run)
        return self._lease.work.result

    def _work(self) -> JobWork:
        match self._job:
            case LoadJob() as job:
                return self._load(job)
            case AuditJob() as job:
                return self._load_and_audit(job)
            case RefreshJob() as job:
                return self._refresh(job)
            case BatchJob() as job:
                return self._batch(job)
            case job:
                return self._check_files(job)

    def _notify(self, run: WorkItem, done: JobWork, failure: str) -> list[Delivery]:
        entries, named = self._project.values.notifications, self._settings.cleartext_hosts
        return notify(entries, self._job.notify, self._project.folder, run, done, failure, cleartext_hosts=named)

    def _open(self, reference: str | None = None, **more: Any) -> Workspace:
        store = self._project.store_of(self._job)
        return Workspace(
            store=store.place if store else None,
            profile=(store.profile if store else None) or self._project.profile,
            reference=reference,
            ledger=str(job_ledger(self._project)),
            pins=self._project.pins,
            settings=self._settings,
            progress=self._progress,
            **more,
        )

    def _open_for(self, job: Checking | CheckingFiles) -> Workspace:
        """A workspace with the references and the papers that a job names, or the default ones."""
        reference, literature = self._project.reference_of(job), self._project.literature_of(job)
        brain = (job.brain if isinstance(job, Checking) else None) or self._default_brain
        return self._open(reference.snapshot if reference else None, literature=literature, live=job.live, brain=brain)

    @property
    def _default_brain(self) -> str:
        is_of_model = isinstance(self._job, Checking) and self._job.team_budget and self._settings.llm_model
        return "llm" if is_of_model else "rules"

    def _load(self, job: LoadJob) -> JobWork:
        quarantine = self._path(job.quarantine) if job.quarantine else None
        return self._loaded(job.directory, quarantine, {name: getattr(job, name) for name in LoadOptions.model_fields})

    def _loaded(self, directory: str, quarantine: Path | None, options: dict[str, Any]) -> JobWork:
        with self._open() as workspace:
            loaded = workspace.load(self._project.place(directory), quarantine=quarantine, **options)
        rejected = how_many(loaded.quarantined, "row")
        text = f"{how_many(loaded.nodes, 'node')}, {how_many(loaded.edges, 'edge')}, {rejected} quarantined"
        severity = Severity.WARN if loaded.quarantined > loaded.foreign or loaded.warnings else Severity.OK
        if loaded.incomplete:
            severity, text = Severity.UNAVAILABLE, f"{text}; incomplete: {loaded.incomplete}"
        figures = {name: getattr(loaded, name) for name in ("nodes", "edges", "quarantined", "causes")}
        return JobWork(severity, text, notes=tuple(loaded.warnings), figures=figures)

    def _load_and_audit(self, job: AuditJob) -> JobWork:
        """Load the graph, gather papers on it, audit it and let the team decide, as far as the job names each."""
        before = []
        if job.load is not None:
            loaded = self._loaded(job.load, None, {})
            before.append(replace(loaded, message=f"loaded {loaded.message}"))
        if job.papers:
            before.append(self._gather(job, job.papers))
        done = self._audit(job)
        notes = tuple(note for one in before for note in (one.message, *one.notes))
        return replace(done, severity=worst(one.severity for one in (*before, done)), notes=(*notes, *done.notes))

    def _gather(self, job: AuditJob, limit: int) -> JobWork:
        """Gather papers on the graph; where a service is away, those that are there do."""
        try:
            with self._open_for(job) as workspace:
                done = workspace.gather_papers(limit=limit)
        except SourceError as error:
            return JobWork(Severity.UNAVAILABLE, f"papers could not be gathered: {error.in_one_line}")
        came, left = sum(done.counts.values()), f"{done.waiting:,} more to ask for"
        return JobWork(Severity.OK, f"papers: {how_many(came, 'record')} came; {left}, {done.lacking:,} not to be had")

    def _audit(self, job: Checking, since: Path | None = None) -> JobWork:
        with self._open_for(job) as workspace:
            options = options_in(workspace, job)
            begun = self._begun(options, workspace)
            audit, notes = self._go_on(workspace, begun) if begun else (None, tuple[str, ...]())
            if audit is None and since and since.exists():
                audit, notes = self._changed(workspace, job, since)
            if audit is None:
                audit = workspace.audit(job.scope)
            return self._judged(job, workspace, audit, (*notes, *audit.notes))

    def _refresh(self, job: RefreshJob) -> JobWork:
        """Fetch, build, compare, put in place, and audit: each is done once, also where the run is cut off between."""
        reference = self._project.reference_of(job)
        if reference is None or reference.files is None:
            raise UsageError(
                f"job {self._name} names no reference with files",
                "name them in kgcheck.toml, under the job's reference",
            )
        snapshot, newer = Path(reference.snapshot), _newer_of(Path(reference.snapshot))
        _, noted = open_since(self._runs, self._lease.work)
        changes = noted.get("changes")
        if changes is None:
            changes = self._build(job, reference, Path(reference.files))
            # Written down first: a run that goes on from here must not compare the new snapshot with itself.
            self._lease.note(result={"changes": changes})
        # Where it was put in place by a run before, there is no newer one any more.
        if newer.exists():
            _take_place(newer, snapshot)
        rows, tables = how_many(sum(changes.values()), "row"), how_many(len(changes), "table")
        text = f"{rows} of {tables} changed" if changes else "nothing changed"
        figures = {"changes": changes}
        if not changes:
            return JobWork(Severity.OK, text, figures=figures)
        done = self._audit(job, since=before_of(snapshot))
        return replace(done, message=f"{text}; {done.message}", figures={**done.figures, **figures})

    def _build(self, job: RefreshJob, reference: ReferenceEntry, files: Path) -> dict[str, int]:
        """A newer snapshot beside the one that is there; what changed, by source and table."""
        snapshot, newer = Path(reference.snapshot), _newer_of(Path(reference.snapshot))
        with self._open(str(newer)) as workspace:
            if job.fetch:
                self._fetch(job, files, workspace)
            workspace.build_reference(files, releases=reference.releases)
            if not snapshot.exists():
                return {"snapshot made": 1}
            counts = compare_snapshots(snapshot, newer, workspace.schema)
        return {f"{c.source} {c.table}": changed for c in counts if (changed := c.added + c.removed + c.changed)}

    def _fetch(self, job: RefreshJob, files: Path, workspace: Workspace) -> None:
        with Http(self._settings) as http:
            done = fetch_references(files, workspace.schema, http, sources=job.sources, progress=self._progress)
        if failed := [f"{f.source} {f.file}: {f.failure}" for f in done if f.failure]:
            raise SourceUnreachable(
                f"{len(failed)} of {how_many(len(done), 'file')} could not be fetched: {'; '.join(failed[:3])}",
                "no snapshot was made of the rest; files that came are not fetched again",
            )

    def _batch(self, job: BatchJob) -> JobWork:
        file, out = Path(self._project.place(job.file)), self._path(job.out)
        reference = self._project.reference_of(job) if job.task == "kgcheck" else None
        snapshot, live = reference.snapshot if reference else None, job.live
        papers = self._project.literature_of(job) if job.literature or job.task == "scv" else None
        with self._open(snapshot, literature=papers, live=live, brain=job.brain) as workspace:
            if job.task == "scv":
                claims = verify_claims(workspace, file, out, job)
                return _batched(claims.batch, claims.open, claims.report, claims.notes)
            run_batch = answer_questions if job.task == "kgqa" else check_items
            notes: tuple[str, ...] = ()
            try:
                done = run_batch(workspace, file, out=out, options=job)
            except ChangedMeanwhile as changed:
                set_aside(out)
                notes = (f"the batch was begun anew: {changed.message}",)
                done = run_batch(workspace, file, out=out, options=job)
        return _batched(done.batch, done.batch.failed, done.results, (*notes, *done.notes))

    def _check_files(self, job: ProtocolsJob | GroundJob) -> JobWork:
        folder, out = Path(self._project.place(job.folder)), self._path(job.out) if job.out else None
        works = Path(self._project.place(job.bibliography)) if job.bibliography else None
        last = next((r.result for r in self._runs.history(self._name) if r.state is WorkState.DONE), {})
        with self._open_for(job) as workspace:
            if isinstance(job, ProtocolsJob):
                fallen = last.get("fallen", ())
                return check_folder(workspace, folder, job, bibliography=works, out=out, before=fallen)
            results = Path(self._project.place(job.results)) if job.results else None
            alarms = last.get("alarms", ())
            return ground_folder(workspace, folder, job, bibliography=works, results=results, out=out, before=alarms)

    def _begun(self, options: AuditOptions, workspace: Workspace) -> Run | None:
        """The audit that a run of this job began and did not finish, if there is one."""
        since, _ = open_since(self._runs, self._lease.work)
        store_id, wanted = workspace.graph.store_id(), options.model_dump(mode="json")
        for audit in self._ledger.runs():
            same = not audit.finished and audit.store_id == store_id and audit.options == wanted
            if same and not audit.is_check and audit.started >= since:
                return audit
        return None

    @staticmethod
    def _changed(workspace: Workspace, job: Checking, since: Path) -> tuple[AuditResult | None, tuple[str, ...]]:
        """Audit a graph that is as it was when another snapshot was looked into, where one was."""
        try:
            return workspace.audit(job.scope, changed_since=since), ()
        except UsageError as error:
            return None, (f"the graph was read anew: {error.message}",)

    @staticmethod
    def _go_on(workspace: Workspace, begun: Run) -> tuple[AuditResult | None, tuple[str, ...]]:
        try:
            return workspace.resume(begun), (f"went on with audit {begun.id}",)
        except LedgerError as error:
            return None, (f"audit {begun.id} was begun anew: {error.message}",)

    def _judged(self, job: Checking, workspace: Workspace, audit: AuditResult, notes: tuple[str, ...]) -> JobWork:
        new = new_findings(self._ledger, audit.run, EXAMPLES)
        done = settled(self._ledger, audit.run)
        crossed = judge(job.thresholds, counted_of(audit.tallies), new.counted, done, only_new=job.only_new)
        severity = worst(c.severity for c in crossed)
        if severity is not Severity.ERROR and (audit.run.is_mixed or not audit.run.finished):
            severity = Severity.UNAVAILABLE
        reports = []
        for report in job.reports:
            path = self._path(report.path, audit.run.id)
            workspace.report(audit.run, report.format, output=path, limit=report.limit)
            reports.append(str(path))
        outcomes = {outcome.value: count for outcome in Outcome if (count := audit.outcomes[outcome])}
        counts = marks(audit.tallies)
        text = ", ".join(f"{counts[mark]:,} {mark.value}" for mark in TallyMark if counts[mark])
        if ways := audit.run.team:
            decided = ", ".join(f"{count:,} {way}" for way, count in ways.items())
            text += f"; of {sum(ways.values()):,} handed to the team {decided}"
        return JobWork(
            severity,
            f"audit {audit.run.id}: {text or 'nothing to check'}",
            run=audit.run.id,
            unfinished=not audit.run.finished,
            new=new.total,
            examples=example_rows(new.examples),
            crossed=tuple(crossed),
            reports=tuple(reports),
            notes=notes,
            figures={"outcomes": outcomes, "unfinished": not audit.run.finished},
        )

    def _path(self, pattern: str, audit: str = "") -> Path:
        """A path of the file with its places filled."""
        at = self._lease.work.planned or self._lease.work.created
        zone = getattr(self._project.schedule_of(self._name), "zone", None)
        at = at.astimezone(zone) if zone else at
        filled = pattern.format(job=self._name, date=f"{at:%Y-%m-%d}", time=f"{at:%H%M%S}", run=audit)
        return Path(self._project.output(pattern, filled))


def _batched(batch: Batch, left: int, results: Path, notes: tuple[str, ...]) -> JobWork:
    text = f"{batch.done:,} done now, {batch.before:,} before, {batch.failed:,} with an error"
    return JobWork(
        Severity.UNAVAILABLE if left else Severity.OK,
        f"{text}, {left:,} open" if left else text,
        unfinished=left > 0,
        reports=(str(results),),
        notes=notes,
        figures={"done": batch.done, "before": batch.before, "failed": batch.failed, "unfinished": left > 0},
    )


def _newer_of(snapshot: Path) -> Path:
    """Return the path of the newer snapshot that a refresh builds to take the place of one."""
    return snapshot.with_name(f".{snapshot.stem}.newer{snapshot.suffix}")


def before_of(snapshot: Path) -> Path:
    """Return the path at which a refresh keeps the snapshot that was there before."""
    return snapshot.with_name(f"{snapshot.stem}.before{snapshot.suffix}")


def _take_place(newer: Path, snapshot: Path) -> None:
    """Put a snapshot in the place of another one, which stays under another name; there is one at every moment."""
    before = before_of(snapshot)
    try:
        if snapshot.exists():
            link = before.with_name(f".{before.name}.link")
            link.unlink(missing_ok=True)
            os.link(snapshot, link)
            os.replace(link, before)
        os.replace(newer, snapshot)
    except OSError as error:
        raise InputError(
            f"cannot put {newer} in the place of {snapshot}: {error.strerror}", "free space, or check who may write"
        ) from error


_MARK = ".ground."
"""In the names of reports, which are no manuscripts."""


def ground_folder(
    workspace: Workspace,
    folder: Path,
    job: GroundJob,
    *,
    bibliography: Path | None,
    results: Path | None,
    out: Path | None,
    before: Iterable[str],
) -> JobWork:
    """Ground all manuscripts of a folder."""
    for name in job.most:
        if name not in LIMITED:
            raise UnknownName("remark or state", name, LIMITED)
    limits = GroundLimits(fail_on=job.fail_on, most=job.most, coverage=job.coverage)
    refused: list[str] = []
    more: list[str] = []
    reports: list[str] = []
    severities: list[Severity] = []
    wrong: dict[str, dict[str, str]] = {}
    counts: Counter[str] = Counter()
    with open_grounder(workspace, TextOptions(bibliography=bibliography, results=results)) as grounder:
        for path in _files_of(folder, job.files, _MARK):
            name = path.relative_to(folder).as_posix()
            try:
                refuse_outside(folder, path)
                found = grounder.ground(read_manuscript(path))
            except InputError as error:
                refused.append(error.message)
                continue
            code = found.exit_code(limits)
            severities.append(Severity.of(code))
            more += [f"{name}: {line}" for line in found.exceeded(limits)]
            if found.incomplete:
                more.append(f"{name}: something could not be looked at")
            more += [f"{name}: {line}" for line in grounder.partly_looked(found)]
            for remarked in _failing(found, limits):
                wrong[_key(found, name, remarked)] = _remark_example(found, name, remarked)
                counts[remarked.remark.value] += 1
            for form in job.forms if out else ():
                report = Path(out or "") / f"{name}{_MARK}{'md' if form == 'markdown' else form}"
                write_text(report, rendered(found, form, code))
                reports.append(str(report))
    not_looked = not_looked_notes(grounder.not_looked.items())
    known = set(before)
    new = [key for key in wrong if key not in known]
    text = ", ".join(f"{count:,} {remark}" for remark, count in counts.most_common())
    return JobWork(
        worst((*severities, Severity.WARN if refused else Severity.OK)),
        f"{len(severities):,} manuscripts: {text or 'nothing is wrong'}",
        new=len(new),
        examples=tuple(wrong[key] for key in new[:EXAMPLES]),
        reports=tuple(reports),
        notes=(*refused, *more, *(not_looked if severities else ()), *dict.fromkeys(grounder.notes)),
        figures={"manuscripts": len(severities), "remarks": dict(counts), "alarms": sorted(wrong), "refused": refused},
    )


def check_folder(
    workspace: Workspace,
    folder: Path,
    job: ProtocolsJob,
    *,
    bibliography: Path | None,
    out: Path | None,
    before: Iterable[str],
) -> JobWork:
    """Check all protocols of a folder: which steps fell, and which of them are new."""
    readable, refused = [], []
    for path in _files_of(folder, [job.files]):
        try:
            refuse_outside(folder, path)
            read_protocol(path)
            readable.append(path)
        except InputError as error:
            refused.append(error.message)
    found, notes = workspace.check_protocols(readable, bibliography=bibliography)
    names = {str(path): path.relative_to(folder).as_posix() for path in readable}
    fallen = {f"{names[checked.name]} {f.step}": (checked, f.step) for checked in found for f in checked.fallen}
    new = sorted(set(fallen) - set(before))
    if out:
        write_text(out, rendered_checks(found, "json"))
    severities = [Severity.of(checked.exit_code(job.fail_on)) for checked in found]
    shown = f": {', '.join(list(fallen)[:EXAMPLES])}" if fallen else ""
    return JobWork(
        worst((*severities, Severity.WARN if refused else Severity.OK)),
        f"{how_many(len(found), 'protocol')}, {how_many(len(fallen), 'step')} fell{shown}",
        new=len(new),
        examples=tuple(row for name in new[:EXAMPLES] for row in _fallen_examples(name, *fallen[name])),
        reports=(str(out),) if out else (),
        notes=(*refused, *notes),
        figures={"protocols": len(found), "fallen": sorted(fallen), "refused": refused},
    )


def _files_of(folder: Path, patterns: Iterable[str], report: str = "") -> list[Path]:
    """The files of a folder that fit, each once; nothing in a hidden folder, and no report of the job itself."""
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", "correct the folder of the job")
    wanted = tuple(patterns)
    found = {path.relative_to(folder) for pattern in wanted for path in folder.glob(pattern) if path.is_file()}
    shown = [p for p in sorted(found) if not any(part.startswith(".") for part in p.parts)]
    files = [folder / path for path in shown if not (report and report in path.name)]
    if not files:
        raise InputMissing(f"no file of {folder} is {' or '.join(wanted)}", "correct files or folder of the job")
    return files


def _failing(found: Grounded, limits: GroundLimits) -> list[Remarked]:
    """The remarks that count: those in a state that fails, and of kinds that are over a limit."""
    states = FAILING[limits.fail_on] or {SentenceState.CONTRADICTED}
    over = {name for name, most in limits.most.items() if found.counted(name) > most}
    return [r for r in found.remarks if r.state in states or r.remark.value in over or r.state.value in over]


def _key(found: Grounded, name: str, remarked: Remarked) -> str:
    """A remark by its words, which it has wherever its sentence stands."""
    words = (remarked.remark.value, remarked.stated, str(remarked.task or ""), found.text_of(remarked))
    return f"{name} {remarked.remark.value} {text_digest(chr(0).join(words))[:12]}"


def _remark_example(found: Grounded, name: str, remarked: Remarked) -> dict[str, str]:
    text = f"{name}, {place_of(found, remarked)}: {remarked.words}"
    proposal = remarked.repair.to if remarked.repair else ""
    return _example(remarked.finding, remarked.state.value, remarked.remark.value, text, proposal)


def _fallen_examples(name: str, checked: CheckedProtocol, step: str) -> list[dict[str, str]]:
    """Reasons why a step fell."""
    return [
        _example(r.finding, r.state.value, r.remark.value, f"{name}: {r.note}", r.repair)
        for r in checked.remarks
        if r.step == step and r.state is StudyState.FALLEN and r.remark is not StudyRemark.FOLLOWS_FALLEN
    ]


def _example(finding: str, outcome: str, reason: str, text: str, proposal: str) -> dict[str, str]:
    """A remark, as messages show findings."""
    shown = {"finding": finding[:8], "outcome": outcome, "reason": reason}
    return shown | {"what": text, "names": "", "proposal": proposal}
