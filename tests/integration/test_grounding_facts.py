"""What sentences of a manuscript state about the demo graph: every form of affirmation, denial, hedge and context."""

import re
from collections.abc import Iterator

import pytest

from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.grounding.facts.check import FactCheck
from kgcheck.grounding.manuscript import Block, Manuscript
from kgcheck.grounding.remarks import Remark, Remarked, SentenceState
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.verified import VerifiedFiles, VerifiedReader
from kgcheck.model import CheckType
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support.audits import audited, demo
from tests.support.manuscripts import manuscript

SCHEMA = load_schema()

# The sentence, and the remarks about it: v verified, r refuted, d denied against the graph, D denied rightly,
# o in the graph and open, u unknown. Facts are those of docs/demo.md.
SENTENCES = """
APOE is associated with Alzheimer's disease. | v
Alzheimer's disease is associated with APOE. | v
Variants of the APOE gene are associated with Alzheimer's disease [3]. | v
The association between APOE and Alzheimer's disease is well established. | v
Mutations in SOD1 cause amyotrophic lateral sclerosis. | v
SOD1, which is mutated in amyotrophic lateral sclerosis, was sequenced. | v
Mutations in SOD1 cause amyotrophic lateral sclerosis (ALS), and other genes are unknown. | v
SOD1 is associated with Huntington's disease. | u
JAK2 interacts with TYK2. | v
JAK2 and TYK2 interact. | v
JAK2 and TYK2 interact with each other. | v
The interaction between JAK2 and TYK2 was confirmed. | v
Binding of JAK2 to TYK2 was observed. | v
The JAK2-TYK2 interaction was demonstrated. | v
It has been shown that JAK2 physically interacts with both TYK2 and TLR4. | vv
APOE interacts with TREM2 and SORL1. | vv
APOE interacts with TREM2, but not with SORL1. | vd
JAK2 interacts with BACE1. | u
HMGCR interacts with TYK2. | r
HMGCR does not interact with TYK2. | D
TLR4 is expressed in the hippocampus. | v
TLR4 protein is present in the spleen and the lung. | vv
TLR4 is expressed in the eye. | u
AK4 has adenylate kinase activity. | r
AK4 has no adenylate kinase activity. | D
APOE is not associated with Alzheimer's disease. | d
There is no association between APOE and Alzheimer's disease. | d
No association was found between APOE and Alzheimer's disease. | d
JAK2 does not bind TYK2. | d
JAK2 and TYK2 do not interact. | d
Neither JAK2 nor TLR4 interacts with TYK2. | dd
Binding of JAK2 to TYK2 was not observed. | d
TLR4 is absent from the hippocampus. | d
JAK2 does not interact with BACE1. |
JAK2 not only interacts with TYK2. | v
JAK2 may interact with BACE1. |
Whether JAK2 interacts with BACE1 was not known. |
We tested whether JAK2 interacts with BACE1. |
Does JAK2 interact with BACE1? |
A previous report claimed that JAK2 interacts with BACE1. |
Miller et al. reported that JAK2 interacts with BACE1. |
JAK2 inhibitor binds BACE1. |
An antibody against JAK2 binds BACE1. |
Mutant JAK2 does not bind TYK2. |
JAK2 does not bind TYK2 in the absence of calcium. |
JAK2 no longer interacts with TYK2. |
In mice, JAK2 interacts with BACE1. |
In yeast, JAK2 does not interact with TYK2. |
Jak2 interacts with Bace1. |
JAK2 and BACE1 were sequenced. |
SOD1 is expressed in patients with Huntington's disease. |
APP interacts with BACE1, as the APP crashed. | v
JAK2 is an interaction partner of TYK2. | v
Among the partners of JAK2 is TYK2. | v
JAK2, whose regulation is complex, binds to TYK2. | v
The partners of JAK2 include TYK2. | v
APOE and SORL1 interact with TREM2 and APP, respectively. | vv
APOE and SORL1 interact with TREM2, respectively. |
The role of APOE in Alzheimer's disease is established. | v
Patients with Alzheimer's disease carry variants of APOE. | v
In Alzheimer's disease, APOE is frequently altered. | v
Genetic studies connect APOE with Alzheimer's disease. | v
The hippocampus expresses TLR4. | v
In the hippocampus, TLR4 is expressed. | v
We detected TLR4 in the hippocampus. | v
APOE takes no part in Alzheimer's disease. | d
There is no evidence that APOE is associated with Alzheimer's disease. | d
That APOE is associated with Alzheimer's disease is not true. |
APOE is not a major cause of Alzheimer's disease. |
APOE is not associated with Alzheimer's disease in these populations. |
JAK2 does not inhibit TYK2. |
JAK2 inhibits the binding of BACE1. |
A JAK2 that does not bind TYK2 was made. |
No inhibition of JAK2's binding to TYK2 was seen. |
The hippocampus lacks TLR4. | d
In the hippocampus, TLR4 is not expressed. | d
We did not detect TLR4 in the hippocampus. | d
Attempts to show that JAK2 interacts with BACE1 were made. |
""".strip().splitlines()

