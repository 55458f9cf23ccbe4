"""Words that change what is asked: put anywhere into a question, they are understood or refused, never passed over."""

import pytest

from kgcheck.questions.answer import Answer, Questions, Status
from tests.support import some_of
from tests.support.audits import MemoryStore, Rows

NODES: dict[str, Rows] = {
    "Protein": [{"id": f"P0000{n}", "name": f"ABC{n}", "taxid": "9606"} for n in range(1, 6)],
    "Disease": [{"id": "DOID:2", "name": "ague"}, {"id": "DOID:3", "name": "quinsy"}],
    "Cellular_component": [{"id": "GO:0000003", "name": "nucleus"}],
    "Pathway": [{"id": "R-HSA-1", "name": "Makings", "organism": "9606"}, {"id": "R-HSA-2", "organism": "9606"}],
    "Protein_structure": [{"id": "1ABC"}, {"id": "2ABC"}, {"id": "3ABC"}],
}
EDGES: dict[str, Rows] = {
    "Protein ASSOCIATED_WITH Disease": [
        {"head": "P00001", "tail": "DOID:2", "score": 4.0},
        {"head": "P00002", "tail": "DOID:2", "score": 2.0},
        {"head": "P00002", "tail": "DOID:3", "score": 3.0},
    ],
    "Protein ASSOCIATED_WITH Cellular_component": [{"head": "P00001", "tail": "GO:0000003"}],
    "Protein ACTS_ON Protein": [
        {"head": "P00001", "tail": "P00002", "directionality": "False"},
        {"head": "P00003", "tail": "P00001", "directionality": "True"},
        {"head": "P00004", "tail": "P00001"},
        {"head": "P00005", "tail": "P00005"},
        {"head": "P00005", "tail": "P00004"},
    ],
    "Protein CURATED_INTERACTS_WITH Protein": [
        {"head": "P00001", "tail": "P00001"},
        {"head": "P00001", "tail": "P00002"},
        {"head": "P00003", "tail": "P00002"},
    ],
    "Protein ANNOTATED_IN_PATHWAY Pathway": [
        {"head": "P00001", "tail": "R-HSA-1"},
        {"head": "P00002", "tail": "R-HSA-1"},
        {"head": "P00003", "tail": "R-HSA-2"},
    ],
    "Protein HAS_STRUCTURE Protein_structure": [
        {"head": "P00001", "tail": "1ABC"},
        {"head": "P00001", "tail": "2ABC"},
        {"head": "P00001", "tail": "3ABC"},
        {"head": "P00002", "tail": "1ABC"},
    ],
}


@pytest.fixture(scope="module")
def questions() -> Questions:
    return Questions(MemoryStore(NODES, EDGES))


def ids(answer: Answer) -> list[str]:
    return [found.ref.id for found in answer.found]


ASKED = {
    "Which proteins are associated with ague ?": 1,
    "Which diseases is ABC2 linked to ?": 1,
    "How many structures does ABC1 have ?": 2,
    "What interacts with ABC1 ?": 0,
    "Does ABC1 act on ABC2 ?": 0,
    "Is ABC1 nuclear ?": 0,
    "List the proteins that act on proteins linked to quinsy": 2,
    "Which pathways is ABC1 annotated in ?": 1,
}
"""Questions that are answered, and how many words stand before the noun of what is asked for; 0 where there is none."""

CHANGE = (
    "exactly only solely exclusively predicted experimentally directly indirectly physically overexpressed"
    " over-expressed under-expressed underexpressed co-expressed mutated mostly nearly first last newest"
    " oldest average mean mouse rat"
    " possibly probably usually often rarely never-ever significantly strongly weakly highly specifically uniquely"
    " another other similar opposite upregulated downregulated confirmed validated together two 3 seven many few less"
    " between both either neither same shared healthy crystal metabolic formerly previously recently always sometimes"
    " likely almost more fewer half best unlike like via through jointly respectively"
).split()
PHRASES = "at most,at least,no longer,the same,most recent,in common,only one of,up to,not only".split(",")


