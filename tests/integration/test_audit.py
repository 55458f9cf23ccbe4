"""``kgcheck audit`` over the demo: filters, samples, limits, forms, exit codes and bad input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.plan import make_plan
from kgcheck.audit.tasks import TaskSelection
from kgcheck.errors import UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckType, Outcome
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import load_schema
from tests.support import examples, quick_of
from tests.support.audits import Audited, MemoryStore, Said, audited, comparable, demo, demo_audit, kgcheck, of_run
from tests.support.facts import Facts

KEYS = (
    "run fingerprint type subject relation object attribute rule value outcome graph reason confidence evidence "
    "missing note proposed_change cause state"
).split()
EVIDENCE_KEYS = {
    *("source", "release", "record", "url", "retrieved_at", "pinned_at", "stance", "world", "tier"),
    *("reason", "value", "quote", "score", "about", "replacements", "candidates", "weight"),
}


@pytest.fixture(scope="module")
def store() -> Iterator[EmbeddedStore]:
    with EmbeddedStore(demo().store, load_schema()) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain() -> Path:
    """A folder with the ledger of an audit of everything."""
    return demo_audit()


@pytest.fixture(scope="module")
def everything() -> Path:
    """The same, with a finding for every task."""
    return demo_audit("--keep-all")


@pytest.fixture(scope="module")
def genes() -> Path:
    """The same, of the genes and their edges alone."""
    return demo_audit("--label", "Gene", "--keep-all")


def reported(folder: Path, *arguments: object) -> list[dict[str, Any]]:
    return rows(kgcheck("report", "--format", "jsonl", *arguments, cwd=folder))


def audit(tmp_path: Path, *arguments: object, reference: bool = True) -> Said:
    given_reference = ("--reference", demo().reference) if reference else ()
    return kgcheck("audit", "--store", demo().store, *given_reference, *arguments, cwd=tmp_path)


def rows(said: Said) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.out.splitlines()]


def kept(tmp_path: Path) -> Audited:
    with Ledger(tmp_path / ".kgcheck/ledger.sqlite", create=False) as ledger:
        return of_run(ledger, ledger.run("latest"))


def checked(tmp_path: Path) -> int:
    return sum(t.count for t in kept(tmp_path).tallies if t.type is not CheckType.STRUCTURE)


# --- filters


@pytest.fixture(scope="module")
def few() -> MemoryStore:
    nodes = {"Gene": ["TP53", "EGFR"], "Protein": ["P04637", "P00533"], "Disease": ["DOID:1", "DOID:4"]}
    edges = {"Gene TRANSLATED_INTO Protein": ("TP53", "P04637"), "Disease HAS_PARENT Disease": ("DOID:1", "DOID:4")}
    return MemoryStore(
        {label: [{"id": i} for i in ids] for label, ids in nodes.items()},
        {pattern: [{"head": head, "tail": tail}] for pattern, (head, tail) in edges.items()},
    )


TRIPLES = ("triple", "Gene TRANSLATED_INTO Protein"), ("triple", "Disease HAS_PARENT Disease")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"types": (CheckType.TRIPLE,)}, {*TRIPLES}),
        ({"types": (CheckType.EXISTENCE, CheckType.TRIPLE), "labels": ("Gene",)}, {("existence", "Gene"), TRIPLES[0]}),
        ({"relations": ("HAS_PARENT",), "types": (CheckType.TRIPLE, CheckType.STRUCTURE)}, {TRIPLES[1]}),
        (
            {"types": (CheckType.EXISTENCE, CheckType.TRIPLE), "ids": ("P04637",)},
            {("existence", "Protein"), TRIPLES[0]},
        ),
    ],
)
def test_a_filter_chooses_what_is_checked(
    few: MemoryStore, tmp_path: Path, options: dict[str, Any], expected: set[tuple[str, str]]
) -> None:
    made = audited(few, tmp_path / "ledger.sqlite", **options)

    assert {t.type for t in made.tallies} <= set(options["types"])
    assert {(t.type.value, str(t.target)) for t in made.tallies if t.type is not CheckType.STRUCTURE} == expected
    if "ids" in options:
        assert sum(t.count for t in made.tallies) == 2


def test_ids_choose_faults_of_structure(few: MemoryStore, tmp_path: Path) -> None:
    made = audited(few, tmp_path / "ledger.sqlite", types=(CheckType.STRUCTURE,), ids=("EGFR",))

    assert [(f.task.subject.id, f.verdict.reason.value) for f in made.findings] == [("EGFR", "orphan_node")]


def test_filters_narrow_each_other(tmp_path: Path) -> None:
    said = audit(tmp_path, "--type", "triple", "--label", "Gene", "--id", "O60502", "--format", "jsonl")

    (finding,) = rows(said)
    assert (finding["subject"]["id"], finding["object"]["id"]) == ("MGEA5", "O60502")
    assert checked(tmp_path) == 1

    # One of both has faults of other relations, the other one of other labels.
    both = ("--label", "Disease", "--id", "DOID:2478", "--id", "P17980")
    (finding,) = rows(audit(tmp_path, "--type", "triple", "--relation", "ASSOCIATED_WITH", *both, "--format", "jsonl"))
    assert (finding["subject"]["id"], finding["object"]["id"]) == ("P54253", "DOID:2478")
    assert checked(tmp_path) == 1


# --- samples


def sampled(store: EmbeddedStore, tmp_path: Path, **options: Any) -> set[str]:
    """Fingerprints of everything that was checked of genes."""
    asked = {"types": (CheckType.EXISTENCE, CheckType.TRIPLE), "keep_all": True, "labels": ("Gene",)} | options
    made = audited(store, tmp_path / "ledger.sqlite", demo().reference, **asked)
    return {f.fingerprint for f in made.findings}


@pytest.mark.slow
def test_a_sample_has_its_size_and_depends_on_its_seed(store: EmbeddedStore, tmp_path: Path) -> None:
    everything, one = sampled(store, tmp_path), sampled(store, tmp_path, sample=50, seed=1)

    assert len(one) == 50
    assert sampled(store, tmp_path, sample=50, seed=1) == one
    assert sampled(store, tmp_path, sample=50, seed=2) != one
    assert one < sampled(store, tmp_path, sample=200, seed=1) < everything
    assert sampled(store, tmp_path, sample=len(everything)) == everything
    assert len(sampled(store, tmp_path, sample=2, labels=(), ids=("O60502",))) == 2


@pytest.mark.slow
def test_a_sample_is_spread_over_all_kinds_of_tasks_and_structure_is_whole(tmp_path: Path) -> None:
    audit(tmp_path, "--sample", 400)

    assert {t.type for t in kept(tmp_path).tallies} >= {CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE}
    assert checked(tmp_path) == 400
    assert sum(t.count for t in kept(tmp_path).tallies) == 415


# --- what is kept and shown


@pytest.mark.slow
def test_keep_all_keeps_a_finding_for_every_task(plain: Path, everything: Path) -> None:
    few, made = kept(plain), kept(everything)

    assert len(few.findings) == 93
    assert len(made.findings) == sum(t.count for t in made.tallies)
    assert {f.verdict.outcome for f in made.findings} == set(Outcome)
    assert made.tallies == few.tallies
    assert set(comparable(few)[0]) < set(comparable(made)[0])


@pytest.mark.slow
def test_limit_shows_fewer_and_keeps_all(genes: Path) -> None:
    every = len(reported(genes))

    assert every > 100
    assert [len(reported(genes, "--limit", most)) for most in (0, every - 1)] == [0, every - 1]


def test_the_worst_come_first(genes: Path) -> None:
    outcomes = [f["outcome"] for f in reported(genes)]

    assert list(dict.fromkeys(outcomes)) == ["refuted", "insufficient", "unavailable", "supported"]


def test_a_finding_has_exactly_the_documented_keys(genes: Path) -> None:
    found = reported(genes)

    assert {tuple(f) for f in found} == {tuple(KEYS)}
    assert {key for f in found for e in f["evidence"] for key in e} <= EVIDENCE_KEYS
    for f in found:
        assert {"label", "id"} <= set(f["subject"]) <= {"label", "id", "name"}
        assert f["object"] is None or {"label", "id"} <= set(f["object"]) <= {"label", "id", "name"}
        assert len(f["fingerprint"]) == 16
        assert 0 <= f["confidence"] <= 1


@pytest.mark.slow
def test_json_holds_the_run_its_tallies_and_findings(tmp_path: Path) -> None:
    said = audit(tmp_path, "--type", "potential", "--format", "json")

    held = json.loads(said.out)
    assert set(held) == {"run", "tallies", "findings", "compared"}
    assert len(held["findings"]) == 4
    assert held["run"]["id"] in said.err
    assert Path(held["run"]["store"]) == demo().store
    assert Path(held["run"]["reference"]) == demo().reference
    assert len(held["run"]["releases"]) == 34


@pytest.mark.slow
@pytest.mark.parametrize("format_", quick_of(["table", "json", "jsonl", "markdown", "html"], "json"))
def test_output_goes_to_a_file_in_every_form(tmp_path: Path, format_: str) -> None:
    said = audit(tmp_path, "--type", "existence", "--id", "B4DFC2", "--format", format_, "--out", "new/report")

    assert (said.code, said.out) == (1, "")
    text = (tmp_path / "new/report").read_text(encoding="utf-8")
    assert "B4DFC2" in text
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new/report"]
    if format_ in ("json", "jsonl"):
        assert kgcheck("report", "--format", format_, cwd=tmp_path).out == text


@pytest.mark.slow
def test_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    assert audit(tmp_path, "--type", "existence", "--id", "P15056", "--out", "file/report").refuses("cannot write")
    assert (tmp_path / "file").read_text() == "mine"


# --- exit codes


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--type", "existence", "--label", "Protein", "--fail-on", "insufficient"), 1),
        pytest.param(("--type", "existence", "--fail-on", "never"), 3, marks=pytest.mark.slow),
        (("--type", "existence", "--label", "Disease", "--fail-on", "never"), 0),
        (("--type", "existence", "--id", "A0A286YF18"), 3),
        (("--type", "structure", "--label", "Gene"), 0),
        (("--type", "structure", "--label", "Gene", "--fail-on", "insufficient"), 1),
        pytest.param(("--type", "potential", "--relation", "TRANSLATED_INTO"), 0, marks=pytest.mark.slow),
    ],
)
def test_exit_code_tells_how_the_audit_ended(tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    said = audit(tmp_path, *arguments)

    assert said.code == code, said.err
    assert not said.err.startswith("kgcheck:")


@pytest.mark.slow
def test_without_a_snapshot_everything_but_structure_is_unavailable(tmp_path: Path) -> None:
    types = [a for kind in ("existence", "attribute", "triple", "potential") for a in ("--type", kind)]

    said = audit(tmp_path, *types, "--keep-all", "--format", "jsonl", reference=False)

    assert said.code == 3
    assert {f["outcome"] for f in rows(said)} == {"unavailable"}
    assert {f["reason"] for f in rows(said)} == {"reference_missing"}
    assert all(f["missing"] for f in rows(said))
    assert "warning: no reference snapshot" in said.err
    assert audit(tmp_path, "--type", "existence", "--type", "structure", reference=False).code == 1


# --- bad input


HOSTILE = [
    "P04637' OR 1=1 --",
    'P04637" ; DROP TABLE task; --',
    "`}) DETACH DELETE n //",
    "$id",
    "\\",
    "P04637\nMATCH (n) DETACH DELETE n",
    "",
    "\ufeffP04637",
    "P" * 5000,
    "\udcff",
]


@pytest.mark.parametrize("text", quick_of(HOSTILE, *HOSTILE[::8]))
@pytest.mark.parametrize("option", ["--id", "--label", "--relation"])
def test_hostile_names_are_refused_and_never_executed(tmp_path: Path, option: str, text: str) -> None:
    before = demo().store.read_bytes()

    said = audit(tmp_path, option, text)

    refusals = (
        "there is no ",
        f"{text!r} cannot be an id",
        r"\xff is not UTF-8",
        f"Invalid value for '{option}': String should have at ",
    )
    assert any(said.refuses(refusal) for refusal in refusals)
    assert demo().store.read_bytes() == before


@pytest.fixture(scope="module")
def copy(store: EmbeddedStore) -> Iterator[tuple[duckdb.DuckDBPyConnection, GraphCopy]]:
    with duckdb.connect() as db:
        yield db, GraphCopy(db, store)


@settings(max_examples=examples(30))
@given(text=st.text(min_size=1, max_size=40))
def test_no_text_is_taken_for_an_id(
    store: EmbeddedStore, copy: tuple[duckdb.DuckDBPyConnection, GraphCopy], text: str
) -> None:
    options = AuditOptions(types=(CheckType.EXISTENCE,), ids=(text,))
    units = make_plan(options, store.schema, store.counts())

    with pytest.raises(UsageError):
        TaskSelection(*copy, store.schema, options).check_ids(store, units)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--label", "Protien"), "there is no label 'Protien'", "did you mean Protein?"),
        (("--label", "gene"), "there is no label 'gene'", "did you mean Gene?"),
        (("--id", "P15O56"), "there is no node 'P15O56'", "P15056"),
        (("--id", "zzzzzzzz"), "there is no node 'zzzzzzzz'", "no id in the graph looks like it"),
        (("--type", "existence", "--id", "P15056", "--label", "Gene"), "there is no node 'P15056'", ""),
        (("--type", "existence", "--relation", "ACTS_ON"), "nothing to check: existence with these filters", "--label"),
        (("--reference", "none.duckdb"), "there is no snapshot at none.duckdb", "kgcheck reference build"),
        (("--reference", "notes.txt"), "notes.txt is not a reference snapshot", ""),
        (("--ledger", "notes.txt"), "notes.txt is not a ledger", ""),
    ],
)
def test_bad_input_is_one_clear_message_and_no_run(
    tmp_path: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    (tmp_path / "notes.txt").write_text("notes " * 100)

    said = audit(tmp_path, *arguments)

    assert said.refuses(message)
    assert hint in said.err
    assert (tmp_path / "notes.txt").read_text() == "notes " * 100
    path = tmp_path / ".kgcheck/ledger.sqlite"
    if path.exists():
        with Ledger(path) as ledger:
            assert ledger.runs() == []


@pytest.mark.slow
def test_an_edge_that_a_source_states_in_both_orders_is_missing_once(tmp_path: Path) -> None:
    nodes = {"Protein": [{"id": f"P1000{n}"} for n in range(1, 5)]}
    held = [{"head": "P10003", "tail": "P10004", "score": 0.9, "source": "STRING"}]
    string = (facts := Facts()).release("string", complete=True)
    for one, other in (("P10001", "P10002"), ("P10003", "P10004"), ("P10001", "P10003")):
        string.link("ACTS_ON", one, other, 0.9).link("ACTS_ON", other, one, 0.9)
    # Two proteins of STRING may have one accession.
    string.link("ACTS_ON", "P10001", "P10001", 0.9)
    store = MemoryStore(nodes, {"Protein ACTS_ON Protein": held})

    found = audited(store, tmp_path / "ledger", facts.build(tmp_path), types=(CheckType.POTENTIAL,)).findings

    told = {(f.task.subject.id, f.task.object.id if f.task.object else "", f.verdict.reason.value) for f in found}
    assert told == {("P10001", "P10002", "edge_missing"), ("P10001", "P10003", "edge_missing")}
    assert len(found) == 2
