"""How evidence becomes a verdict (docs/verdicts.md): each rule by name, then what holds of any evidence."""

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kgcheck.checks.signature import MAX_RECORDS, signature_of
from kgcheck.checks.verdicts import PRIOR, SILENCE_PRIOR, judge, verdict
from kgcheck.model import CheckType, Evidence, Gap, Outcome, Reason, Stance, Tier, Verdict, World

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRIPLE, POTENTIAL = CheckType.TRIPLE, CheckType.POTENTIAL
OPEN, CLOSED = World.OPEN, World.CLOSED


def told(
    stance: Stance,
    tier: Tier = Tier.CURATED,
    world: World = OPEN,
    *,
    source: str = "uniprot",
    record: str = "r1",
    reason: Reason | None = None,
    score: float | None = None,
    about: str = "fact",
    quote: str | None = None,
) -> Evidence:
    return Evidence(
        source=source,
        release="1",
        record=record,
        retrieved_at=NOW,
        stance=stance,
        world=world,
        tier=tier,
        reason=reason,
        score=score,
        about=about,
        quote=quote,
    )


def supports(tier: Tier = Tier.CURATED, record: str = "r1", score: float | None = None) -> Evidence:
    return told(Stance.SUPPORTS, tier, record=record, score=score)


def contradicts(tier: Tier = Tier.CURATED, reason: Reason | None = Reason.EDGE_NEGATED) -> Evidence:
    return told(Stance.CONTRADICTS, tier, reason=reason)


def silent(world: World, tier: Tier = Tier.CURATED, reason: Reason | None = None, source: str = "uniprot") -> Evidence:
    return told(Stance.SILENT, tier, world, reason=reason, source=source)


def end(about: str, reason: Reason) -> Evidence:
    return told(Stance.CONTRADICTS, Tier.OWNER, CLOSED, reason=reason, about=about)


def ended(judged: Verdict) -> tuple[Outcome, Reason]:
    return judged.outcome, judged.reason


# (1) an end is gone or merged


@pytest.mark.parametrize("about", ["head", "tail"])
@pytest.mark.parametrize("reason", [Reason.ENDPOINT_MERGED, Reason.ENDPOINT_DELETED])
def test_end_that_moved_refutes_the_edge_even_if_it_holds_otherwise(about: str, reason: Reason) -> None:
    assert ended(verdict(TRIPLE, [supports(Tier.OWNER), end(about, reason)])) == (Outcome.REFUTED, reason)


def test_end_that_is_gone_counts_before_one_that_is_merged() -> None:
    both = [end("head", Reason.ENDPOINT_MERGED), end("tail", Reason.ENDPOINT_DELETED)]

    assert verdict(TRIPLE, both).reason is Reason.ENDPOINT_DELETED


@pytest.mark.parametrize(
    ("facts", "said"),
    [([supports()], "supported"), ([silent(CLOSED)], "refuted"), ([silent(OPEN)], "insufficient"), ([], "unavailable")],
)
def test_merged_end_says_how_the_edge_is_judged_with_the_replacement(facts: list[Evidence], said: str) -> None:
    assert (
        verdict(TRIPLE, [*facts, end("head", Reason.ENDPOINT_MERGED)]).note
        == f"with the replacement the edge is {said}"
    )


def test_two_ends_that_moved_are_surer_than_one() -> None:
    one, both = [end("head", Reason.ENDPOINT_MERGED)], [end(a, Reason.ENDPOINT_MERGED) for a in ("head", "tail")]

    assert verdict(TRIPLE, one).confidence < verdict(TRIPLE, both).confidence


def test_potential_edge_is_judged_under_the_ids_of_today_alone() -> None:
    found = verdict(POTENTIAL, [supports(), end("head", Reason.ENDPOINT_MERGED)])

    assert ended(found) == (Outcome.SUPPORTED, Reason.EDGE_MISSING)


# (2) the highest tier that speaks wins


