"""Write a run as HTML or Markdown, and templates with escaping for other pages, too.

What a graph or a source says is hostile until it is escaped: both environments escape every value by themselves,
so that a template cannot forget to.
"""

import base64
import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kgcheck import __version__
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.run import HandedOver
from kgcheck.model import CheckType, Evidence, Finding, Gap, Outcome, Reason, Stance, Tally, TallyMark
from kgcheck.report.comparison import ALONE, STATES, ComparisonSummary
from kgcheck.report.tables import called_in, deciding, marks, shown_marks
from kgcheck.report.wording import MARKS, TYPES, graph_value, proposed, task_words
from kgcheck.visible import visible

FEW = 20
"""Findings that every reason gets before the refuted ones take the rest of the room."""

_SLACK = 2
_K = TypeVar("_K", bound=Hashable)


class Kind(NamedTuple):
    """Findings that a report shows together."""

    mark: TallyMark
    type: CheckType
    reason: Reason


class Group(NamedTuple):
    """The findings of one kind that are shown, of how many there are."""

    kind: Kind
    findings: list[Finding]
    total: int


class ShownFindings:
    """Chooses which findings to show, from any number, holding about twice as many as there is room for.

    Every kind gets a few, and the refuted ones take the rest of the room first. Kinds share evenly, and within a kind
    so do labels and patterns, so that a noisy one cannot push out the others.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._counts: dict[Kind, Counter[str]] = defaultdict(Counter)
        self._kept: dict[tuple[Kind, str], list[Finding]] = defaultdict(list)
        self._size = 0

    def add(self, finding: Finding) -> None:
        kind = Kind(finding.mark, finding.task.type, finding.verdict.reason)
        task = finding.task
        where = f"{task.subject.label} {task.relation or ''} {task.object.label if task.object else ''}"
        self._counts[kind][where] += 1
        kept = self._kept[kind, where]
        if len(kept) < self._room:
            kept.append(finding)
            self._size += 1
            if self._size > 2 * (self._room + _SLACK * len(self._kept)):
                self._trim()

    def groups(self, room: int) -> list[Group]:
        share = self._share(room)
        groups = []
        for kind, counts in self._counts.items():
            shown = [f for where in sorted(counts) for f in self._kept[kind, where][: share[kind, where]]]
            groups.append(Group(kind, shown, counts.total()))
        types, marks_ = list(CheckType), list(TallyMark)
        return sorted(
            groups, key=lambda g: (types.index(g.kind.type), marks_.index(g.kind.mark), -g.total, g.kind.reason.value)
        )

    def _share(self, room: int) -> dict[tuple[Kind, str], int]:
        sizes = {kind: counts.total() for kind, counts in self._counts.items()}
        share = fair({kind: min(n, FEW) for kind, n in sizes.items()}, room)
        for mark in TallyMark:
            rest = {kind: n - share[kind] for kind, n in sizes.items() if kind.mark is mark}
            for kind, more in fair(rest, room - sum(share.values())).items():
                share[kind] += more
        return {(k, where): n for k, counts in self._counts.items() for where, n in fair(counts, share[k]).items()}

    def _trim(self) -> None:
        # A share only shrinks as more comes in, but for the remainders of two divisions: hence the slack.
        for key, share in self._share(self._room).items():
            del self._kept[key][share + _SLACK :]
        self._size = sum(len(kept) for kept in self._kept.values())


def fair(sizes: Mapping[_K, int], room: int) -> dict[_K, int]:
    """Room shared evenly: what the small ones leave over goes to the large ones, until all of it is used.

    >>> fair({"small": 1, "large": 9, "other": 9}, 7)
    {'small': 1, 'large': 3, 'other': 3}
    """
    given = {}
    for at, key in enumerate(sorted(sizes, key=lambda k: sizes[k])):
        given[key] = min(sizes[key], room // (len(sizes) - at))
        room -= given[key]
    return given


MAX_SHOWN = 2_000
"""Findings in a page: more would make it slow to open."""

MAX_CHARACTERS = 65_000
"""Length of a Markdown document: GitHub refuses a comment or an issue of more than 65,536 characters."""

_LONG = 600
_CELL = 140

_WEB = re.compile(
    r"https?://[a-z0-9.-]+(:\d+)?([/?#][^\x00-\x20\x7f-\U0010ffff\"<>\\^`{|}]*)?", re.IGNORECASE | re.ASCII
)
# An underscore inside a word is no mark, and nearly every relation has one.
_MARK = re.compile(r"[\\`|<>&\[\]*~$]|(?<![^\W_])_|_(?![^\W_])")
_LINKS = re.compile(r"@|#|(?<=www)(?=\.)|:(?=//|[\w+-]+:)|(?<=gh)(?=-\d)", re.IGNORECASE)


def document(
    ledger: Ledger, run: Run, format_: str, limit: int | None = None, *, compared: ComparisonSummary = ALONE
) -> str:
    """A run as a document."""
    room = MAX_SHOWN if limit is None else min(limit, MAX_SHOWN)
    choice = ShownFindings(room)
    followed = 0
    for finding in ledger.findings(run):
        if compared.follows(finding):
            followed += 1
        else:
            choice.add(finding)
    team = team_rows(ledger.team_findings(run)) if run.team else []
    content = {"followed": followed, "team": team, "compared": compared, "states": STATES}
    content |= _content(run, ledger.tallies(run))
    if format_ == "html":
        return html_environment().get_template("report.html").render(content, **_shown(choice, room), **_inline())
    template = _markdown().get_template("report.md")
    text = template.render(content, **_shown(choice, room))
    while len(text) > MAX_CHARACTERS and room:
        room = room * 3 // 4
        text = template.render(content, **_shown(choice, room))
    return text


def page(template: str, format_: str, *, own: str = "", **content: Any) -> str:
    """A page of one of the templates, in which every value is escaped."""
    names = {"version": __version__}
    if format_ == "html":
        return html_environment().get_template(f"{template}.html").render(names, **content, **_inline(own))
    return _markdown().get_template(f"{template}.md").render(names, **content)


def is_web(url: str) -> bool:
    """Tell whether a URL may be a link: http or https, a plain host, and nothing that needs quoting."""
    return _WEB.fullmatch(url) is not None


def cut(text: str, length: int = _LONG) -> str:
    """The beginning of a long text, saying how long it is."""
    return text if len(text) <= length else f"{text[:length]} … ({len(text):,} characters)"


def markdown(value: object, length: int = _CELL) -> str:
    """Text that Markdown shows as it is, in a table or out of one.

    Marks become entities, which no reader takes for marks. A word joiner parts what GitHub would make a link of or tell
    somebody about: a URL, @somebody, #1.
    """
    line = " ".join(visible(str(value), layout=True).split())
    apart = _LINKS.sub(lambda m: f"{m[0]}\u2060", cut(line, length))
    return _MARK.sub(lambda m: f"&#{ord(m[0])};", apart)


class Unasked(NamedTuple):
    """A source that could not be asked: how many tasks that left undecided, and how many were decided without it."""

    source: str
    cause: str
    undecided: int
    decided: int
    targets: list[str]


def unasked(tallies: Iterable[Tally]) -> list[Unasked]:
    """The sources that could not be asked, those that left most undecided first."""
    counts: dict[Gap, Counter[bool]] = defaultdict(Counter)
    targets: dict[Gap, Counter[str]] = defaultdict(Counter)
    for t in tallies:
        gaps = t.gaps
        if t.outcome is Outcome.UNAVAILABLE and not gaps:
            gaps = (Gap("any source that decides it", t.reason),)
        for gap in gaps:
            counts[gap][t.outcome is Outcome.UNAVAILABLE] += t.count
            targets[gap][str(t.target)] += t.count
    found = [
        Unasked(gap.source, gap.cause.words, n[True], n[False], [name for name, _ in targets[gap].most_common()])
        for gap, n in counts.items()
    ]
    return sorted(found, key=lambda u: (-u.undecided, -u.decided, u.source))


class TeamRow(NamedTuple):
    """Findings that went to the team and ended alike, with their cost."""

    was: str
    result: str
    reason: str
    sources: str
    """Those that its verdict rests on; empty where it decided nothing."""
    findings: int
    calls: int
    seconds: float
    tokens: int
    money: float | None


def team_rows(handed: Iterable[tuple[HandedOver, Finding]]) -> list[TeamRow]:
    """Sum up the work of the team, by how findings stood, how they ended and by which sources."""
    groups: dict[tuple[str, str, str, str], list[HandedOver]] = defaultdict(list)
    for one, finding in handed:
        was = ": ".join(filter(None, (one.outcome, Reason(one.reason).words if one.reason else "")))
        spoken = {e.source for e in finding.verdict.evidence if e.stance is not Stance.SILENT}
        sources = ", ".join(sorted(spoken or {e.source for e in finding.verdict.evidence}))
        decided = (finding.verdict.reason.words, sources) if one.is_decided else ("", "")
        groups[was, one.result, *decided].append(one)
    rows = []
    for key, some in groups.items():
        calls, seconds = sum(one.calls or 0 for one in some), sum(one.seconds or 0.0 for one in some)
        tokens, prices = sum(one.tokens or 0 for one in some), [one.money for one in some if one.money is not None]
        rows.append(TeamRow(*key, len(some), calls, seconds, tokens, sum(prices) if prices else None))
    return sorted(rows, key=lambda row: (-row.findings, row[:4]))


class Row(NamedTuple):
    """A target and how its tasks ended."""

    target: str
    counts: Counter[TallyMark]


def by_target(tallies: Sequence[Tally]) -> dict[CheckType, list[Row]]:
    """Count tasks by type, target and outcome."""
    counts: dict[CheckType, dict[str, Counter[TallyMark]]] = {kind: defaultdict(Counter) for kind in TYPES}
    for t in tallies:
        counts[t.type][str(t.target)][t.mark] += t.count
    return {kind: [Row(*row) for row in sorted(rows.items())] for kind, rows in counts.items() if rows}


def bar(counts: Counter[TallyMark]) -> list[tuple[TallyMark, float, float]]:
    """Each mark's start and width in percent; nothing that happened is too thin to be seen."""
    wide = {o: max(counts[o] / counts.total(), 0.006) for o in MARKS if counts[o]}
    parts, start = [], 0.0
    for outcome, width in wide.items():
        share = 100 * width / sum(wide.values())
        parts.append((outcome, round(start, 3), round(share, 3)))
        start += share
    return parts


