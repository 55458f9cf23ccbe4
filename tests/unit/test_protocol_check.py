"""`kgcheck protocol check`: each remark where it is due and nowhere else; what fell, and what rests on it."""

import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.cli.protocol_commands import CHECK_FORMS
from kgcheck.errors import InputFormat
from kgcheck.ledger.verified import Verified
from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Outcome, Reason
from kgcheck.protocols.checking.check import CheckedProtocol, FactWorld, PaperStanding, StudyWorlds, check_protocol
from kgcheck.protocols.checking.order import StepFlow
from kgcheck.protocols.checking.remarks import CheckRules, StudyRemark, StudyState
from kgcheck.protocols.protocol import StepParameter, StepTool, StudyDataSet, StudyProtocol, read_protocol
from kgcheck.protocols.rendering import rendered_checks
from tests.support import ROOT
from tests.support.protocols import MADE, edge_task, fact, passage, protocol, step
from tests.support.spent import spent

LATER = MADE + timedelta(days=1)
EDGE = edge_task("P10001", "P10002")


def judged(outcome: Outcome, reason: Reason, **more: Any) -> Verified:
    return Verified(outcome=outcome, reason=reason, run="r2", **({"at": LATER, "source": "string"} | more))


def world(
    known: Mapping[str, Verified] | None = None,
    *,
    there: bool | None = True,
    change: Change | None = None,
    releases: Mapping[str, frozenset[str]] | None = None,
) -> FactWorld:
    judged_ = known or {}
    return FactWorld(lambda task: judged_.get(task.fingerprint), lambda _: there, lambda _: change, releases or {})


def checked(study: StudyProtocol, **worlds: Any) -> CheckedProtocol:
    return check_protocol(study, StudyWorlds(**worlds), name="protocol.json")


def kinds(found: CheckedProtocol, step_: str = "S1.1") -> list[str]:
    """Remarks of a step but for what it lacks."""
    return [r.remark.value for r in found.remarks if r.step == step_ and r.state is not StudyState.LACKING]


REFUTED, SILENT = (Outcome.REFUTED, Reason.EDGE_UNSUPPORTED), (Outcome.INSUFFICIENT, Reason.NOTHING_FOUND)
AWAY, RIGHT = (Outcome.UNAVAILABLE, Reason.SOURCE_UNAVAILABLE), (Outcome.SUPPORTED, Reason.CONFIRMED)


@pytest.mark.parametrize(
    ("before", "now", "there", "remark"),
    [
        (Outcome.SUPPORTED, RIGHT, True, "fact_verified"),
        (Outcome.SUPPORTED, RIGHT, None, "fact_verified"),
        (Outcome.SUPPORTED, RIGHT, False, "fact_gone"),
        (Outcome.SUPPORTED, None, False, "fact_gone"),
        (Outcome.SUPPORTED, REFUTED, False, "fact_refuted"),
        (Outcome.SUPPORTED, REFUTED, True, "fact_refuted"),
        (Outcome.SUPPORTED, SILENT, True, "fact_unverified"),
        (Outcome.SUPPORTED, AWAY, True, "fact_unavailable"),
        (Outcome.SUPPORTED, None, True, "fact_not_looked_since"),
        (Outcome.SUPPORTED, (Outcome.REFUTED, Reason.ENDPOINT_MERGED), True, "fact_id_outdated"),
        (Outcome.REFUTED, REFUTED, True, "fact_false"),
        (Outcome.INSUFFICIENT, REFUTED, True, "fact_false"),
        (Outcome.INSUFFICIENT, SILENT, True, "fact_undecided"),
        (Outcome.INSUFFICIENT, RIGHT, True, "fact_verified"),
        (None, None, True, "fact_not_looked"),
        (None, RIGHT, True, "fact_verified"),
    ],
)
def test_what_became_of_a_fact(
    before: Outcome | None, now: tuple[Outcome, Reason] | None, there: bool | None, remark: str
) -> None:
    study = protocol(step(1, facts=("F1",)), facts=(fact(1, EDGE, before),))
    found = checked(study, facts=world({EDGE.fingerprint: judged(*now)} if now else {}, there=there))

    assert kinds(found) == [remark]
    assert bool(found.fallen) == (CheckRules.shipped().remarks[StudyRemark(remark)].state is StudyState.FALLEN)
    assert found.exit_code("open") == (0 if remark == "fact_verified" else 1)
    assert found.exit_code("never") == (3 if remark == "fact_unavailable" else 0)