@pytest.mark.parametrize(
    ("evidence", "outcome", "reason"),
    [
        ([supports()], Outcome.SUPPORTED, Reason.CONFIRMED),
        ([contradicts()], Outcome.REFUTED, Reason.EDGE_NEGATED),
        ([contradicts(reason=None)], Outcome.REFUTED, Reason.EDGE_UNSUPPORTED),
        ([supports(Tier.OWNER), contradicts(Tier.CURATED)], Outcome.SUPPORTED, Reason.CONFIRMED),
        ([supports(Tier.CURATED), contradicts(Tier.OWNER)], Outcome.REFUTED, Reason.EDGE_NEGATED),
        ([supports(Tier.TEXT), contradicts(Tier.COMPUTED)], Outcome.REFUTED, Reason.EDGE_NEGATED),
        ([supports(Tier.COMPUTED), silent(CLOSED, Tier.OWNER)], Outcome.SUPPORTED, Reason.CONFIRMED),
        ([contradicts(Tier.TEXT), silent(OPEN)], Outcome.REFUTED, Reason.EDGE_NEGATED),
    ],
)
def test_highest_tier_that_speaks_wins(evidence: list[Evidence], outcome: Outcome, reason: Reason) -> None:
    assert ended(verdict(TRIPLE, evidence)) == (outcome, reason)


@pytest.mark.parametrize("tier", list(Tier))
def test_one_tier_that_disagrees_is_conflicting(tier: Tier) -> None:
    judged = verdict(TRIPLE, [supports(tier), contradicts(tier)])

    assert ended(judged) == (Outcome.INSUFFICIENT, Reason.CONFLICTING_EVIDENCE)
    assert judged.confidence == 0


def papers(*records: str) -> list[Evidence]:
    return [told(Stance.SUPPORTS, Tier.TEXT, source="literature", record=r) for r in records]


@pytest.mark.parametrize("kind", [TRIPLE, POTENTIAL])
@pytest.mark.parametrize("tier", [Tier.OWNER, Tier.CURATED])
def test_one_paper_does_not_outrank_the_silence_of_a_curated_source(kind: CheckType, tier: Tier) -> None:
    silence = silent(CLOSED, tier)
    quoted_twice = [*papers("PMID:1"), *(e.model_copy(update={"quote": "binds"}) for e in papers("PMID:1"))]

    for one in (papers("PMID:1"), quoted_twice):
        judged = verdict(kind, [*one, silence])
        assert (*ended(judged), judged.confidence) == (Outcome.INSUFFICIENT, Reason.CONFLICTING_EVIDENCE, 0)
    assert verdict(TRIPLE, [*papers("PMID:1", "PMID:2"), silence]).outcome is Outcome.SUPPORTED


def test_one_paper_outranks_silence_that_says_little() -> None:
    for silence in (silent(OPEN), silent(CLOSED, Tier.COMPUTED), silent(CLOSED, Tier.TEXT)):
        assert verdict(TRIPLE, [*papers("PMID:1"), silence]).outcome is Outcome.SUPPORTED
    assert verdict(TRIPLE, [*papers("PMID:1"), supports(Tier.COMPUTED), silent(CLOSED)]).outcome is Outcome.SUPPORTED
    against = told(Stance.CONTRADICTS, Tier.TEXT, source="literature")
    assert ended(verdict(TRIPLE, [against, silent(CLOSED)])) == (Outcome.REFUTED, Reason.EDGE_UNSUPPORTED)


# of several reasons, one is told


def test_an_owner_that_knows_the_value_as_a_former_one_is_told_and_the_other_makes_it_no_surer() -> None:
    outdated, mismatch = (
        told(Stance.CONTRADICTS, Tier.OWNER, CLOSED, source=source, reason=reason)
        for source, reason in (("hgnc", Reason.VALUE_OUTDATED), ("uniprot", Reason.VALUE_MISMATCH))
    )

    judged = verdict(CheckType.ATTRIBUTE, [outdated, mismatch])

    assert (*ended(judged), judged.confidence) == (Outcome.REFUTED, Reason.VALUE_OUTDATED, 0.99)
    lower = mismatch.model_copy(update={"tier": Tier.CURATED})
    assert verdict(CheckType.ATTRIBUTE, [outdated, lower]).confidence == 0.99
    again = outdated.model_copy(update={"source": "uniprot"})
    assert verdict(CheckType.ATTRIBUTE, [outdated, again]).confidence == 0.999


def test_an_edge_that_one_denies_and_another_lacks_is_surely_wrong() -> None:
    lacking = told(Stance.CONTRADICTS, source="goa", reason=Reason.EDGE_UNSUPPORTED)

    judged = verdict(TRIPLE, [contradicts(), lacking])

    assert (judged.reason, judged.confidence) == (Reason.EDGE_NEGATED, 0.997)


def test_plain_statement_beats_a_qualified_one() -> None:
    by_descendant = told(Stance.SUPPORTS, reason=Reason.CONFIRMED_BY_DESCENDANT)

    assert verdict(TRIPLE, [by_descendant]).reason is Reason.CONFIRMED_BY_DESCENDANT
    assert verdict(TRIPLE, [by_descendant, supports(record="r2")]).reason is Reason.CONFIRMED
    assert verdict(TRIPLE, [by_descendant, supports()]).reason is Reason.CONFIRMED