def _content(run: Run, tallies: Sequence[Tally]) -> dict[str, Any]:
    counts = marks(tallies)
    releases = [(r.source, r.release, r.file, r.sha256[:12]) for r in run.releases]
    releases += [(name, release, "asked live", "") for name, named in run.live.items() for release in named]
    return {
        "version": __version__,
        "run": run,
        "scope": scope_words(run.options),
        "counts": counts,
        "total": counts.total(),
        "bar": bar(counts),
        "targets": by_target(tallies),
        "unasked": unasked(tallies),
        "releases": releases,
        "meaning": {mark: MARKS[mark] for mark in shown_marks(counts)},
        "types": TYPES,
    }


_NARROWED = {"labels": "label", "relations": "relation", "ids": "id", "without_rules": "structure rules but"}
"""Options that narrow a run, with what stands before their values."""


def scope_words(options: Mapping[str, Any]) -> list[str]:
    """List in words how a run was narrowed."""
    parts = [f"{words} {', '.join(map(str, options[name]))}" for name, words in _NARROWED.items() if options.get(name)]
    if options.get("sample"):
        parts.append(f"a sample of {options['sample']:,} (seed {options.get('seed', 0)})")
    return [*parts, str(options["check"])] if options.get("check") else parts


def _shown(choice: ShownFindings, room: int) -> dict[str, Any]:
    groups = choice.groups(room)
    tasks = [f.task for g in groups for f in g.findings]
    labels = Counter(
        label for t in tasks for label in {t.subject.label, t.object.label if t.object else t.subject.label}
    )
    relations = Counter(t.relation for t in tasks if t.relation)
    sections = {kind: [g for g in groups if g.kind.type is kind] for kind in TYPES}
    return {
        "sections": {kind: groups for kind, groups in sections.items() if groups},
        "found": sum(g.total for g in groups),
        "shown": sum(len(g.findings) for g in groups),
        "hidden": [g for g in groups if g.total > len(g.findings)],
        "places": {"label": sorted(labels.items()), "relation": sorted(relations.items())},
    }


