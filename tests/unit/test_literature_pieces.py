"""Pieces of sentences, and what compares: a claim is borne out by one piece about both of its sides, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.literature.quote_relevance import comparison_objection, objection, pieces
from tests.support.spent import spent

NOTE = ("Walking was inversely associated with the risk of gout.", "Cycling made no difference.")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Tea helped; coffee harmed.", ["Tea helped", "coffee harmed."]),
        ("Tea helped, but coffee harmed.", ["Tea helped,", "coffee harmed."]),
        # What has no subject of its own goes on with what was before it.
        ("Tea helped men but not women.", ["Tea helped men but not women."]),
        ("Tea helped but did not cure.", ["Tea helped but did not cure."]),
        ("Tea helped more than coffee did.", ["Tea helped more", "coffee did."]),
    ],
)
def test_a_sentence_is_cut_where_something_else_begins(sentence: str, expected: list[str]) -> None:
    assert [p.text for p in pieces([sentence])] == expected


def test_a_pronoun_stands_for_what_came_before() -> None:
    abstract = "We gave tea to men. It lowered pain."
    (piece,) = pieces(["It lowered pain."], abstract)

    assert piece.before == "We gave tea to men."
    assert objection("Tea lowers pain in men.", ["We gave tea to men.", "It lowered pain."], abstract) == ""


@pytest.mark.parametrize(
    "claim", ["Cycling lowers the risk of gout.", "Cycling is associated with a lower risk of gout."]
)
def test_two_sentences_about_one_side_each_say_nothing_of_both(claim: str) -> None:
    assert "none of its sentences says this of both" in objection(claim, NOTE, " ".join(NOTE))


@pytest.mark.parametrize(
    ("claim", "sentence", "why"),
    [
        ("LOR4 degrades GANT2.", "LOR4 does not bind GANT2.", "do not say: degrades"),
        ("LOR4 binds GANT2.", "LOR4 does not bind GANT2.", ""),
        ("Ibex irreversibly inhibits LOR4.", "Ibex inhibits LOR4 reversibly.", "do not say: irreversibly"),
        ("LOR4 activates GANT2 in T cells.", "LOR4 activates GANT2 in fibroblasts.", "do not name: T cells"),
        ("LOR4 activates GANT2 in T cells.", "In CD4+ T-cells, LOR4 activates GANT2.", ""),
        ("Turmeric improves memory.", "Turmeric improves sleep.", "says this of both: Turmeric, improves, memory"),
        ("PPX6 recruits ADR9.", "ADR9 then recruits PPX6.", "the other way round"),
    ],
)
def test_what_is_told_of_both_is_of_the_claim(claim: str, sentence: str, why: str) -> None:
    found = objection(claim, [sentence])

    assert why in found if why else not found


@pytest.mark.parametrize(
    ("claim", "sentence", "why"),
    [
        ("Tea helped more than coffee.", "Coffee helped more than tea did.", "other way round"),
        ("Tea helped more than coffee.", "Tea helped more than coffee did.", ""),
        ("Tea helped more than coffee.", "Coffee helped less than tea did.", ""),
        ("Tea helped less than coffee.", "Coffee helped less than tea did.", "other way round"),
        ("Of men given tea, 8% fell.", "Of men given tea, 3% fell, against 8% given water.", "of something else: 8%"),
        ("Of men given tea, 3% fell.", "Of men given tea, 3% fell, against 8% given water.", ""),
        ("Of men given water, 8% fell.", "Of men given tea, 3% fell, against 8% given water.", ""),
    ],
)
def test_what_is_compared_keeps_its_sides_and_numbers(claim: str, sentence: str, why: str) -> None:
    found = comparison_objection(claim, [sentence])

    assert why in found if why else not found


@pytest.mark.parametrize(
    ("claim", "sentence", "why"),
    [
        # Said in other words: the models of the verifier decide, unless all is to be named.
        ("Statins reduce the mortality of diabetics.", "Fewer patients on simvastatin died.", ""),
        # The words of the claim, but for one thing.
        ("Ibex lowers blood pressure in women.", "Ibex lowered the blood pressure of men.", "do not name: women"),
        ("Ibex lowers blood pressure.", "LOR4 lowered blood pressure.", "do not name: Ibex"),
        ("Turmeric improves memory.", "Turmeric helped digestion; tea improved memory.", "says this of both"),
        # However it is put.
        ("PPX6 recruits ADR9 to damaged membranes of neurons.", "ADR9 recruits PPX6.", "do not say: damaged"),
    ],
)
def test_a_claim_in_other_words_passes_the_gate_of_paraphrases_and_an_exchanged_one_does_not(
    claim: str, sentence: str, why: str
) -> None:
    found = objection(claim, [sentence], strict=False)

    assert why in found if why else not found
    assert objection(claim, [sentence])


@given(
    st.lists(
        st.sampled_from(["but", "tea", "than", "more", ";", "it", "lowered", "the", "3%", "gout", "."]), max_size=60
    )
)
def test_pieces_hold_all_words_but_those_between(words: list[str]) -> None:
    sentence = " ".join(words)
    found = pieces([sentence])

    assert all(p.text in sentence for p in found)
    assert objection(sentence, [sentence], sentence) is not None


@pytest.mark.parametrize("part", ["but x ", "more than ", "; ", "it ", "than 3% ", "compared with "])
def test_long_sentences_take_time_in_proportion(part: str) -> None:
    sentence = f"Tea lowers gout {part * 4_000}"[:20_000]
    claim = "Tea lowers the risk of gout more than coffee in 3% of men."

    assert spent(lambda: objection(claim, [sentence], sentence)) < 3