# (3) silence of a closed source


@pytest.mark.parametrize(
    ("kind", "outcome", "reason"),
    [
        (CheckType.EXISTENCE, Outcome.REFUTED, Reason.UNKNOWN_ID),
        (CheckType.ATTRIBUTE, Outcome.REFUTED, Reason.VALUE_MISMATCH),
        (CheckType.TRIPLE, Outcome.REFUTED, Reason.EDGE_UNSUPPORTED),
        (CheckType.POTENTIAL, Outcome.REFUTED, Reason.NOT_FOUND_ELSEWHERE),
    ],
)
@pytest.mark.parametrize("tier", [Tier.OWNER, Tier.CURATED, Tier.COMPUTED])
def test_closed_silence_contradicts(kind: CheckType, tier: Tier, outcome: Outcome, reason: Reason) -> None:
    judged = verdict(kind, [silent(CLOSED, tier), silent(OPEN, Tier.OWNER, source="other")])

    assert (*ended(judged), judged.confidence) == (outcome, reason, SILENCE_PRIOR[tier])


def test_score_below_the_cut_off_says_so() -> None:
    below = [silent(CLOSED, Tier.COMPUTED, Reason.BELOW_THRESHOLD)]

    assert ended(verdict(TRIPLE, below)) == (Outcome.REFUTED, Reason.BELOW_THRESHOLD)
    assert ended(verdict(POTENTIAL, below)) == (Outcome.REFUTED, Reason.NOT_FOUND_ELSEWHERE)
    assert verdict(TRIPLE, [*below, silent(CLOSED, Tier.COMPUTED, source="a")]).reason is Reason.BELOW_THRESHOLD


# (4) only open silence


@pytest.mark.parametrize("kind", [t for t in CheckType if t is not CheckType.STRUCTURE])
@pytest.mark.parametrize("reason", [None, Reason.UNMAPPED_IDENTIFIER, Reason.BELOW_THRESHOLD])
def test_open_silence_cannot_tell(kind: CheckType, reason: Reason | None) -> None:
    judged = verdict(kind, [silent(OPEN, reason=reason)])

    assert (*ended(judged), judged.confidence) == (Outcome.INSUFFICIENT, reason or Reason.NOTHING_FOUND, 0)


# (5) nobody could be asked


@pytest.mark.parametrize("kind", list(CheckType))
def test_no_evidence_is_unavailable(kind: CheckType) -> None:
    assert ended(verdict(kind, [])) == (Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING)


def test_gaps_say_why_nobody_could_be_asked() -> None:
    uncovered, missing = Gap("goa", Reason.NOT_COVERED), Gap("uniprot", Reason.REFERENCE_MISSING)

    assert ended(verdict(TRIPLE, [], [uncovered])) == (Outcome.UNAVAILABLE, Reason.NOT_COVERED)
    assert verdict(TRIPLE, [], [uncovered, missing]).reason is Reason.REFERENCE_MISSING
    assert verdict(TRIPLE, [], [missing, uncovered, missing]).missing == (uncovered, missing)
    assert [str(gap) for gap in (uncovered, missing)] == ["goa (not covered)", "uniprot (reference missing)"]


def test_verdict_stands_on_those_that_could_be_asked() -> None:
    judged = verdict(TRIPLE, [silent(CLOSED)], [Gap("goa", Reason.REFERENCE_MISSING)])

    assert (judged.outcome, [str(gap) for gap in judged.missing]) == (Outcome.REFUTED, ["goa (reference missing)"])


# confidence


@pytest.mark.parametrize(
    ("evidence", "confidence"),
    [
        ([supports(Tier.OWNER)], 0.99),
        ([supports(Tier.CURATED)], 0.95),
        ([supports(Tier.COMPUTED)], 0.8),
        ([supports(Tier.TEXT)], 0.7),
        ([supports(Tier.TEXT), supports(Tier.TEXT, "r2")], 0.91),
        ([supports(Tier.TEXT, str(n)) for n in range(MAX_RECORDS)], 0.973),
        ([supports(Tier.TEXT, str(n)) for n in range(MAX_RECORDS + 5)], 0.973),
        ([*(supports(Tier.TEXT, str(n)) for n in range(MAX_RECORDS)), supports(Tier.COMPUTED, score=0.5)], 0.973),
        ([supports(Tier.OWNER, "1"), supports(Tier.OWNER, "2")], 0.999),
        ([supports(Tier.COMPUTED, score=0.62)], 0.6),
        ([supports(Tier.COMPUTED, score=0.999)], 0.95),
        ([supports(Tier.CURATED, score=0.1)], 0.95),
        ([supports(Tier.CURATED), contradicts(Tier.TEXT)], 0.95),
        ([supports(Tier.CURATED), supports(Tier.TEXT, "r2")], 0.985),
    ],
)
def test_confidence(evidence: list[Evidence], confidence: float) -> None:
    assert verdict(TRIPLE, evidence).confidence == confidence