def _inline(own: str = "") -> dict[str, Markup]:
    """Style and script, with the hashes by which the page's security policy knows them."""
    css = _source("report.css") + (_source(f"{own}.css") if own else "")
    script = f"{own}.js" if own and f"{own}.js" in PackageLoader("kgcheck.report").list_templates() else "report.js"
    inline = {}
    for name, source in (("css", css), ("js", _source(script))):
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        inline[name] = Markup(source)  # noqa: S704  # from the package, with nothing put in
        inline[f"{name}_hash"] = Markup(f"sha256-{digest}")  # noqa: S704  # base64
    return inline


def _source(name: str) -> str:
    # The parser of a page turns CRLF into LF, and the hash must be of what it sees.
    loader = PackageLoader("kgcheck.report")
    return "\n" + loader.get_source(Environment(autoescape=True), name)[0].replace("\r\n", "\n")


def _environment(package: str = "kgcheck.report", **more: Any) -> Environment:
    env = Environment(  # noqa: S701  # each caller says how it escapes
        loader=PackageLoader(package), trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, **more
    )
    env.filters.update(
        what=task_words,
        graph_value=graph_value,
        proposed=proposed,
        deciding=deciding,
        cut=cut,
        called=called_in,
    )
    env.tests["web"] = is_web
    return env


