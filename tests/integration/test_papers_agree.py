"""Papers in audits and in checks: both ways agree, silence decides nothing, and a killed audit asks nothing twice."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from kgcheck.agents.toolbox import WithLiterature
from kgcheck.audit.papers import Papers
from kgcheck.audit.run import Audit
from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader
from kgcheck.literature.names import StoreNames
from kgcheck.literature.search import LiteratureIndex
from kgcheck.model import CheckTask, CheckType, Evidence, Ref, Stance, Verdict
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support import ROOT
from tests.support.audits import Audited, comparable, demo, of_run
from tests.support.literature import build_index, judges

NOTES = ROOT / "corpus" / "demo" / "notes.jsonl"
IDS = ("P00441", "P15056", "O00206")
TWO = IDS[:2]

SAYS = ("SOD1 is associated with {d}. Mutations of SOD1 cause {d}.", "We found that SOD1 is associated with {d}.")
DENIES = ("SOD1 is not associated with {d}. There was no association of SOD1 with {d}.",)
SILENT = ("SOD1 was measured in mice.", "Patients with {d} slept well.", "Bones grow at night.")
DISEASES = ("amyotrophic lateral sclerosis", "neurodegenerative disease", "cancer")

texts = st.builds(
    lambda text, disease, retracted: (text.format(d=disease), retracted),
    st.sampled_from(SAYS + DENIES + SILENT),
    st.sampled_from(DISEASES),
    st.booleans(),
)
quiet = st.builds(
    lambda text, disease: (text.format(d=disease), False), st.sampled_from(SILENT), st.sampled_from(DISEASES)
)


def index_of(folder: Path, told: Sequence[tuple[str, bool]]) -> Path:
    documents = [
        Document(ids=(f"pmid:{n}",), title=f"Paper {n}", abstract=f"{text} This is paper {n}.", retracted=gone)
        for n, (text, gone) in enumerate(told, 1)
    ]
    return build_index(folder, documents)


@cache
def tasks() -> tuple[CheckTask, ...]:
    """Edges of two proteins in the demo with diseases."""
    with EmbeddedStore(demo().store, load_schema()) as store, Ledger(demo().store.parent / "tasks.sqlite") as ledger:
        options = AuditOptions(types=(CheckType.TRIPLE,), ids=TWO, relations=("ASSOCIATED_WITH",), keep_all=True)
        run = Audit(store, None, ledger, Settings()).start(options)
        return tuple(f.task for f in ledger.findings(run) if f.task.object and f.task.object.label == "Disease")


@contextmanager
def reader_of(folder: Path) -> Iterator[TripleReader]:
    with EmbeddedStore(demo().store, load_schema()) as store, LiteratureIndex(folder) as index:
        yield TripleReader(index, judges(), StoreNames(store), load_schema())


def audited(folder: Path, reference: Path | None) -> dict[str, Verdict]:
    """Verdicts of the tasks by an audit with papers."""
    schema, settings = load_schema(), Settings()
    with (
        reader_of(folder) as reader,
        EmbeddedStore(demo().store, schema) as store,
        Ledger(folder / "ledger.sqlite") as ledger,
    ):
        options = AuditOptions(types=(CheckType.TRIPLE,), ids=TWO, relations=("ASSOCIATED_WITH",), keep_all=True)
        run = Audit(store, reference, ledger, settings, papers=Papers(reader)).start(options)
        found = {str(f.task): f.verdict for f in ledger.findings(run)}
    return {str(task): found[str(task)] for task in tasks()}


def checked(folder: Path, reference: Path | None) -> dict[str, Verdict]:
    """Verdicts of the same tasks by what a check asks."""
    with reader_of(folder) as reader, SnapshotSource(reference, load_schema(), Settings()) as source:
        asking = WithLiterature(source, reader)
        return {str(task): verdict(task.type, *asking.observe(task)) for task in tasks()}


@cache
def checked_alone(reference: Path | None) -> dict[str, Verdict]:
    """Verdicts of the same tasks where no papers are asked."""
    with SnapshotSource(reference, load_schema(), Settings()) as source:
        return {str(task): verdict(task.type, *source.observe(task)) for task in tasks()}


def told(found: Verdict) -> tuple[object, ...]:
    """All of a verdict that must be the same, whoever asked."""

    def row(e: Evidence) -> str:
        return repr(
            (e.source, e.release, e.record, e.stance, e.world, e.tier, e.about, e.value, e.quote, e.score, e.url)
        )

    return found.outcome, found.reason, found.confidence, found.missing, sorted(map(row, found.evidence))


@pytest.mark.slow
@given(papers=st.lists(texts, max_size=5), referenced=st.booleans())
@examples(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_audit_and_a_check_agree_on_what_papers_say(papers: list[tuple[str, bool]], referenced: bool) -> None:
    reference = demo().reference if referenced else None
    with tempfile.TemporaryDirectory() as folder:
        index = index_of(Path(folder) / "index", papers)
        by_audit, by_check = audited(index, reference), checked(index, reference)

    assert len(by_check) >= 3
    assert {name: told(v) for name, v in by_audit.items()} == {name: told(v) for name, v in by_check.items()}
    for found in by_check.values():
        said = [e for e in found.evidence if e.source == "literature"]
        assert said, "papers were looked at"
        for e in said:
            assert e.quote is None or any(e.quote in text for text, _ in papers)


@pytest.mark.slow
@given(papers=st.lists(quiet, max_size=4), referenced=st.booleans())
@examples(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_silent_papers_change_no_verdict_and_say_how_many_were_looked_at(
    papers: list[tuple[str, bool]], referenced: bool
) -> None:
    reference = demo().reference if referenced else None
    alone = checked_alone(reference)
    with tempfile.TemporaryDirectory() as folder:
        by_audit = audited(index_of(Path(folder) / "index", papers), reference)

    assert by_audit.keys() == alone.keys()
    for name, found in by_audit.items():
        assert (found.outcome, found.reason, found.confidence) == (
            alone[name].outcome,
            alone[name].reason,
            alone[name].confidence,
        )
        (silent,) = [e for e in found.evidence if e.source == "literature"]
        assert (silent.stance, silent.about) == (Stance.SILENT, "search")
        assert re.match(rf"\d of {len(papers)} papers? looked at: ", str(silent.value))


# Killed audits

CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from sqlalchemy import event
from sqlalchemy.engine import Engine
from kgcheck.ledger.ledger import Ledger
from kgcheck.audit.papers import Papers
from kgcheck.options import AuditOptions
from kgcheck.audit.run import Audit
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.profile.schema import load_schema
from kgcheck.literature.names import StoreNames
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.edge_reader import TripleReader
from kgcheck.model import CheckType
from kgcheck.settings import Settings
from tests.support.literature import judges

store, reference, index, path = map(Path, sys.argv[2:6])
left, limit = [int(sys.argv[6])], int(sys.argv[7])

def count(*_):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

with Ledger(path) as ledger, EmbeddedStore(store, load_schema()) as graph, LiteratureIndex(index) as papers:
    event.listen(Engine, "after_cursor_execute", count)
    reader = TripleReader(papers, judges(), StoreNames(graph), load_schema())
    audit = Audit(graph, reference, ledger, Settings(), papers=Papers(reader, limit))
    options = AuditOptions(types=(CheckType.TRIPLE,), ids=IDS, piece_tasks=5, keep_all=True, literature=str(index))
    if ledger.runs():
        audit.resume(ledger.runs()[0])
    else:
        audit.start(options)
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes") / "index"
    with Corpus(folder, create=True) as corpus:
        corpus.add([NOTES])
        corpus.build(None)
    return folder


def child(index: Path, ledger: Path, statements: int, limit: int) -> int:
    """Audit the demo with papers, or go on with it, in a process killed after so many SQL statements on its ledger."""
    where = (ROOT, demo().store, demo().reference, index, ledger, statements, limit)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD).replace("IDS", repr(IDS)), *map(str, where)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def undisturbed(index: Path, ledger: Path, limit: int) -> Audited:
    with reader_of(index) as reader, EmbeddedStore(demo().store, load_schema()) as store, Ledger(ledger) as kept:
        options = AuditOptions(types=(CheckType.TRIPLE,), ids=IDS, piece_tasks=5, keep_all=True, literature=str(index))
        run = Audit(store, demo().reference, kept, Settings(), papers=Papers(reader, limit)).start(options)
        return of_run(kept, run)


def spoken(audit: Audited) -> list[Evidence]:
    return [e for f in audit.findings for e in f.verdict.evidence if e.source == "literature"]


@pytest.mark.slow
def test_a_killed_audit_with_papers_ends_as_if_nothing_had_happened(index: Path, tmp_path: Path) -> None:
    # So few edges may be asked about that a resumed run which counted anew would ask about others, too.
    limit = 40
    whole, ledger, kills = undisturbed(index, tmp_path / "whole.sqlite", limit), tmp_path / "killed.sqlite", 0
    while child(index, ledger, 40 + 30 * kills, limit) != 0:
        kills += 1
    assert kills >= 2
    with Ledger(ledger) as kept:
        (run,) = kept.runs()
        found = of_run(kept, run)

    assert comparable(found) == comparable(whole)
    assert max(Counter(f.fingerprint for f in found.findings).values()) == 1
    assert len({f.fingerprint for f in found.findings for e in f.verdict.evidence if e.source == "literature"}) <= limit
    notes = NOTES.read_text(encoding="utf-8")
    said = [e for e in spoken(found) if e.stance is not Stance.SILENT]
    assert said
    assert all(e.quote and e.quote in notes for e in said)


def test_edges_without_words_are_not_asked(index: Path) -> None:
    task = CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="Protein", id="P00441"))
    with reader_of(index) as reader, SnapshotSource(None, load_schema(), Settings()) as source:
        evidence, _ = WithLiterature(source, reader).observe(task)

    assert [e for e in evidence if e.source == "literature"] == []
