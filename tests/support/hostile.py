"""A world whose every text is hostile, made from a seed, and what a page must not make of it.

Each text is put together from what breaks out of markup, attributes, addresses, templates and lines. Each begins with
MARK, so that an element, an attribute or an address that a text made tells where it comes from.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import edge_schema, node_schema
from kgcheck.ledger.ledger import Ledger, PinnedRelease, Run
from kgcheck.ledger.patches import OperationEntry, OperationState, PatchEntry, PatchTable
from kgcheck.ledger.work import WorkItem, WorkState, WorkTable
from kgcheck.literature.documents import SOURCE, make_document
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
    all_reasons,
)
from kgcheck.profile.schema import load_schema
from kgcheck.service.state import ServiceOptions
from kgcheck.visible import HIDDEN
from kgcheck.workspace import Workspace
from tests.support import ROOT
from tests.support.literature import build_index

MARK = "zq9"
CANARY = "http://127.0.0.1:{port}"
PRODUCT = "219359"
"""What a template that is run makes of ``31337 * 7``."""

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
_LABEL, _RELATION = "Protein", "ACTS_ON"
_PIECES = (
    '"><script>window.pwned=1;fetch("@/s")</script>',
    "'><img src=@/i onerror=window.pwned=1>",
    "</script><script src=@/j>",
    '" onmouseover="window.pwned=1" autofocus onfocus="window.pwned=1" x="',
    "' onclick='window.pwned=1' y='",
    "<svg onload=window.pwned=1><use href=@/u#x></svg>",
    "<math><mtext><style><img src=@/m></style>",
    "<base href=@/>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<link rel=stylesheet href=@/c.css>",
    "<meta http-equiv=refresh content='0;url=@/r'>",
    "<form action=@/f><button>go</button></form>",
    "</textarea></title></style>",
    "<style>*{background:url(@/b)}</style>",
    "background:url(@/b);x:expression(window.pwned=1)",
    "</div></main></body></html>",
    "javascript:window.pwned=1",
    "data:text/html,<script>parent.pwned=1</script>",
    "//127.0.0.1:1/x",
    "https://[::1",
    "\\\\host\\share",
    "{{ 31337 * 7 }}",
    "{% for x in ().__class__.__mro__ %}{{ x }}{% endfor %}",
    "${31337*7}",
    "#{31337*7}",
    "<%= 31337*7 %>",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "&#60;img src=x onerror=window.pwned=1&#62;",
    "&quot;&apos;&amp;&nbsp;&#0;",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    "%3Cscript%3E",
    "%0d%0aSet-Cookie:%20a=b",
    "?a=1&b=2#c",
    "../../../sign-out",
    "%2e%2e%2f",
    "a=b&decision=x;",
    "\u202eevil\u202c",
    "\u2066x\u2069",
    "\u200b\u200e\ufeff",
    "\u2028\u2029",
    "\u00ad",
    "\U000e0041",
    "e\u0301\u0327" * 8,
    "\ufdfd" * 3,
    "x" * 300,
    "\U0001f480" * 20,
    "'; DROP TABLE finding; --",
    "%s%n{0}{x}",
    "=cmd|' /C calc'!A0",
    "[a](javascript:alert(1))",
    "`$(id)`",
)
_CONTROLS = ("\x00", "\x1b[31m\x1b]0;x\x07", "\x7f\x85\x9b", "\r\n", "\t")


class HostileTexts:
    """Makes hostile texts, the same for one seed."""

    def __init__(self, seed: int, port: int = 9) -> None:
        self._random = random.Random(seed)  # noqa: S311
        self._address = CANARY.format(port=port)

    def text(self, *, most: int = 100_000, controls: bool = True) -> str:
        """A text of one piece or a few; without control characters where these could not have come in."""
        pieces = [*_PIECES, *(_CONTROLS if controls else ())]
        chosen = self._random.choices(pieces, k=self._random.randint(1, 5))
        return (MARK + self._random.choice((" ", "", "\n" if controls else " ")).join(chosen)).replace(
            "@", self._address
        )[:most]

    def id(self) -> str:
        """A text that a node may have as its id."""
        return self.text(most=300, controls=False).strip()

    def url(self) -> str:
        """An address of a record, such as a recipe might make it."""
        begins = self._random.choice(
            ("https://example.org/", "javascript:", "data:text/html,", "//", "http://a b/", "")
        )
        return begins + self.text(most=200)

    def number(self) -> int:
        """A number from 0 to 9."""
        return self._random.randrange(10)


class HostileWorld:
    """A graph, papers, a ledger and a kgcheck.toml in a folder, every text of them hostile."""

    run = "20261120-093000-beef"
    patch = "0123456789abcdef"
    task = "fedcba9876543210"
    job = "nightly"

    def __init__(self, folder: Path, seed: int, port: int = 9) -> None:
        self.texts = HostileTexts(seed, port)
        self.folder = folder
        self.findings: list[str] = []
        self._papers = [f"pmid:{number}" for number in range(4)]
        self._quote = f"{MARK} <b>binds</b> \"it\" {{{{ 31337 * 7 }}}} & 'so' </p><script>window.pwned=1</script>."
        ids = [self.texts.id() for _ in range(6)]
        self.node = Ref(label=_LABEL, id=ids[0])
        """A node of the graph."""
        self._write_graph(ids)
        self._write_papers()
        self._write_ledger(ids)
        (folder / "kgcheck.toml").write_text(
            f"ledger = {json.dumps(str(folder / 'ledger.sqlite'))}\n"
            f"[stores.main]\nplace = {json.dumps(str(folder / 'graph.lbdb'))}\n"
            '[jobs.nightly]\nkind = "audit"\nschedule = "30 2 * * *"\n'
        )

    @property
    def options(self) -> ServiceOptions:
        """For a service over it."""
        return ServiceOptions(
            store=str(self.folder / "graph.lbdb"),
            ledger=str(self.folder / "ledger.sqlite"),
            literature=str(self.folder / "papers"),
            config=self.folder / "kgcheck.toml",
        )

    @property
    def places(self) -> dict[str, str]:
        """What the places in a route stand for."""
        return {"run": self.run, "patch": self.patch, "task": self.task, "job": self.job}

    def _write_graph(self, ids: list[str]) -> None:
        schema, text = load_schema(), self.texts.text
        label, pattern = schema.label(_LABEL), schema.pattern(_LABEL, _RELATION, _LABEL)
        with EmbeddedStore(self.folder / "graph.lbdb", schema, create=True) as store:
            store.prepare()
            nodes = [{"id": i, "name": text(most=900), "accession": text(most=900)} for i in dict.fromkeys(ids)]
            store.add_nodes(label, pa.Table.from_pylist(nodes, schema=node_schema(label)))
            pairs = [(a, b) for a in ids[:3] for b in ids if a != b]
            edges = [{"head": a, "tail": b, "source": text(most=900)} for a, b in dict.fromkeys(pairs)]
            store.add_edges(pattern, pa.Table.from_pylist(edges, schema=edge_schema(pattern)))
            store.set_meta("profile_version", str(schema.profile.version))
            store.set_meta("profile", schema.profile.name)

    def _write_papers(self) -> None:
        made = []
        for name in self._papers:
            abstract = f"{self.texts.text()}. {self._quote} {self.texts.text()}"
            made.append(make_document({"id": name, "title": self.texts.text(), "abstract": abstract}, "jsonl"))
        build_index(self.folder / "papers", [one for one in made if not hasattr(one, "reason")])

    def _write_ledger(self, ids: list[str]) -> None:
        text = self.texts.text
        targets = Target(label=_LABEL), Target(label=_LABEL, relation=_RELATION, object_label=_LABEL)
        with Ledger(self.folder / "ledger.sqlite") as ledger:
            runs = ((text(most=200), 2, text()), (f"{self.run[:-4]}0000", 1, ""), (self.run, 0, ""))
            for name, days, store in runs:
                started = AT - timedelta(days=days)
                run = Run(
                    id=name,
                    started=started,
                    finished=started,
                    store=store or str(self.folder / "graph.lbdb"),
                    profile="ckg",
                    reference=text(),
                    warnings=(text(), text()),
                    nodes={_LABEL: 6, text(): 2},
                    edges={f"{_LABEL} {_RELATION} {_LABEL}": 9},
                    releases=tuple(
                        PinnedRelease(source=text(), release=text(), file=text(), released=text(most=20)) for _ in "ab"
                    ),
                )
                found = list(self._findings(run, ids))
                tallies = [
                    Tally(
                        type=t,
                        target=of,
                        outcome=o,
                        reason=Reason.EDGE_UNSUPPORTED,
                        count=3,
                        gaps=(Gap(text(), Reason.NOT_COVERED),),
                    )
                    for t, of in zip((CheckType.EXISTENCE, CheckType.TRIPLE), targets, strict=True)
                    for o in (Outcome.REFUTED, Outcome.UNAVAILABLE)
                ]
                ledger.start(run)
                ledger.record(run, "all", found, tallies)
                self.findings = [finding.fingerprint for finding in found]
            self._write_work(ledger)
        with Workspace(ledger=self.folder / "ledger.sqlite", store=self.folder / "graph.lbdb") as workspace:
            for number, name in enumerate(self.findings[:6]):
                action = ("accept", "reject", "defer")[number % 3]
                until = "2199-01-01" if action == "defer" else None
                workspace.decide([name], action, by=self.words(), note=self.words(), until=until)

    def words(self) -> str:
        """What a person may write: a decision takes no control characters of C0 that a database would refuse."""
        return self.texts.text(most=500).replace("\x00", "")

    def _write_work(self, ledger: Ledger) -> None:
        text, late = self.words, AT + timedelta(hours=1)
        entry = PatchEntry(
            id=self.patch, store=text(), profile=text(), run=text(), folder=str(self.folder / "no"), made=AT, by=text(),
            operations=3, state_at=AT, state_by=text(),
        )  # fmt: skip
        operations = [
            OperationEntry(number=n, kind=text(), finding=text(), about=text(), state=state, why=text())
            for n, state in enumerate(OperationState, 1)
        ]
        PatchTable(ledger.database).keep(entry, operations)
        tasks = WorkTable(ledger.database)
        for name, kind, state in (
            (self.task, text(), WorkState.FAILED),
            ("0" * 16, "patch_apply", WorkState.DONE),
            ("1" * 16, "audit", WorkState.CANCELLED),
        ):
            tasks.add(
                WorkItem(
                    id=name, kind=kind, state=state, step=text(), by=text(), created=AT, ended=late, run=text(),
                    parameters={"patch": text(), "job": text()},
                    result={"done": 2, "conflicts": [text()]},
                    error={"detail": text(), "hint": text(), "title": text()},
                )
            )  # fmt: skip
        runs = WorkTable(ledger.database)
        run = runs.begin(WorkItem(job=self.job, created=AT), text(), AT)
        runs.change(run, state=WorkState.FAILED, ended=late, message=text())

    def _findings(self, run: Run, ids: list[str]) -> Iterator[Finding]:
        text = self.texts.text
        for number, kind in enumerate(CheckType):
            for other in range(2):
                is_edge = kind in (CheckType.TRIPLE, CheckType.POTENTIAL)
                task = CheckTask(
                    type=kind,
                    subject=Ref(label=_LABEL, id=ids[number % len(ids)] if other else f"{ids[0][:250]} {number}"),
                    relation=_RELATION if is_edge else None,
                    object=Ref(label=_LABEL, id=ids[(number + 1) % len(ids)]) if is_edge else None,
                    attribute="name" if kind is CheckType.ATTRIBUTE else None,
                    value=text(),
                    rule=text() if kind is CheckType.STRUCTURE else None,
                )
                evidence = [
                    Evidence(
                        source=SOURCE if place else text(),
                        release=text(),
                        record=self._papers[number % 4] if place else text(),
                        url=self.texts.url(),
                        retrieved_at=AT,
                        stance=stance,
                        world=World.OPEN,
                        tier=Tier.CURATED,
                        value=text(),
                        quote=self._quote if place else text(),
                        replacements=(text(), text()),
                    )
                    for place, stance in enumerate((Stance.CONTRADICTS, Stance.SUPPORTS))
                ]
                kinds = (ChangeKind.REVIEW, ChangeKind.SET_VALUE, ChangeKind.REPOINT, ChangeKind.RETIRE)
                change = Change(
                    kind=kinds[(number + other) % len(kinds)], to=text(), candidates=(text(), ids[1]), because=text()
                )
                verdict = Verdict(
                    outcome=(Outcome.REFUTED, Outcome.INSUFFICIENT)[other], reason=all_reasons()[number + 5 * other],
                    confidence=0.9, evidence=tuple(evidence), note=text(), missing=(Gap(text(), Reason.NOT_COVERED),),
                )  # fmt: skip
                yield Finding(
                    run=run.id, fingerprint=task.fingerprint, task=task, names=(text(), text()), verdict=verdict,
                    change=change,
                )  # fmt: skip


_TEMPLATES = (ROOT / "kgcheck/service/page/templates", ROOT / "kgcheck/service/templates")
_TAG = re.compile(r"<([a-z][a-z0-9]*)")
_BARE = {"hidden", "selected", "checked", "open", "required", "disabled", "formnovalidate", "autofocus"}
_ADDRESSES = {"href", "src", "srcset", "action", "formaction", "data-events", "data-state"}
_RAW = re.compile(f"(?![\n\t])[{HIDDEN}]")


@cache
def vocabulary() -> tuple[frozenset[str], frozenset[str]]:
    """The elements and the attributes that the templates name: a page has no others."""
    text = "\n".join(file.read_text() for folder in _TEMPLATES for file in folder.glob("*.html"))
    names = {name.lower() for name in re.findall(r"([a-zA-Z0-9-]+)=\"", text)}
    return frozenset(_TAG.findall(text)) | {"mark", "time"}, frozenset(names) | _BARE | {"datetime"}


class PageReader(HTMLParser):
    """Reads a page, and notes what a text from outside has made of it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.elements = 0
        self._inside = ""
        if _RAW.search(html):
            self.wrong.append("a character that nobody sees")
        if PRODUCT in html:
            self.wrong.append("a template that was run")
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        elements, names = vocabulary()
        self.elements += 1
        self._inside = tag if tag in ("script", "style") else ""
        if tag not in elements:
            self.wrong.append(f"an element {tag}")
        for name, value in attrs:
            given = value or ""
            if name not in names or name.startswith("on") or name == "style" or MARK in name:
                self.wrong.append(f"an attribute {name[:60]} of {tag}")
            if name in ("class", "id", "for", "rel", "type", "target", "method", "role") and MARK in given:
                self.wrong.append(f"{name} of {tag}: {given[:60]}")
            # A row and a finding have their state there, and a task the address of its own.
            is_address = name in _ADDRESSES and (name != "data-state" or tag == "div")
            if is_address and not _is_ours(tag, given):
                self.wrong.append(f"{name} of {tag}: {given[:80]}")
        if tag == "meta" and dict(attrs).get("http-equiv") and dict(attrs) != {"http-equiv": "refresh", "content": "3"}:
            self.wrong.append(f"meta: {attrs}")

    def handle_data(self, data: str) -> None:
        if self._inside and data.strip():
            self.wrong.append(f"inside {self._inside}: {data[:60]}")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"a comment: {data[:60]}")

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"a declaration: {data[:60]}")

    def handle_pi(self, data: str) -> None:
        self.wrong.append(f"an instruction: {data[:60]}")


def _is_ours(tag: str, address: str) -> bool:
    """Whether an address is one of the page's own, or a link that a person follows to a record on the web."""
    if tag == "a" and address.startswith(("http://", "https://")):
        try:
            return bool(urlsplit(address).hostname) and not re.search(r"[\s<>\"'\x00-\x20]", address)
        except ValueError:
            return False
    return address.startswith(("#", "?")) or (address.startswith("/") and not address.startswith(("//", "/\\")))
