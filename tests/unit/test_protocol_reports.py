"""Experimental reports: which sentences are steps, what they name, and how much of them an objective can use."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.literature.jats import read_jats
from kgcheck.literature.papers import WholePaper
from kgcheck.protocols.protocol import ExperimentalReport, Objective
from kgcheck.protocols.reports.papers import experimental_report, grade_reports
from kgcheck.protocols.reports.parameters import parameters_in
from kgcheck.protocols.reports.steps import deeds_of, outline_of, species_in, step_of
from kgcheck.protocols.reports.tools_and_data import StatisticWords, data_set_ids, statistics_in, tools_in
from tests.support.audits import kgcheck
from tests.support.jats import article
from tests.support.spent import spent

BODY = """<sec><title>Materials and Methods</title><sec><title>Ethics statement</title><p>The ethics committee approved
the study, and all patients gave written informed consent.</p></sec><sec><title>Sequencing of zinc cells</title>
<p>Zinc cells were grown at 37°C for 3 h. The cells are known to be round. Reads were downloaded from GEO (GSE00100 and
GSE123456).</p></sec><sec><title>Statistical analysis</title><p>Differences were tested with Welch's t-test in R
(version 3.1.0) with the limma package, and genes with FDR &lt; 0.05 were kept. See Table 1.</p></sec></sec>
<sec><title>Results</title><p>The zinc cells divided at night when they were sequenced. Nothing else is here.</p>
</sec>"""


def paper(tmp_path: Path, body: str = BODY, **how: str) -> WholePaper:
    path = tmp_path / "one.xml"
    path.write_text(article(body=body, **how), encoding="utf-8")
    found = next(read_jats(path))[1]
    assert isinstance(found, WholePaper)
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ExperimentalReport:
    return experimental_report(paper(tmp_path_factory.mktemp("report")), url="https://example.org/one")


def test_a_report_has_the_sections_with_steps_word_for_word(report: ExperimentalReport) -> None:
    assert [(s.heading, [step.number for step in s.steps]) for s in report.sections] == [
        ("Sequencing of zinc cells", [1, 2]),
        ("Statistical analysis", [3]),
    ]
    grown, downloaded, tested = (step for section in report.sections for step in section.steps)
    assert grown.text == "Zinc cells were grown at 37°C for 3 h."
    assert [(p.name, p.value, p.unit) for p in grown.parameters] == [
        ("temperature", "37°C", "°C"), ("duration", "3 h", "h"),
    ]  # fmt: skip
    assert not grown.dry
    assert [downloaded.text[d.start : d.end] for d in downloaded.data_sets] == ["GSE123456"]
    assert [(o.name, o.kind) for o in downloaded.outputs] == [("Reads", "data_set")]
    assert [(t.name, t.version) for t in tested.tools] == [("R", "3.1.0"), ("limma", "")]
    assert tested.statistics == ("Welch's t test", "false discovery rate")
    assert [(p.name, p.comparator, p.number) for p in tested.parameters] == [("FDR", "<", Decimal("0.05"))]
    assert tested.dry
    # Results belong to the section that they share most with.
    results = ("The zinc cells divided at night when they were sequenced.",)
    assert [section.results for section in report.sections] == [results, ()]


@pytest.mark.parametrize(
    ("sentence", "verbs"),
    [
        ("Reads were then carefully mapped and we counted them.", ["mapped", "counted"]),
        ("Experiments were carried out twice.", ["carried out"]),
        ("We compute the distance of each pair.", ["compute"]),
        ("The participants of both groups completed a form.", ["completed"]),
        ("The assays followed the protocol of the maker.", ["followed"]),
        ("Zincol served as a control.", ["served"]),
        ("The cells were live imaged at night.", ["imaged"]),
        ("All steps have been implemented by us.", ["implemented"]),
        ("Patients gave informed consent and were randomly assigned to two groups.", ["assigned"]),
        ("Inclusion criteria were an age above 18 years and a diagnosis.", ["were"]),
        ("Add 5 ml of water.", ["add"]),
        ("Zincol was not observed.", []),
        ("We found that zincol helps.", []),
        ("The sample can be divided at will.", []),
        ("If a value is set too high, nothing follows.", []),
        ("The study was approved by the ethics committee of the town.", []),
        ("Rats that were seen in the wild are brown.", []),
        ("All values are shown in Table 2.", []),
    ],
)
def test_what_tells_that_something_was_done_is_a_step(sentence: str, verbs: list[str]) -> None:
    assert [deed.verb for deed in deeds_of(sentence)] == verbs


def test_settings_without_a_verb_are_a_step_and_results_are_none() -> None:
    assert step_of("95°C for 5 min, then 35 cycles of 30 s at 60°C.", 1) is not None
    assert step_of("The median weight was 26.7 kg, the longest stay 47 days in 313 patients.", 1) is None


@pytest.mark.parametrize(
    ("sentence", "outline"),
    [
        ("The total RNA (2 mg) was isolated from leaves.", "isolated total RNA"),
        ("We drew 1,000 bootstrap samples from the table.", "drew bootstrap samples"),
        ("Patients, including the young, were followed up.", "followed Patients"),
    ],
)
def test_the_outline_is_the_verb_with_its_object(sentence: str, outline: str) -> None:
    assert outline_of(sentence) == outline


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a p-value cutoff of 0.05 and fold change > 2", [("p-value cutoff", "=", "0.05"), ("fold change", ">", "2")]),
        ("false discovery rate was less than 10%", [("false discovery rate", "<", "10%")]),
        ("spun at 2000 rpm for 5 min, then at 10,000 x g for 10\u201320 min", [
            ("speed", "=", "2000 rpm"), ("duration", "=", "5 min"),
            ("speed", "=", "10,000 x g"), ("duration", "=", "10\u201320 min"),
        ]),
        ("10 mM Hepes, pH 7.4, 5% CO2 and 20% (w/w) sucrose", [
            ("Hepes", "=", "10 mM"), ("pH", "=", "7.4"), ("CO2", "=", "5%"), ("sucrose", "=", "20% (w/w)"),
        ]),
        ("acid (MPA, 25 mg/ml) and zincol (5 mg/ml)", [("MPA", "=", "25 mg/ml"), ("zincol", "=", "5 mg/ml")]),
        ("Antibodies (1:500) with default settings", [("dilution", "=", "1:500"), ("settings", "=", "default")]),
        ("k = 5, a resolution of 0.8 and 1,000 permutations", [
            ("k", "=", "5"), ("resolution", "=", "0.8"), ("permutations", "=", "1,000"),
        ]),
        ("at 2, 4 and 12 months", [("duration", "=", "2, 4 and 12 months")]),
        ("five-fold and 5-fold cross-validation", [("cross-validation", "=", "5-fold")]),
        ("aged 18\u201365 years", [("age", "=", "18\u201365 years")]),
        ("centrifuged at 10,000 g on day 10\u201312", [("speed", "=", "10,000 g"), ("day", "=", "10\u201312")]),
        ("1000, 2000 and 3000 s/mm2", [("b-value", "=", "1000, 2000 and 3000 s/mm2")]),
        ("an E-value cutoff of 10\u22125", [("E-value cutoff", "=", "10\u22125")]),
    ],
)  # fmt: skip
def test_settings_have_names_and_values(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(p.name, p.comparator, p.value) for p in parameters_in(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "61% of the animals and 2,819 sheep, n = 41",
        "(M = 21.73, SD = 3.67), F(1,20) = 3.4, p = 0.03",
        "age 10.5\u00b12.43 in 1999, as Figure 3 and chromosome 21 show",
    ],
)
def test_what_came_out_is_no_setting(text: str) -> None:
    assert parameters_in(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("using SPSS 19.0 (IBM)", [("SPSS", "19.0")]),
        ("with SAS (version 9.2; SAS Institute)", [("SAS", "9.2")]),
        ("MATLAB R2012b and the R package lme4", [("MATLAB", "R2012b"), ("R", ""), ("lme4", "")]),
        ("the program Foofit 1.3 [9]", [("Foofit", "1.3")]),
        ("FooBar v2.1 and its survival, boot, and rms packages", [("FooBar", "2.1"), ("boot", ""), ("rms", "")]),
        ("maintained in RPMI, randomly allocated with Rituximab", []),
        ("the statistical software, a training program and the Diversity Panel, version 2.4", []),
        ("a string of RNA, the galaxy and STRING theory", []),
        ("Cluster (version 2.0)", [("Cluster", "2.0")]),
        ("by our code (https://github.com/someone/zinc-tool)", [("zinc-tool", "")]),
        ("the bundled FooPix 3.0 software", [("FooPix", "3.0")]),
    ],
)
def test_software_has_its_version(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(t.tool.name, t.tool.version) for t in tools_in(text)] == expected


def test_statistics_have_one_name_each() -> None:
    text = "Mann\u2013Whitney U, paired t-tests, Student\u2019s t-test and \u03c72 test with 95% CI"

    assert statistics_in(text) == (
        "Wilcoxon rank-sum test", "paired t test", "Student's t test", "chi-squared test", "confidence interval",
    )  # fmt: skip


def test_every_spelling_of_a_statistic_is_read_as_it() -> None:
    words = StatisticWords.shipped()
    for group in (words.tests, words.corrections, words.models, words.effects):
        for name, spellings in group.items():
            assert all(statistics_in(s.rstrip("*")) == (name,) for s in spellings), name


ACCESSIONS = {
    "GSE100": "GEO", "GSM5": "GEO", "GDS77": "GEO", "SRP012345": "SRA", "ERR1234567": "ENA", "DRX000123": "DRA",
    "PRJNA12": "BioProject", "PRJEB345": "BioProject", "SAMN01234567": "BioSample", "E-MTAB-1": "ArrayExpress",
    "E-GEOD-22": "ArrayExpress", "PXD000001": "ProteomeXchange", "MSV000000001": "MassIVE", "MTBLS1": "MetaboLights",
    "S-BSST1": "BioStudies", "TCGA-LIHC": "TCGA", "EGAS00001000001": "EGA", "EGAD00001000001": "EGA",
    "phs000001.v1.p1": "dbGaP", "EMD-1234": "EMDB", "FR-FCM-ZZZZ": "FlowRepository",
    "10.5281/zenodo.1": "Zenodo", "10.6084/m9.figshare.1.v1": "figshare", "10.5061/dryad.abc12": "Dryad",
}  # fmt: skip


@pytest.mark.parametrize(("accession", "repository"), ACCESSIONS.items())
def test_accessions_are_known_by_their_form(accession: str, repository: str) -> None:
    found = data_set_ids(f"See {accession}, (and {accession}).")

    assert [(d.id, d.repository) for d in found] == [(accession, repository)] * 2


@pytest.mark.parametrize(
    "text", ["GSE", "XGSE100", "GSE0100", "TCGA-02", "the 1ABC mutant", "AB123456 was grown", "E-cadherin-1", "phs12"]
)
def test_what_is_no_accession_is_none(text: str) -> None:
    assert data_set_ids(text) == ()
    # Common forms need the name of their repository.
    assert [d.repository for d in data_set_ids("PDB 1ABC; GenBank accession AB123456")] == ["PDB", "GenBank"]


def test_a_paper_without_methods_gives_what_its_results_name(tmp_path: Path) -> None:
    body = "<sec><title>Results</title><p>Cells were grown for 3 h. Cells were counted. All was well.</p></sec>"
    found = experimental_report(paper(tmp_path, body))

    assert [step.text for section in found.sections for step in section.steps] == ["Cells were grown for 3 h."]
    nothing = experimental_report(paper(tmp_path, body, type_="editorial"))
    assert (nothing.sections, nothing.note) == ((), "no methods")


def test_species_are_those_that_are_named_most() -> None:
    assert species_in("Mice and a mouse ate E. coli.") == {"Mus musculus": 2, "Escherichia coli": 1}
    assert dict(species_in("Rates and demonstrations are no animals.")) == {}


OBJECTIVE = Objective(title="Zinc", objective="Sequence zinc cells and test genes at a false discovery rate.")


def test_referability_is_relevance_and_detail_with_reasons(report: ExperimentalReport) -> None:
    [judged] = grade_reports([report], OBJECTIVE)
    [strange] = grade_reports([report], Objective(title="Rocks", objective="Dig granite out of mountains."))
    [retracted] = grade_reports([report.model_copy(update={"retracted": True})], OBJECTIVE)

    assert all(section.referability and section.suggestion for section in judged.sections)
    assert [s.referability for s in strange.sections] <= [s.referability for s in judged.sections]
    assert "GSE123456" in judged.sections[0].suggestion
    assert "versions of limma" in judged.sections[1].suggestion
    assert all((s.referability or 9) <= 2 for s in strange.sections)
    assert "no word" in strange.sections[0].suggestion
    assert {s.referability for s in retracted.sections} == {1}


words = st.sampled_from(
    "we was were then used 5 mM 37°C p < 0.05 GSE1 PDB 1ABC R version 2.1 ( ) [ , . ; of at to the SPSS 1:10 ±"
    " from into analysis participants 10\u22125 software package \u00a0 % fold day 3 days 5-7 has been".split(" ")
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(words, max_size=60).map(" ".join)))
def test_any_sentence_can_be_read(text: str) -> None:
    step = step_of(text, 1) if text else None
    outline_of(text)
    for found in data_set_ids(text):
        assert text[found.start : found.end] == found.id
    for setting in parameters_in(text):
        assert setting.value in text or setting.value == "default"
    for tool in tools_in(text):
        assert tool.tool.name in text
    assert step is None or step.text == text


@pytest.mark.parametrize(
    "piece",
    [
        "GSE1 ",
        "1 ",
        "1, ",
        "((1 ",
        "1:10 ",
        "of at to ",
        "participants a ",
        "in R ",
        "A.",
        "was then ",
        "a, ",
        "software A",
    ],
)
def test_hostile_text_takes_time_in_proportion(piece: str) -> None:
    text = piece * (30_000 // len(piece))

    assert spent(lambda: (step_of(text, 1), data_set_ids(text), outline_of(text))) < 3


def test_the_command_shows_reports(tmp_path: Path) -> None:
    paper(tmp_path)
    objective, out = tmp_path / "objective.toml", tmp_path / "report.md"
    objective.write_text('title = "Zinc"\nobjective = "Sequence zinc cells."\n', encoding="utf-8")
    command = ("protocol", "report", tmp_path / "one.xml")

    table = kgcheck(*command, "--objective", objective)
    assert (table.code, "Statistical analysis" in table.out, "/5" in table.out) == (0, True, True), table.err
    assert ExperimentalReport.model_validate(json.loads(kgcheck(*command, "--format", "json").out)[0]).sections
    assert kgcheck(*command, "--format", "markdown", "--out", out).code == 0
    assert "1. Zinc cells were grown at 37°C for 3 h. (settings: temperature 37°C, duration 3 h)" in out.read_text()
    (tmp_path / "README.md").write_text("# Zinc\n", encoding="utf-8")
    none = kgcheck("protocol", "report", tmp_path / "README.md")
    assert (none.code, "file of whole papers" in none.err) == (2, True)
    assert "doi:10.5555/none" in kgcheck(*command, "--paper", "doi:10.5555/none").err


def test_the_methods_of_real_papers_are_read(shared_data: Path) -> None:
    path = shared_data / "fulltext" / "plos" / "journal.ppat.1000105.xml"
    found = experimental_report(next(p for _, p in read_jats(path) if isinstance(p, WholePaper)))
    steps = [step for section in found.sections for step in section.steps]

    assert len(steps) > 40
    assert {"E-MEXP-767", "E-MEXP-768"} <= {d.id for step in steps for d in step.data_sets}
    assert ("BRB-ArrayTools", "3.4.1") in {(t.name, t.version) for step in steps for t in step.tools}
    assert found.species == ("Caenorhabditis elegans",)
