"""How evidence becomes a verdict (docs/verdicts.md): each rule by name, then what holds of any evidence."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kgcheck.checks.signature import MAX_RECORDS, signature_of
from kgcheck.checks.verdicts import SILENCE_PRIOR, judge, verdict
from kgcheck.model import CheckType, Evidence, Gap, Outcome, Reason, Stance, Tier, Verdict, World

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRIPLE, POTENTIAL = CheckType.TRIPLE, CheckType.POTENTIAL
OPEN, CLOSED = World.OPEN, World.CLOSED
CURATED = Tier.OWNER, Tier.CURATED
ASKED = [kind for kind in CheckType if kind is not CheckType.STRUCTURE]
WHY = None, Reason.UNMAPPED_IDENTIFIER, Reason.BELOW_THRESHOLD


def told(stance: Stance, tier: Tier = Tier.CURATED, world: World = OPEN, **more: Any) -> Evidence:
    stated = {"source": "uniprot", "release": "1", "record": "r1", "retrieved_at": NOW} | more
    return Evidence(stance=stance, tier=tier, world=world, **stated)


def supports(tier: Tier = Tier.CURATED, record: str = "r1", score: float | None = None) -> Evidence:
    return told(Stance.SUPPORTS, tier, record=record, score=score)


def contradicts(tier: Tier = Tier.CURATED, reason: Reason | None = Reason.EDGE_NEGATED) -> Evidence:
    return told(Stance.CONTRADICTS, tier, reason=reason)


def silent(world: World, tier: Tier = Tier.CURATED, reason: Reason | None = None, source: str = "uniprot") -> Evidence:
    return told(Stance.SILENT, tier, world, reason=reason, source=source)


def end(about: str, reason: Reason) -> Evidence:
    return told(Stance.CONTRADICTS, Tier.OWNER, CLOSED, reason=reason, about=about)


def papers(*records: str) -> list[Evidence]:
    return [told(Stance.SUPPORTS, Tier.TEXT, source="literature", record=r) for r in records]


def ended(judged: Verdict) -> tuple[Outcome, Reason]:
    return judged.outcome, judged.reason


MERGED, GONE = end("head", Reason.ENDPOINT_MERGED), end("tail", Reason.ENDPOINT_DELETED)
BELOW = silent(CLOSED, Tier.COMPUTED, Reason.BELOW_THRESHOLD)
BY_DESCENDANT = told(Stance.SUPPORTS, reason=Reason.CONFIRMED_BY_DESCENDANT)
CONFIRMED, CONFLICT = (Outcome.SUPPORTED, Reason.CONFIRMED), (Outcome.INSUFFICIENT, Reason.CONFLICTING_EVIDENCE)
NEGATED, UNSUPPORTED = (Outcome.REFUTED, Reason.EDGE_NEGATED), (Outcome.REFUTED, Reason.EDGE_UNSUPPORTED)
NOT_ELSEWHERE = Outcome.REFUTED, Reason.NOT_FOUND_ELSEWHERE
CASES = [
    # (1) an end is gone or merged, even if the edge holds otherwise
    (TRIPLE, [supports(Tier.OWNER), MERGED], (Outcome.REFUTED, Reason.ENDPOINT_MERGED)),
    (TRIPLE, [supports(Tier.OWNER), GONE], (Outcome.REFUTED, Reason.ENDPOINT_DELETED)),
    (TRIPLE, [MERGED, GONE], (Outcome.REFUTED, Reason.ENDPOINT_DELETED)),
    (POTENTIAL, [supports(), MERGED], (Outcome.SUPPORTED, Reason.EDGE_MISSING)),
    # (2) the highest tier that speaks wins
    (TRIPLE, [supports()], CONFIRMED),
    (TRIPLE, [contradicts()], NEGATED),
    (TRIPLE, [contradicts(reason=None)], UNSUPPORTED),
    (TRIPLE, [supports(Tier.OWNER), contradicts(Tier.CURATED)], CONFIRMED),
    (TRIPLE, [supports(Tier.CURATED), contradicts(Tier.OWNER)], NEGATED),
    (TRIPLE, [supports(Tier.TEXT), contradicts(Tier.COMPUTED)], NEGATED),
    (TRIPLE, [supports(Tier.COMPUTED), silent(CLOSED, Tier.OWNER)], CONFIRMED),
    (TRIPLE, [contradicts(Tier.TEXT), silent(OPEN)], NEGATED),
    *((TRIPLE, [supports(tier), contradicts(tier)], CONFLICT) for tier in Tier),
    # a plain statement beats a qualified one
    (TRIPLE, [BY_DESCENDANT], (Outcome.SUPPORTED, Reason.CONFIRMED_BY_DESCENDANT)),
    (TRIPLE, [BY_DESCENDANT, supports(record="r2")], CONFIRMED),
    (TRIPLE, [BY_DESCENDANT, supports()], CONFIRMED),
    # one paper outranks silence that says little, and not that of a curated source
    *(
        (TRIPLE, [*papers("1"), silent(*one)], CONFIRMED)
        for one in ((OPEN,), (CLOSED, Tier.COMPUTED), (CLOSED, Tier.TEXT))
    ),
    *((kind, [*papers("1"), silent(CLOSED, tier)], CONFLICT) for kind in (TRIPLE, POTENTIAL) for tier in CURATED),
    (
        TRIPLE,
        [*papers("1"), told(Stance.SUPPORTS, Tier.TEXT, source="literature", record="1", quote="x"), silent(CLOSED)],
        CONFLICT,
    ),
    (TRIPLE, [*papers("1", "2"), silent(CLOSED)], CONFIRMED),
    (TRIPLE, [*papers("1"), supports(Tier.COMPUTED), silent(CLOSED)], CONFIRMED),
    (TRIPLE, [told(Stance.CONTRADICTS, Tier.TEXT, source="literature"), silent(CLOSED)], UNSUPPORTED),
    # (3) silence of a closed source contradicts
    (CheckType.EXISTENCE, [silent(CLOSED), silent(OPEN, Tier.OWNER, source="x")], (Outcome.REFUTED, Reason.UNKNOWN_ID)),
    (CheckType.ATTRIBUTE, [silent(CLOSED)], (Outcome.REFUTED, Reason.VALUE_MISMATCH)),
    (POTENTIAL, [silent(CLOSED)], NOT_ELSEWHERE),
    (TRIPLE, [BELOW], (Outcome.REFUTED, Reason.BELOW_THRESHOLD)),
    (TRIPLE, [BELOW, silent(CLOSED, Tier.COMPUTED, source="a")], (Outcome.REFUTED, Reason.BELOW_THRESHOLD)),
    (POTENTIAL, [BELOW], NOT_ELSEWHERE),
    # (4) only open silence, (5) nobody could be asked
    *(
        (kind, [silent(OPEN, reason=why)], (Outcome.INSUFFICIENT, why or Reason.NOTHING_FOUND))
        for kind in ASKED
        for why in WHY
    ),
    *((kind, [], (Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING)) for kind in CheckType),
]


@pytest.mark.parametrize(("kind", "evidence", "expected"), CASES)
def test_evidence_has_its_verdict(kind: CheckType, evidence: list[Evidence], expected: tuple[Outcome, Reason]) -> None:
    judged = verdict(kind, evidence)

    assert ended(judged) == expected
    assert (judged.confidence == 0) == (judged.outcome in (Outcome.INSUFFICIENT, Outcome.UNAVAILABLE))


@pytest.mark.parametrize(
    ("facts", "said"),
    [([supports()], "supported"), ([silent(CLOSED)], "refuted"), ([silent(OPEN)], "insufficient"), ([], "unavailable")],
)
def test_merged_end_says_how_the_edge_is_judged_with_the_replacement(facts: list[Evidence], said: str) -> None:
    assert verdict(TRIPLE, [*facts, MERGED]).note == f"with the replacement the edge is {said}"


def test_an_owner_that_knows_the_value_as_a_former_one_is_told() -> None:
    outdated, mismatch = (
        told(Stance.CONTRADICTS, Tier.OWNER, CLOSED, source=source, reason=reason)
        for source, reason in (("hgnc", Reason.VALUE_OUTDATED), ("uniprot", Reason.VALUE_MISMATCH))
    )

    assert ended(verdict(CheckType.ATTRIBUTE, [outdated, mismatch])) == (Outcome.REFUTED, Reason.VALUE_OUTDATED)
    # Another that gives another reason makes it no surer.
    lower, again = (mismatch.model_copy(update=said) for said in ({"tier": Tier.CURATED}, {"reason": outdated.reason}))
    sure = [verdict(CheckType.ATTRIBUTE, [outdated, other]).confidence for other in (mismatch, lower, again)]
    assert sure == [0.99, 0.99, 0.999]


def test_gaps_say_why_nobody_could_be_asked() -> None:
    uncovered, missing = Gap("goa", Reason.NOT_COVERED), Gap("uniprot", Reason.REFERENCE_MISSING)

    assert ended(verdict(TRIPLE, [], [uncovered])) == (Outcome.UNAVAILABLE, Reason.NOT_COVERED)
    assert verdict(TRIPLE, [], [uncovered, missing]).reason is Reason.REFERENCE_MISSING
    assert verdict(TRIPLE, [], [missing, uncovered, missing]).missing == (uncovered, missing)
    assert [str(gap) for gap in (uncovered, missing)] == ["goa (not covered)", "uniprot (reference missing)"]


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
        ([told(Stance.SUPPORTS, Tier.TEXT, quote=quote) for quote in ("binds", "interacts")], 0.7),
        ([contradicts(), told(Stance.CONTRADICTS, source="goa", reason=Reason.EDGE_UNSUPPORTED)], 0.997),
        ([MERGED], 0.99),
        ([MERGED, end("tail", Reason.ENDPOINT_MERGED)], 0.999),
        *(([silent(CLOSED, tier)], SILENCE_PRIOR[tier]) for tier in (Tier.OWNER, Tier.CURATED, Tier.COMPUTED)),
    ],
)
def test_confidence(evidence: list[Evidence], confidence: float) -> None:
    assert verdict(TRIPLE, evidence).confidence == confidence


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
