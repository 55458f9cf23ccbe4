"""What is read of English sentences: clauses, denials, things, acts and relations; and how often traps pass."""

import json
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.claim_attacks import attacks, made, outcome
from benchmarks.denials import denied, reversed_way
from benchmarks.pair_sentences import judge
from benchmarks.relation_data import marked_pairs, ppi
from benchmarks.relations import BINDS
from kgcheck.errors import ConfigurationError
from kgcheck.literature import pairs
from kgcheck.literature.arguments import arguments, missing
from kgcheck.literature.documents import Document, Span
from kgcheck.literature.features import words_of
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
from kgcheck.literature.polarity import POLARITY, compare
from kgcheck.literature.polarity import clauses_of as polar_clauses
from kgcheck.literature.quote_relevance import (
    comparison_objection,
    objection,
    opposes,
    pieces,
    refutes,
    relations,
    unlicensed,
)
from kgcheck.literature.roles import acts, asks_only
from kgcheck.literature.trained_verifier import TrainedVerifier
from kgcheck.literature.verify import Opinion, verify
from kgcheck.model import Stance
from kgcheck.resources import resource_dir
from kgcheck.text.assertions import Assertion, clauses_of, is_known, pair_words, read_pair
from kgcheck.text.words import tokenize, word_pattern, words_of_list
from tests.support import ROOT, examples
from tests.support.readings import readings
from tests.support.spent import spent

SUPPORT = ROOT / "tests" / "support"
RELATES = word_pattern(["bind", "bound", "interact", "associat", "caus", "mutat", "complex", "phosphorylat"])


def places(text: str, one: str = "STK5", two: str = "ABL9") -> tuple[Span, Span]:
    start, other = text.index(one), text.index(two)
    return (start, start + len(one)), (other, other + len(two))


def asserted(text: str, relates: Any = RELATES, *, unlike: bool = False) -> Assertion:
    return read_pair(text, *places(text), relates, unlike=unlike).assertion


def support_rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (SUPPORT / name).read_text(encoding="utf-8").splitlines()]


# Tokens and clauses; what is asserted of two names


def test_tokens_stand_where_they_are_in_the_text() -> None:
    text = "STK5 wasn't bound (Fig. 2). ABL9-null cells didn't grow."

    assert [text[t.start : t.end].lower() for t in tokenize(text)] == [t.word.lower() for t in tokenize(text)]
    assert [t.word for t in tokenize(text)][:4] == ["STK5", "was", "n't", "bound"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("X1 binds X2, X3 and X4 .", 1),
        ("X1 binds X2 but not X3 .", 2),
        ("X1, which is long, binds X2 .", 2),
        ("X1 binds X2 and does not bind X3 .", 2),
        ("Although X1 is small, X1 bound to X2 .", 2),
    ],
)
def test_clauses(text: str, count: int) -> None:
    words = [token.word for token in tokenize(text) if token.word != "."]

    assert len([c for c in clauses_of(words) if c.places]) == count


@pytest.mark.parametrize(("expected", "text"), readings("asserted"))
def test_what_is_asserted_of_two_names(expected: str, text: str) -> None:
    found = asserted(text).value

    assert found != "stated" if expected == "not stated" else found == expected


@pytest.mark.parametrize(("expected", "text"), readings("bound"))
def test_only_an_outright_denial_of_both_counts(expected: str, text: str) -> None:
    assert (asserted(text, BINDS) is Assertion.DENIED) is (expected == "denied")


def test_an_association_that_is_no_common_cause_is_not_denied() -> None:
    assert asserted("STK5 mutations are not associated with ABL9.", unlike=True) is Assertion.DENIED
    assert asserted("STK5 mutations are not a common cause of ABL9.", unlike=True) is Assertion.APART


@settings(max_examples=examples(300))
@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=9), st.integers(1, 5))
def test_an_unknown_word_silences_a_statement(word: str, at: int) -> None:
    words = "We show that STK5 directly binds ABL9".split()
    text = " ".join([*words[:at], word, *words[at:]])

    assert is_known(word) or asserted(text) is not Assertion.STATED