@pytest.mark.parametrize("now", [REFUTED, SILENT, AWAY])
def test_what_a_protocol_names_as_not_verified_alarms_nobody(now: tuple[Outcome, Reason]) -> None:
    def remarks(before: Outcome) -> list[str]:
        study = protocol(step(1), facts=(fact(1, EDGE, before),))
        found = checked(study, facts=world({EDGE.fingerprint: judged(*now)}))
        return [r.remark.value for r in found.remarks if r.about == "F1"]

    assert remarks(now[0]) == ["fact_as_stated"]
    assert remarks(Outcome.SUPPORTED) != ["fact_as_stated"]


def test_how_old_a_judgement_and_its_source_are() -> None:
    study = protocol(step(1, facts=("F1",)), facts=(fact(1, EDGE),))
    old = world({EDGE.fingerprint: judged(*REFUTED, at=MADE - timedelta(days=1))})
    assert kinds(checked(study, facts=old)) == ["fact_not_looked_since"]

    known = {EDGE.fingerprint: judged(*RIGHT, release="12.0")}
    same, newer = ({"string": frozenset({release})} for release in ("12.0", "12.5"))
    assert kinds(checked(study, facts=world(known, releases=same))) == ["fact_verified"]
    found = checked(study, facts=world(known, releases=newer))
    assert kinds(found) == ["fact_stale"]
    assert "string is 12.5 now; judged by 12.0" in found.remarks[0].note


def test_a_node_whose_id_was_merged_since_lets_its_facts_fall() -> None:
    study = protocol(step(1, facts=("F1",)), facts=(fact(1, EDGE),))
    node = CheckTask(type=CheckType.EXISTENCE, subject=EDGE.subject)
    known = {EDGE.fingerprint: judged(*RIGHT), node.fingerprint: judged(Outcome.REFUTED, Reason.ID_MERGED)}

    found = checked(study, facts=world(known, change=Change(kind=ChangeKind.REPOINT, to="P10009")))

    (remark,) = [r for r in found.remarks if r.remark is StudyRemark.FACT_ID_OUTDATED]
    assert (remark.finding, remark.repair) == (node.fingerprint, "repoint: P10009")
    assert "Protein P10001: id merged" in remark.note


def test_what_rests_on_a_fallen_step_falls_with_it() -> None:
    study = protocol(
        step(1, makes="targets", facts=("F1",)),
        step(2, takes="targets", makes="ranked targets"),
        step(3, takes="ranked targets", makes="a table"),
        step(4, makes="something else"),
        facts=(fact(1, EDGE), fact(2, edge_task("P10001", "P10003"))),
    )

    found = checked(study, facts=world({EDGE.fingerprint: judged(*REFUTED)}))

    (fallen,) = found.fallen
    assert (fallen.step, fallen.because, fallen.downstream) == ("S1.1", ("F1",), ("S1.2", "S1.3"))
    assert {r.step: r.about for r in found.remarks if r.remark is StudyRemark.FOLLOWS_FALLEN} == {
        "S1.2": "S1.1", "S1.3": "S1.2",
    }  # fmt: skip
    # A fact that no step names is looked at, too, and lets no step fall.
    assert [r.step for r in found.remarks if r.about == "F2"] == [""]


@pytest.mark.parametrize(
    ("standing", "remarks"),
    [
        (PaperStanding(known=True), ["paper_stands"]),
        (PaperStanding(known=True, retracted=True), ["paper_retracted"]),
        (PaperStanding(retracted=True), ["paper_retracted"]),
        (PaperStanding(unavailable="no connection"), ["paper_unavailable"]),
        (PaperStanding(), ["paper_unknown"]),
        (PaperStanding(known=True, text="A text. Cells were seen. More."), ["paper_stands"]),
        (PaperStanding(known=True, text="Cells were not seen."), ["quote_differs", "paper_stands"]),
    ],
)
def test_what_became_of_a_paper(standing: PaperStanding, remarks: list[str]) -> None:
    study = protocol(step(1, passages=("Q1",)), passages=(passage(1, "Cells were seen."),))

    assert kinds(checked(study, papers=lambda papers: dict.fromkeys(papers, standing))) == remarks


