"""What was judged is kept, right or wrong: by which record, in which run; who was not looked at is not known."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings

from kgcheck import Workspace
from kgcheck.audit import judging
from kgcheck.audit.plan import Piece
from kgcheck.audit.run import Audit
from kgcheck.audit.verified_facts import verified_of
from kgcheck.errors import LedgerError, UnknownName, UsageError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.verified import KEPT_TYPES, Verified, VerifiedFiles, VerifiedReader, _File
from kgcheck.model import CheckTask, CheckType, Outcome, Ref, Stance, Tally
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Schema
from kgcheck.questions.resolver import NameResolver
from kgcheck.settings import Settings
from tests.integration.test_plain import ENDS
from tests.integration.test_resume import BrittleLedger, CutOff
from tests.support import quick_of
from tests.support.audits import (
    LEDGER,
    Audited,
    Demo,
    MemoryStore,
    audited,
    comparable,
    core_demo,
    demo,
    demo_audit,
    demo_audited,
    kgcheck,
)
from tests.support.facts import SCHEMA, Facts, triple, verdicts_together
from tests.support.snapshots import crowded_snapshots

ACTS_ON = SCHEMA.pattern("Protein", "ACTS_ON", "Protein")


@pytest.fixture(scope="module")
def audit() -> tuple[Path, Audited]:
    """An audit of the demo, and its ledger."""
    return demo_audit() / LEDGER, demo_audited()


@pytest.fixture(scope="module")
def reader(audit: tuple[Path, Audited]) -> Iterator[VerifiedReader]:
    with Ledger(audit[0], create=False) as ledger:
        yield VerifiedReader(ledger, VerifiedFiles.of(ledger, Path("unused")))


def edge(head: str, tail: str) -> CheckTask:
    return triple(f"Protein {head}", "ACTS_ON", f"Protein {tail}")


def proteins(*pairs: tuple[str, str], name: str = "memory") -> MemoryStore:
    nodes = [{"id": i} for i in sorted({i for pair in pairs for i in pair})]
    return MemoryStore({"Protein": nodes}, {str(ACTS_ON): [{"head": h, "tail": t} for h, t in pairs]}, name=name)


def network(folder: Path, release: str, *pairs: tuple[str, str]) -> Path:
    facts = Facts()
    facts.release("uniprot", complete=True).entities("Protein", "P10001", "P10002", "P10003")
    stated = facts.release("string", release).covers("ACTS_ON", "P10001", "P10002", "P10003")
    for number, (head, tail) in enumerate(pairs):
        stated.link("ACTS_ON", head, tail, 0.9, record=f"S:{number}")
    return facts.build(folder)


def asked(ledger: Path, task: CheckTask, store: str | None = None) -> Verified | None:
    with Ledger(ledger, create=False) as kept:
        return VerifiedReader(kept, VerifiedFiles.of(kept, Path("unused")), store).of(task)


def rows_kept(ledger: Path, run: str) -> list[tuple[object, ...]]:
    """Rows of all tasks that a run has judged, each with the file of its piece."""
    with Ledger(ledger, create=False) as kept:
        files = VerifiedFiles.of(kept, Path("unused")).of_run(run) / "*.parquet"
    with duckdb.connect() as db:
        read = f"read_parquet('{files}', union_by_name := true, filename := true)"
        return db.execute(f"SELECT parse_filename(filename), * EXCLUDE (filename) FROM {read} ORDER BY ALL").fetchall()


@pytest.mark.parametrize("graph", quick_of([core_demo, demo], core_demo))
def test_small_units_are_judged_together_as_they_are_alone(
    graph: Callable[[], Demo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    tallies = judging.tallies

    def counted(db: duckdb.DuckDBPyConnection, pieces: Sequence[Piece]) -> list[list[Tally]]:
        counts.append(len(pieces))
        return tallies(db, pieces)

    def judged(name: str) -> tuple[Audited, list[tuple[object, ...]]]:
        with EmbeddedStore(graph().store, SCHEMA) as store:
            made = audited(store, tmp_path / name, graph().reference, types=(CheckType.TRIPLE,))
        return made, rows_kept(tmp_path / name, made.run.id)

    monkeypatch.setattr(judging, "tallies", counted)
    together, kept = judged("together.sqlite")
    assert max(counts) >= 2
    counts.clear()
    # Units of plainly supported edges alone have no tasks.
    monkeypatch.setattr("kgcheck.audit.worker.TASKS_TOGETHER", -1)
    alone, kept_alone = judged("alone.sqlite")
    assert max(counts) == 1

    assert comparable(together) == comparable(alone)
    assert kept == kept_alone
    assert len({file for file, *_ in kept}) > 3


@pytest.mark.slow
def test_every_finding_is_there_as_it_is_in_the_ledger(audit: tuple[Path, Audited], reader: VerifiedReader) -> None:
    checked = 0
    for finding in audit[1].findings:
        found = reader.of(finding.task)
        if finding.task.type not in KEPT_TYPES:
            assert found is None
            continue
        assert found is not None
        verdict = finding.verdict
        assert (found.outcome, found.reason, found.confidence) == (verdict.outcome, verdict.reason, verdict.confidence)
        stated = {(e.source, e.release, e.record) for e in verdict.evidence}
        assert (found.source, found.release, found.record) in stated
        assert (found.run, found.at) == (audit[1].run.id, audit[1].run.started)
        checked += 1
    assert checked > 50


def test_as_many_tasks_are_kept_as_were_counted(audit: tuple[Path, Audited]) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    for tally in audit[1].tallies:
        if tally.type in KEPT_TYPES:
            counted[f"{tally.type.value} {tally.target}", tally.outcome.value] += tally.count
    kept: Counter[tuple[str, str]] = Counter()
    with Ledger(audit[0]) as ledger, duckdb.connect() as db:
        files = VerifiedFiles.of(ledger, Path("unused"))
        for piece in ledger.done(audit[1].run):
            for path in files.paths(audit[1].run.id, piece):
                if path.exists():
                    same = db.execute(
                        "SELECT decode(value) FROM parquet_kv_metadata($path) WHERE decode(key) = 'kgcheck'",
                        {"path": str(path)},
                    ).fetchall()[0][0]
                    outcome = f"coalesce(json_extract_string($same, '$.outcome'), {_column(db, path)})"
                    rows = db.execute(
                        f"""
                        SELECT {outcome}, count(DISTINCT (head, {_column(db, path, "tail")}))
                        FROM read_parquet($path) GROUP BY ALL
                        """,
                        {"path": str(path), "same": same},
                    ).fetchall()
                    kept.update({(piece.rpartition(" #")[0], outcome): count for outcome, count in rows})

    assert kept == counted


def _column(db: duckdb.DuckDBPyConnection, path: Path, name: str = "outcome") -> str:
    names = {row[0] for row in db.execute(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()}
    return name if name in names else "NULL"


@pytest.mark.slow
def test_plainly_supported_edges_have_their_own_record(audit: tuple[Path, Audited], reader: VerifiedReader) -> None:
    asked_about = 0
    with EmbeddedStore(demo().store, SCHEMA) as store, SnapshotSource(demo().reference, SCHEMA, Settings()) as source:
        for pattern in SCHEMA.relations:
            for table in store.scan_edges(pattern.ends_alone):
                for head, tail in sorted(set(zip(*table.select(["head", "tail"]).to_pydict().values(), strict=True)))[
                    :6
                ]:
                    task = triple(f"{pattern.head} {head}", pattern.type, f"{pattern.tail} {tail}")
                    found = reader.of(task)
                    assert found is not None
                    if found.outcome is Outcome.SUPPORTED:
                        evidence = source.observe(task)[0]
                        stated = {(e.source, e.release, e.record) for e in evidence if e.stance is Stance.SUPPORTS}
                        assert (found.source, found.release, found.record) in stated
                        asked_about += 1
    assert asked_about > 10


@pytest.mark.parametrize("records", [None, [None, "S:1", None]], ids=["no column", "some"])
def test_a_record_that_is_made_of_both_ids_is_left_out(tmp_path: Path, records: list[str | None] | None) -> None:
    path = tmp_path / "one.parquet"
    rows = {"head": ["a", "b", "b"], "tail": ["x", "x", "y"]} | ({"record": records} if records else {})
    VerifiedFiles(tmp_path).write(path, pa.table(rows).slice, 3, {"outcome": "supported", "record_of_ends": True})

    file = _File(path)
    found = [row and row["record"] for row in (file.row("a", "x"), file.row("b", "x"), file.row("b", "y"))]
    assert found == ["a x", "S:1" if records else "b x", "b y"]
    assert file.row("a", "y") is None


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(crowded_snapshots())
def test_how_sure_it_is_of_an_edge_is_what_its_own_evidence_gives(
    tmp_path_factory: pytest.TempPathFactory, crowd: tuple[str, Facts]
) -> None:
    assert_own_confidences(tmp_path_factory.mktemp("generated"), *crowd)


def assert_own_confidences(folder: Path, relation: str, facts: Facts) -> None:
    """Of every edge that an audit looked at, the kept confidence is that of its verdict, or it was not worked out."""
    snapshot = facts.build(folder)
    for pattern in SCHEMA.patterns(relation):
        if pattern.head not in ENDS or pattern.tail not in ENDS:
            continue
        nodes = {label: [{"id": i} for i in ENDS[label]] for label in (pattern.head, pattern.tail)}
        edges = [{"head": h, "tail": t} for h in ENDS[pattern.head] for t in ENDS[pattern.tail]]
        tasks = [triple(f"{pattern.head} {e['head']}", relation, f"{pattern.tail} {e['tail']}") for e in edges]
        audited(MemoryStore(nodes, {str(pattern): edges}), folder / "l", snapshot, types=(CheckType.TRIPLE,))
        for task, verdict in zip(tasks, verdicts_together(snapshot, tasks), strict=True):
            found = asked(folder / "l", task)
            assert found
            assert (found.outcome, found.reason) == (verdict.outcome, verdict.reason)
            event(f"{found.outcome.value}, {'not worked out' if found.confidence is None else 'known'}")
            if found.confidence is None:
                assert found.outcome is Outcome.SUPPORTED
            else:
                assert found.confidence == verdict.confidence, task


def test_edges_of_one_link_are_as_sure_as_its_score(tmp_path: Path) -> None:
    facts = Facts()
    facts.release("uniprot", complete=True).entities("Protein", "P10001", "P10002", "P10003", "P10004")
    stated = facts.release("string", "2025").covers("ACTS_ON", "P10001", "P10002", "P10003", "P10004")
    stated.link("ACTS_ON", "P10001", "P10002", 0.9, record="S:1").link("ACTS_ON", "P10001", "P10003", 0.5, record="S:2")
    stated.link("ACTS_ON", "P10002", "P10003", 0.7, record="S:3").link("ACTS_ON", "P10002", "P10003", 0.6, record="S:4")
    pairs = [("P10001", "P10002"), ("P10001", "P10003"), ("P10002", "P10003")]
    audited(proteins(*pairs), tmp_path / "l", facts.build(tmp_path / "s"), types=(CheckType.TRIPLE,))

    found = [asked(tmp_path / "l", edge(*pair)) for pair in pairs]
    assert [verified and verified.confidence for verified in found] == [0.9, 0.5, None]


def test_who_was_not_looked_at_is_not_known(audit: tuple[Path, Audited], reader: VerifiedReader) -> None:
    assert reader.of(edge("P99999", "P00001")) is None
    assert reader.of(CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="Protein", id="Q" * 512))) is None
    assert asked(audit[0], audit[1].findings[0].task, "another store") is None


@pytest.mark.slow
def test_the_newest_run_that_looked_wins(tmp_path: Path) -> None:
    first = network(tmp_path / "1", "2025", ("P10001", "P10002"), ("P10001", "P10003"))
    second = network(tmp_path / "2", "2026", ("P10001", "P10003"))
    store, ledger = proteins(("P10001", "P10002"), ("P10001", "P10003")), tmp_path / "ledger.sqlite"

    before = audited(store, ledger, first, types=(CheckType.TRIPLE,)).run
    assert asked(ledger, edge("P10001", "P10002")) == Verified(
        outcome=Outcome.SUPPORTED,
        reason="confirmed",
        confidence=0.9,
        source="string",
        release="2025",
        record="S:0",
        run=before.id,
        at=before.started,
    )
    after = audited(store, ledger, second, types=(CheckType.TRIPLE,), ids=("P10002",)).run

    gone, kept = asked(ledger, edge("P10001", "P10002")), asked(ledger, edge("P10001", "P10003"))
    assert gone
    assert (gone.outcome, gone.run, gone.release) == (Outcome.REFUTED, after.id, "2026")
    assert kept
    assert (kept.outcome, kept.run, kept.record) == (Outcome.SUPPORTED, before.id, "S:1")


def test_a_piece_that_is_not_in_the_ledger_is_not_read(tmp_path: Path) -> None:
    snapshot, ledger = network(tmp_path / "1", "2025", ("P10001", "P10002")), tmp_path / "ledger.sqlite"
    store = proteins(("P10001", "P10002"), ("P10001", "P10003"))
    with BrittleLedger(ledger, 0) as brittle, pytest.raises(CutOff):
        Audit(store, snapshot, brittle, Settings()).start(AuditOptions(types=(CheckType.TRIPLE,)))
    with Ledger(ledger) as kept:
        files, run = VerifiedFiles.of(kept, tmp_path), kept.cut_off()
        reader = VerifiedReader(kept, files)
        assert list(files.of_run(run.id).glob("*.parquet"))
        assert reader.of(edge("P10001", "P10002")) is None

        Audit(store, snapshot, kept, Settings()).resume(run)

        assert not list(files.of_run(run.id).glob("*.partial"))
        found = reader.of(edge("P10001", "P10002"))
        assert found
        assert found.outcome is Outcome.SUPPORTED


def test_a_run_is_removed_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    snapshot, ledger = network(tmp_path / "1", "2025", ("P10001", "P10002")), tmp_path / "ledger.sqlite"
    run = audited(proteins(("P10001", "P10002")), ledger, snapshot, types=(CheckType.TRIPLE,)).run
    with Ledger(ledger) as kept:
        files = VerifiedFiles.of(kept, tmp_path)
        for path in files.of_run(run.id).glob("*.parquet"):
            path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(LedgerError, match="cannot be read"):
            VerifiedReader(kept, files).of(edge("P10001", "P10002"))
        files.remove(run.id)
        assert VerifiedReader(kept, files).of(edge("P10001", "P10002")) is None
        with pytest.raises(LedgerError, match="no id of a run"):
            files.remove("../elsewhere")


def test_nothing_is_kept_where_that_is_not_wanted(tmp_path: Path) -> None:
    snapshot = network(tmp_path / "1", "2025", ("P10001", "P10002"))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        audit = Audit(proteins(("P10001", "P10002")), snapshot, ledger, Settings(keep_verified=False))
        audit.start(AuditOptions(types=(CheckType.TRIPLE,)))

    assert not (tmp_path / "ledger.sqlite.verified").exists()


def test_words_and_command(audit: tuple[Path, Audited]) -> None:
    finding = next(
        f for f in audit[1].findings if f.task.type is CheckType.TRIPLE and f.verdict.outcome is Outcome.REFUTED
    )
    place = ("--store", demo().store, "--ledger", audit[0])
    with Workspace(store=demo().store, ledger=audit[0]) as workspace:
        found = workspace.verified(str(finding.task))
        assert found == workspace.verified(finding.task)
        assert found
        assert found.reason is finding.verdict.reason
        with pytest.raises(UsageError, match="is no edge"):
            workspace.verified("no such words")

    shown = kgcheck("explain", str(finding.task), *place)
    assert shown.code == 1
    assert finding.verdict.reason.value in shown.out
    unknown = kgcheck("explain", "P99999 ACTS_ON P00001", *place, "--format", "json")
    assert (unknown.code, unknown.out.strip()) == (3, "null")
    assert kgcheck("explain", "P99999 P00001", *place).refuses("'P99999 P00001' is no edge")


def test_ids_have_the_form_that_a_profile_means(audit: tuple[Path, Audited]) -> None:
    # Python's own engine cannot read the first, and would take ages for the second.
    for pattern in (r"\pL[0-9]+", "(A+)+[0-9]?"):
        stated = SCHEMA.model_dump(by_alias=True)
        next(one for one in stated["labels"] if one["name"] == "Protein")["id_pattern"] = pattern
        schema = Schema.model_validate(stated)
        with Ledger(audit[0], create=False) as ledger:
            reader = VerifiedReader(ledger, VerifiedFiles.of(ledger, Path("unused")))
            with pytest.raises(UnknownName, match="there is no Protein called"):
                verified_of(reader, NameResolver(schema, None), f"{'A' * 40}! ACTS_ON P04637")