def test_no_word_that_is_barred_is_licensed() -> None:
    barred = words_of_list("licences", "barred") | words_of_list("licences", "never")

    assert len(barred) > 400
    assert [word for word in barred if is_known(word)] == []


@pytest.mark.parametrize(
    ("name", "least", "most_wrong", "found"),
    # Ours, by which the lists were made: in-sample. Then those written before the licences, or to find their holes.
    [("pair_sentences.jsonl", 417, 0, 0.9), ("unlicensed_sentences.jsonl", 333, 4, 0.85)],
)
def test_sentences_of_all_kinds(name: str, least: int, most_wrong: int, found: float) -> None:
    keys = ("sentence", "e1", "e1_type", "e2", "e2_type", "relation")
    read = [(row["label"], row["kind"], judge(*(row[k] for k in keys))) for row in support_rows(name)]
    support = [stance for label, _, stance in read if label == "support"]
    denials = [stance for label, _, stance in read if label == "contradict"]
    others = [stance for label, kind, stance in read if label != "support" and kind != "comention"]

    assert len(read) >= least
    assert others.count(Stance.SUPPORTS) <= most_wrong
    assert support.count(Stance.SUPPORTS) >= found * len(support)
    if most_wrong == 0:
        assert Stance.CONTRADICTS not in support
        assert denials.count(Stance.CONTRADICTS) >= found * len(denials)


LISTS = tomllib.loads((resource_dir("corpus") / "verifier" / "scopes.toml").read_text(encoding="utf-8"))
WORDS = sorted(
    {word.rstrip(".") for words in LISTS.values() for word in words} | set(",;:.?()-/") | {"and", "if", "GRB7"}
)


@settings(max_examples=examples(1_500))
@given(*(st.lists(st.sampled_from(WORDS), max_size=6) for _ in range(3)), st.booleans(), st.booleans())
def test_any_words_are_read(
    before: list[str], between: list[str], after: list[str], turned: bool, unlike: bool
) -> None:
    names = ("ABL9", "STK5") if turned else ("STK5", "ABL9")

    assert asserted(" ".join([*before, names[0], *between, names[1], *after]), unlike=unlike) in Assertion


@pytest.mark.parametrize("joint", ["", "-", "of", "to", "not", "that", ",", ":"])
def test_every_word_is_read_at_every_end(joint: str) -> None:
    for word in WORDS:
        put_in = f"{joint} {word} {joint}"
        for text in (f"{put_in} STK5 ABL9", f"STK5 {put_in} ABL9", f"STK5 binds ABL9 {put_in}", f"STK5 ABL9 {put_in}"):
            assert asserted(text) in Assertion


@pytest.mark.parametrize("put_in", [", which ", "small ", "binds and ", "- ", "not only "])
def test_a_sentence_without_an_end_says_nothing(put_in: str) -> None:
    assert asserted(f"STK5 {put_in * 20_000}binds ABL9.") is Assertion.APART


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


# Two names as an edge


@pytest.mark.parametrize(("expected", "text"), readings("directions"))
def test_directions(expected: str, text: str) -> None:
    way = directed(text_of(pair_words(text, *places(text))))

    assert (way.straight, way.turned) == (expected == "straight", expected == "turned")


def chance(text: str, around: Around | None = None) -> float:
    clause = read_pair(text, *places(text), BINDS).clause
    return probability(pair_features(clause, around=around), load_pair_weights())


def test_a_binding_is_more_likely_where_an_abstract_names_the_two_often() -> None:
    text = "The binding of STK5 and ABL9 was seen in cells."
    often, once = Around(6, (0, 1, 3, 5), (0, 1, 3, 5), 1), Around(6, (3, 1, 2, 4), (3,), 3)

    assert chance("We found that STK5 binds directly to ABL9.") > 0.6
    assert asserted("Cells were stained for actin, STK5, ABL9, and tubulin.", BINDS) is Assertion.APART
    assert chance(text, often) > chance(text) > chance(text, once)


BINDING = EdgeClaim(
    "STK5 binds to ABL9.", ("STK5", "serine kinase 5"), ("ABL9",), "binds", ("bind", "bound", "interact")
)
ACTING = EdgeClaim("STK5 phosphorylates ABL9.", ("STK5",), ("ABL9",), "", ("phosphorylat",))


