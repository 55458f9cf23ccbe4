"""A protocol against what it is made from: each corruption is found, and nothing of a protocol as it was designed."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Ref
from kgcheck.protocols.checking.check import StudyWorlds, check_protocol
from kgcheck.protocols.checking.remarks import StudyState
from kgcheck.protocols.design.by_rules import design_by_rules
from kgcheck.protocols.design.material import DesignFolder, DesignMaterial, fitting_reports
from kgcheck.protocols.protocol import (
    ExperimentalReport,
    Objective,
    ReportSection,
    StudyDataSet,
    StudyFact,
    StudyNode,
    StudyProtocol,
)
from kgcheck.protocols.reports.steps import read_step
from kgcheck.workspace import Workspace
from tests.support.protocols import fact, passage, protocol, step

OBJECTIVE = Objective(
    title="Genes of grey fever",
    objective="Find the genes that are expressed differently in grey fever, and the pathways that they share.",
    about=("ABC1", "DEF2", "GHI3", "grey fever"),
)
SENTENCES = (
    "Expression of genes in grey fever was compared with controls by a Wilcoxon test at FDR < 0.05 with 100,000"
    " permutations.",
    "Reads of grey fever were aligned with STAR 2.7 to the genome.",
)
PAPER = ExperimentalReport(
    paper="doi:10.5555/one",
    title="A made-up study of grey fever",
    year=2020,
    sections=(
        ReportSection(
            heading="Expression analysis",
            steps=tuple(read_step(text, n).model_copy(update={"dry": True}) for n, text in enumerate(SENTENCES, 1)),
        ),
    ),
)
GENES = [Ref(label="Protein", id=f"P1000{n}") for n in (1, 2, 3)]
NAMES = ("ABC1", "DEF2", "GHI3")
FEVER = Ref(label="Disease", id="DOID:0000001")


def known(number: int, stated: str, subject: Ref, other: Ref | None = None, outcome: Any = "supported") -> StudyFact:
    kind = {"type": CheckType.EXISTENCE} if other is None else {"type": CheckType.TRIPLE, "object": other}
    task = CheckTask(subject=subject, relation="ASSOCIATED_WITH" if other else None, **kind)
    outcome = Outcome(outcome) if outcome else None
    reason = {Outcome.SUPPORTED: Reason.CONFIRMED, Outcome.REFUTED: Reason.EDGE_UNSUPPORTED}.get(outcome)
    return StudyFact(
        id=f"F{number}", task=task, stated=stated, outcome=outcome, reason=reason, finding=task.fingerprint
    )


MATERIAL = DesignMaterial(
    objective=OBJECTIVE,
    made_at=datetime(2026, 1, 2, tzinfo=UTC),
    nodes=(
        *(StudyNode(ref=ref, name=name) for ref, name in zip(GENES, NAMES, strict=True)),
        StudyNode(ref=FEVER, name="grey fever"),
    ),
    facts=(
        *(known(n, f"{NAMES[n - 1]} ({ref}) exists", ref) for n, ref in enumerate(GENES, 1)),
        known(4, "grey fever (Disease DOID:0000001) exists", FEVER),
        known(5, "ABC1 is associated with grey fever", GENES[0], FEVER),
        known(6, "DEF2 is associated with grey fever", GENES[1], FEVER, "refuted"),
    ),
    reports=(PAPER,),
    data_sets=(StudyDataSet(id="GSE0001", repository="GEO", state="found", species=("Homo sapiens",)),),
)
Raw = dict[str, Any]


def alarms(study: StudyProtocol, design: StudyProtocol | None = None) -> set[tuple[str, str, str]]:
    found = check_protocol(study, StudyWorlds(), name="protocol.json", design=design).remarks
    return {(r.remark.value, r.step, r.note) for r in found if r.state is not StudyState.HOLDS}


def of_fixed(raw: Raw, name: str, analysis: str = "") -> Raw:
    steps = [s for section in raw["sections"] for s in section["steps"]]
    return next(s for s in steps if s["fixed"] == name and s["analysis"] == analysis)


def quoted(raw: Raw, word: str) -> Raw:
    return next(s for section in raw["sections"] for s in section["steps"] if s["passages"] and word in s["text"])


def setting(raw: Raw, name: str) -> Raw:
    return next(p for p in quoted(raw, "Wilcoxon")["parameters"] if name in p["name"])


def put(where: Callable[[Raw], Raw], **values: Any) -> Callable[[Raw], None]:
    return lambda raw: where(raw).update(values)


def swap(where: Callable[[Raw], Raw], field: str, old: str, new: str) -> Callable[[Raw], None]:
    def change(raw: Raw) -> None:
        part = where(raw)
        assert old in part[field]
        part[field] = part[field].replace(old, new, 1)

    return change


def without(name: str) -> Callable[[Raw], None]:
    def change(raw: Raw) -> None:
        for section in raw["sections"]:
            section["steps"] = [s for s in section["steps"] if s["fixed"] != name]

    return change


CORRUPTIONS: dict[str, tuple[str, Callable[[Raw], None]]] = {
    "negated step": ("step_differs", swap(lambda r: quoted(r, "Wilcoxon"), "text", "was compared", "was not compared")),
    "negated passage": ("step_differs", swap(lambda r: r["passages"][0], "quote", "was", "was not")),
    "value inside a number": (
        "parameter_not_in_source", put(lambda r: setting(r, "permutation"), value="100", number="100"),
    ),
    "number of another value": ("parameter_not_in_source", put(lambda r: setting(r, "permutation"), number="100")),
    "turned comparator": ("parameter_not_in_source", put(lambda r: setting(r, "FDR"), comparator=">")),
    "swapped test": ("step_differs", put(lambda r: quoted(r, "Wilcoxon"), statistics=["Student's t-test"])),
    "dropped test": ("step_differs", put(lambda r: quoted(r, "Wilcoxon"), statistics=[])),
    "invented tool": ("step_differs", put(lambda r: quoted(r, "STAR")["tools"][0], name="BWA")),
    "other paper": ("step_differs", put(lambda r: r["passages"][0], paper="doi:10.5555/two")),
    "invented gene": ("step_differs", swap(lambda r: of_fixed(r, "gene_set"), "text", "DEF2", "TP53")),
    "invented count": ("step_differs", swap(lambda r: of_fixed(r, "verified_edges"), "text", " 1 edge", " 171 edge")),
    "hidden refutation": ("step_differs", swap(lambda r: of_fixed(r, "left_out"), "text", "refuted", "verified")),
    "exchanged ids": (
        "step_differs", lambda r: of_fixed(r, "gene_set").update(
            text=of_fixed(r, "gene_set")["text"].replace("ABC1", "@").replace("DEF2", "ABC1").replace("@", "DEF2", 1)
        ),
    ),
    "analysis of a fixed step": (
        "step_differs", put(lambda r: of_fixed(r, "neighbourhood", "neighbourhood"), analysis="oracle"),
    ),
    "step taken out": ("step_missing", without("left_out")),
    "loose threshold": (
        "step_differs",
        put(lambda r: of_fixed(r, "enrichment", "enrichment")["parameters"][0], value="0.5", number="0.5"),
    ),
    "few permutations": (
        "step_differs",
        put(lambda r: of_fixed(r, "proximity", "proximity")["parameters"][0], value="3", number="3"),
    ),
    "no such analysis": (
        "analysis_unknown",
        put(lambda r: of_fixed(r, "neighbourhood", "neighbourhood"), analysis="oracle", fixed=""),
    ),
    "outcome of a fact": ("step_differs", put(lambda r: r["facts"][5], outcome="supported")),
    "task of a fact": (
        "fact_differs", lambda r: r["facts"][4]["task"]["subject"].update(id="P10002"),
    ),
    "gene of the objective": ("section_differs", lambda r: r["objective"]["about"].__setitem__(1, "TP53")),
    "count of a section": (
        "section_differs", swap(lambda r: r["sections"][0], "rationale", "verified facts", "9 facts"),
    ),
    "standing of a fact": ("step_differs", swap(lambda r: of_fixed(r, "left_out"), "text", "refuted", "supported")),
    "name in small letters": (
        "step_differs", swap(lambda r: of_fixed(r, "targets"), "text", "grey fever", "red fever"),
    ),
    "minus": ("step_differs", swap(lambda r: of_fixed(r, "verified_edges"), "text", " 1 edge", " -1 edge")),
    "turned audit": ("step_differs", swap(lambda r: of_fixed(r, "gene_set"), "rationale", "supports", "refutes")),
    "other species": (
        "step_differs", swap(lambda r: of_fixed(r, "data_sets"), "rationale", "Homo sapiens", "Mus musculus"),
    ),
    "less for more": (
        "step_differs", swap(lambda r: of_fixed(r, "enrichment", "enrichment"), "text", "more of the", "fewer of the"),
    ),
    "dropped denial": (
        "step_differs", swap(lambda r: of_fixed(r, "left_out"), "rationale", "is no ground", "is a ground"),
    ),
    "passage of a tool": ("step_differs", put(lambda r: quoted(r, "STAR")["tools"][0], passage="Q1")),
}  # fmt: skip


def negate_both(raw: Raw) -> None:
    """Turn a passage and the step that quotes it."""
    for part, field in ((raw["passages"][0], "quote"), (quoted(raw, raw["passages"][0]["quote"]), "text")):
        part[field] = part[field].replace(" was ", " was not ", 1).replace(" were ", " were not ", 1)


CORRUPTIONS["negated passage and step"] = ("passage_differs", negate_both)


@pytest.fixture(scope="module")
def study() -> StudyProtocol:
    return design_by_rules(MATERIAL)


def test_a_protocol_as_it_was_designed_differs_from_nothing(study: StudyProtocol) -> None:
    kinds = {kind for kind, *_ in alarms(study)}
    assert not kinds & {kind for kind, _ in CORRUPTIONS.values()}
    assert "statement_unfounded" not in kinds


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corruption_is_found(name: str, study: StudyProtocol) -> None:
    kind, corrupt = CORRUPTIONS[name]
    raw = study.model_dump(mode="json")
    corrupt(raw)
    changed = StudyProtocol.model_validate(raw)

    assert changed != study
    assert kind in {found for found, *_ in alarms(changed) - alarms(study)}


def turn_round(step: Raw) -> None:
    """Turn the list of a step's text round."""
    head, _, listed = step["text"].rstrip(".").partition("): ")
    step["text"] = f"{head}): {'; '.join(reversed(listed.split('; ')))}."


