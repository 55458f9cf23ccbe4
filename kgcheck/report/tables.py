"""Terminal tables (rich), and the counts and words of findings that every report shares."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from kgcheck.model import (
    INFORMS,
    Change,
    ChangeKind,
    Evidence,
    Finding,
    GraphState,
    Outcome,
    Stance,
    Tally,
    TallyMark,
    Value,
)
from kgcheck.plurals import how_many
from kgcheck.report.safe_console import RowTable, cell, facts_table, lines

# Every command that shows a table would wait for what only some of them show.
if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event
    from kgcheck.ledger.copying import LedgerFacts
    from kgcheck.ledger.ledger import Run
    from kgcheck.ledger.patches import PatchEntry
    from kgcheck.ledger.verified import Verified
    from kgcheck.literature.verify import ClaimVerdict
    from kgcheck.loading.load import LoadSummary
    from kgcheck.questions.answer import Answer
    from kgcheck.reference.difference import TableChange
    from kgcheck.reference.download import Fetched
    from kgcheck.reference.import_directory import BuiltDirectory
    from kgcheck.reference.snapshot import SourceRelease

K = TypeVar("K")

_SHOWN_NAME = 80
_SHOWN_RESULT = 300


def answer_table(answer: "Answer", limit: int) -> RenderableType:
    """Answers with their paths."""
    rows = []
    for found in answer.found[:limit]:
        name = found.name or str(found.properties.get("sequence") or "")
        shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}..."
        sources = ((edge.triple, edge.properties.get("source")) for edge in found.path)
        path = "; ".join(f"{triple}{f' [{source}]' if source else ''}" for triple, source in sources)
        rows.append((found.ref.id, shown, path))
    return RowTable(("id", "name", "path"), rows, keys=("id",))


def metrics_table(
    metrics: Mapping[str, Value], spread: Mapping[str, Mapping[str, float]] | None = None
) -> RenderableType:
    """Metrics by type: one row a type, one column a metric, with its spread over the runs where there are several."""
    names = tuple(type(next(iter(metrics.values()))).model_fields)
    rows = [
        (kind, *(measure_text(row, name, (spread or {}).get(kind), missing="") for name in names))
        for kind, row in metrics.items()
    ]
    return RowTable(("type", *names), rows, keys=("type",), numbers=names)


def measure_text(
    metrics: Value,
    name: str,
    spread: Mapping[str, float] | None = None,
    form: str = ".1f",
    missing: str = "not measured",
) -> str:
    """A measure as it is shown, with its standard deviation over the runs of a batch where there are several."""
    value = getattr(metrics, name)
    if value is None or isinstance(value, int):
        return missing if value is None else f"{value:,}"
    return f"{value:{form}}" + (f" ± {spread[name]:{form}}" if spread and name in spread else "")


def fetched_table(files: "Sequence[Fetched]") -> RenderableType:
    """Result of each file that was to be fetched."""
    rows = []
    for f in files:
        state = f.failure or ("unchanged" if f.unchanged else "fetched")
        rows.append((f.source, f.file, f"{f.bytes:,}" if f.bytes else "", f.sha256[:12], state))
    return RowTable(("source", "file", "bytes", "sha256", "state"), rows, keys=("source", "sha256"), numbers=("bytes",))


def rows_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> RenderableType:
    """Rows as they are, one column a key; the first names the row."""
    cells = [["" if row.get(name) is None else str(row[name]) for name in columns] for row in rows]
    return RowTable(columns, cells, keys=columns[:1])


def difference_table(changes: "Sequence[TableChange]") -> RenderableType:
    """Changes between two snapshots."""
    counted = ("before", "after", "added", "removed", "changed")
    rows: list[tuple[str | Text, ...]] = [
        (c.source, c.table, *(f"{getattr(c, name):,}" for name in counted), lines(c.examples)) for c in changes
    ]
    return RowTable(("source", "table", *counted, "for example"), rows, keys=("source", "table"), numbers=counted)


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
    # Papers of which some speak are not silent: where they disagree, that is what they come to.
    undecided = judged.conflict and judged.stance is Stance.SILENT
    head = facts_table(
        (
            ("claim", judged.claim),
            ("papers", "disagree" if undecided else f"{judged.stance.value}, probability {judged.probability:.2f}"),
            ("note", "" if undecided else judged.note),
            (
                "not counted",
                f"{how_many(judged.dropped, 'opinion')}, for the reason beside each" if judged.dropped else "",
            ),
            ("retracted", f"{', '.join(judged.retracted)}: not counted" if judged.retracted else ""),
        )
    )
    from kgcheck.literature.documents import place_of

    # Where all were read by their abstracts, there is nothing to say of sections.
    whole = any(o.heading or o.section != "abstract" for o in judged.opinions)
    rows = [
        (
            o.document,
            str(o.year or ""),
            place_of(o.section, o.heading) if whole else "",
            o.stance.value,
            f"{o.probability:.2f}",
            lines([f"“{q.text}” ({q.start}-{q.end})" for q in o.quotes] or [o.note or o.title]),
        )
        for o in judged.opinions
    ]
    columns = ("paper", "year", "section", "stance", "probability", "quote")
    return Group(head, Text(), RowTable(columns, rows, keys=("paper", "year", "stance"), numbers=("probability",)))


def load_table(summary: "LoadSummary") -> RenderableType:
    """Rows read, loaded, changed, unchanged and quarantined, by label and pattern."""
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
    counted = ("read", "loaded", "changed", "unchanged", "quarantined")
    rows = [(name, *(f"{counts[c]:,}" for c in counted)) for name, counts in [*totals.items(), ("all", everything)]]
    return RowTable(("label or relation", *counted), rows, numbers=counted)


def built_table(built: "BuiltDirectory") -> RenderableType:
    """Files of an import directory that was built: rows, sources, and properties that none fills."""
    rows = [(f.file, f"{f.rows:,}", ", ".join(f.sources), ", ".join(f.unfilled)) for f in built.files]
    return RowTable(("file", "rows", "from", "not filled"), rows, keys=("file",), numbers=("rows",))


def release_table(releases: "Iterable[SourceRelease]") -> RenderableType:
    """Releases of a snapshot."""
    rows = []
    for r in releases:
        counted = ", ".join(f"{n:,} {name}" for name, n in r.rows.items())
        rows.append((r.source, r.release, r.released, counted, r.licence, r.file, r.sha256[:12]))
    columns = ("source", "release", "date", "rows", "licence", "file", "sha256")
    return RowTable(columns, rows, keys=("source", "date", "sha256"))


def run_table(runs: "Iterable[tuple[Run, Sequence[Tally]]]") -> RenderableType:
    """Runs with their counts."""
    counted = [(run, marks(tallies)) for run, tallies in runs]
    shown = sorted(shown_marks(*(counts for _, counts in counted)), key=lambda mark: mark is not TallyMark.SUPPORTED)
    names = tuple(mark.value for mark in shown)
    rows = [
        (
            run.id,
            f"{run.started:%Y-%m-%d %H:%M}",
            run.store,
            *(f"{counts[mark]:,}" for mark in shown),
            "finished" if run.finished else "cut off: --resume",
        )
        for run, counts in counted
    ]
    return RowTable(("run", "started", "store", *names, "state"), rows, keys=("run", "started"), numbers=names)


def patch_table(patches: "Iterable[PatchEntry]") -> RenderableType:
    """Patches and how far each has come."""
    columns = ("patch", "made", "by", "operations", "state", "store", "folder")
    rows = [
        (p.id, f"{p.made:%Y-%m-%d %H:%M}", p.by, f"{p.operations:,}", p.state.value, p.store, p.folder) for p in patches
    ]
    return RowTable(columns, rows, keys=("patch", "made", "state"))


def operation_table(rows: Iterable[tuple[int, str, str, str]]) -> RenderableType:
    """Operations of a patch: number, state, what each does, and why one is in conflict."""
    listed = [(str(number), *texts) for number, *texts in rows]
    return RowTable(("no.", "state", "operation", "why"), listed, keys=("no.", "state"))


def findings_table(findings: Iterable[Finding], follow: Mapping[str, int]) -> RenderableType:
    """Findings with the first piece of evidence that decides each, and how many follow from them."""
    rows = [
        (
            f.fingerprint[:8],
            cell(f.mark.value, style=_COLOURS[f.mark]),
            f.verdict.reason.value,
            f"{what_of(f)}{followed_words(follow.get(f.fingerprint, 0))}",
            "; ".join(evidence_line(e) for e in deciding(f)[:1]),
            proposal(f.change),
        )
        for f in findings
    ]
    columns = ("finding", "outcome", "reason", "what", "evidence", "proposal")
    return RowTable(columns, rows, keys=columns[:3])


def followed_words(count: int) -> str:
    """Tell how many findings follow from one, to stand behind what it is about; empty where none does.

    >>> followed_words(247)
    ' [+247 follow]'
    """
    return f" [+{count:,} follow{'s' if count == 1 else ''}]" if count else ""


def explain_finding(finding: Finding, became: str = "", decided: str = "") -> RenderableType:
    """One finding with all its evidence."""
    verdict = finding.verdict
    facts = facts_table(
        (
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
        )
    )
    rows = []
    for e in verdict.evidence:
        score = f"score {e.score:g}" if e.score is not None else None
        content = " ".join(filter(None, (e.value, score, e.quote, e.weight and f"[{e.weight}]")))
        source = f"{e.source} ({e.tier.value}, {e.world.value})"
        pinned = f", pinned {e.pinned_at:%Y-%m-%d}" if e.pinned_at else ""
        retrieved = f"{e.retrieved_at:%Y-%m-%d}{pinned}"
        rows.append((e.stance.value, e.about, source, e.release, e.record, content, retrieved, e.url))
    columns = ("stance", "about", "source", "release", "record", "says", "retrieved", "url")
    return Group(facts, Text(), RowTable(columns, rows, keys=columns[:1]))


def verified_table(edge: str, found: "Verified | None") -> RenderableType:
    """Verdict on an edge."""
    if found is None:
        return facts_table((("edge", edge), ("outcome", "nobody has looked")))
    sure = "" if found.confidence is None else f", confidence {found.confidence:.3f}"
    return facts_table(
        (
            ("edge", edge),
            ("outcome", f"{found.outcome.value}, {found.reason.value}{sure}"),
            ("source", f"{found.source}, release {found.release}" if found.source else ""),
            ("record", found.record or ""),
            ("run", f"{found.run}, begun {found.at:%Y-%m-%d %H:%M} UTC"),
        )
    )


def outcomes(tallies: Iterable[Tally]) -> Counter[Outcome]:
    """Tasks by outcome."""
    return _summed((t.outcome, t.count) for t in tallies)


def graph_states(tallies: Iterable[Tally]) -> Counter[GraphState]:
    """Decided tasks by what they mean for the graph."""
    return _summed((t.mark.graph, t.count) for t in tallies if t.mark.graph)


def marks(tallies: Iterable[Tally]) -> Counter[TallyMark]:
    """Tasks as they are counted and shown."""
    return _summed((t.mark, t.count) for t in tallies)


def _summed(counted: Iterable[tuple[K, int]]) -> Counter[K]:
    sums = Counter[K]()
    for key, count in counted:
        sums[key] += count
    return sums


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
    """Describe a verdict's meaning for the graph; empty where nothing is decided."""
    return f"{mark.graph.value}: {GRAPH_STATES[mark.graph]}" if mark.graph else ""


