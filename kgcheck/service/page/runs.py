"""Web pages of the overview, runs, two runs compared, tasks and jobs; the buttons to begin an audit or a job."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Form, HTTPException, Path, Query, Response

from kgcheck.ledger.comparisons import run_before
from kgcheck.ledger.ledger import PinnedRelease, Run
from kgcheck.ledger.tables import OPEN_SEVERITIES
from kgcheck.ledger.work import WorkItem
from kgcheck.model import Tally, TallyMark
from kgcheck.report.documents import Row, by_target, team_rows, unasked
from kgcheck.report.tables import marks, shown_marks
from kgcheck.service.access import Open
from kgcheck.service.api.shapes import RunId
from kgcheck.service.api.tasks import TaskId
from kgcheck.service.page.findings import latest_audit
from kgcheck.service.page.rendering import Curated, Viewed, static_files
from kgcheck.service.state import Service
from kgcheck.workspace.jobs import history_rows, job_rows
from kgcheck.workspace.tasks import AuditWanted
from kgcheck.workspace.workspace import Workspace

_MOST_RUNS, _MOST_ROWS, _MOST_BARS = 24, 12, 14
_SPARK_WIDTH, _SPARK_HEIGHT = 88, 16
_PAGE, _FEW = 50, 25

_Kind = tuple[str, str]
"""Common property of findings: in words, and as the filter of a list, which may be empty."""


class _Figure(NamedTuple):
    """Findings of one kind in each of some audits, the newest last."""

    words: str
    address: str
    """Filter of the list that has them; empty where there is none."""
    counts: tuple[int, ...]
    share: float
    """Share of all findings of the newest audit, in percent."""

    @property
    def spark(self) -> str:
        """The points of a line of the counts, in a box of 96 by 24."""
        most, step = max(self.counts) or 1, _SPARK_WIDTH / max(len(self.counts) - 1, 1)
        places = ((4 + at * step, 4 + _SPARK_HEIGHT * (1 - n / most)) for at, n in enumerate(self.counts))
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


class Trend(NamedTuple):
    """Comparable audits of a graph, the oldest first, with their findings by mark, by reason and by source."""

    runs: tuple[Run, ...]
    marks: list[_Figure]
    reasons: list[_Figure]
    sources: list[_Figure]


def trend_of(workspace: Workspace, run: Run) -> Trend:
    """Count the findings of a run, and of the audits before it that looked at the same of the same store."""
    with workspace.reading() as ledger:
        known, runs = ledger.runs(), [run]
        while len(runs) < _MOST_RUNS and (before := run_before(known, runs[0])):
            runs.insert(0, before)
        found = [[t for t in ledger.tallies(one) if t.mark.severity in OPEN_SEVERITIES] for one in runs]
    return Trend(
        tuple(runs),
        _figures(found, lambda tally: [_mark(tally.mark)]),
        _figures(found, lambda tally: [(tally.reason.words, urlencode({"reason": tally.reason.value}))]),
        _figures(found, lambda tally: [(source, "") for source in tally.sources]),
    )


def _mark(mark: TallyMark) -> _Kind:
    by = {"graph": mark.graph.value} if mark.graph else {"outcome": mark.value}
    return mark.value.replace("_", " "), urlencode(by)


def _figures(audits: Sequence[Iterable[Tally]], kinds: Callable[[Tally], Iterable[_Kind]]) -> list[_Figure]:
    """The kinds with the most findings in the newest audit, then in those before it."""
    counts, totals = [Counter[_Kind]() for _ in audits], [0] * len(audits)
    for at, tallies in enumerate(audits):
        for tally in tallies:
            totals[at] += tally.count
            for kind in kinds(tally):
                counts[at][kind] += tally.count
    seen = {kind: tuple(some[kind] for some in counts) for some in counts for kind in some}
    most = sorted(seen, key=lambda kind: (*(-n for n in reversed(seen[kind])), kind))[:_MOST_ROWS]
    return [_Figure(*kind, seen[kind], 100 * seen[kind][-1] / (totals[-1] or 1)) for kind in most]


def _bars(tallies: Iterable[Tally], name: Callable[[Tally], str]) -> list[Row]:
    counts: dict[str, Counter[TallyMark]] = {}
    for tally in tallies:
        counts.setdefault(name(tally), Counter())[tally.mark] += tally.count
    wrong = {n: some[TallyMark.REFUTED] + some[TallyMark.LACKS_IT] for n, some in counts.items()}
    worst = sorted(counts, key=lambda n: (-wrong[n], -counts[n].total(), n))[:_MOST_BARS]
    return [Row(n, counts[n]) for n in worst]


router = APIRouter(include_in_schema=False)


@router.get("/")
def overview(page: Viewed) -> Response:
    """Show the state of the graph."""
    with page.service.reading() as workspace:
        run = latest_audit(workspace)
        if run is None:
            return page.render("overview", run=None, store=workspace.store)
        listed = workspace.list_findings(run)
        facets = workspace.facets(listed)
        counts, trend = marks(workspace.tallies(run)), trend_of(workspace, run)
    return page.render(
        "overview", run=run, store=run.store, counts=counts, total=counts.total(), found=facets.marks,
        followed=facets.followed, states=facets.of("states"), before=listed.diff.before_id,
        decisions=facets.of("decisions"), trend=trend, jobs=_jobs(page.service), sources=_sources(run.releases),
    )  # fmt: skip


class _SourceAge(NamedTuple):
    """A reference source, with how old what was looked into is."""

    source: str
    releases: list[PinnedRelease]
    newest: str
    oldest: str


def _sources(releases: Iterable[PinnedRelease]) -> list[_SourceAge]:
    """The sources of releases, those whose newest release is oldest first."""
    by_source: dict[str, list[PinnedRelease]] = {}
    for release in releases:
        by_source.setdefault(release.source, []).append(release)
    found = []
    for source, some in by_source.items():
        days = sorted(r.released for r in some if r.released) or [""]
        found.append(_SourceAge(source, some, days[-1], days[0]))
    return sorted(found, key=lambda s: (s.newest or "9", s.source))


@router.get("/static/{name}")
def static_file(asking: Open, name: Annotated[str, Path(pattern="^[a-z_]+[.](css|js|svg)$")]) -> Response:
    """A file of the page: its address ends in its version, so that it may be kept."""
    if name not in static_files():
        raise HTTPException(404)
    file, kept = static_files()[name], {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.content, media_type=file.media_type, headers=kept)


RunName = Annotated[str | None, Query(max_length=64)]


@router.get("/runs")
def run_list(page: Viewed, after: RunName = None) -> Response:
    """The runs, newest first."""
    with page.service.reading() as workspace:
        found = workspace.runs(after, _PAGE + 1)
    rows = [(run, marks(tallies)) for run, tallies in found[:_PAGE]]
    shown = shown_marks(*(counts for _, counts in rows))
    return page.render("runs", rows=rows, shown=shown, after=after, next=rows[-1][0].id if len(found) > _PAGE else None)


@router.post("/runs")
def begin(page: Curated, like: Annotated[str, Form(max_length=64)] = "") -> Response:
    """Begin an audit, of everything, or of what an earlier one looked at, so that the two can be compared."""
    wanted = {}
    if like:
        with page.service.reading() as workspace:
            options = workspace.run(like).options
        wanted = {name: options[name] for name in AuditWanted.model_fields if options.get(name) is not None}
    return page.redirect(f"/tasks/{page.service.tasks.start('audit', wanted, page.asking).id}")


@router.get("/runs/{name}")
def run_page(page: Viewed, name: RunId) -> Response:
    """A run with its counts."""
    content: dict[str, Any] = dict.fromkeys(("trend", "followed", "states", "before", "checked", "found"))
    with page.service.reading() as workspace:
        run = workspace.run(name)
        tallies = workspace.tallies(run)
        if run.is_check:
            content["checked"] = next(iter(workspace.findings(run, limit=1)), None)
        else:
            diff, facets = workspace.diff(after=run), workspace.facets(workspace.list_findings(run))
            content |= {"states": {state.value: count for state, count in diff.counts.items()}}
            content |= {"before": diff.before_id, "found": facets.marks, "followed": facets.followed}
            content |= {"trend": trend_of(workspace, run)}
        with workspace.reading() as ledger:
            content["team"] = team_rows(ledger.team_findings(run)) if run.team else []
    of_sources, counts = [t for t in tallies if t.type.asks_sources], marks(tallies)
    nodes = [t for t in of_sources if t.target.label and not t.target.relation]
    edges = [t for t in of_sources if t.target.relation]
    return page.render(
        "run", run=run, counts=counts, labels=_bars(nodes, lambda t: t.target.label or ""),
        relations=_bars(edges, lambda t: t.target.relation or ""), targets=by_target(tallies),
        unasked=unasked(tallies), **content,
    )  # fmt: skip


@router.get("/diff")
def compare(page: Viewed, before: RunName = None, after: RunName = None) -> Response:
    """Show what became of the findings of one run in a later one."""
    with page.service.reading() as workspace:
        diff = workspace.diff(before or None, after or None)
        states = {state.value: count for state, count in diff.counts.items()}
        some = {name: list(diff.findings([name], limit=_FEW)) for name, count in states.items() if count}
        runs = [run for run, _ in workspace.runs(limit=_PAGE) if not run.is_check]
    runs = [run for run in runs if run.store_id == diff.after.store_id]
    return page.render("diff", diff=diff, states=states, some=some, runs=runs, few=_FEW)


_WORDS = {
    "audit": "Audit of the graph",
    "patch_apply": "Patch applied to the graph",
    "patch_undo": "Patch undone",
    "job": "Job",
    "load_job": "Job",
}


@router.get("/tasks")
def tasks(page: Viewed) -> Response:
    """List the tasks that were begun here, newest first."""
    return page.render("tasks", tasks=page.service.tasks.list(_PAGE), words=_words)


@router.get("/tasks/{name}")
def task(page: Viewed, name: TaskId) -> Response:
    """One task as it stands; for our own script as a part of a page."""
    return page.render("_task" if page.is_fragment else "task", task=page.service.tasks.get(name), words=_words)


@router.post("/tasks/{name}/cancel")
def cancel(page: Curated, name: TaskId) -> Response:
    """Let a task end; what it did is kept."""
    page.service.tasks.cancel(name, page.asking)
    return page.redirect(f"/tasks/{name}")


def _words(task: WorkItem) -> str:
    about = task.parameters.get("patch") or task.parameters.get("job") or ""
    return " ".join(filter(None, (_WORDS.get(task.kind, task.kind), str(about))))


def _jobs(service: Service) -> list[dict[str, Any]]:
    return job_rows(service.project()) if service.options.config else []


@router.post("/jobs/{name}/run")
def run_job(page: Curated, name: Annotated[str, Path(max_length=200)]) -> Response:
    """Run a job now, as a task."""
    page.service.project().job(name)
    return page.redirect(f"/tasks/{page.service.tasks.start('job', {'job': name}, page.asking).id}")


@router.get("/jobs")
def jobs(page: Viewed) -> Response:
    """The jobs, and their runs."""
    is_named = page.service.options.config is not None
    history = history_rows(page.service.project(), None, _PAGE) if is_named else []
    return page.render("jobs", jobs=_jobs(page.service), history=history, is_named=is_named)