HARMLESS: dict[str, tuple[str, Callable[[Raw], object]]] = {
    "order of facts": ("", lambda r: of_fixed(r, "gene_set")["facts"].reverse()),
    "spaces": ("", swap(lambda r: of_fixed(r, "gene_set"), "text", "; ", ";  ")),
    "order of a list": ("", lambda r: turn_round(of_fixed(r, "gene_set"))),
    "order of tests": ("", lambda r: of_fixed(r, "enrichment", "enrichment")["statistics"].reverse()),
    "thousands": (
        "", put(lambda r: of_fixed(r, "proximity", "proximity")["parameters"][0], value="1000"),
    ),
    "reason of a quote": ("", swap(lambda r: quoted(r, "STAR"), "rationale", "section '", "section  \u2019")),
    "spaces of a quote": ("", swap(lambda r: quoted(r, "STAR"), "text", "Reads of", "Reads  of")),
    "spaces of a passage": ("", swap(lambda r: r["passages"][0], "quote", " ", "  ")),
    "order of passages": ("", lambda r: r["passages"].reverse()),
    "other denial": (
        "step_reworded", swap(lambda r: of_fixed(r, "left_out"), "rationale", "is no ground", "is not a ground"),
    ),
    "other words": ("step_reworded", put(lambda r: of_fixed(r, "enrichment", "enrichment"), rationale="It shows.")),
    "summary": ("step_reworded", put(lambda r: r["sections"][0], summary="What the study takes.")),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_other_words_of_the_same_are_not_called_wrong(name: str, study: StudyProtocol) -> None:
    kind, change = HARMLESS[name]
    raw = study.model_dump(mode="json")
    change(raw)
    changed = StudyProtocol.model_validate(raw)

    assert changed != study
    for design in (None, study):
        before, after = ({(kind, step) for kind, step, _ in alarms(one, design)} for one in (study, changed))
        assert {found for found, _ in after - before} == ({kind} if kind else set())


def test_steps_of_other_rules_are_not_called_wrong(study: StudyProtocol) -> None:
    old = study.model_copy(update={"rules": "0" * 16})
    found = alarms(old) - alarms(study)
    assert {kind for kind, *_ in found} == {"step_not_compared"}


def test_a_design_says_only_what_its_facts_say() -> None:
    def reason(*facts: StudyFact) -> str:
        material = MATERIAL.model_copy(update={"facts": facts})
        return next(s.rationale for s in design_by_rules(material).steps if s.fixed == "gene_set")

    exist = MATERIAL.facts[:3]
    assert "An audit supports that each of them exists." in reason(*exist)
    assert "supports that 2 of 3 exist; not of GHI3 (never looked at)." in reason(*exist[:2])
    assert "No audit supports that they exist" in reason(MATERIAL.facts[3])
    refuted = known(3, exist[2].stated, GENES[2], outcome="refuted")
    steps = design_by_rules(MATERIAL.model_copy(update={"facts": (*exist[:2], refuted)})).steps
    assert "GHI3" not in next(s.text for s in steps if s.fixed == "gene_set")


@pytest.mark.parametrize(
    ("text", "rationale", "kind"),
    [
        ("Take them.", "That they exist is verified.", "statement_unfounded"),
        ("Take them.", "Nobody has verified it.", ""),
        # What somebody wrote has the numbers of what it names.
        ("Keep the cells for 48 hours.", "", ""),
        ("Keep the cells for 480 hours.", "", "step_differs"),
    ],
)
def test_what_somebody_wrote_says_what_its_passage_says(text: str, rationale: str, kind: str) -> None:
    written = step(1, text, passages=("Q1",), rationale=rationale)
    found = {kind for kind, *_ in alarms(protocol(written, passages=(passage(1, "Cells were kept for 48 hours."),)))}
    assert found & {"statement_unfounded", "step_differs"} == ({kind} if kind else set())


@pytest.mark.parametrize(
    ("asked", "differs"),
    [
        ({"statistics": ("odds ratio",)}, False),
        ({"statistics": ("Student's t-test",)}, True),
        ({"parameters": ({"name": "least score", "value": "7"},)}, True),
        ({"parameters": ({"name": "no such thing", "value": "7"},)}, True),
    ],
)
def test_an_analysis_cannot_do_what_it_does_not(asked: dict[str, Any], differs: bool) -> None:
    run = step(1, "Expand.", analysis="neighbourhood", facts=("F1",), **asked)
    found = alarms(protocol(run, facts=(fact(1, MATERIAL.facts[0].task),)))
    assert ("step_differs" in {kind for kind, *_ in found}) is differs


def test_genes_that_share_an_alias_are_two() -> None:
    nodes = [StudyNode(ref=ref, name=name, names=(name, "FAD")) for ref, name in zip(GENES, NAMES, strict=True)]
    made = design_by_rules(MATERIAL.model_copy(update={"nodes": (*nodes, MATERIAL.nodes[3])}))
    text = next(s.text for s in made.steps if s.fixed == "gene_set")
    assert all(name in text for name in NAMES)
    both = (StudyNode(ref=Ref(label="Gene", id="ABC1"), name="ABC1"), *MATERIAL.nodes)
    made = design_by_rules(MATERIAL.model_copy(update={"nodes": both}))
    assert next(s.text for s in made.steps if s.fixed == "gene_set").count("ABC1 (") == 1


def test_a_paper_that_names_nothing_of_the_objective_does_not_fit() -> None:
    text = "The genes that are expressed differently in leukocytes, and the pathways that they share, were found."
    other = PAPER.model_copy(
        update={
            "paper": "doi:10.5555/other", "title": "Genes of leukocytes",
            "sections": (ReportSection(heading="Genes", steps=(read_step(text, 1),)),),
        }
    )  # fmt: skip
    assert fitting_reports(MATERIAL.model_copy(update={"reports": (other, PAPER)})) == (1,)
    alone = design_by_rules(MATERIAL.model_copy(update={"reports": (other,)}))
    assert not any(s.passages for s in alone.steps)
    assert "papers that do not fit the objective: 1" in alone.notes


@pytest.mark.parametrize("field", ["objective", "notes", "passages", "made_at"])
def test_a_protocol_is_held_against_the_material_beside_it(field: str, study: StudyProtocol, tmp_path: Path) -> None:
    other = {
        "objective": OBJECTIVE.model_copy(update={"species": "Danio rerio"}),
        "notes": (*study.notes, "every paper was read"),
        "passages": (study.passages[0].model_copy(update={"retracted": True}), *study.passages[1:]),
        "made_at": datetime(2026, 1, 3, tzinfo=UTC),
    }
    DesignFolder(tmp_path).begin(MATERIAL)
    file = tmp_path / "protocol.json"

    def differing(made: StudyProtocol) -> list[str]:
        file.write_text(made.model_dump_json(), encoding="utf-8")
        with Workspace() as workspace:
            (found,), _ = workspace.check_protocols([file])
        return [r.about for r in found.remarks if r.remark.value == "design_differs"]

    assert differing(study) == []
    assert differing(study.model_copy(update={field: other[field]})) == [field]
    # Of another protocol the material says nothing.
    moved = study.model_copy(update={"made_at": datetime(2026, 1, 4, tzinfo=UTC)})
    file = tmp_path / "another.json"
    assert differing(moved) == []


def test_a_note_on_what_is_lacking_goes_with_the_steps(study: StudyProtocol) -> None:
    kinds = {kind for kind, *_ in alarms(study.model_copy(update={"notes": (*study.notes, "no step has a control")}))}
    assert "section_differs" in kinds
    emptied = study.model_copy(update={"sections": study.sections[:-1]})
    assert any("'Validation'" in note for kind, _, note in alarms(emptied) if kind == "section_differs")