def shown_marks(*counted: Counter[TallyMark]) -> list[TallyMark]:
    """The marks that a total shows: those of an edge that the graph lacks only where there are any."""
    return [
        mark
        for mark in TallyMark
        if mark not in (TallyMark.LACKS_IT, TallyMark.RIGHTLY_ABSENT) or any(counts[mark] for counts in counted)
    ]


def deciding(finding: Finding) -> list[Evidence]:
    """The evidence of a finding, what speaks against the graph first, then what speaks, silence, and what informs."""
    order = {Stance.CONTRADICTS: 0, Stance.SUPPORTS: 1, Stance.SILENT: 2}
    return sorted(finding.verdict.evidence, key=lambda e: (e.about == INFORMS, order[e.stance], e.tier.rank, e.source))


def evidence_line(e: Evidence) -> str:
    """One observation in a few words: source, release, record and what it says."""
    value = f": {e.value}" if e.value else ""
    score = f" (score {e.score:g})" if e.score is not None else ""
    weight = f"; {e.weight}" if e.weight else ""
    return f"{e.source} {e.release} {e.record}{value}{score}{weight}"


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


def ledger_table(facts: "LedgerFacts") -> RenderableType:
    """Facts of a ledger, and how much is in it: one row a fact."""
    rows = ((name, f"{count:,}") for name, count in facts.rows.items())
    size = f"{facts.bytes / 2**20:,.1f} MiB"
    return facts_table(
        (("ledger", facts.ledger), ("kept in", facts.database), ("format", str(facts.format)), ("size", size), *rows)
    )