def test_a_paper_that_the_protocol_calls_retracted_needs_no_look() -> None:
    study = protocol(step(1, passages=("Q1",)), passages=(passage(1, "So.", retracted=True), passage(2, "So.")))

    assert [r.remark.value for r in checked(study).remarks if r.about.startswith("Q")] == ["paper_retracted"]


def data_set(state: Any = "found", **more: Any) -> StudyDataSet:
    return StudyDataSet(id="GSE0", repository="GEO", state=state, **more)


@pytest.mark.parametrize(
    ("record", "remarks"),
    [
        (data_set(), ["data_set_found"]),
        (data_set("missing"), ["data_set_gone"]),
        (data_set("not_looked"), ["data_set_not_looked"]),
        (data_set(species=("Mus musculus",)), ["data_set_other_species", "data_set_found"]),
        (data_set(species=("Mus musculus", "Homo sapiens")), ["data_set_found"]),
        (data_set(assay="Expression profiling by array"), ["data_set_other_assay", "data_set_found"]),
        (data_set(assay="Expression profiling by high throughput sequencing"), ["data_set_found"]),
        (data_set(assay="scRNA-seq"), ["data_set_found"]),
        (data_set(assay="An assay that nobody knows"), ["data_set_found"]),
    ],
)
def test_data_sets_that_are_looked_up_again(record: StudyDataSet, remarks: list[str]) -> None:
    study = protocol(step(1, data_sets=("GSE0",)), data_sets=(data_set("found"),), assays=("RNA-seq",))

    other = StudyDataSet(id="GSE9", state="missing")
    assert kinds(checked(study, data_sets=lambda ids: (other, record))) == remarks


def test_a_repository_that_is_away_is_not_a_missing_data_set() -> None:
    study = protocol(step(1, data_sets=("GSE0",)), data_sets=(data_set("missing"),))

    found = checked(study, data_sets=lambda ids: (data_set("not_looked"),))

    assert (kinds(found), found.exit_code("wrong")) == (["data_set_not_looked"], 3)
    # Nobody was asked now: what was found before stands.
    assert kinds(checked(study)) == ["data_set_missing"]


def test_the_order_of_steps() -> None:
    study = protocol(
        step(1, takes="raw counts", makes="normalised counts"),
        step(2, takes="normalised counts; gene sets"),
        step(3, makes="curated gene sets"),
        step(4, takes="a thing of nowhere"),
        conditions=("There are raw counts.",),
    )

    found = {r.step: r for r in checked(study).remarks if r.remark in (StudyRemark.MADE_LATER, StudyRemark.NOT_MADE)}

    assert {s: (r.remark.value, r.about) for s, r in found.items()} == {
        "S1.2": ("made_later", "gene sets"), "S1.4": ("not_made", "a thing of nowhere"),
    }  # fmt: skip
    assert found["S1.2"].repair == "put S1.3 before S1.2"


def test_circles_are_parted_one_by_one() -> None:
    items = (("w", "u"), ("u", "v"), ("v", "w"), ("y", "x"), ("x", "y"), ("z", "z"))
    study = protocol(*(step(number, takes=takes, makes=makes) for number, (takes, makes) in enumerate(items, 1)))

    circles = [r.note for r in checked(study).remarks if r.remark is StudyRemark.IN_A_CIRCLE]

    assert circles == ["S1.1 -> S1.2 -> S1.3 -> S1.1", "S1.4 -> S1.5 -> S1.4"]