LETTERS = {
    "v": (Remark.EDGE_VERIFIED, SentenceState.VERIFIED),
    "r": (Remark.EDGE_REFUTED, SentenceState.CONTRADICTED),
    "d": (Remark.EDGE_DENIED, SentenceState.CONTRADICTED),
    "D": (Remark.EDGE_DENIED, SentenceState.VERIFIED),
    "o": (Remark.EDGE_UNVERIFIED, SentenceState.NOT_CHECKABLE),
    "u": (Remark.EDGE_UNKNOWN, SentenceState.UNSUPPORTED),
}


def written(*paragraphs: str, title: str = "") -> Manuscript:
    return manuscript([Block(text=text, section="results") for text in paragraphs], title=title)


@pytest.fixture(scope="module")
def store() -> Iterator[EmbeddedStore]:
    with EmbeddedStore(demo().store, SCHEMA) as opened:
        yield opened


@pytest.fixture(scope="module")
def facts(store: EmbeddedStore) -> Iterator[FactCheck]:
    with SnapshotSource(demo().reference, SCHEMA, Settings()) as reference:
        yield FactCheck(store, None, reference, SCHEMA)


def edges(remarks: list[Remarked], number: int = 1) -> list[tuple[Remark, SentenceState]]:
    """The remarks about edges of a sentence."""
    return sorted((r.remark, r.state) for r in remarks if r.sentence == number and r.task and r.task.object)


@pytest.fixture(scope="module")
def remarked(facts: FactCheck) -> dict[str, list[Remarked]]:
    """Remarks by sentence, each alone in its paragraph."""
    texts = [line.partition(" | ")[0].removesuffix(" |") for line in SENTENCES]
    whole = written(*texts)
    found: dict[str, list[Remarked]] = {text: [] for text in texts}
    numbers = {s.number: texts[s.block] for s in whole.sentences}
    for remark in facts.remarks(whole):
        found[numbers[remark.sentence or 0]].append(remark)
    return found


@pytest.mark.parametrize("line", SENTENCES)
def test_a_sentence_states(line: str, remarked: dict[str, list[Remarked]]) -> None:
    text, _, letters = line.rpartition("|")
    found = [(r.remark, r.state) for r in remarked[text.strip()] if r.task and r.task.object]

    assert sorted(found) == sorted(LETTERS[letter] for letter in letters.strip())


def test_what_is_remarked_of_rests_on_something(remarked: dict[str, list[Remarked]]) -> None:
    (right,), (wrong,) = remarked["JAK2 interacts with TYK2."], remarked["AK4 has adenylate kinase activity."]

    assert right.task
    assert right.task.type is CheckType.TRIPLE
    assert [e.source for e in right.evidence][:1] == ["string"]
    assert (right.start, right.end) == (0, len("JAK2 interacts with TYK2"))
    assert "goa" in wrong.note
    assert "edge_negated" in wrong.note


def test_without_a_reference_the_graph_alone_is_open_and_unknown_only_where_sources_could_be_looked_at(
    store: EmbeddedStore,
) -> None:
    text = written("JAK2 interacts with TYK2.", "JAK2 does not bind TYK2.", "JAK2 interacts with BACE1.")
    alone = FactCheck(store, None, None, SCHEMA).remarks(text)
    with SnapshotSource(None, SCHEMA, Settings()) as nothing:
        found = FactCheck(store, None, nothing, SCHEMA).remarks(text)

    # What nobody has verified contradicts nobody.
    denied = (Remark.EDGE_DENIED, SentenceState.UNSUPPORTED)
    assert [edges(alone, n) for n in (1, 2, 3)] == [[LETTERS["o"]], [denied], [LETTERS["u"]]]
    (unknown,) = [r for r in found if r.sentence == 3]
    assert (unknown.remark, unknown.state) == (Remark.EDGE_UNKNOWN, SentenceState.NOT_CHECKABLE)
    assert unknown.unavailable
    assert "could not look: " in unknown.note
    # An edge that the graph has is open, whatever could be looked at.
    assert edges(found, 1) == [LETTERS["o"]]