@pytest.mark.parametrize(
    ("claim", "text", "stance", "quotes"),
    [
        (
            BINDING,
            "Rats were kept. We found that serine kinase 5 binds directly to ABL9. It was warm.",
            Stance.SUPPORTS,
            ["We found that serine kinase 5 binds directly to ABL9."],
        ),
        (BINDING, "STK5 does not bind ABL9.", Stance.CONTRADICTS, ["STK5 does not bind ABL9."]),
        (BINDING, "STK5 does not bind ABL9. STK5 binds directly to ABL9.", Stance.SILENT, []),
        (BINDING, "STK5 binds GRB7. ABL9 binds actin.", Stance.SILENT, []),
        (ACTING, "ABL9 phosphorylates STK5 directly.", Stance.SILENT, []),
        (ACTING, "Phosphorylation of STK5 by ABL9 was seen.", Stance.SILENT, []),
        (ACTING, "STK5 phosphorylates ABL9 directly.", Stance.SUPPORTS, ["STK5 phosphorylates ABL9 directly."]),
    ],
)
def test_an_edge_is_read_in_the_sentences_that_name_both(
    claim: EdgeClaim, text: str, stance: Stance, quotes: list[str]
) -> None:
    names = (claim.head, claim.tail)
    verifier = PairVerifier(claim, unlike=False)
    (opinion,) = verify(claim.claim, [Document(ids=("x",), abstract=text)], verifier, names).opinions

    assert (opinion.stance, [q.text for q in opinion.quotes]) == (stance, quotes)
    assert opinion.probability == 0.8 if stance is Stance.CONTRADICTS else opinion.probability > 0.5


def test_a_note_of_few_sentences_is_read_by_its_sentence_alone() -> None:
    text = "We found that STK5 binds directly to ABL9."
    paper = Document(ids=("x",), abstract=f"{text} Rats were kept.")
    (opinion,) = PairVerifier(BINDING, unlike=False).judge(BINDING.claim, [paper])

    assert opinion.probability == pytest.approx(chance(text))


@given(st.text(max_size=200), st.text(max_size=40), st.text(max_size=200))
def test_any_sentence_can_be_looked_at(before: str, between: str, after: str) -> None:
    text, start = f"{before}STK5{between} ABL9{after}", len(before)
    two = (start + 5 + len(between), start + 9 + len(between))
    reading = read_pair(text, (start, start + 4), two, BINDS)

    assert 0 <= probability(pair_features(reading.clause), load_pair_weights()) <= 1


def test_weights_are_of_single_words_and_broken_ones_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [n.partition(":")[2] for n in load_pair_weights().weights if ":" in n]
    assert len(names) > 1_000
    assert not [n for n in names if " " in n.strip()]

    (tmp_path / "verifier").mkdir()
    (tmp_path / "verifier" / "pairs.json").write_text('{"version": 1}', encoding="utf-8")
    monkeypatch.setattr(pairs, "resource_dir", lambda _: tmp_path)
    load_pair_weights.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=r"pairs\.json cannot be read"):
            load_pair_weights()
    finally:
        load_pair_weights.cache_clear()


def test_directions_of_lll_and_more_than_naming_both(shared_data: Path) -> None:
    found = list(ppi(shared_data, "LLL"))
    ways = [directed(text_of(pair_words(p.text, p.one, p.two))) for p in found if p.directed and p.label == 1]
    p = np.array([probability(pair_features(pair_words(x.text, x.one, x.two)), load_pair_weights()) for x in found])
    true = np.array([x.label == 1 for x in found])

    assert sum(w.turned and not w.straight for w in ways) / len(ways) < 0.05
    assert sum(w.straight for w in ways) >= 50
    # In-sample: these pairs were learnt from. It guards what is seen of a pair, not how well it does elsewhere.
    assert 2 * (true & (p >= 0.3)).sum() / (true.sum() + (p >= 0.3).sum()) > 2 * true.mean() / (1 + true.mean()) + 0.03


# Things that a claim names


