"""Questions understood without a model, on a graph of a few invented nodes."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.graph.names import NameIndex, folded, tokens
from kgcheck.profile.lexicon import Lexicon, load_lexicon
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.questions.answer import Answer, Questions, Status
from kgcheck.questions.plan import Filter
from tests.support.audits import MemoryStore, Rows

NODES: dict[str, Rows] = {
    "Protein": [
        {"id": "P00001", "name": "ABC1", "synonyms": ["alphin", "SET"], "description": "Alpha protein"},
        {"id": "P00002", "name": "BCD2"},
        {"id": "P00003", "name": "CDE3"},
        {"id": "P00004", "name": "CDE3"},
    ],
    "Gene": [{"id": "ABC1", "name": "alpha one"}, {"id": "BCD2", "name": "beta two"}],
    "Disease": [
        {"id": "DOID:1", "name": "disease"},
        {"id": "DOID:2", "name": "grey fever", "synonyms": ["ague"]},
        {"id": "DOID:3", "name": "pale grey fever"},
    ],
    "Tissue": [{"id": "BTO:0000001", "name": "brain"}],
    "Pathway": [{"id": "R-HSA-1", "name": "Making (of) things"}],
    "Protein_structure": [{"id": "1ABC"}],
    "Amino_acid_sequence": [{"id": "P00001", "sequence": "MKV", "size": 3}],
    "Modified_protein": [
        {"id": "P00001_S3-p", "residue": "S", "position": 3},
        {"id": "P00001_K9-ac", "residue": "K", "position": 9},
    ],
    "Modification": [{"id": "MOD:00046", "name": "phosphoserine"}],
}
EDGES: dict[str, Rows] = {
    "Gene TRANSLATED_INTO Protein": [{"head": "ABC1", "tail": "P00001"}, {"head": "BCD2", "tail": "P00002"}],
    "Protein ASSOCIATED_WITH Disease": [
        {"head": "P00001", "tail": "DOID:2", "source": "Curators", "score": 5.0},
        {"head": "P00002", "tail": "DOID:2", "source": "Curators", "score": 2.0},
        {"head": "P00002", "tail": "DOID:3", "source": "Others (2)", "score": 4.0},
    ],
    "Protein ASSOCIATED_WITH Tissue": [{"head": "P00001", "tail": "BTO:0000001"}],
    "Protein ANNOTATED_IN_PATHWAY Pathway": [
        {"head": "P00001", "tail": "R-HSA-1"},
        {"head": "P00003", "tail": "R-HSA-1"},
    ],
    "Protein ACTS_ON Protein": [
        {"head": "P00001", "tail": "P00002", "score": 0.9, "directionality": "True"},
        {"head": "P00001", "tail": "P00003", "score": 0.5, "directionality": "True"},
        {"head": "P00004", "tail": "P00001", "score": 0.6, "directionality": "True"},
    ],
    "Protein CURATED_INTERACTS_WITH Protein": [
        {"head": "P00001", "tail": "P00003"},
        {"head": "P00002", "tail": "P00001"},
    ],
    "Protein HAS_STRUCTURE Protein_structure": [{"head": "P00001", "tail": "1ABC"}],
    "Protein HAS_SEQUENCE Amino_acid_sequence": [{"head": "P00001", "tail": "P00001"}],
    "Protein HAS_MODIFIED_SITE Modified_protein": [
        {"head": "P00001", "tail": "P00001_S3-p"},
        {"head": "P00001", "tail": "P00001_K9-ac"},
    ],
    "Modified_protein HAS_MODIFICATION Modification": [{"head": "P00001_S3-p", "tail": "MOD:00046"}],
    "Disease HAS_PARENT Disease": [{"head": "DOID:3", "tail": "DOID:2"}, {"head": "DOID:2", "tail": "DOID:1"}],
}


@pytest.fixture(scope="module")
def questions() -> Questions:
    return Questions(MemoryStore(NODES, EDGES))


def ids(answer: Answer) -> list[str]:
    return [found.ref.id for found in answer.found]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What diseases is P00001 associated with?", ["DOID:2"]),
        ("which illnesses are linked to alphin", ["DOID:2"]),
        ("Diseases of the Alpha protein?", ["DOID:2"]),
        ("Which proteins are implicated in ague?", ["P00001", "P00002"]),
        ("What are the diseases of the protein encoded by the gene ABC1?", ["DOID:2"]),
        ("Which diseases is the gene BCD2 linked to?", ["DOID:2", "DOID:3"]),
        ("Which proteins does ABC1 act on?", ["P00002", "P00003"]),
        ("Which proteins act on ABC1?", ["P00004"]),
        ("Which proteins are acted on by P00001?", ["P00002", "P00003"]),
        ("What interacts with ABC1?", ["P00002", "P00003"]),
        ("Who are the partners of ABC1?", ["P00002", "P00003"]),
        ("Who interacts with the partners of BCD2?", ["P00003"]),
        ("Which proteins take part in Making (of) things?", ["P00001", "P00003"]),
        ("What are the subtypes of grey fever?", ["DOID:3"]),
        ("What are the parents of pale grey fever?", ["DOID:2"]),
        ("What is pale grey fever a subtype of?", ["DOID:2"]),
        ("Which proteins are found in brain tissue?", ["P00001"]),
        ("Which proteins are linked to grey fever or to pale grey fever?", ["P00001", "P00002"]),
        ("Which diseases is BCD2 linked to with a score of 4 or more?", ["DOID:3"]),
        ("By which proteins is ABC1 acted on?", ["P00004"]),
        ("What are the grandparents of pale grey fever?", ["DOID:1"]),
        ("Which phosphorylation sites does ABC1 have?", ["P00001_S3-p"]),
        ("Which proteins have a modified site with phosphoserine?", ["P00001"]),
        ("PDB ids of the structures of ABC1", ["1ABC"]),
        ("What is the amino acid sequence of P00001?", ["P00001"]),
        ("Which diseases are ABC1 and BCD2 both associated with?", ["DOID:2"]),
        ("Which diseases are associated with P00001 or P00002?", ["DOID:2", "DOID:3"]),
        ("Which proteins expressed in the brain are annotated in the pathway Making (of) things?", ["P00001"]),
        ("Which proteins does ABC1 act on with a score of at least 0.7?", ["P00002"]),
        ("Which diseases are associated with P00002 according to the source Others (2)?", ["DOID:3"]),
        ("Which modified sites of ABC1 are at a position above 5?", ["P00001_K9-ac"]),
        ("Which tissues express proteins that BCD2 interacts with?", ["BTO:0000001"]),
        ("Which proteins are associated with grey fever but not with pale grey fever?", ["P00001"]),
        ("Proteins linked to ague but not pale grey fever", ["P00001"]),
        ("Which proteins without a disease are in Making (of) things?", ["P00003"]),
        ("Which proteins are not associated with grey fever?", ["P00003", "P00004"]),
        ("Which proteins does CDE3 act on or interact with?", ["P00001"]),
        ("Which proteins that ABC1 does not act on are in Making (of) things?", ["P00001"]),
        ("Which proteins other than ABC1 are linked to grey fever?", ["P00002"]),
        ("Which diseases except grey fever is BCD2 associated with?", ["DOID:3"]),
        ("Which proteins in Making (of) things have no structure?", ["P00003"]),
        ("What is encoded by the gene ABC1?", ["P00001"]),
        ("Describe grey fever", ["DOID:2"]),
        ("What acts on something that CDE3 acts on?", []),
        ("Which protein has the most diseases?", ["P00002"]),
        ("Which disease is associated with the most proteins?", ["DOID:2"]),
        ("Which of the proteins in Making (of) things has the fewest diseases?", ["P00003"]),
        ("Which disease of BCD2 has the highest score?", ["DOID:3"]),
        ("Which disease of BCD2 has the lowest score?", ["DOID:2"]),
        ("top 1 proteins for grey fever by score", ["P00001"]),
        ("Which two proteins does ABC1 act on with the highest confidence?", ["P00002", "P00003"]),
        ("Which proteins have at least two diseases?", ["P00002"]),
        ("Which proteins are linked to exactly one disease?", ["P00001"]),
        ("Which proteins act on fewer than 2 proteins and are linked to ague?", ["P00002"]),
        ("Which proteins are associated with more than 1 disease?", ["P00002"]),
        ("Which proteins does ABC1 act on with a score between 0.4 and 0.6?", ["P00003"]),
        ("Which proteins interact with BCD2 or act on ABC1?", ["P00001", "P00004"]),
        ("Which proteins have a structure?", ["P00001"]),
        ("Which genes act on the protein BCD2?", ["ABC1"]),
        ("abc1's partners", ["P00002", "P00003"]),
        ("What does abc1 target?", ["P00002", "P00003"]),
        ("Which proteins target ABC1?", ["P00004"]),
        ("Which proteins are linked to pale-grey fevers?", ["P00002"]),
        ("Where is ABC1 expressed?", ["BTO:0000001"]),
        ("To which diseases is BCD2 linked?", ["DOID:2", "DOID:3"]),
        ("From which gene does P00001 derive?", ["ABC1"]),
        ("Which diseases have grey fever as their parent?", ["DOID:3"]),
        ("What kind of disease is pale grey fever?", ["DOID:2"]),
        ("Which proteins are linked to a subtype of grey fever?", ["P00002"]),
        ("Which proteins are linked to a subtype of grey fever but not to pale grey fever itself?", []),
        ("Which proteins are linked to a subtype of grey fever but not to the brain?", ["P00002"]),
        ("grey fever-associated proteins", ["P00001", "P00002"]),
        ("Which proteins have acetylation sites?", ["P00001"]),
        ("Who participates in R-HSA-1?", ["P00001", "P00003"]),
        ("Which cerebral proteins are linked to ague?", ["P00001"]),
    ],
)
def test_questions_and_answers(questions: Questions, question: str, wanted: list[str]) -> None:
    answer = questions.ask(question)

    status = Status.ANSWERED if wanted else Status.NOTHING
    assert (answer.status, ids(answer)) == (status, wanted), answer.read_as or answer.because


def test_a_question_without_end_is_not_read(questions: Questions) -> None:
    answer = questions.ask("Which proteins does ABC1 act on " * 100)

    assert answer.status is Status.NOT_UNDERSTOOD
    assert "2,000 characters" in answer.because


@pytest.mark.parametrize(
    ("question", "edges"),
    [
        ("Does ABC1 act on BCD2?", ["P00001 ACTS_ON P00002"]),
        ("Is BCD2 acted on by ABC1?", ["P00001 ACTS_ON P00002"]),
        ("Do ABC1 and CDE3 interact?", ["P00001 CURATED_INTERACTS_WITH P00003"]),
        ("Is there an interaction between BCD2 and ABC1?", ["P00002 CURATED_INTERACTS_WITH P00001"]),
        ("Can you tell me whether ABC1 is associated with ague?", ["P00001 ASSOCIATED_WITH DOID:2"]),
        ("Is pale grey fever a kind of grey fever?", ["DOID:3 HAS_PARENT DOID:2"]),
        ("Is BCD2 a target of ABC1?", ["P00001 ACTS_ON P00002"]),
        ("Does the gene ABC1 encode P00001?", ["ABC1 TRANSLATED_INTO P00001"]),
        ("Is ABC1 a cerebral protein?", ["P00001 ASSOCIATED_WITH BTO:0000001"]),
        ("Are ABC1 and CDE3 partners?", ["P00001 CURATED_INTERACTS_WITH P00003"]),
        ("Are both ABC1 and BCD2 linked to grey fever?", ["P00001 ASSOCIATED_WITH DOID:2"]),
        ("Does ABC1 have at least 2 modified sites?", ["P00001 HAS_MODIFIED_SITE P00001_S3-p"]),
    ],
)
def test_yes_has_the_edge_that_says_so(questions: Questions, question: str, edges: list[str]) -> None:
    answer = questions.ask(question)

    assert (answer.status, answer.holds) == (Status.ANSWERED, True), answer.read_as or answer.because
    assert [str(edge.triple) for edge in answer.found[0].path] == edges


@pytest.mark.parametrize(
    "question",
    [
        "Does BCD2 act on ABC1?",
        "Is ABC1 associated with pale grey fever?",
        "Is grey fever a kind of pale grey fever?",
        "Are ABC1 and BCD2 both expressed in the brain?",
        "Is there a structure of BCD2?",
        "Do ABC1 and BCD2 share a pathway?",
    ],
)
def test_no_is_said_of_this_graph_alone(questions: Questions, question: str) -> None:
    answer = questions.ask(question)

    assert (answer.status, answer.holds, answer.found) == (Status.NOTHING, False, ()), answer.read_as
    assert "no proof" in answer.because


def test_a_tie_is_told(questions: Questions) -> None:
    answer = questions.ask("Which protein does ABC1 interact with most confidently?")
    assert answer.status is Status.NOTHING

    answer = questions.ask("Which protein has the most structures?")
    assert ids(answer) == ["P00001"]
    assert questions.ask("Which protein has the most partners?").notes == ()

    tied = questions.ask("Which gene has the most protein products?")
    assert (ids(tied), tied.notes) == (["ABC1", "BCD2"], ("2 are as good as number 1",))


def test_count(questions: Questions) -> None:
    assert questions.ask("How many diseases is BCD2 associated with?").count == 2
    assert questions.ask("How many proteins are there?").count == 4


def test_every_answer_has_the_path_that_led_to_it(questions: Questions) -> None:
    (found,) = questions.ask("What diseases are linked to the protein encoded by the gene ABC1?").found

    assert [str(edge.triple) for edge in found.path] == ["P00001 ASSOCIATED_WITH DOID:2", "ABC1 TRANSLATED_INTO P00001"]
    assert found.path[0].properties["source"] == "Curators"


def test_understood_and_nothing_there_is_an_answer(questions: Questions) -> None:
    answer = questions.ask("Which structures does BCD2 have?")

    assert (answer.status, answer.found) == (Status.NOTHING, ())
    assert "HAS_STRUCTURE edge from the Protein" in answer.read_as


@pytest.mark.parametrize(
    ("question", "because"),
    [
        ("Which drugs inhibit P00001?", "'drugs'"),
        ("What is the weather in Bern?", "'weather'"),
        ("Which diseases is P99999 associated with?", "there is no Protein P99999"),
        ("Which pathways is flumoxinase in?", "'flumoxinase'"),
        ("Which proteins?", "names nothing that is in the graph"),
        ("P00001", "does not say what is asked for"),
        ("Which proteins are proteins of P00001?", "no way"),
        ("Which diseases have a score above 3?", "score"),
        ("", "does not say what is asked for"),
        ("set of brains", "I did not understand: 'set'"),
        ("Which proteins are there not?", "'not'"),
        ("Which proteins interact with P00001, and which diseases do they have?", "more than one thing"),
        ("How many diseases does each protein have?", "each"),
        ("Is P00001 not associated with grey fever?", "yes or no"),
        ("Which proteins have at least 3 of P00001?", "no way"),
        ("How many are the top 3 diseases of P00001?", "number of the first few"),
        ("Which proteins are substrates in the brain?", "'substrates'"),
        ("Which pathways interact with P00001?", "'interact with'"),
        ("Which diseases include either ABC1 or BCD2 but not both?", "'but not'"),
        ("Which pathways are common to the partners of ABC1?", "'common to'"),
        ("Which tissue pathways are there for ABC1?", "'tissue pathways'"),
        ("Which proteins are only expressed in the brain?", "the word 'only' changes what is asked"),
        ("Which proteins are specific to the brain?", "the word 'specific to' changes what is asked"),
        ("Where does ABC1 act?", "'where'"),
        ("When was ABC1 linked to ague?", "'When'"),
        ("What is ABC1 associated with?", "does not say what is asked for"),
        ("Which modifications are on modified proteins of tissues?", "nothing that is in the graph"),
    ],
)
def test_what_is_not_understood_is_said_and_not_guessed(questions: Questions, question: str, because: str) -> None:
    answer = questions.ask(question)

    assert answer.status is Status.NOT_UNDERSTOOD
    assert because in answer.because
    assert answer.found == ()


def test_a_word_is_a_gene_only_as_it_is_written(questions: Questions) -> None:
    assert questions.ask("Which diseases is SET associated with?").status is Status.ANSWERED
    assert questions.ask("Which diseases is set associated with?").status is Status.NOT_UNDERSTOOD


def test_a_name_of_several_nodes_means_all_and_says_so(questions: Questions) -> None:
    answer = questions.ask("Which pathways is CDE3 in?")

    assert ids(answer) == ["R-HSA-1"]
    assert answer.notes == ("CDE3 names 2 Protein nodes; all are meant",)


def test_a_name_of_nodes_of_several_labels_means_all_and_says_so(questions: Questions) -> None:
    answer = questions.ask("What is ABC1?")

    assert [str(found.ref) for found in answer.found] == ["Gene ABC1", "Protein P00001"]
    assert answer.read_as == "the Gene 'alpha one' (ABC1) and the Protein 'ABC1' (P00001)"
    assert answer.notes == ("ABC1 names nodes of several labels; all are meant",)
    assert [(p.target.label, p.notes) for p in questions.plans("What is ABC1?")] == [
        ("Gene", answer.notes),
        ("Protein", answer.notes),
    ]


def test_a_misspelt_name_gets_a_suggestion(questions: Questions) -> None:
    assert "did you mean alphin?" in questions.ask("Which diseases is alphinn linked to?").because


@given(st.text(max_size=80))
def test_no_text_breaks_the_reader(questions: Questions, text: str) -> None:
    answer = questions.ask(text)

    assert answer.found == () or answer.read_as


@given(st.text(max_size=60))
def test_words_stand_where_they_are_said_to(text: str) -> None:
    for token in tokens(text):
        assert text[token.start : token.end].startswith(token.text)
    assert folded(folded(text)) == folded(text) or "'" in text or "\u2019" in text


def test_twenty_questions_at_once(questions: Questions) -> None:
    asked = ["Which diseases is BCD2 associated with?", "Which proteins act on ABC1?"] * 10
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(questions.ask, asked))

    assert [ids(a) for a in found] == [["DOID:2", "DOID:3"], ["P00004"]] * 10


def test_filters_hold_for_what_is_there_and_only_then() -> None:
    assert Filter(property="score", comparison=">=", value=4.0).holds(4)
    assert not Filter(property="score", comparison=">", value=4.0).holds(4)
    assert not Filter(property="score", comparison="<", value=4.0).holds(None)
    assert not Filter(property="score", comparison="<", value=4.0).holds("3")
    assert Filter(property="source", comparison="=", value="string").holds("STRING")


def test_the_lexicon_names_every_label_and_relation() -> None:
    schema = load_schema()
    lexicon = load_lexicon(schema)

    assert {label.name for label in lexicon.labels} == set(schema.label_names)
    said = {r.type for r in lexicon.relations}
    assert set(schema.relation_types) == said


@cache
def _words() -> tuple[Schema, Lexicon]:
    schema = load_schema()
    return schema, load_lexicon(schema)


@given(st.text(alphabet="aB1 '-:+/.s_\t", max_size=12))
def test_names_that_need_no_folding_are_found_all_the_same(name: str) -> None:
    if not folded(name):
        return
    schema, lexicon = _words()
    row = {"id": ["DOID:7"], "name": [name], "synonyms": [[]]}
    index = NameIndex(schema, lambda label: [pa.table(row)] if label.name == "Disease" else (), lexicon)

    assert [c.ref.id for c in index.meant(name)] == ["DOID:7"]
