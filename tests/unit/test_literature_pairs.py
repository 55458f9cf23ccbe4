"""Two names in a sentence: what is seen of them, denials with both in scope, and the verifier of edges."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.relation_data import marked_pairs, ppi
from benchmarks.relations import BINDS
from kgcheck.errors import ConfigurationError
from kgcheck.literature import pairs
from kgcheck.literature.documents import Document, Span
from kgcheck.literature.pairs import (
    Around,
    EdgeClaim,
    PairVerifier,
    directed,
    load_pair_weights,
    pair_features,
    probability,
    text_of,
)
from kgcheck.literature.verify import verify
from kgcheck.model import Stance
from kgcheck.text.assertions import Assertion, pair_words, read_pair


def places(text: str, one: str = "STK5", two: str = "ABL9") -> tuple[Span, Span]:
    found = [(text.index(name), text.index(name) + len(name)) for name in (one, two)]
    return found[0], found[1]


def chance(text: str) -> float:
    return probability(pair_features(read_pair(text, *places(text), BINDS).clause), load_pair_weights())


def test_a_binding_is_stated_and_a_list_is_not() -> None:
    listed = "Cells were stained for actin, STK5, ABL9, and tubulin."

    assert chance("We found that STK5 binds directly to ABL9.") > 0.6
    assert read_pair(listed, *places(listed), BINDS).assertion is Assertion.APART


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STK5 does not bind ABL9.", True),
        ("STK5 failed to bind to ABL9 in cells.", True),
        ("No binding of STK5 to ABL9 was found.", True),
        ("Binding of STK5 to ABL9 was not detected.", True),
        ("No interaction between STK5 and ABL9 was seen.", True),
        ("STK5 binds GRB7 but not ABL9.", True),
        ("STK5 and ABL9 do not interact.", True),
        ("STK5 binds ABL9.", False),
        ("STK5 binds ABL9 but not GRB7.", False),
        ("STK5, but not GRB7, binds ABL9.", False),
        ("STK5 binds not only GRB7 but also ABL9.", False),
        ("Mutant STK5 does not bind ABL9.", False),
        ("STK5 does not bind ABL9 in the absence of calcium.", False),
        ("Whether STK5 does not bind ABL9 is unclear.", False),
        ("STK5 did not affect the binding of GRB7 to ABL9.", False),
        ("STK5 and ABL9 do not interact with GRB7.", False),
        ("STK5 bound ABL9 (data not shown).", False),
        ("The GRB7 that is not bound to STK5 degrades, and ABL9 binds it.", False),
        ("While GRB7 bound STK5, PAX3 did not bind ABL9.", False),
        ("STK5 did not bind to ABL9-associated GRB7.", False),
        ("GRB7 analysis of STK5 did not reveal any binding between ABL9 and PAX3.", False),
        ("PAX3 did not bind STK5 or ABL9.", False),
        ("No binding of STK5 in ABL9 cells was seen.", False),
        ("Cells with GRB7 but not STK5 clones lost what is bound to ABL9.", False),
        ("No STK5-ABL9 interaction was found.", True),
        ("Thus, lack of STK5 binding promotes ABL9.", False),
        ("STK5 does not bind its partner in ABL9 cells.", False),
        ("No binding between STK5 or ABL9 and PAX3 was seen.", False),
        ("STK5 did not bind the synthesis of ABL9.", True),
        ("STK5 did not bind ABL9 of yeast.", False),
        ("STK5 binds ABL9 sites but not ABL9.", False),
        ("STK5 (ABL9) does not bind GRB7.", False),
        ("STK5 was given. 'It did not bind ABL9.", False),
    ],
)
def test_only_an_outright_denial_of_both_counts(text: str, expected: bool) -> None:
    assert (read_pair(text, *places(text), BINDS).assertion is Assertion.DENIED) is expected


@pytest.mark.parametrize(
    ("text", "straight", "turned"),
    [
        ("STK5 phosphorylates ABL9.", True, False),
        ("ABL9 is phosphorylated by STK5.", True, False),
        ("ABL9 phosphorylates STK5.", False, True),
        ("STK5-dependent transcription of ABL9 was lost.", True, False),
        ("ABL9 is under the control of STK5.", True, False),
        ("STK5 binds ABL9.", False, False),
    ],
)
def test_directions(text: str, straight: bool, turned: bool) -> None:
    way = directed(text_of(pair_words(text, *places(text))))

    assert (way.straight, way.turned) == (straight, turned)


BINDING = EdgeClaim(
    "STK5 binds to ABL9.", ("STK5", "serine kinase 5"), ("ABL9",), "binds", ("bind", "bound", "interact")
)
ACTING = EdgeClaim("STK5 phosphorylates ABL9.", ("STK5",), ("ABL9",), "", ("phosphorylat",))


def stance(claim: EdgeClaim, text: str) -> tuple[Stance, float, list[str]]:
    paper = Document(ids=("x",), abstract=text)
    names = (claim.head, claim.tail)
    (opinion,) = verify(claim.claim, [paper], PairVerifier(claim, unlike=False), names).opinions
    return opinion.stance, opinion.probability, [q.text for q in opinion.quotes]


def test_an_edge_is_read_in_the_sentence_that_names_both() -> None:
    found = stance(BINDING, "Rats were kept. We found that serine kinase 5 binds directly to ABL9. It was warm.")

    assert found[0] is Stance.SUPPORTS
    assert found[1] > 0.6
    assert found[2] == ["We found that serine kinase 5 binds directly to ABL9."]


def test_an_outright_denial_contradicts() -> None:
    found = stance(BINDING, "We found that STK5 does not bind ABL9.")

    assert found == (Stance.CONTRADICTS, 0.8, ["We found that STK5 does not bind ABL9."])


def test_a_paper_that_has_both_is_silent() -> None:
    assert stance(BINDING, "STK5 does not bind ABL9. STK5 binds directly to ABL9.")[0] is Stance.SILENT


def test_where_an_abstract_names_the_two_counts() -> None:
    text = "The binding of STK5 and ABL9 was seen in cells."
    often = Around(6, (0, 1, 3, 5), (0, 1, 3, 5), 1)
    once = Around(6, (3, 1, 2, 4), (3,), 3)

    seen = [
        probability(pair_features(pair_words(text, *places(text)), around=around), load_pair_weights())
        for around in (often, None, once)
    ]

    assert seen[0] > seen[1] > seen[2]


def test_a_note_of_few_sentences_is_read_by_its_sentence_alone() -> None:
    text = "We found that STK5 binds directly to ABL9."
    paper = Document(ids=("x",), abstract=f"{text} Rats were kept.")
    (opinion,) = PairVerifier(BINDING, unlike=False).judge(BINDING.claim, [paper])

    assert opinion.probability == pytest.approx(chance(text))


def test_names_apart_are_no_edge() -> None:
    assert stance(BINDING, "STK5 binds GRB7. ABL9 binds actin.")[0] is Stance.SILENT


def test_the_other_direction_is_no_support() -> None:
    assert stance(ACTING, "ABL9 phosphorylates STK5 directly.")[0] is Stance.SILENT
    assert stance(ACTING, "Phosphorylation of STK5 by ABL9 was seen.")[0] is Stance.SILENT
    assert stance(ACTING, "We found that STK5 phosphorylates ABL9 directly.")[0] is Stance.SUPPORTS


@given(st.text(max_size=200), st.text(max_size=40), st.text(max_size=200))
def test_any_sentence_can_be_looked_at(before: str, between: str, after: str) -> None:
    text = f"{before}STK5{between} ABL9{after}"
    start = len(before)
    one, two = (start, start + 4), (start + 5 + len(between), start + 9 + len(between))

    reading = read_pair(text, one, two, BINDS)

    assert 0 <= probability(pair_features(reading.clause), load_pair_weights()) <= 1


def test_words_with_weights_are_single_words() -> None:
    names = [n.partition(":")[2] for n in load_pair_weights().weights if ":" in n]

    assert len(names) > 1_000
    assert not [n for n in names if " " in n.strip()]


def test_broken_weights_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "verifier").mkdir()
    (tmp_path / "verifier" / "pairs.json").write_text('{"version": 1}', encoding="utf-8")
    monkeypatch.setattr(pairs, "resource_dir", lambda _: tmp_path)
    load_pair_weights.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=r"pairs\.json cannot be read"):
            load_pair_weights()
    finally:
        load_pair_weights.cache_clear()


@pytest.mark.slow
def test_denials_of_biorelex(shared_data: Path) -> None:
    read = [
        label
        for label, text, near in marked_pairs(shared_data)
        if any(read_pair(text, one, two, BINDS).assertion is Assertion.DENIED for one, two in near)
    ]

    # In-sample: of 44 that are read 33 are marked as denials; most others deny it of a mutant, or of a part.
    assert read.count(-1) >= 30
    assert len(read) - read.count(-1) <= 12


def test_directions_of_lll_and_more_than_naming_both(shared_data: Path) -> None:
    found = list(ppi(shared_data, "LLL"))
    ways = [directed(text_of(pair_words(p.text, p.one, p.two))) for p in found if p.directed and p.label == 1]
    p = np.array([probability(pair_features(pair_words(x.text, x.one, x.two)), load_pair_weights()) for x in found])
    true = np.array([x.label == 1 for x in found])

    assert sum(w.turned and not w.straight for w in ways) / len(ways) < 0.05
    assert sum(w.straight for w in ways) >= 50
    # In-sample: these pairs were learnt from. It guards what is seen of a pair, not how well it does elsewhere.
    assert 2 * (true & (p >= 0.3)).sum() / (true.sum() + (p >= 0.3).sum()) > 2 * true.mean() / (1 + true.mean()) + 0.03