@pytest.mark.parametrize(("claim", "sentence", "expected"), readings("missing"))
def test_what_is_missing(claim: str, sentence: str, expected: str) -> None:
    assert ", ".join(missing(claim, [sentence])) == expected


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("Chronic obstructive pulmonary disease shortens life", "COPD shortens life.", ()),
        ("COPD is common", "Chronic obstructive pulmonary disease is common.", ()),
        ("COPD shortens life", "It shortens life.", ("COPD",)),
        # A graph knows other names.
        ("TP53 is associated with Klippel-Feil syndrome.", "p53 is mutated in KFS.", ()),
        ("TP53 is associated with Klippel-Feil syndrome.", "p73 is mutated in KFS.", ("TP53",)),
    ],
)
def test_other_names_are_known_from_the_abstract_and_the_graph(
    claim: str, sentence: str, expected: tuple[str, ...]
) -> None:
    abstract = "Chronic obstructive pulmonary disease (COPD) is common. COPD shortens life."
    groups = [("TP53", "p53", "tumor protein p53"), ("Klippel-Feil syndrome", "KFS")]

    assert missing(claim, [sentence], abstract, groups) == expected


def test_what_a_claim_is_about() -> None:
    found = arguments("In women, 40 mg of vitamin K2 lowers BRCA1 by 12.5% in type 2 diabetes.")

    assert {a.words: a.kind for a in found} == {
        "women": "population", "40 mg": "number", "vitamin K2": "label", "BRCA1": "name", "12.5%": "number",
        "type 2": "label", "diabetes": "noun",
    }  # fmt: skip


def names() -> st.SearchStrategy[str]:
    """Words of short and of many parts, with hyphens, primes and apostrophes."""
    parts = st.sampled_from(["A", "a", "ear", "leg", "B2", "5", "12.5%", "κ", "İ", "free", "Tourette", "IL", "CD20"])
    marks = st.sampled_from(["-", "'", "\u2019", "\u2010", " ", "'s ", ""])
    return st.lists(st.tuples(parts, marks), max_size=12).map(lambda pairs: "".join(f"{p}{m}" for p, m in pairs))


@settings(max_examples=200)
@given(st.text(max_size=120) | names())
@example("A-a'a")
@example("5²zb'İ5K5²")
@example("the toe-jaw's")
def test_a_text_names_all_that_it_names(text: str) -> None:
    assert missing(text.replace(";", ","), [text.replace(";", ",")]) == ()


# Denials and directions of a claim and a sentence


def sign(claim: str, text: str) -> float:
    asked = words_of(claim)
    return float(compare(asked.clauses, asked.content, polar_clauses(text))[POLARITY.index("sign")])


@pytest.mark.parametrize(("claim", "text", "expected"), readings("signs"))
def test_denials_removals_and_directions_are_compared(claim: str, text: str, expected: str) -> None:
    assert sign(claim, text) == float(expected)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_compared_and_agrees_with_itself(claim: str, text: str) -> None:
    asked = words_of(claim)
    found = compare(asked.clauses, asked.content, polar_clauses(text))
    assert len(found) == len(POLARITY)
    assert (abs(found) <= 1).all()
    assert sign(claim, claim) >= 0


NAMES = st.sampled_from(["BRCA1", "kinase A", "vitamin D", "IL-10", "the mutant"])
VERBS = st.sampled_from(["binds", "increases", "inhibits", "activates", "regulates", "requires"])


@given(NAMES, VERBS, st.sampled_from(["DNA", "growth of tumors", "sleep", "TNF-alpha"]))
def test_a_denial_by_rule_is_the_opposite_and_twice_denied_is_said(head: str, verb: str, tail: str) -> None:
    claim = f"{head} {verb} {tail}."
    other = denied(claim)

    assert other == f"{head} does not {verb.removesuffix('s')} {tail}."
    assert (sign(claim, other), sign(other, claim), sign(other, other)) == (-1, -1, 1)
    assert denied(other) == claim


def test_rules_leave_alone_what_they_do_not_know() -> None:
    assert denied("Bone, yeast.") is None
    assert denied("Mice that lack kinase A are small.") is None
    assert denied("The drug has no effect on sleep.") == "The drug has an effect on sleep."
    assert reversed_way("The risk is higher in men.") == "The risk is lower in men."
    assert reversed_way("Mice sleep.") is None