def placed(question: str, word: str) -> list[tuple[int, str]]:
    """A question with a word at every place."""
    words = question.split()
    return [(n, " ".join([*words[:n], word, *words[n:]])) for n in range(len(words) + 1)]


@pytest.mark.seeded
@pytest.mark.parametrize(("number", "word"), [*enumerate([*CHANGE, *PHRASES])])
def test_a_word_that_changes_the_question_is_refused_wherever_it_stands(
    questions: Questions, number: int, word: str
) -> None:
    for question in some_of(list(ASKED), number):
        before, *_ = questions.plans(question)
        for _, text in placed(question, word):
            answer = questions.ask(text)
            if answer.status is Status.NOT_UNDERSTOOD:
                continue
            # Understood: then it is another plan, and says so.
            assert answer.plan is not None
            assert answer.plan.model_copy(update={"notes": ()}) != before, text


NAMED = "exactly only predicted experimentally directly overexpressed average first other same both mouse".split()


@pytest.mark.seeded
@pytest.mark.parametrize(("number", "word"), [*enumerate(NAMED)])
def test_the_refusal_names_the_word(questions: Questions, number: int, word: str) -> None:
    for question in some_of(list(ASKED), number):
        # Before the question word nothing is read as a question any more.
        for _, text in placed(question, word)[1:]:
            answer = questions.ask(text)
            assert answer.status is Status.NOT_UNDERSTOOD, text
            # "How same many" leaves two words over.
            assert f"{word}'" in answer.because or "'many'" in answer.because, (text, answer.because)


@pytest.mark.parametrize("word", ["all", "every", "each", "all of the", "different", "distinct"])
def test_all_is_understood_of_what_is_asked_for_and_of_nothing_else(questions: Questions, word: str) -> None:
    for question, noun in ASKED.items():
        wanted = questions.ask(question)
        for place, text in placed(question, word):
            answer = questions.ask(text)
            if place <= noun and answer.status is Status.ANSWERED:
                assert (ids(answer), answer.count) == (ids(wanted), wanted.count), text
            else:
                assert answer.status is Status.NOT_UNDERSTOOD, text


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Are all proteins linked to ague nuclear?", "all"),
        ("Which proteins are linked to every disease?", "every"),
        ("Which diseases are not linked to both ABC1 and ABC2?", "both"),
        ("Which proteins with the same disease are in both Makings and R-HSA-2?", "the same"),
        ("Which 2 diseases is ABC2 linked to?", "2"),
        ("Which proteins have many structures?", "many"),
        ("Which proteins bind ABC1, that is only in ague?", "only"),
        ("Which proteins bind ABC1, i.e. only in ague?", "only"),
        ("Which proteins are linked to ague or quinsy and Makings or ABC1?", ""),
        ("Is ABC1 linked to ague or quinsy and quinsy?", "'and' and 'or'"),
        ("Which proteins bind ABC1? Give the diseases.", "more than one thing"),
        ("Which diseases is TP53 linked to?", "TP53 is not in this graph"),
        ("Which diseases is HLA-B linked to?", "HLA-B is not in this graph"),
        ("Does ABC1 act on MDM2?", "MDM2 is not in this graph"),
        ("Which diseases is ABC11 linked to?", "ABC11 is not in this graph; did you mean ABC1"),
        ("Which diseases is P99999 linked to?", "there is no Protein P99999 in the graph"),
    ],
)
def test_what_means_nothing_where_it_stands_is_refused_by_its_name(
    questions: Questions, question: str, word: str
) -> None:
    answer = questions.ask(question)

    assert answer.status is Status.NOT_UNDERSTOOD, answer.read_as
    assert word in answer.because


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Which proteins are linked to both ague and quinsy?", ["P00002"]),
        ("Which proteins are linked to either ague or quinsy?", ["P00001", "P00002"]),
        ("Which proteins are linked to neither ague nor quinsy?", ["P00003", "P00004", "P00005"]),
        ("Which proteins have exactly 3 structures?", ["P00001"]),
        ("Which proteins have only one structure?", ["P00002"]),
        ("Which proteins have at most 2 structures and are linked to ague?", ["P00002"]),
        ("Which proteins share a pathway with ABC1?", ["P00002"]),
        ("Which proteins are in the same pathway as ABC1?", ["P00002"]),
        ("List all of the proteins linked to ague", ["P00001", "P00002"]),
        ("Which human proteins are linked to ague?", ["P00001", "P00002"]),
        ("all ABC2 diseases", ["DOID:2", "DOID:3"]),
        ("What diseases do ABC1 and ABC2 share?", ["DOID:2"]),
        # Of a symmetric relation an edge without a direction is found from either end; one with it, from its own.
        ("Which proteins does ABC1 act on?", ["P00002", "P00004"]),
        ("Which proteins act on ABC1?", ["P00002", "P00003", "P00004"]),
        ("Which proteins does ABC2 act on?", ["P00001"]),
        ("Which proteins does ABC3 act on?", ["P00001"]),
        ("Which proteins act on ABC3?", []),
        ("Which proteins interact with ABC2?", ["P00001", "P00003"]),
        # One with itself is an answer where the graph has the edge, and not where it has none.
        ("Which proteins interact with ABC1?", ["P00001", "P00002"]),
        ("Which proteins act on ABC5?", ["P00004", "P00005"]),
        ("Who interacts with the partners of ABC3?", ["P00001"]),
        ("Who interacts with the partners of ABC1?", ["P00001", "P00002", "P00003"]),
    ],
)
def test_what_has_a_meaning_is_answered_with_it(questions: Questions, question: str, wanted: list[str]) -> None:
    answer = questions.ask(question)

    status = Status.ANSWERED if wanted else Status.NOTHING
    assert (answer.status, ids(answer)) == (status, wanted), answer.read_as or answer.because