@cache
def html_environment(package: str = "kgcheck.report") -> Environment:
    """Templates of a package in which every value is escaped, and what cannot be seen is spelt out."""
    # What is Markup by now was made of values that went through here.
    return _environment(package, autoescape=True, finalize=lambda v: visible(v, layout=True) if type(v) is str else v)


@cache
def _markdown() -> Environment:
    env = _environment(
        autoescape=False,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markup) else markdown(value),
    )
    env.filters["cited"] = _cited
    env.filters["linked"] = _linked
    env.filters["whole"] = _whole
    return env


def _whole(value: object) -> Markup:
    """Words of a paper for Markdown, however many: a quote that is cut is none."""
    return Markup(markdown(value, sys.maxsize))  # noqa: S704  # escaped there


def _linked(text: str, url: str) -> Markup:
    """A text for Markdown, linked where it can be."""
    shown = markdown(text)
    if is_web(url) and not re.search(r"[()]", url):
        shown = f"[{shown}]({url.replace('&', '&amp;')})"
    return Markup(shown)  # noqa: S704  # escaped above


def _cited(e: Evidence) -> Markup:
    """One observation for Markdown: its stance, where it was made, linked where it can be, and what it says."""
    record = _linked(f"{e.source} {e.release} {e.record}", e.url)
    score = f"score {e.score:g}" if e.score is not None else ""
    text = markdown("; ".join(s for s in (e.value, e.quote, score, e.weight) if s))
    return Markup(f"{e.stance.value}: {record}" + (f": {text}" if text else ""))  # noqa: S704  # escaped above
