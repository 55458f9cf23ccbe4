"""Tables for the terminal (rich)."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgcheck.model import Change, ChangeKind, Evidence, Finding, GraphState, Outcome, Stance, Tally, TallyMark, Value
from kgcheck.plurals import how_many
from kgcheck.report.cells import cell, lines

# Every command that shows a table would wait for what only some of them show.
if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event
    from kgcheck.ledger.copying import Copied, LedgerFacts
    from kgcheck.ledger.ledger import Run
    from kgcheck.ledger.patches import PatchEntry
    from kgcheck.ledger.verified import Verified
    from kgcheck.literature.verify import ClaimVerdict
    from kgcheck.loading.load import LoadSummary
    from kgcheck.questions.answer import Answer, Edge
    from kgcheck.reference.difference import TableChange
    from kgcheck.reference.download import Fetched
    from kgcheck.reference.snapshot import SourceRelease

_SHOWN_NAME = 80
_SHOWN_RESULT = 300


def answer_table(answer: "Answer", limit: int) -> Table:
    """Answers with their paths."""
    table = Table("id", "name", "path", box=None)
    for found in answer.found[:limit]:
        name = found.name or str(found.properties.get("sequence") or "")
        shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}..."
        table.add_row(cell(found.ref.id), cell(shown), cell("; ".join(_edge(edge) for edge in found.path)))
    return table


def _edge(edge: "Edge") -> str:
    source = edge.properties.get("source")
    return f"{edge.triple}{f' [{source}]' if source else ''}"


def metrics_table(metrics: Mapping[str, Value]) -> Table:
    """Metrics by type: one row a type, one column a metric."""
    first = next(iter(metrics.values()))
    table = Table("type", *type(first).model_fields, box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, value in metrics.items():
        cells = value.model_dump().values()
        table.add_row(
            cell(kind), *("-" if c is None else f"{c:.1f}" if isinstance(c, float) else f"{c:,}" for c in cells)
        )
    return table


def fetched_table(files: "Sequence[Fetched]") -> Table:
    """Result of each file that was to be fetched."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("source", "file", "bytes", "sha256", "state"):
        table.add_column(name, overflow="fold")
    for f in files:
        state = f.failure or ("unchanged" if f.unchanged else "fetched, MD5 agrees" if f.md5 else "fetched")
        table.add_row(f.source, f.file, f"{f.bytes:,}" if f.bytes else "", f.sha256[:12], state)
    return table


def rows_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    """Rows as they are, one column a key."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(cell("" if row.get(name) is None else str(row[name])) for name in columns))
    return table


def difference_table(changes: "Sequence[TableChange]") -> Table:
    """Changes between two snapshots."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("source", "table", "before", "after", "added", "removed", "changed", "for example"):
        table.add_column(name, overflow="fold")
    for c in changes:
        counts = (f"{n:,}" for n in (c.before, c.after, c.added, c.removed, c.changed))
        table.add_row(c.source, c.table, *counts, lines(c.examples))
    return table


_COLOURS = {
    TallyMark.REFUTED: "red",
    TallyMark.LACKS_IT: "red",
    TallyMark.INSUFFICIENT: "yellow",
    TallyMark.UNAVAILABLE: "magenta",
    TallyMark.SUPPORTED: "green",
    TallyMark.RIGHTLY_ABSENT: "green",
}


def claim_table(judged: "ClaimVerdict") -> RenderableType:
    """Opinions of papers on a claim: together, and one row a paper."""
    head = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    head.add_row("claim", judged.claim)
    # Papers of which some speak are not silent: where they disagree, that is what they come to.
    undecided = judged.conflict and judged.stance is Stance.SILENT
    papers = "disagree" if undecided else f"{judged.stance.value}, probability {judged.probability:.2f}"
    head.add_row("papers", papers)
    if judged.note and not undecided:
        head.add_row("note", judged.note)
    if judged.dropped:
        head.add_row("not counted", f"{how_many(judged.dropped, 'opinion')}, for the reason beside each")
    if judged.retracted:
        head.add_row("retracted", f"{', '.join(judged.retracted)}: not counted")
    from kgcheck.literature.documents import place_of

    # Where all were read by their abstracts, there is nothing to say of sections.
    whole = any(o.heading or o.section != "abstract" for o in judged.opinions)
    table = Table("paper", "year", *(("section",) if whole else ()), "stance", "probability", "quote")
    for opinion in judged.opinions:
        quotes = [f"“{q.text}” ({q.start}-{q.end})" for q in opinion.quotes]
        table.add_row(
            opinion.document,
            str(opinion.year or ""),
            *((place_of(opinion.section, opinion.heading),) if whole else ()),
            opinion.stance.value,
            f"{opinion.probability:.2f}",
            lines(quotes or [opinion.note or opinion.title]),
        )
    return Group(head, table)


