"""Who does what to whom: acts of sentences, and claims that turn them round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.claim_attacks import attacks, made, outcome
from kgcheck.literature.documents import Document
from kgcheck.literature.quote_relevance import objection, opposes, refutes
from kgcheck.literature.roles import acts, asks_only
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.literature.verify import verify
from kgcheck.model import Stance

SAME = (
    "STK5 phosphorylates ABL9.",
    "ABL9 is phosphorylated by STK5.",
    "ABL9 was rapidly phosphorylated by STK5 in neurons.",
    "Phosphorylation of ABL9 by STK5 was seen.",
    "STK5-mediated phosphorylation of ABL9 was seen.",
    "ABL9 phosphorylation by STK5 was lost.",
    "We show that STK5 phosphorylates ABL9.",
    "STK5 binds ABL9 and phosphorylates it.",
)
OTHER = tuple(s.replace("STK5", "?").replace("ABL9", "STK5").replace("?", "ABL9") for s in SAME)


@pytest.mark.parametrize("claim", ["STK5 phosphorylates ABL9.", "ABL9 is phosphorylated by STK5."])
@pytest.mark.parametrize("sentence", SAME)
def test_an_act_is_one_however_it_is_put(claim: str, sentence: str) -> None:
    assert objection(claim, [sentence]) == ""


@pytest.mark.parametrize("claim", ["STK5 phosphorylates ABL9.", "ABL9 is phosphorylated by STK5."])
@pytest.mark.parametrize("sentence", OTHER)
def test_an_act_the_other_way_round_says_nothing(claim: str, sentence: str) -> None:
    assert "the other way round" in objection(claim, [sentence])


def test_a_whole_word_is_an_act_only_by_itself() -> None:
    assert [a.name for a in acts("Tea eases gout.")] == ["relieve"]
    assert acts("Tea ease.org gout.") == ()


def test_who_binds_does_not_yet_cleave() -> None:
    assert "cleave" in objection("STK5 cleaves ABL9.", ["STK5 binds ABL9."])


def test_what_acts_on_each_other_has_no_direction() -> None:
    assert objection("STK5 binds ABL9.", ["ABL9 binds to STK5."]) == ""


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("Tea lowers the risk of gout.", "Tea was inversely associated with the risk of gout.", 1),
        ("Tea raises the risk of gout.", "Tea was inversely associated with the risk of gout.", -1),
        ("Tea is associated with a lower risk of gout.", "Tea reduced the risk of gout.", 1),
        ("FBX1 stabilises GRX4.", "FBX1 targets GRX4 for degradation.", -1),
        ("FBX1 degrades GRX4.", "FBX1 targets GRX4 for degradation.", 1),
        ("FBX1 protects GRX4 from degradation.", "FBX1 degrades GRX4.", -1),
        ("GRX4 increases the weight of mice.", "Loss of GRX4 increased the weight of mice.", -1),
        ("Loss of GRX4 increases the weight of mice.", "Loss of GRX4 increased the weight of mice.", 1),
        ("Tea lowers the risk of gout.", "Tea did not lower the risk of gout.", 0),
        ("Tea lowers the risk of gout.", "Coffee raised the risk of gout.", 0),
    ],
)
def test_opposites(claim: str, sentence: str, expected: int) -> None:
    assert opposes(claim, [sentence]) == expected


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("Tea raises the risk of gout.", "Tea was inversely associated with the risk of gout.", True),
        ("Tea raises the risk of gout.", "Tea protected against gout, and lowered the risk of falls.", True),
        ("FBX1 stabilises GRX4.", "FBX1 targets GRX4 for degradation.", True),
        ("GRX4 increases the weight of mice.", "Loss of GRX4 increased the weight of mice.", True),
        ("GRX4 increases the weight of mice.", "Inhibiting GRX4 increased the weight of mice.", True),
        ("Inhibiting GRX4 increases the weight of mice.", "Inhibiting GRX4 increased the weight of mice.", False),
        ("Reduced GRX4 increases the weight of mice.", "Reducing GRX4 increased the weight of mice.", False),
        ("GRX4 increases the weight of mice.", "GRX4 loss increased the weight of mice.", True),
        # Somebody or something else, a comparison, a question or a denial leaves it open.
        ("Tea raises the risk of gout.", "Tea lowers the risk of falls.", False),
        ("Tea raises the risk of gout in men.", "Tea lowers the risk of gout.", False),
        ("Tea raises the risk of gout.", "Tea lowered the risk of gout more than coffee.", False),
        ("Does tea raise the risk of gout?", "Tea lowered the risk of gout.", False),
        ("Tea raises the risk of gout.", "Tea did not lower the risk of gout.", False),
        ("Tea raises the risk of gout.", "We tested whether tea lowers the risk of gout.", False),
    ],
)
def test_only_a_plain_opposite_refutes(claim: str, sentence: str, expected: bool) -> None:
    assert refutes(claim, [sentence]) is expected


def test_what_says_the_opposite_contradicts() -> None:
    paper = Document(ids=("x",), abstract="Coffee intake was inversely associated with the risk of gallstones in men.")
    (opinion,) = verify("Coffee intake increases the risk of gallstones.", [paper], TrainedVerifier()).opinions

    assert (opinion.stance, [q.text for q in opinion.quotes]) == (Stance.CONTRADICTS, [paper.abstract])


@pytest.mark.parametrize(
    "sentence",
    [
        "Whether metformin prevents cataract is unknown.",
        "It remains unclear if metformin prevents cataract.",
        "We tested whether metformin prevents cataract.",
    ],
)
def test_a_sentence_that_asks_finds_nothing(sentence: str) -> None:
    assert asks_only(sentence)
    assert "only ask" in objection("Metformin prevents cataract.", [sentence, "Rats were kept."])
    assert objection("Does metformin prevent cataract?", [sentence]) == ""


def test_the_reason_is_beside_the_paper() -> None:
    paper = Document(ids=("x",), abstract="MARK9 ubiquitinates RELB2. RELB2 activates transcription of MARK9.")
    (opinion,) = verify("RELB2 ubiquitinates MARK9.", [paper], TrainedVerifier()).opinions

    assert (opinion.stance, opinion.dropped) == (Stance.SILENT, True)
    assert opinion.note == "its sentences say it the other way round: RELB2, ubiquitinates, MARK9"


def test_hardly_any_attack_passes() -> None:
    verifier = TrainedVerifier()
    found = [(a, outcome(a, verifier)[0]) for a in (*attacks(), *made(12))]
    wrong = [a.claim for a, became in found if became == "WRONG" and a.group != "final"]
    final = [a.claim for a, became in found if became == "WRONG" and a.group == "final"]
    opposites = [became for a, became in found if a.kind == "opposite" and a.expected is Stance.CONTRADICTS]
    true = [became for a, became in found if a.kind == "true"]

    assert len(attacks()) >= 150
    assert len({a.text for a in attacks()}) >= 20
    assert len(wrong) <= 1, wrong
    assert len(final) <= 2, final
    # Measured: 53 right and 7 silent; 91 right and 1 silent.
    assert (len(opposites), opposites.count("WRONG")) == (60, 0)
    assert opposites.count("right") >= 52
    assert (len(true), true.count("WRONG")) == (92, 0)
    assert true.count("right") >= 90


@given(st.text(max_size=300))
def test_any_text_has_acts_or_none(text: str) -> None:
    for act in acts(text):
        assert act.agent
        assert act.patient
        assert act.sign in (-1, 0, 1)
    assert objection(text, [text]) is not None