def test_a_finding_of_an_audit_is_named(store: EmbeddedStore, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("audit")
    run = audited(store, folder / "ledger.sqlite", demo().reference, types=(CheckType.TRIPLE,), relations=("ACTS_ON",))
    with Ledger(folder / "ledger.sqlite") as ledger:
        reader = VerifiedReader(ledger, VerifiedFiles.of(ledger, folder))
        found = FactCheck(store, reader, None, SCHEMA).remarks(
            written("HMGCR interacts with TYK2.", "JAK2 interacts with TYK2.")
        )

    (refuted,) = [r for r in found if r.sentence == 1]
    assert refuted.finding in {f.fingerprint for f in run.findings}
    assert edges(found, 2) == [LETTERS["v"]]


def test_what_the_text_explains_an_abbreviation_to_be_is_what_it_means(facts: FactCheck) -> None:
    other = written("Bovine abomasal culling enzyme one (BACE1) was bought. JAK2 interacts with BACE1.")
    disease = written("Amyotrophic lateral sclerosis (ALS) is rare. Mutations in SOD1 cause ALS. It is caused by ALS.")

    assert not [r for r in facts.remarks(other) if r.sentence == 2]
    assert edges(facts.remarks(disease), 2) == [LETTERS["v"]]


def test_an_id_beside_a_name_is_compared(facts: FactCheck) -> None:
    found = facts.remarks(
        written(
            "APOE (P02649) was read.", "APOE (UniProt P05067) was read.", "Huntington's disease (DOID:12858) is rare."
        )
    )

    assert [(r.sentence, r.remark) for r in found] == [
        (1, Remark.VALUE_VERIFIED), (2, Remark.VALUE_DIFFERS), (3, Remark.VALUE_VERIFIED),
    ]  # fmt: skip
    assert found[1].found == "APOE is P02649"


def test_methods_legends_and_thanks_state_nothing(facts: FactCheck) -> None:
    text = "JAK2 interacts with BACE1."
    thanks = Block(text=text, section="other", path=("Acknowledgments",))
    legend = Block(kind="legend", text=text, section="results")
    blocks = (thanks, legend, Block(text=text, section="methods"))

    assert facts.remarks(manuscript(blocks)) == []


def test_a_symbol_of_the_organism_of_a_paper_is_not_human(facts: FactCheck) -> None:
    statement = "JAK2 interacts with BACE1."
    often = ["JAK2 was cloned.", "JAK2 was grown.", "JAK2 was lost."]

    assert facts.remarks(written(statement, *often, title="Kinases of fission yeast")) == []
    assert edges(facts.remarks(written(statement, *often, title="Human kinases"))) == [LETTERS["u"]]


def test_a_former_symbol_and_a_replaced_id_are_found_and_repaired(facts: FactCheck) -> None:
    found = facts.remarks(
        written("The PARK2 gene was sequenced.", "The entry Q99945 was read.", "PARK2 (purple ark two) is a game.")
    )
    by = {(r.sentence, r.remark): r for r in found}
    symbol, merged = by[1, Remark.SYMBOL_OUTDATED], by[2, Remark.ID_OUTDATED]

    assert (symbol.found, symbol.repair and symbol.repair.to) == ("PRKN", "PRKN")
    assert (symbol.start, symbol.end) == (4, 9)
    assert merged.repair
    assert merged.repair.to == "Q9UMR5"
    assert not [r for r in facts.remarks(written("A park2 is green.", "In mice, the PARK2 gene was lost.")) if r.remark]


def test_long_and_odd_sentences_take_no_time(facts: FactCheck) -> None:
    names = ["JAK2", "TYK2", "and", "(", "not", "interacts", "with", "-", "binding of", ",", "§1", "between"]
    long = [" ".join(names[(i * k) % len(names)] for i in range(1, 400)) for k in range(1, 12)]
    long += ["JAK2 " * 900, "(" * 1000, "interaction between " * 300, "not " * 500 + "JAK2 TYK2"]

    for text in long:
        found = facts.remarks(written(re.sub(r"\s+", " ", text).strip() or "x"))
        assert all(0 <= r.start <= r.end for r in found)