# Acts, relations, pieces and comparisons: why a quote says nothing of a claim

ACTS = (
    "STK5 phosphorylates ABL9.",
    "ABL9 is phosphorylated by STK5.",
    "ABL9 was rapidly phosphorylated by STK5 in neurons.",
    "Phosphorylation of ABL9 by STK5 was seen.",
    "STK5-mediated phosphorylation of ABL9 was seen.",
    "ABL9 phosphorylation by STK5 was lost.",
    "We show that STK5 phosphorylates ABL9.",
    "STK5 binds ABL9 and phosphorylates it.",
)


@pytest.mark.parametrize("claim", ACTS[:2])
@pytest.mark.parametrize("sentence", ACTS)
def test_an_act_is_one_however_it_is_put_and_none_the_other_way_round(claim: str, sentence: str) -> None:
    turned = sentence.replace("STK5", "?").replace("ABL9", "STK5").replace("?", "ABL9")

    assert objection(claim, [sentence]) == ""
    assert "the other way round" in objection(claim, [turned])


def test_a_whole_word_is_an_act_only_by_itself() -> None:
    assert [a.name for a in acts("Tea eases gout.")] == ["relieve"]
    assert acts("Tea ease.org gout.") == ()


@pytest.mark.parametrize(("claim", "sentence", "expected"), readings("opposes"))
def test_opposites(claim: str, sentence: str, expected: str) -> None:
    assert opposes(claim, [sentence]) == int(expected)


@pytest.mark.parametrize(("claim", "sentence", "expected"), readings("refutes"))
def test_only_a_plain_opposite_refutes(claim: str, sentence: str, expected: str) -> None:
    assert refutes(claim, [sentence]) is (expected == "yes")


@pytest.mark.parametrize(("text", "word", "theme", "cause"), readings("relations"))
def test_a_relation_has_its_sides(text: str, word: str, theme: str, cause: str) -> None:
    (found,) = (r for r in relations(text) if r.word == word)

    assert (found.theme, found.cause) == (theme, cause)


def test_a_part_of_a_name_states_nothing() -> None:
    assert [r[3:6] for r in relations("The transport factor STK5 was new.")] == [(False, "", "")]


@pytest.mark.parametrize(("claim", "sentence", "lacking"), readings("unlicensed"))
def test_a_word_is_borne_out_by_one_that_says_the_same(claim: str, sentence: str, lacking: str) -> None:
    assert ", ".join(unlicensed(claim, [sentence])) == lacking


@pytest.mark.parametrize(("claim", "sentence", "why"), readings("objections"))
def test_what_is_told_of_both_is_of_the_claim(claim: str, sentence: str, why: str) -> None:
    found = objection(claim, [sentence], sentence)

    assert why in found if why else not found


@pytest.mark.parametrize(("claim", "sentence", "why"), readings("comparisons"))
def test_what_is_compared_keeps_its_sides_and_numbers(claim: str, sentence: str, why: str) -> None:
    found = comparison_objection(claim, [sentence])

    assert why in found if why else not found


@pytest.mark.parametrize(("claim", "sentence", "why"), readings("paraphrases"))
def test_a_claim_in_other_words_passes_the_gate_of_paraphrases(claim: str, sentence: str, why: str) -> None:
    found = objection(claim, [sentence], strict=False)

    assert why in found if why else not found
    assert objection(claim, [sentence])


def test_what_contradicts_speaks_of_the_same_things() -> None:
    assert objection("Ibex raises LOR4.", ["Ibex lowered LOR4."], supports=False) == ""
    assert objection("Ibex raises LOR4.", ["Ibex lowered GANT2.", "LOR4 is new."], supports=False)
    assert objection("Ibex cleaves LOR4.", ["Ibex does not bind LOR4."], supports=False)


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
    note = ("Walking was inversely associated with the risk of gout.", "Cycling made no difference.")

    assert "none of its sentences says this of both" in objection(claim, note, " ".join(note))


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


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from("but tea than more ; it lowered the 3% gout .".split()), max_size=60).map(" ".join)
)
def test_any_text_has_acts_relations_and_pieces_or_none(text: str) -> None:
    assert all(act.agent and act.patient and act.sign in (-1, 0, 1) for act in acts(text))
    assert all(r.word and r.bears >= r.classes for r in relations(text))
    assert all(p.text in text for p in pieces([text]))
    assert objection(text, [text], text) is not None


