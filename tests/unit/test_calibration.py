"""The rule by which a judge of papers decides or informs, by what it was measured at."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from kgcheck.checks.calibration import Calibration, Cell, bounds_of, enough_cases, standing
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import LedgerError
from kgcheck.ledger.basis import is_deciding
from kgcheck.ledger.calibrations import CalibrationTable
from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.documents import Document
from kgcheck.literature.judges import Judge, Judges, pairs_digest, shipped_calibration, trained_judge
from kgcheck.literature.pairs import EdgeClaim
from kgcheck.literature.verify import Opinion, Probabilities, quote_at
from kgcheck.model import INFORMS, CheckType, Evidence, Stance, Tier, World

STANCES = st.sampled_from((Stance.SUPPORTS, Stance.CONTRADICTS))
RELATIONS = st.sampled_from(("disease-gene", "gene-gene", "Protein ACTS_ON Protein", ""))
TRUSTS = st.sampled_from((0.5, 0.8, 0.9, 0.95))


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    cases = draw(st.integers(1, 2_000))
    return Cell(stance=draw(STANCES), relation=draw(RELATIONS), cases=cases, right=draw(st.integers(0, cases)))


COUNTED = st.lists(cells(), max_size=6, unique_by=lambda c: (c.stance, c.relation))


def cell(right: int, cases: int, relation: str = "disease-gene", stance: Stance = Stance.SUPPORTS) -> Cell:
    return Cell(stance=stance, relation=relation, cases=cases, right=right)


def calibration(
    *counted: Cell, model: str = "m", prompt: str = "p", judge: str = "llm", day: int = 1, items: int = 400
) -> Calibration:
    measured = datetime(2026, 11, day, tzinfo=UTC)
    return Calibration(
        judge=judge, model=model, prompt=prompt, evidence=f"set {day}", measured=measured, items=items, cells=counted
    )


def opinion(by: str = "m", stance: Stance = Stance.SUPPORTS) -> Opinion:
    chances = Probabilities(supports=0.9, contradicts=0.05, silent=0.05)
    return Opinion(document="pmid:1", probabilities=chances, stance=stance, by=by)


# --- The rule


@example((486, 486))
@given(st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_bounds_are_the_roots_of_wilsons_equation(counted: tuple[int, int]) -> None:
    right, cases = counted
    share = right / cases
    for bound in bounds_of(right, cases):
        assert abs(share - bound) == pytest.approx(1.96 * sqrt(bound * (1 - bound) / cases), abs=1e-6)
    assert 0 <= bounds_of(right, cases).lower <= share <= bounds_of(right, cases).upper <= 1


@given(COUNTED, STANCES, TRUSTS)
def test_a_judge_decides_only_by_a_count_whose_bound_is_the_trust(
    counted: list[Cell], stance: Stance, trust: float
) -> None:
    names = ("Protein ACTS_ON Protein", "gene-gene")
    weight = standing(counted, stance, names, trust)
    mine = [c for c in counted if c.stance is stance]
    sums = [(c.right, c.cases) for c in mine if c.relation in names]
    sums += [(sum(c.right for c in mine), sum(c.cases for c in mine))] if mine else []
    assert not weight.decides or any(bounds_of(*s).lower >= trust for s in sums)
    assert not weight.decides or any(f"{right:,} of {cases:,} are right" in weight.why for right, cases in sums)


@given(COUNTED, STANCES, TRUSTS)
def test_more_trust_never_lets_a_judge_decide_that_informs(counted: list[Cell], stance: Stance, trust: float) -> None:
    only = [c for c in counted if not c.relation]
    assert not standing(only, stance, ("gene-gene",), 0.99).decides or standing(only, stance, (), trust).decides


@given(COUNTED, STANCES, TRUSTS, st.randoms(use_true_random=False))
def test_the_order_of_counts_and_those_of_the_other_stance_mean_nothing(
    counted: list[Cell], stance: Stance, trust: float, chance: Random
) -> None:
    shuffled = chance.sample(counted, len(counted))
    mine = [c for c in counted if c.stance is stance]
    assert standing(shuffled, stance, ("gene-gene",), trust) == standing(mine, stance, ("gene-gene",), trust)


@given(st.integers(1, 400), st.sampled_from((0.8, 0.9)))
def test_one_more_right_case_never_takes_the_decision_away(cases: int, trust: float) -> None:
    decided = [standing([cell(right, cases, "")], Stance.SUPPORTS, (), trust).decides for right in range(cases + 1)]
    assert decided == sorted(decided)


def test_the_relation_counts_where_it_was_measured_well_enough_to_tell() -> None:
    much = cell(950, 1_000, "gene-gene")
    edge = ("Protein ASSOCIATED_WITH Disease", "disease-gene")
    # Too few cases to tell: the stance decides. Plainly too few right, or enough cases: the relation does.
    assert standing([much, cell(17, 20)], Stance.SUPPORTS, edge, 0.8).decides
    assert not standing([much, cell(5, 20)], Stance.SUPPORTS, edge, 0.8).decides
    assert not standing([much, cell(50, 62)], Stance.SUPPORTS, edge, 0.8).decides
    # The narrowest name comes first.
    own = cell(10, 100, "Protein ASSOCIATED_WITH Disease")
    assert not standing([much, cell(95, 100), own], Stance.SUPPORTS, edge, 0.8).decides
    assert enough_cases(0.9) == 139


@pytest.mark.parametrize(("right", "decides"), [(240, False), (380, True)])
def test_of_400_cases_at_060_a_judge_informs_and_at_095_it_decides(right: int, decides: bool) -> None:
    assert standing([cell(right, 400)], Stance.SUPPORTS, ("disease-gene",), 0.9).decides is decides


def test_more_right_than_cases_is_no_count() -> None:
    with pytest.raises(ValidationError, match="3 of 2 cannot be right"):
        cell(3, 2)


def test_a_set_has_no_more_cases_than_items_nor_more_items_than_a_number_holds() -> None:
    with pytest.raises(ValidationError, match="401 cases cannot be of 400 items"):
        calibration(cell(390, 400), cell(1, 1, stance=Stance.CONTRADICTS))
    with pytest.raises(ValidationError, match="less than or equal to"):
        Calibration.model_validate(calibration(cell(10**400, 10**400), items=10**400))


PARTS = st.builds(
    Evidence,
    source=st.sampled_from(("string", "literature")),
    tier=st.sampled_from(Tier),
    stance=st.sampled_from(Stance),
    world=st.sampled_from(World),
    score=st.none() | st.floats(0, 1),
)


@given(st.sampled_from((CheckType.TRIPLE, CheckType.POTENTIAL)), st.lists(PARTS, max_size=4), st.lists(PARTS))
def test_what_only_informs_changes_no_verdict(kind: CheckType, deciding: list[Evidence], more: list[Evidence]) -> None:
    informing = [e.model_copy(update={"about": INFORMS}) for e in more]
    alone, together = verdict(kind, deciding), verdict(kind, [*informing, *deciding])
    assert (together.outcome, together.reason, together.confidence) == (alone.outcome, alone.reason, alone.confidence)
    assert not any(map(is_deciding, informing))


# --- Which calibration


def weight_of(judges: Judges, by: str = "m") -> str:
    return str(judges.standing(opinion(by), ("disease-gene",)))


def test_only_a_calibration_of_the_same_model_and_prompt_counts() -> None:
    good = cell(390, 400)
    judge = Judge("llm", "m", "p")
    assert weight_of(Judges([judge], [calibration(good)])).startswith("decides: ")
    assert weight_of(Judges([judge])) == "informs: llm m was not measured: kgcheck bench judge"
    assert "of the model other, and not of m" in weight_of(Judges([judge], [calibration(good, model="other")]))
    assert "of another prompt" in weight_of(Judges([judge], [calibration(good, prompt="q")]))
    # The endpoint named another model in its answer.
    assert "and not of m-2" in weight_of(Judges([judge], [calibration(good)]), by="m-2")


def test_a_small_set_does_not_make_up_for_a_large_one() -> None:
    judge, large = Judge("llm", "m", "p"), calibration(cell(240, 400))
    weight = weight_of(Judges([judge], [large, calibration(cell(39, 39), day=2)]))
    assert weight.startswith("informs: where it supports disease-gene, 279 of 439 are right")
    assert "set 1, 2026-11-01; set 2, 2026-11-02" in weight


def test_the_same_set_under_another_name_counts_once(tmp_path: Path) -> None:
    first = calibration(cell(17, 20)).model_copy(update={"evidence": "a.jsonl 12ab"})
    others = [first.model_copy(update=more) for more in ({"evidence": "a.jsonl 34cd"}, {"model": "n"}, {"prompt": "q"})]
    copied = first.model_copy(update={"evidence": "copy of a.jsonl 12ab"})
    with Ledger(tmp_path / "l.sqlite") as ledger:
        table = CalibrationTable(ledger.database)
        for made in (first, *others, copied):
            table.keep(made)
        assert sorted(table.all(), key=repr) == sorted([*others, copied], key=repr)


@pytest.mark.parametrize("time", ["'some day'", "5"])
def test_a_calibration_of_no_time_is_an_error_of_the_ledger(tmp_path: Path, time: str) -> None:
    with Ledger(tmp_path / "l.sqlite") as ledger:
        CalibrationTable(ledger.database).keep(calibration(cell(17, 20)))
    with closing(sqlite3.connect(tmp_path / "l.sqlite")) as db, db:
        db.execute(f"UPDATE calibration SET measured = {time}")
    with Ledger(tmp_path / "l.sqlite") as ledger, pytest.raises(LedgerError, match="that cannot be read"):
        CalibrationTable(ledger.database).all()


def test_judges_that_must_agree_decide_where_each_does_or_both_were_measured_together() -> None:
    pair = [Judge("trained", "t"), Judge("llm", "m", "p")]
    good = [calibration(cell(390, 400), judge="trained", model="t", prompt=""), calibration(cell(390, 400))]
    poor = calibration(cell(240, 400))
    assert weight_of(Judges(pair, good), "t and m").startswith("decides: trained decides")
    assert weight_of(Judges(pair, [good[0], poor]), "t and m").startswith("informs: trained decides")
    both = Judges(pair, [good[0], poor])
    whole = calibration(cell(390, 400), judge=both.name, model="t and m", prompt=both.prompt)
    assert weight_of(Judges(pair, [good[0], poor, whole]), "t and m").startswith("decides: where it supports")


def test_a_name_from_an_endpoint_is_no_name_of_several_judges() -> None:
    claim = EdgeClaim("A binds to B.", ("GENA",), ("GENB",), "", ())
    paper = Document(ids=("p",), abstract="GENA binds to GENB.")
    judges = Judges([trained_judge(), Judge("llm", "m", "p", Sure("x and y"))])
    (opinion,) = judges.read(claim, [paper], unlike=False).opinions
    assert opinion.by == f"{pairs_digest()} and x & y"
    assert str(judges.standing(opinion, ())).startswith("informs: trained informs")
    judges.read(claim, [paper], unlike=False)
    judges.seen["llm"].add("z")
    assert judges.notes()[0].startswith("warning: the endpoint of llm answered by several models, x & y, z")


@example(["x and and y", "y"], True)
@example(["x and", "and y"], False)
@given(st.lists(st.text(st.sampled_from(" and&x\t"), max_size=30), min_size=1, max_size=2), st.booleans())
def test_each_judge_is_found_by_the_name_that_its_endpoint_gives(names: list[str], trained: bool) -> None:
    claim = EdgeClaim("A binds to B.", ("GENA",), ("GENB",), "", ())
    paper = Document(ids=("p",), abstract="GENA binds to GENB.")
    own = [trained_judge()] if trained else []
    alone = [Judges([Judge("llm", "m", "p", Sure(name))]).read(claim, [paper], unlike=False) for name in names]
    every = Judges([*own, *(Judge(f"llm{n}", "m", "p", Sure(name)) for n, name in enumerate(names))], trust=0.8)
    (opinion,) = every.read(claim, [paper], unlike=False).opinions
    single = [a.opinions[0].by for a in alone]
    assert opinion.by.split(" and ") == [pairs_digest()] * trained + single
    weight = str(every.standing(opinion, ()))
    assert all(f" {by} was not measured" in weight for by in single)


class Sure:
    """A verifier that supports whatever it reads, by a model of some name."""

    name, finds_names = "llm", True

    def __init__(self, by: str, sure: float = 0.9) -> None:
        self.by, self.sure = by, sure

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        chances = Probabilities(supports=self.sure, contradicts=0.05, silent=0.95 - self.sure)
        made = [Opinion.on(d, chances, quotes=[quote_at(d, span) for span in d.spans]) for d in documents]
        return [one.model_copy(update={"by": self.by}) for one in made]


def test_an_opinion_that_is_not_sure_is_silence() -> None:
    claim = EdgeClaim("A binds to B.", ("GENA",), ("GENB",), "", ())
    paper = Document(ids=("p",), abstract="GENA binds to GENB.")
    every = [
        Judges([Judge("llm", "m", "p", Sure("m", sure))]).read(claim, [paper], unlike=False) for sure in (0.59, 0.61)
    ]
    assert [(one.opinions[0].stance, one.opinions[0].note) for one in every] == [
        (Stance.SILENT, "it supports, but not surely enough: 0.59 of 0.6"),
        (Stance.SUPPORTS, ""),
    ]


def test_a_benchmark_counts_what_the_judge_says() -> None:
    judges = Judges([Judge("llm", "m", "p")])
    judges.counts_all = True
    assert weight_of(judges).startswith("decides")


def test_the_packaged_judge_comes_with_its_calibration() -> None:
    shipped = shipped_calibration()
    assert (shipped.judge, shipped.model) == ("trained", pairs_digest())
    judges = Judges([trained_judge()], [shipped])
    weights = {r: judges.standing(opinion(pairs_digest()), (r,)).decides for r in ("disease-gene", "gene-gene", "x")}
    # What no corpus that was left out bears out informs; so do denials, which none has enough of.
    assert weights == {"disease-gene": True, "gene-gene": False, "x": False}
    assert not judges.standing(opinion(pairs_digest(), Stance.CONTRADICTS), ("disease-gene",)).decides
