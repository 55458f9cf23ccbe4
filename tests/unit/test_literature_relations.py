"""Relations of sentences: what a claim says of things is borne out by words that say the same of the same things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.literature.quote_relevance import objection, relations, unlicensed
from tests.support.spent import spent


@pytest.mark.parametrize(
    ("text", "word", "theme", "cause"),
    [
        ("STK5 cleaves ABL9 in neurons.", "cleaves", "ABL9", "STK5"),
        ("ABL9 was rapidly cleaved by STK5 in neurons.", "cleaved", "ABL9 was rapidly", "STK5"),
        ("Cleavage of ABL9 by STK5 was seen.", "cleavage", "ABL9", "STK5"),
        ("STK5 binds ABL9 and cleaves it.", "cleaves", "ABL9", "STK5"),
        ("STK5-induced secretion was lost.", "stk5-induced", "secretion", "STK5"),
        ("STK5, which cleaves ABL9 and DRB7, is new.", "cleaves", "ABL9 and DRB7 ,", ""),
        ("Loss of STK5 led to fewer platelets.", "led", "fewer platelets", "Loss of STK5"),
        ("STK5 keeps ABL9 from the nucleus.", "keeps from", "ABL9", "STK5"),
        ("Mutations impair STK5.", "impair", "STK5", "Mutations"),
    ],
)
def test_a_relation_has_its_sides(text: str, word: str, theme: str, cause: str) -> None:
    (found,) = (r for r in relations(text) if r.word == word)

    assert (found.theme, found.cause) == (theme, cause)


def test_a_part_of_a_name_states_nothing() -> None:
    assert [r[3:6] for r in relations("The transport factor STK5 was new.")] == [(False, "", "")]


@pytest.mark.parametrize(
    ("claim", "sentence", "lacking"),
    [
        ("STK5 cleaves ABL9.", "STK5 binds ABL9.", ("cleaves",)),
        ("STK5 hinders ABL9.", "STK5 blocked ABL9.", ()),
        ("STK5 hinders ABL9.", "STK5 activated ABL9.", ("hinders",)),
        ("STK5 regulates ABL9.", "STK5 inhibits ABL9.", ()),
        ("STK5 inhibits ABL9.", "STK5 regulates ABL9.", ("inhibits",)),
        ("STK5 shuts down ABL9.", "STK5 switched off ABL9.", ()),
        ("ABL9 relies on STK5.", "STK5 is essential for ABL9.", ()),
        ("STK5 only binds ABL9.", "STK5 binds ABL9.", ("only",)),
        ("STK5 always binds ABL9.", "STK5 binds ABL9.", ("always",)),
        ("STK5 is unmethylated.", "STK5 holds many sites.", ("unmethylated",)),
    ],
)
def test_a_word_is_borne_out_by_one_that_says_the_same(claim: str, sentence: str, lacking: tuple[str, ...]) -> None:
    assert unlicensed(claim, [sentence]) == lacking


TRAPS = (
    # The word stands there, of something else.
    ("STK5 phosphorylates ABL9.", "Binding of ABL9 is mediated by phosphorylation of STK5 at two sites."),
    ("MORV4 carries DRB7 into the nucleus.", "DRB7 complexes met the nuclear transport factor MORV4."),
    (
        "QUB2 brings LORP4 to the nucleus.",
        "Binding of QUB2 results in the nuclear translocation of QUB2 and not of LORP4.",
    ),
    (
        "NUD3 transports PRKX to the membrane.",
        "PRKX, which sits on the membrane, binds NUD3 for the transport of lipids.",
    ),
    ("TALP2 activates the transcription of HOPA6.", "HOPA6 is needed for activation of p21 and regulates TALP2."),
    ("GANT2 inhibits VELM6.", "VELM6 inhibits GANT2."),
    ("Loss of platelets causes loss of KLFB.", "Loss of KLFB causes loss of platelets."),
    # Another word for another thing.
    ("MORV4 competes with DRB7.", "MORV4 differs from DRB7."),
    ("SNAP62 sequesters PEX88.", "SNAP62 augmented the localization of PEX88."),
    ("OMBR1 shields DUSM9 from degradation.", "OMBR1 cooperates with DUSM9 in degradation."),
    ("Ibex spares LOR4.", "Ibex eliminates LOR4."),
    # A condition that nobody names.
    ("Ibex inhibits LOR4 in all fibroblasts.", "Ibex inhibits LOR4 in fibroblasts."),
    ("Ibex directly inhibits LOR4.", "Ibex inhibits LOR4."),
    ("IL-4 raises LOR4.", "IL-2 raises LOR4 on day 4."),
    ("IL-21 raises LOR4.", "IL-2 raises LOR4 on day 21."),
)


@pytest.mark.parametrize(("claim", "sentence"), TRAPS)
def test_another_relation_between_the_same_things_is_not_borne_out(claim: str, sentence: str) -> None:
    assert objection(claim, [sentence], sentence)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("STK5 is contacted by ABL9.", "Two residues are involved in a direct interaction of STK5 with ABL9."),
        ("STK5 hinders ABL9 from entering the nucleus.", "STK5 inhibits the nuclear import of ABL9."),
        ("Ibex draws LOR4 to chromatin.", "Recruitment of LOR4 to chromatin by Ibex was seen."),
        ("STK5 holds back autophagy.", "STK5 is a negative regulator of autophagy."),
        ("Neurons need STK5 for survival.", "STK5 is required for the survival of neurons."),
        ("Tea lowers gout.", "Tea was inversely associated with gout."),
        ("14-3-3 binds STK5.", "STK5 interacted with 14-3-3."),
    ],
)
def test_what_says_the_same_in_other_words_is_borne_out(claim: str, sentence: str) -> None:
    assert objection(claim, [sentence], sentence) == ""


def test_what_contradicts_speaks_of_the_same_things() -> None:
    assert objection("Ibex raises LOR4.", ["Ibex lowered LOR4."], supports=False) == ""
    assert objection("Ibex raises LOR4.", ["Ibex lowered GANT2.", "LOR4 is new."], supports=False)
    assert objection("Ibex cleaves LOR4.", ["Ibex does not bind LOR4."], supports=False)


@given(st.text(max_size=300))
def test_any_text_has_relations_or_none(text: str) -> None:
    assert all(r.word and (r.bears >= r.classes) for r in relations(text))


@pytest.mark.parametrize("part", ["binds x ", "keeps it ", "and activates ", "a-", "(x) ", "not "])
def test_long_texts_take_time_in_proportion(part: str) -> None:
    assert spent(lambda: relations(part * 10_000)) < 1