@pytest.mark.parametrize(
    "part", ["but x ", "more than ", "; ", "it ", "than 3% ", "compared with ", "binds x ", "not "]
)
def test_long_sentences_take_time_in_proportion(part: str) -> None:
    sentence = f"Tea lowers gout {part * 4_000}"[:20_000]
    claim = "Tea lowers the risk of gout more than coffee in 3% of men."

    assert spent(lambda: objection(claim, [sentence], sentence)) < 3
    assert spent(lambda: relations(part * 10_000)) < 1


# The trained verifier on sets of claims, each with its opposite or with something exchanged


def opinion(claim: str, text: str) -> Opinion:
    (found,) = verify(claim, [Document(ids=("x",), abstract=text)], TrainedVerifier()).opinions
    return found


@pytest.mark.parametrize(
    ("claim", "text", "note"),
    [
        ("BRCA1 binds RAD51.", "BRCA1 binds BARD1, and it is a ubiquitin ligase.", "do not name: RAD51"),
        (
            "RELB2 ubiquitinates MARK9.",
            "MARK9 ubiquitinates RELB2. RELB2 activates transcription of MARK9.",
            "say it the other way round: RELB2, ubiquitinates, MARK9",
        ),
    ],
)
def test_a_silent_paper_says_why(claim: str, text: str, note: str) -> None:
    found = opinion(claim, text)

    assert (found.stance, found.dropped, found.quotes) == (Stance.SILENT, True, ())
    assert found.note == f"its sentences {note}"


def test_what_says_the_opposite_contradicts() -> None:
    text = "Coffee intake was inversely associated with the risk of gallstones in men."
    found = opinion("Coffee intake increases the risk of gallstones.", text)

    assert (found.stance, [q.text for q in found.quotes]) == (Stance.CONTRADICTS, [text])


@cache
def exchanges() -> Counter[tuple[str, str, bool]]:
    """Claims and their forms with one thing exchanged, by whether they are supported."""
    counted = Counter[tuple[str, str, bool]]()
    for row in tomllib.loads((SUPPORT / "exchanges.toml").read_text(encoding="utf-8"))["exchange"]:
        assert row["claim"] != row["altered"]
        for which in ("claim", "altered"):
            counted[row["set"], which, opinion(row[which], row["text"]).stance is Stance.SUPPORTS] += 1
    return counted


@pytest.mark.parametrize("name", ["held", "tuning"])
def test_exchanged_claims_are_not_supported_and_true_ones_are(name: str) -> None:
    # Before the gate: 32 of 32 altered ones (held) and 27 of 32 (tuning) were supported.
    assert exchanges()[name, "altered", False] >= 30
    assert exchanges()[name, "claim", True] >= 29


def test_denials_are_told_from_support() -> None:
    lines = (ROOT / "corpus" / "demo" / "notes.jsonl").read_text(encoding="utf-8").splitlines()
    notes = {note["id"]: note["abstract"] for note in map(json.loads, lines)}
    verifier, told, both = TrainedVerifier(), Counter[str](), 0
    for pair in tomllib.loads((SUPPORT / "denials.toml").read_text(encoding="utf-8"))["pair"]:
        paper = Document(ids=(pair["note"],), abstract=pair.get("text") or notes[pair["note"]])
        right = 0
        for which in ("claim", "denial"):
            wanted = Stance.SUPPORTS if pair["says"] == which else Stance.CONTRADICTS
            (found,) = verifier.judge(pair[which], [paper])
            told["right" if found.stance is wanted else "silent" if found.stance is Stance.SILENT else "opposite"] += 1
            right += found.stance is wanted
        both += right == 2

    # Measured: 103 of 112 right, 9 the opposite, both of a pair in 49 of 56. Before denials were compared: 64, 48, 10.
    assert told["right"] >= 102
    assert told["opposite"] <= 10
    assert both >= 48
    assert opinion("BRAF is associated with cancer.", notes["pmid:19048115"]).stance is not Stance.SUPPORTS


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
