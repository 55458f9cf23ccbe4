"""Small runs, written as reports, and what a browser or a reader of Markdown makes of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

from kgcheck.ledger.ledger import PinnedRelease, Run
from kgcheck.model import (
    Change,
    ChangeKind,
    CheckTask,
    CheckType,
    Evidence,
    Finding,
    Gap,
    Outcome,
    Reason,
    Ref,
    Stance,
    Tally,
    Target,
    Tier,
    Verdict,
    World,
)
from kgcheck.report.documents import document

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
RUN = Run(
    id="20261120-093000-beef",
    started=AT,
    finished=AT,
    store="bolt://localhost:7687",
    profile="ckg",
    reference="ref.duckdb",
    releases=(
        PinnedRelease(source="uniprot", release="2026_03", file="uniprot.dat.gz", sha256="849471c81dc5"),
        PinnedRelease(source="a release in a form of its own", release=""),
    ),
)


class Page(HTMLParser):
    """The tags, the attributes and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags = Counter[str]()
        self.attributes: list[tuple[str, str, str]] = []
        self._texts: list[str] = []
        self.inline: dict[str, str] = {}
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside in ("style", "script"):
            self.inline[self._inside] = data
            self._inside = ""
        else:
            self._texts.append(data)

    @property
    def text(self) -> str:
        """All that stands between tags, but for styles and scripts."""
        return "".join(self._texts)

    def values(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [value for _, held, value in self.attributes if held == name]


def evidence(said: str = "merged; now P04637", url: str = "https://www.uniprot.org/uniprotkb/Q00007") -> Evidence:
    return Evidence(
        source="uniprot",
        release="2026_03",
        record="Q00007",
        url=url,
        retrieved_at=AT,
        stance=Stance.CONTRADICTS,
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=said,
    )


def finding(
    name: str = "Q00007",
    *,
    kind: CheckType = CheckType.EXISTENCE,
    outcome: Outcome = Outcome.REFUTED,
    reason: Reason = Reason.ID_MERGED,
    said: str = "merged; now P04637",
    url: str = "https://www.uniprot.org/uniprotkb/Q00007",
    value: str | None = None,
    label: str = "Protein",
) -> Finding:
    edge = kind in (CheckType.TRIPLE, CheckType.POTENTIAL)
    task = CheckTask(
        type=kind,
        subject=Ref(label=label, id=name),
        relation="ACTS_ON" if edge else None,
        object=Ref(label="Protein", id="P05067") if edge else None,
        attribute="name" if kind is CheckType.ATTRIBUTE else None,
        rule=reason.value if kind is CheckType.STRUCTURE else None,
        value=value,
    )
    verdict = Verdict(outcome=outcome, reason=reason, confidence=0.99, evidence=(evidence(said, url),))
    change = Change(kind=ChangeKind.REPOINT, to="P04637", because="merged") if outcome is Outcome.REFUTED else None
    return Finding(run=RUN.id, fingerprint=task.fingerprint, task=task, verdict=verdict, change=change)


class Kept:
    """A ledger that holds one run in memory."""

    def __init__(self, findings: Iterable[Finding] = (), tallies: Sequence[Tally] = ()) -> None:
        self.kept = findings
        self.counted = list(tallies)

    def findings(self, _run: Run) -> Iterator[Finding]:
        return iter(self.kept)

    def tallies(self, _run: Run) -> list[Tally]:
        return self.counted


def tally(
    count: int,
    outcome: Outcome,
    sources: tuple[str, ...] = ("uniprot",),
    gaps: tuple[Gap, ...] = (),
    target: Target = Target(label="Protein"),  # noqa: B008
) -> Tally:
    reason = Reason.NOT_COVERED if outcome is Outcome.UNAVAILABLE else Reason.ID_MERGED
    return Tally(
        type=CheckType.EXISTENCE, target=target, outcome=outcome, reason=reason, sources=sources, gaps=gaps, count=count
    )


def written(
    form: str, findings: Iterable[Finding] = (), tallies: Sequence[Tally] = (), run: Run = RUN, limit: int | None = None
) -> str:
    return document(Kept(findings, tallies), run, form, limit)  # type: ignore[arg-type]


def parsed(markdown: str) -> list[Token]:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
    return [t for token in tokens for t in (token, *(token.children or ()))]


def cells(markdown: str) -> list[list[str]]:
    """The text of the cells of every row."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level >= 4 and rows:
            rows[-1].append("".join(t.content for t in token.children or ()))
    return rows