@given(st.lists(st.tuples(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5))), min_size=1, max_size=8))
def test_order_is_wrong_exactly_where_a_simple_walk_finds_it_wrong(shape: list[tuple[set[int], set[int]]]) -> None:
    def named(items: set[int]) -> str:
        return "; ".join(f"item{i}" for i in sorted(items))

    study = protocol(*(step(n, takes=named(t), makes=named(m)) for n, (t, m) in enumerate(shape, 1)))
    made: set[int] = set()
    later: set[tuple[str, str]] = set()
    never: set[tuple[str, str]] = set()
    for number, (takes, makes) in enumerate(shape, 1):
        for item in takes - made:
            makers = [n for n, (_, m) in enumerate(shape, 1) if item in m and n > number]
            (later if makers else never).add((f"S1.{number}", f"item{item}"))
        made |= makes

    found = list(StepFlow(study).remarks())

    assert {(r.step, r.about) for r in found if r.remark is StudyRemark.MADE_LATER} == later
    assert {(r.step, r.about) for r in found if r.remark is StudyRemark.NOT_MADE} == never


def lacking(*steps: Any) -> list[tuple[str, str]]:
    found = checked(protocol(*steps, passages=(passage(1, "So."),)))
    return [(r.step, r.remark.value) for r in found.remarks if r.state is StudyState.LACKING]


def test_what_a_comparison_lacks() -> None:
    bare = step(1, "Find differentially expressed genes.", passages=("Q1",))
    assert lacking(bare) == [
        ("S1.1", "control_missing"), ("S1.1", "statistics_missing"), ("S1.1", "correction_missing"),
    ]  # fmt: skip
    # A later step of the section may name them.
    rest = step(2, "Take a Wilcoxon test of tumour against healthy samples, with an FDR of 0.05.", passages=("Q1",))
    assert lacking(bare, rest) == []
    whole = bare.model_copy(update={"statistics": ("Wald test", "Benjamini-Hochberg"), "control": "healthy samples"})
    assert lacking(whole) == []
    assert lacking(bare.model_copy(update={"analysis": "enrichment", "control": "a background set"})) == []
    assert lacking(step(1, "Download the data.", passages=("Q1",))) == []
    assert lacking(step(1, "Download the data.")) == [("S1.1", "evidence_missing")]
    assert lacking(step(1, "Download the data.", fixed="data_sets")) == []
    assert lacking(step(1, "Download the data.", fixed="no such step")) == [("S1.1", "evidence_missing")]


def test_versions_of_software() -> None:
    def using(number: int, *tools: tuple[str, str]) -> Any:
        return step(number, passages=("Q1",), tools=tuple(StepTool(name=n, version=v) for n, v in tools))

    study = protocol(
        using(1, ("ToolA", ""), ("ToolB", "1.0"), ("ToolC", "1.0")),
        using(2, ("toola", ""), ("ToolB", "2.0"), ("ToolC", "")),
        passages=(passage(1, "So."),),
    )  # fmt: skip
    found = [(r.remark.value, r.about, r.step, r.steps) for r in checked(study).remarks if "version" in r.remark.value]

    assert found == [
        ("version_differs", "ToolB", "S1.1", ("S1.2",)), ("version_missing", "ToolA", "S1.1", ("S1.2",)),
    ]  # fmt: skip


def parameter(value: str, number: str, unit: str = "", name: str = "permutations", where: str = "") -> StepParameter:
    return StepParameter(name=name, value=value, number=Decimal(number), unit=unit, passage=where)


@pytest.mark.parametrize(
    ("quote", "given_", "remark"),
    [
        ("We used 1,000 permutations.", parameter("10", "10"), "parameter_far"),
        ("We used 1,000 permutations.", parameter("1,000", "1000"), None),
        ("We used 1,000 permutations.", parameter("400", "400"), None),
        ("We used 1,000 permutations.", parameter("10", "10", name="clusters"), None),
        ("Samples were incubated for 2 h.", parameter("120 min", "120", "min", "incubated"), None),
        ("Samples were incubated for 2 h.", parameter("20 h", "20", "h", "incubated"), "parameter_far"),
        ("Samples were incubated for 2 h.", parameter("20 mg", "20", "mg", "incubated"), None),
        ("It was 5 or 500 permutations.", parameter("400", "400"), None),
        ("We used 1,000 permutations.", parameter("1,000", "1000", where="Q1"), None),
        ("We used 1,000 permutations.", parameter("500", "500", where="Q1"), "parameter_not_in_source"),
        ("It lasted 2 h.", parameter("120 min", "120", "min", "time", "Q1"), None),
    ],
)
def test_parameters_against_their_sources(quote: str, given_: StepParameter, remark: str | None) -> None:
    study = protocol(step(1, passages=("Q1",), parameters=(given_,)), passages=(passage(1, quote),))

    assert kinds(checked(study)) == ([remark] if remark else [])