def test_two_quotes_of_one_paper_are_one_record() -> None:
    quotes = [told(Stance.SUPPORTS, Tier.TEXT, record="PMID:1", quote=q) for q in ("binds", "interacts")]

    assert verdict(TRIPLE, quotes).confidence == PRIOR[Tier.TEXT]


# properties

REASONS = {
    Stance.SUPPORTS: [None, Reason.FORMATTING, Reason.CONFIRMED_BY_DESCENDANT],
    Stance.CONTRADICTS: [None, Reason.EDGE_NEGATED, Reason.VALUE_OUTDATED, Reason.ID_OBSOLETE],
    Stance.SILENT: [None, Reason.BELOW_THRESHOLD, Reason.UNMAPPED_IDENTIFIER],
}


@st.composite
def evidence(draw: st.DrawFn, stances: tuple[Stance, ...] = tuple(Stance), ends: bool = False) -> Evidence:
    """One observation of a fact, or with ``ends`` also of an end that moved."""
    if ends and draw(st.integers(0, 5)) == 0:
        return end(
            draw(st.sampled_from(["head", "tail"])),
            draw(st.sampled_from([Reason.ENDPOINT_MERGED, Reason.ENDPOINT_DELETED])),
        )
    stance = draw(st.sampled_from(stances))
    return told(
        stance,
        draw(st.sampled_from(list(Tier))),
        draw(st.sampled_from(list(World))),
        source=draw(st.sampled_from(["uniprot", "string", "hgnc"])),
        record=draw(st.sampled_from(["r1", "r2", "r3", "r4", "r5"])),
        reason=draw(st.sampled_from(REASONS[stance])),
        score=draw(st.none() | st.floats(0, 1)),
    )


GAPS = st.lists(
    st.builds(Gap, st.sampled_from(["goa", "pdb"]), st.sampled_from([Reason.NOT_COVERED, Reason.REFERENCE_MISSING])),
    max_size=3,
)
KINDS = st.sampled_from(list(CheckType))
ALL = st.lists(evidence(ends=True), max_size=12)
FACTS = st.lists(evidence(), max_size=12)


@given(KINDS, ALL, GAPS, st.data())
def test_order_and_duplicates_do_not_matter(
    kind: CheckType, observed: list[Evidence], gaps: list[Gap], data: st.DataObject
) -> None:
    repeated = data.draw(st.lists(st.sampled_from(observed), max_size=5)) if observed else []
    again = data.draw(st.permutations([*observed, *(e.model_copy(update={"quote": "once more"}) for e in repeated)]))

    assert signature_of(kind, again, gaps[::-1] * 2) == signature_of(kind, observed, gaps)


@given(KINDS, ALL, GAPS)
def test_single_verdict_is_the_judgement_of_its_signature(
    kind: CheckType, observed: list[Evidence], gaps: list[Gap]
) -> None:
    single, judged = verdict(kind, observed, gaps), judge(signature_of(kind, observed, gaps))

    assert (*ended(single), single.confidence, single.note) == tuple(judged)
    assert single.evidence == tuple(observed)
    assert 0 <= single.confidence <= 1
    if single.outcome in (Outcome.SUPPORTED, Outcome.REFUTED):
        assert single.evidence
    else:
        assert single.confidence == 0


@given(FACTS, st.lists(evidence((Stance.SILENT,)), min_size=1))
def test_silence_never_turns_supported_into_refuted(observed: list[Evidence], silence: list[Evidence]) -> None:
    outweighed = [e for e in observed if e.stance is not Stance.CONTRADICTS or e.tier is not Tier.OWNER]
    held = [*outweighed, supports(Tier.OWNER)]

    assert verdict(TRIPLE, held).outcome is Outcome.SUPPORTED
    assert verdict(TRIPLE, [*held, *silence]).outcome is Outcome.SUPPORTED


