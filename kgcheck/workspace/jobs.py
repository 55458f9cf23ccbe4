"""The jobs of kgcheck.toml: list them and their runs; load, refresh, audit, batch, ground and check protocols."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from kgcheck import clock
from kgcheck.audit.run import options_in
from kgcheck.bench.batches import Batch, answer_questions, check_items, set_aside, verify_claims
from kgcheck.curation.facets import counted_of, example_rows, new_findings, settled
from kgcheck.curation.jobs import EXAMPLES, JobWork, notify, old_runs, open_since, work_by_rule
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
    KgcheckError,
    LedgerError,
    SourceError,
    SourceUnreachable,
    UsageError,
)
from kgcheck.ledger.ledger import Ledger, Run, forget, needed
from kgcheck.ledger.place import LedgerPlace, ledger_place
from kgcheck.ledger.verified import VerifiedFiles
from kgcheck.ledger.work import Lease, WorkItem, WorkState, WorkTable, this_worker
from kgcheck.loading.manifest import made_by_build
from kgcheck.model import Outcome, TallyMark
from kgcheck.options import AuditOptions, LoadOptions
from kgcheck.plurals import how_many
from kgcheck.progress import Progress
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
    notes = []
    for follower in project.following(name):
        try:
            _, after = run_job(project, follower, progress=progress)
            notes.append(f"then {follower}: {after.severity.value}: {after.message}")
        except KgcheckError as error:
            # What goes wrong in it is its own, and written down.
            notes.append(f"then {follower} failed: {error.message}")
    return ended, replace(done, notes=(*done.notes, *notes))


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


def job_rows(project: Project) -> list[dict[str, Any]]:
    """The jobs of a project: kind, schedule, when it runs next, and how its last run ended."""
    rows = []
    with _runs(project) as runs:
        for name, job in project.values.jobs.items():
            schedule = project.schedule_of(name)
            last = next(iter(runs.history(name, 1)), None) if runs else None
            store = project.store_of(job)
            rows.append(
                {
                    "job": name,
                    "kind": job.kind,
                    "store": store.place if store else None,
                    "schedule": schedule.text if schedule else None,
                    "next": _shown(schedule.after(clock.now())) if schedule else None,
                    "last": _shown(last.created) if last else None,
                    "state": last.state.value if last else None,
                    "severity": last.severity if last else None,
                }
            )
    return rows


def job_row(project: Project, name: str) -> dict[str, Any]:
    """A job whole: what stands in the file, with what it takes by default and paths that hold from any folder."""
    job = project.job(name)
    store, schedule = project.store_of(job), project.schedule_of(name)
    reference = None if isinstance(job, LoadJob) else project.reference_of(job)
    shown = reference.model_dump(mode="json") if reference else None
    places = {} if isinstance(job, LoadJob) else {"reference": shown, "literature": project.literature_of(job)}
    return {
        "job": name,
        "file": str(project.path.absolute()),
        "ledger": str(job_ledger(project)),
        **job.model_dump(mode="json"),
        "store": store.model_dump(mode="json") if store else None,
        "time_zone": str(schedule.zone) if schedule else None,
        "next": _shown(schedule.after(clock.now())) if schedule else None,
        **places,
    }


def history_rows(project: Project, name: str | None, limit: int) -> list[dict[str, Any]]:
    """Runs of jobs, the newest first, of those too that stand in the file no more."""
    with _runs(project) as runs:
        found = runs.history(name, limit) if runs else []
    if name is not None and not found:
        project.job(name)
    return [_history_row(run) for run in found]


def _history_row(run: WorkItem) -> dict[str, Any]:
    row = run.as_job_run()
    lost = run.state is WorkState.RUNNING and (run.lease_until or run.created) < clock.now()
    times = {"planned": run.planned, "started": run.started, "finished": run.ended}
    shown = {name: _shown(at) if at else None for name, at in times.items()}
    return row | shown | ({"message": "no sign of life: the next run takes it over"} if lost else {})


@contextmanager
def _runs(project: Project) -> Iterator[WorkTable | None]:
    """The runs in the ledger; None where there is none yet."""
    place = job_ledger(project)
    if isinstance(place, Path) and not place.exists():
        yield None
        return
    with Ledger(place, create=False) as ledger:
        yield WorkTable(ledger.database)


def _shown(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


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
        entries, hosts = self._project.values.notifications, self._settings.cleartext_hosts
        send = partial(notify, entries, self._job.notify, cleartext_hosts=hosts)
        self.done = work_by_rule(self._lease, self._job.retry, self._work, send)
        keep, ledger = self._job.keep, self._ledger
        if keep != Retention():
            old = old_runs(keep, self._runs.history(self._name), clock.now())
            old -= needed(ledger, old)
            forget(ledger.database, sorted(old))
            files = VerifiedFiles.of(ledger, self._settings.home)
            for run in old:
                files.remove(run)
        return self._lease.work.result

    def _work(self) -> JobWork:
        match self._job:
            case LoadJob() as job:
                quarantine = self._path(job.quarantine) if job.quarantine else None
                options = {name: getattr(job, name) for name in LoadOptions.model_fields}
                return self._load(job.directory, quarantine, options)
            case AuditJob() as job:
                return self._load_and_audit(job)
            case RefreshJob() as job:
                return self._refresh(job)
            case BatchJob() as job:
                return self._batch(job)
            case job:
                return self._check_files(job)

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
        brain = "rules"
        if isinstance(job, Checking):
            brain = job.brain or ("llm" if job.team_budget and self._settings.llm_model else "rules")
        return self._open(reference.snapshot if reference else None, literature=literature, live=job.live, brain=brain)

    def _load(self, directory: str, quarantine: Path | None, options: dict[str, Any]) -> JobWork:
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
        if job.build and (built := self._build_import(job)):
            before.append(built)
        if job.load is not None:
            loaded = self._load(job.load, None, {})
            before.append(replace(loaded, message=f"loaded {loaded.message}"))
        if job.papers:
            before.append(self._gather(job, job.papers))
        done = self._audit(job)
        notes = tuple(note for one in before for note in (one.message, *one.notes))
        return replace(done, severity=worst(one.severity for one in (*before, done)), notes=(*notes, *done.notes))

    def _build_import(self, job: AuditJob) -> JobWork | None:
        """Build the snapshot, and from it the directory to load, once a run; None without the providers' files."""
        reference, out = self._project.reference_of(job), Path(self._project.place(job.load or ""))
        if reference is None or reference.files is None or not Path(reference.files).is_dir():
            return None
        if any(out.glob("[!.]*")) and not made_by_build(out):
            return JobWork(Severity.OK, f"{out} was not built by kgcheck: it is loaded as it is")
        _, noted = open_since(self._runs, self._lease.work)
        if not (text := noted.get("built")):
            with self._open(reference.snapshot) as workspace:
                workspace.build_reference(reference.files, releases=reference.releases)
                built = workspace.build_import(out)
            text = f"built {how_many(built.nodes, 'node')}, {how_many(built.edges, 'edge')} from {reference.files}"
            # Written down first: a run that goes on from here finds the graph that its audit began with.
            self._lease.note(result={"built": text})
        return JobWork(Severity.OK, text)

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
            audit, notes = None, list[str]()
            if begun := self._begun(options_in(workspace, job), workspace):
                try:
                    audit, notes = workspace.resume(begun), [f"went on with audit {begun.id}"]
                except LedgerError as error:
                    notes = [f"audit {begun.id} was begun anew: {error.message}"]
            if audit is None and since and since.exists():
                try:
                    audit, notes = workspace.audit(job.scope, changed_since=since), []
                except UsageError as error:
                    notes = [f"the graph was read anew: {error.message}"]
            audit = audit or workspace.audit(job.scope)
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
                with Http(self._settings) as http:
                    schema, sources = workspace.schema, job.sources
                    done = fetch_references(files, schema, http, sources=sources, progress=self._progress)
                if failed := [f"{f.source} {f.file}: {f.failure}" for f in done if f.failure]:
                    raise SourceUnreachable(
                        f"{len(failed)} of {how_many(len(done), 'file')} could not be fetched: {'; '.join(failed[:3])}",
                        "no snapshot was made of the rest; files that came are not fetched again",
                    )
            workspace.build_reference(files, releases=reference.releases)
            if not snapshot.exists():
                return {"snapshot made": 1}
            counts = compare_snapshots(snapshot, newer, workspace.schema)
        return {f"{c.source} {c.table}": changed for c in counts if (changed := c.added + c.removed + c.changed)}

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
        # Other jobs, and a service, do without the extras of manuscripts and protocols.
        from kgcheck.workspace.file_jobs import check_folder, ground_folder

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
        since, _ = open_since(self._runs, self._lease.work)
        store_id, wanted = workspace.graph.store_id(), options.model_dump(mode="json")
        for audit in self._ledger.runs():
            same = not audit.finished and audit.store_id == store_id and audit.options == wanted
            if same and not audit.is_check and audit.started >= since:
                return audit
        return None

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