_SHOWN_UNKNOWN = 12
_SHOWN_KINDS = 12


def summary_lines(run: "Run", tallies: Sequence[Tally], found: tuple[int, int] | None = None) -> list[str]:
    """Sum up how a run ended, in a few lines; ``found`` are its findings, and those that follow from them."""
    counts = marks(tallies)
    total = sum(counts.values())
    state = "" if run.finished else " (cut off: go on with --resume)"
    lines = [f"run {run.id}{state}: {total:,} checked: {marks_line(counts)}"]
    if found:
        more = f", from which {found[1]:,} more follow" if found[1] else ""
        lines.append(f"  {how_many(found[0], 'finding')}{more}")
    lines += [f"  warning: {text}" for text in run.warnings]
    if run.team:
        went = ", ".join(f"{n:,} {way}" for way, n in run.team.items())
        lines.append(f"  handed to the team: {sum(run.team.values()):,}: {went}")
    lines += [f"  the profile does not know: {what}: {n:,}" for what, n in list(run.unknown.items())[:_SHOWN_UNKNOWN]]
    if len(run.unknown) > _SHOWN_UNKNOWN:
        lines.append(f"  and {len(run.unknown) - _SHOWN_UNKNOWN} more: kgcheck report {run.id} --format json")
    missing = Counter[str]()
    for t in tallies:
        if t.outcome is Outcome.UNAVAILABLE:
            missing[f"{t.target}: {t.sources_line}"] += t.count
    lines += [f"  could not look: {n:,} {what}" for what, n in missing.most_common(_SHOWN_KINDS)]
    if len(missing) > _SHOWN_KINDS:
        lines.append(_more(len(missing), run))
    return lines


def wrong_lines(run: "Run", kinds: Counter[tuple[str, str, str]]) -> list[str]:
    """List what is wrong most often, by mark, place and reason, and how to list the findings of one kind."""
    shown = kinds.most_common(_SHOWN_KINDS)
    lines = [f"  {mark}: {n:,} {target}: {reason}" for (mark, target, reason), n in shown]
    if len(kinds) > _SHOWN_KINDS:
        lines.append(_more(len(kinds), run))
    if kinds:
        lines.append(f"  of one kind: kgcheck findings --run {run.id} --reason REASON --label LABEL")
    return lines


def _more(kinds: int, run: "Run") -> str:
    return f"  and {how_many(kinds - _SHOWN_KINDS, 'more kind')}: kgcheck report {run.id} --format markdown"