@given(st.sampled_from(list(Tier)[:-1]), st.lists(evidence((Stance.SUPPORTS, Stance.SILENT)), max_size=20))
def test_higher_tier_that_contradicts_beats_any_number_of_lower_ones(tier: Tier, others: list[Evidence]) -> None:
    lower = [e for e in others if e.tier.rank > tier.rank or e.stance is Stance.SILENT]

    assert verdict(TRIPLE, [*lower, contradicts(tier)]).outcome is Outcome.REFUTED


@given(KINDS, st.lists(evidence((Stance.SILENT,)), min_size=1), GAPS)
def test_only_open_silence_is_insufficient(kind: CheckType, silence: list[Evidence], gaps: list[Gap]) -> None:
    heard = [e.model_copy(update={"world": OPEN}) for e in silence]

    assert verdict(kind, heard, gaps).outcome is Outcome.INSUFFICIENT


@given(FACTS, GAPS)
def test_an_outcome_is_the_same_whether_the_graph_has_the_edge_or_not(
    observed: list[Evidence], gaps: list[Gap]
) -> None:
    there, absent = verdict(TRIPLE, observed, gaps), verdict(POTENTIAL, observed, gaps)
    lacking = {Outcome.SUPPORTED: Reason.EDGE_MISSING, Outcome.REFUTED: Reason.NOT_FOUND_ELSEWHERE}

    assert (absent.outcome, absent.confidence) == (there.outcome, there.confidence)
    assert absent.reason is lacking.get(there.outcome, there.reason)


@given(
    st.sampled_from([Stance.SUPPORTS, Stance.CONTRADICTS]),
    FACTS,
    evidence(),
    GAPS,
    st.sampled_from(REASONS[Stance.CONTRADICTS]),
)
def test_another_record_that_agrees_never_makes_less_sure(
    stance: Stance, observed: list[Evidence], another: Evidence, gaps: list[Gap], reason: Reason | None
) -> None:
    agreeing = [e for e in observed if e.stance is stance]
    more = another.model_copy(update={"stance": stance, "record": "new"})
    if stance is Stance.CONTRADICTS:
        # Two that give other reasons do not agree.
        agreeing = [e.model_copy(update={"reason": reason}) for e in agreeing]
        more = more.model_copy(update={"reason": reason})

    assert verdict(TRIPLE, [*agreeing, more], gaps).confidence >= verdict(TRIPLE, agreeing, gaps).confidence


@given(KINDS, ALL, GAPS, st.randoms())
def test_the_judgement_does_not_hang_on_the_order_of_a_signature(
    kind: CheckType, observed: list[Evidence], gaps: list[Gap], random: Random
) -> None:
    signature = signature_of(kind, observed, gaps)
    seen, unseen = list(signature.observations), list(signature.gaps)
    random.shuffle(seen)
    random.shuffle(unseen)

    assert judge(signature._replace(observations=tuple(seen), gaps=tuple(unseen))) == judge(signature)


@given(FACTS, st.sampled_from([Tier.OWNER, Tier.CURATED]), st.lists(st.sampled_from("abc"), max_size=4))
def test_papers_alone_support_against_a_curated_source_only_together(
    observed: list[Evidence], tier: Tier, records: list[str]
) -> None:
    quiet = [e for e in observed if e.stance is Stance.SILENT]
    judged = verdict(TRIPLE, [*quiet, silent(CLOSED, tier), *papers(*records)])

    expected = {0: Outcome.REFUTED, 1: Outcome.INSUFFICIENT}
    assert judged.outcome is expected.get(len(set(records)), Outcome.SUPPORTED)


@given(st.lists(evidence((Stance.SUPPORTS,)), min_size=1), st.integers(0), st.floats(0, 1))
def test_better_score_never_makes_less_sure(observed: list[Evidence], which: int, score: float) -> None:
    place = which % len(observed)
    weaker = observed[place]
    better = weaker.model_copy(update={"score": max(score, weaker.score or 0)})
    assume(weaker.score is not None)
    raised = [*observed[:place], better, *observed[place + 1 :]]

    assert verdict(TRIPLE, raised).confidence >= verdict(TRIPLE, observed).confidence


@given(FACTS, GAPS)
def test_what_could_not_be_asked_changes_no_verdict(observed: list[Evidence], gaps: list[Gap]) -> None:
    assume(observed)
    with_gaps, without = verdict(TRIPLE, observed, gaps), verdict(TRIPLE, observed)

    assert (ended(with_gaps), with_gaps.confidence) == (ended(without), without.confidence)
    assert with_gaps.missing == tuple(sorted(set(gaps)))