@pytest.mark.parametrize(
    ("quote", "version", "there"),
    [
        ("We used ABC v.5 for it.", "5", True),
        ("We used ABC v5.", "5", True),
        ("We used ABC (version 2.1.0).", "2.1.0", True),
        ("We used ABC2.", "2", True),
        ("We used ABC v.5 for it.", "6", False),
        ("We used ABC 2.15.", "2.1", False),
        ("We used ABC 2.1.5.", "1.5", False),
        ("We used ABC 2.1.5.", "2.1", False),
        ("We used ABC.", "2(", False),
    ],
)
def test_versions_against_their_sources(quote: str, version: str, there: bool) -> None:
    used = StepTool(name="ABC", version=version, passage="Q1")
    study = protocol(step(1, passages=("Q1",), tools=(used,)), passages=(passage(1, quote),))

    assert kinds(checked(study)) == ([] if there else ["version_not_in_source"])


def test_a_long_protocol_takes_time_in_proportion() -> None:
    count = 500
    steps = [
        step(
            n, "Compare all genes.", f"item{n - 1}; thing", f"item{n}; thing {n}", passages=(f"Q{n % 50 + 1}",),
            facts=(f"F{n % 50 + 1}",), tools=(StepTool(name=f"Tool{n}"),), parameters=(parameter("10", "10"),),
        )
        for n in range(1, count + 1)
    ]  # fmt: skip
    study = protocol(
        *steps,
        facts=tuple(fact(n, edge_task(f"P{n}", "P2")) for n in range(1, 51)),
        passages=tuple(passage(n, "We used 1,000 permutations.") for n in range(1, 51)),
    )
    found: list[CheckedProtocol] = []

    assert spent(lambda: found.append(checked(study, facts=world()))) < 5
    assert len([r for r in found[0].remarks if r.remark is StudyRemark.PARAMETER_FAR]) == count


@pytest.fixture(scope="module")
def hostile() -> CheckedProtocol:
    text = "</script><img src=x> \x1b[31m \u202eevil {{ 7 }} [a](javascript:b) | `c` \u2028 %s{0} \x00"
    study = protocol(step(1, text, facts=("F1",), takes=text), facts=(fact(1, EDGE),), title=text)
    known = {EDGE.fingerprint: judged(*REFUTED, record=text)}
    return checked(study, facts=world(known, change=Change(kind=ChangeKind.REPOINT, to=text)))


@pytest.mark.parametrize("form", CHECK_FORMS)
def test_every_form_shows_hostile_text_as_text(hostile: CheckedProtocol, form: str) -> None:
    text = rendered_checks([hostile], form)

    assert "\x1b" not in text
    assert "\u202e" not in text
    if form == "json":
        (row,) = json.loads(text)["protocols"]
        assert row["fallen"][0]["step"] == "S1.1"
        assert row["counts"]["fallen"] == 1
    else:
        assert "S1.1" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is no protocol"),
        ("[]", "is no protocol"),
        ("{}", "objective: Field required"),
        ('{"format": 99}', "has the format 99"),
        ("[" * 100_000, "is no protocol"),
    ],
)
def test_a_file_that_is_no_protocol_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "protocol.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputFormat, match=message):
        read_protocol(tmp_path / "protocol.json")


def test_the_page_has_every_remark() -> None:
    page = (ROOT / "docs/protocol_check.md").read_text(encoding="utf-8")
    words = CheckRules.shipped().remarks
    assert all(words[remark].repair for remark in StudyRemark if words[remark].state is not StudyState.HOLDS)
    rows = [f"| `{r.value}` | `{words[r].state.value}` | {words[r].means} |" for r in StudyRemark]
    table = "\n".join(["| remark | state | what it means |", "| --- | --- | --- |", *rows])

    assert f"<!-- remarks -->\n{table}\n<!-- end of remarks -->" in page, f"it should have\n{table}"