def load_table(summary: "LoadSummary") -> Table:
    """Rows read, loaded, changed, unchanged and quarantined, by label and pattern."""
    table = Table("label or relation", *("read", "loaded", "changed", "unchanged", "quarantined"), box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    totals: dict[str, Counter[str]] = {}
    for file in summary.files:
        counts = totals.setdefault(file.target, Counter())
        counts.update(
            read=file.read,
            loaded=file.loaded,
            changed=file.changed,
            unchanged=file.unchanged,
            quarantined=sum(file.quarantined.values()),
        )
    everything: Counter[str] = sum(totals.values(), Counter())
    for name, counts in [*totals.items(), ("all", everything)]:
        table.add_row(name, *(f"{counts[c]:,}" for c in ("read", "loaded", "changed", "unchanged", "quarantined")))
    return table


def release_table(releases: "Iterable[SourceRelease]") -> Table:
    """Releases of a snapshot."""
    table = Table("source", "release", "date", "rows", "licence", "file", "sha256", box=None)
    for r in releases:
        rows = ", ".join(f"{n:,} {name}" for name, n in r.rows.items())
        cells = (r.source, r.release, r.released, rows, r.licence, r.file, r.sha256[:12])
        table.add_row(*(cell(c) for c in cells))
    return table


def run_table(runs: "Iterable[tuple[Run, Sequence[Tally]]]") -> Table:
    """Runs with their counts."""
    counted = [(run, marks(tallies)) for run, tallies in runs]
    shown = sorted(shown_marks(*(counts for _, counts in counted)), key=lambda mark: mark is not TallyMark.SUPPORTED)
    table = Table(box=None, pad_edge=False)
    for name in ("run", "started", "store", *(mark.value for mark in shown), "state"):
        table.add_column(name, overflow="fold", no_wrap=name in ("run", "started"))
    for run, counts in counted:
        cells = [run.id, f"{run.started:%Y-%m-%d %H:%M}", run.store, *(f"{counts[mark]:,}" for mark in shown)]
        table.add_row(*(cell(c) for c in cells), "finished" if run.finished else "cut off: --resume")
    return table


def patch_table(patches: "Iterable[PatchEntry]") -> Table:
    """Patches and how far each has come."""
    table = Table(box=None, pad_edge=False)
    for name in ("patch", "made", "by", "operations", "state", "store", "folder"):
        table.add_column(name, overflow="fold", no_wrap=name in ("patch", "made", "state"))
    for p in patches:
        cells = (p.id, f"{p.made:%Y-%m-%d %H:%M}", p.by, f"{p.operations:,}", p.state.value, p.store, p.folder)
        table.add_row(*(cell(c) for c in cells))
    return table


def operation_table(rows: Iterable[tuple[int, str, str, str]]) -> Table:
    """Operations of a patch: number, state, what each does, and why one is in conflict."""
    table = Table(box=None, pad_edge=False)
    listed = list(rows)
    used = [i for i in range(4) if any(row[i] for row in listed)]
    for i in used:
        table.add_column(("no.", "state", "operation", "why")[i], overflow="fold", no_wrap=i < 2)
    for row in listed:
        table.add_row(*(cell(str(row[i])) for i in used))
    return table


def findings_table(findings: Iterable[Finding], follow: Mapping[str, int]) -> Table:
    """Findings with the first piece of evidence that decides each, and how many follow from them."""
    table = Table(box=None, pad_edge=False)
    for name in ("finding", "outcome", "reason"):
        table.add_column(name, no_wrap=True)
    for name in ("what", "evidence", "proposal"):
        table.add_column(name, overflow="fold")
    for f in findings:
        colour = _COLOURS[f.mark]
        table.add_row(
            cell(f.fingerprint[:8]),
            cell(f.mark.value, style=colour),
            cell(f.verdict.reason.value),
            cell(f"{what_of(f)}{followed_words(follow.get(f.fingerprint, 0))}"),
            cell("; ".join(evidence_line(e) for e in deciding(f)[:1])),
            cell(proposal(f.change)),
        )
    return table


def followed_words(count: int) -> str:
    """How many findings follow from one, to stand behind what it is about; empty where none does.

    >>> followed_words(247)
    ' [+247 follow]'
    """
    return f" [+{count:,} follow{'s' if count == 1 else ''}]" if count else ""


def explain_finding(finding: Finding, became: str = "", decided: str = "") -> RenderableType:
    """One finding with all its evidence."""
    verdict = finding.verdict
    facts = Table(box=None, show_header=False, pad_edge=False)
    for name, value in (
        ("finding", f"{finding.fingerprint} in run {finding.run}"),
        ("checked", f"{finding.task.type.value}: {finding.task}"),
        ("called", called_in(finding)),
        ("graph says", finding.task.value or ""),
        ("outcome", f"{verdict.outcome.value}, {verdict.reason.value}, confidence {verdict.confidence:.3f}"),
        ("graph", graph_words(finding.mark)),
        ("note", verdict.note),
        ("not looked at", ", ".join(map(str, verdict.missing))),
        ("proposal", proposal(finding.change)),
        ("follows from", finding.cause or ""),
        ("since before", became),
        ("decision", decided),
    ):
        if value:
            facts.add_row(cell(name, style="bold"), cell(value))
    evidence = Table(box=None, pad_edge=False)
    for name in ("stance", "about", "source", "release", "record", "says", "retrieved", "url"):
        evidence.add_column(name, overflow="fold")
    for e in verdict.evidence:
        cells = (e.stance.value, e.about, f"{e.source} ({e.tier.value}, {e.world.value})", e.release, e.record)
        score = f"score {e.score:g}" if e.score is not None else None
        content = " ".join(filter(None, (e.value, score, e.quote)))
        evidence.add_row(*(cell(c) for c in (*cells, content, _dates(e), e.url)))
    return Group(facts, Text(), evidence)


def verified_table(edge: str, found: "Verified | None") -> RenderableType:
    """Verdict on an edge."""
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_row(cell("edge", style="bold"), cell(edge))
    if found is None:
        facts.add_row(cell("outcome", style="bold"), cell("nobody has looked"))
        return facts
    sure = "" if found.confidence is None else f", confidence {found.confidence:.3f}"
    for name, value in (
        ("outcome", f"{found.outcome.value}, {found.reason.value}{sure}"),
        ("source", f"{found.source}, release {found.release}" if found.source else ""),
        ("record", found.record),
        ("run", f"{found.run}, begun {found.at:%Y-%m-%d %H:%M} UTC"),
    ):
        if value:
            facts.add_row(cell(name, style="bold"), cell(value))
    return facts


def _dates(e: Evidence) -> str:
    """When the source was asked, and when that was pinned, where it was."""
    pinned = f", pinned {e.pinned_at:%Y-%m-%d}" if e.pinned_at else ""
    return f"{e.retrieved_at:%Y-%m-%d}{pinned}"


def outcomes(tallies: Iterable[Tally]) -> Counter[Outcome]:
    """Tasks by outcome."""
    counts = Counter[Outcome]()
    for t in tallies:
        counts[t.outcome] += t.count
    return counts


def graph_states(tallies: Iterable[Tally]) -> Counter[GraphState]:
    """Decided tasks by what they mean for the graph."""
    counts = Counter[GraphState]()
    for t in tallies:
        if state := t.mark.graph:
            counts[state] += t.count
    return counts


def marks(tallies: Iterable[Tally]) -> Counter[TallyMark]:
    """Tasks as they are counted and shown."""
    counts = Counter[TallyMark]()
    for t in tallies:
        counts[t.mark] += t.count
    return counts


def marks_line(counts: Counter[TallyMark]) -> str:
    """A total in one line, what is supported first.

    >>> marks_line(Counter({TallyMark.SUPPORTED: 1_200}))
    '1,200 supported, 0 refuted, 0 insufficient, 0 unavailable'
    """
    shown = [TallyMark.SUPPORTED, *(mark for mark in shown_marks(counts) if mark is not TallyMark.SUPPORTED)]
    return ", ".join(f"{counts[mark]:,} {mark.value}" for mark in shown)


GRAPH_STATES: dict[GraphState, str] = {
    GraphState.HAS_IT_WRONGLY: "The graph has it wrongly.",
    GraphState.LACKS_IT: "The graph lacks it.",
    GraphState.AGREES: "The graph agrees.",
    GraphState.RIGHTLY_ABSENT: "The graph does not have it, rightly.",
}
"""Every state of the graph in plain words."""


def graph_words(mark: TallyMark) -> str:
    """What a verdict means for the graph; empty where nothing is decided."""
    return f"{mark.graph.value}: {GRAPH_STATES[mark.graph]}" if mark.graph else ""


def shown_marks(*counted: Counter[TallyMark]) -> list[TallyMark]:
    """The marks that a total shows: those of an edge that the graph lacks only where there are any."""
    return [
        mark
        for mark in TallyMark
        if mark not in (TallyMark.LACKS_IT, TallyMark.RIGHTLY_ABSENT) or any(counts[mark] for counts in counted)
    ]


def deciding(finding: Finding) -> list[Evidence]:
    """The evidence of a finding, what speaks against the graph first, then what speaks, then silence."""
    order = {Stance.CONTRADICTS: 0, Stance.SUPPORTS: 1, Stance.SILENT: 2}
    return sorted(finding.verdict.evidence, key=lambda e: (order[e.stance], e.tier.rank, e.source))


def evidence_line(e: Evidence) -> str:
    """One observation in a few words: source, release, record and what it says."""
    value = f": {e.value}" if e.value else ""
    score = f" (score {e.score:g})" if e.score is not None else ""
    return f"{e.source} {e.release} {e.record}{value}{score}"


def proposal(change: Change | None) -> str:
    """A proposed change in a few words."""
    if change is None:
        return ""
    match change.kind:
        case ChangeKind.REPOINT:
            return f"re-point to {change.to}"
        case ChangeKind.SET_VALUE if change.to:
            return f"set to {change.to!r}"
        case ChangeKind.ADD_EDGE:
            return "add the edge"
        case ChangeKind.REVIEW if change.candidates:
            return f"choose from {', '.join(change.candidates)}"
        case _:
            return change.kind.value


def what_of(f: Finding) -> str:
    """Name the subject of a finding: the task, the value that the graph has, and names."""
    value = f" = {f.task.value!r}" if f.task.attribute and f.task.value else ""
    called = called_in(f)
    return f"{f.task}{value}{f' ({called})' if called else ''}"


def called_in(finding: Finding) -> str:
    """Names of the ends of a finding; empty where the ids or the value say it already."""
    task = finding.task
    shown = {task.subject.id, task.object.id if task.object else "", task.value or ""}
    named = [name if name and name not in shown else "" for name in finding.names]
    return ", ".join(filter(None, named))


def transcript_line(event: "Event") -> str:
    """Tell in one line what an agent did."""
    did = event.text or f"{event.tool} {json.dumps(event.arguments)} -> {_short(event.result)}"
    refused = f" (refused: {event.refused})" if event.refused else ""
    return f"[{event.stage.value}] {event.role.value}: {did}{refused}"


def _short(result: dict[str, object] | None) -> str:
    text = json.dumps(result)
    return text if len(text) <= _SHOWN_RESULT else text[:_SHOWN_RESULT] + " ..."


def ledger_table(facts: "LedgerFacts") -> Table:
    """Facts of a ledger, and how much is in it: one row a fact."""
    table = Table(box=None, show_header=False)
    table.add_row("ledger", cell(facts.ledger))
    table.add_row("kept in", cell(facts.database))
    table.add_row("format", str(facts.format))
    table.add_row("size", f"{facts.bytes / 2**20:,.1f} MiB")
    for name, rows in facts.rows.items():
        table.add_row(name, f"{rows:,}")
    return table


def copied_table(copied: "Iterable[Copied]") -> Table:
    """Result of a copy: one row a table of the ledger."""
    table = Table("table", "rows", "added", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for done in copied:
        table.add_row(cell(done.table), f"{done.rows:,}", f"{done.added:,}")
    return table