def test_human_says_nothing_only_where_the_graph_says_so() -> None:
    mixed = {**NODES, "Protein": [*NODES["Protein"], {"id": "P00009", "name": "ABC9", "taxid": "10090"}]}
    answer = Questions(MemoryStore(mixed, EDGES)).ask("Which human proteins are linked to ague?")

    assert answer.status is Status.NOT_UNDERSTOOD
    assert "'human'" in answer.because


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Does ABC2 act on ABC1?", True),
        ("Does ABC1 act on ABC3?", False),
        ("Does ABC3 act on ABC1?", True),
        ("Does ABC1 interact with ABC1?", True),
        ("Does ABC2 interact with ABC2?", False),
    ],
)
def test_yes_or_no_of_symmetric_relations(questions: Questions, question: str, holds: bool) -> None:
    answer = questions.ask(question)

    assert answer.holds is holds, answer.read_as or answer.because


# --- how it was read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "read_as"),
    [
        ("Which proteins are linked to ague?", "proteins with an ASSOCIATED_WITH edge to the Disease 'ague' (DOID:2)"),
        (
            "How many proteins are not linked to quinsy?",
            "the number of proteins without any ASSOCIATED_WITH edge to the Disease 'quinsy' (DOID:3)",
        ),
        (
            "Does ABC1 act on P00002?",
            "whether the Protein 'ABC1' (P00001) has an ACTS_ON edge to or from the Protein 'ABC2' (P00002)",
        ),
        (
            "Which pathways contain proteins linked to ague with a score above 3?",
            "pathways with an ANNOTATED_IN_PATHWAY edge from any of the proteins with an ASSOCIATED_WITH edge"
            " (score > 3) to the Disease 'ague' (DOID:2)",
        ),
        (
            "Which protein has the most structures?",
            "the one with a HAS_STRUCTURE edge to the most protein structures, of proteins",
        ),
        (
            "Which proteins have exactly 3 structures?",
            "proteins with HAS_STRUCTURE edges to exactly 3 protein structures",
        ),
    ],
)
def test_a_plan_is_told_in_one_sentence(questions: Questions, question: str, read_as: str) -> None:
    assert questions.ask(question).read_as == read_as
