"""What a round of an improvement is to do: the weakest dimension, an action by its root cause, and a section."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache

from pydantic import Field

from kgcheck.grounding.improvement_log import ImprovementRound
from kgcheck.grounding.revising import MOST_CHARACTERS, Aim, ManuscriptSource
from kgcheck.grounding.score import ScoreCard, score_rules
from kgcheck.model import Value
from kgcheck.resources import resource_dir


class ActionRule(Value):
    """An action of the ladder."""

    dimensions: tuple[str, ...]
    task: str


class ImproveRules(Value):
    """How rounds are chosen; see corpus/grounding/improve.toml."""

    failures: int = Field(gt=0)
    rest: int = Field(ge=0)
    memory: int
    tie: float
    deep_least: int
    deep_part: int
    passages: int
    actions: dict[str, ActionRule]


@cache
def improve_rules() -> ImproveRules:
    """The rules."""
    file = resource_dir("corpus") / "grounding" / "improve.toml"
    return ImproveRules.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))


def deep_every(rounds: int) -> int:
    """After how many rounds a deep cycle is due.

    >>> deep_every(12), deep_every(60)
    (5, 10)
    """
    rules = improve_rules()
    return max(rules.deep_least, rounds // rules.deep_part)


def failures_in_a_row(rounds: Sequence[ImprovementRound], dimension: str) -> int:
    """How often a dimension was aimed at without success since it was last raised."""
    count = 0
    for done in reversed(rounds):
        if done.dimension == dimension:
            if done.outcome == "accepted":
                break
            count += 1
    return count


def next_aim(
    draft: ManuscriptSource, card: ScoreCard, rounds: Sequence[ImprovementRound], possible: Mapping[str, bool]
) -> Aim | None:
    """What the next round is to do."""
    rules = improve_rules()
    weakest = sorted(card.dimensions, key=lambda name: card.dimensions[name].partial)
    aims: list[Aim] = []
    for name in weakest:
        actions = _ladder(name, possible)
        tried = failures_in_a_row(rounds, name)
        step = tried // rules.failures
        places = _sections(draft, name)
        if not places or step >= len(actions):
            continue
        aimed = sum(r.dimension == name for r in rounds)
        action = actions[step]
        aim = Aim(dimension=name, action=action, task=rules.actions[action].task, section=places[aimed % len(places)])
        if tried == 0 or not any(r.dimension == name for r in rounds[len(rounds) - rules.rest :]):
            return aim
        aims.append(aim)
    # Where all rest, the weakest one goes on.
    return aims[0] if aims else None


def deep_aim(draft: ManuscriptSource, card: ScoreCard, rounds: Sequence[ImprovementRound]) -> Aim | None:
    """What a deep cycle is to do, whatever failed before it."""
    for name in sorted(card.dimensions, key=lambda name: card.dimensions[name].partial):
        if every := _sections(draft, name):
            # What an analysis found is told among the results, where numbers are held against those of a file.
            places = [n for n in every if draft.sections[n].kind == "results"] or every
            action, aimed = _ladder(name, {})[0], sum(r.dimension == name for r in rounds)
            task = improve_rules().actions[action].task
            return Aim(dimension=name, action=action, task=task, section=places[aimed % len(places)])
    return None


def _ladder(dimension: str, possible: Mapping[str, bool]) -> list[str]:
    """The actions for a dimension, its own first; those after it follow, and then those before it."""
    actions = improve_rules().actions
    names = list(actions)
    own = next(n for n, name in enumerate(names) if dimension in actions[name].dimensions)
    return [name for name in (*names[own:], *names[:own]) if possible.get(name, True)]


def _sections(draft: ManuscriptSource, dimension: str) -> list[int]:
    reads = score_rules().dimensions[dimension].reads
    return [
        n
        for n, s in enumerate(draft.sections)
        if s.kind in reads and not s.listing and s.body.strip() and len(s.body) <= MOST_CHARACTERS
    ]


def memory_of(rounds: Sequence[ImprovementRound]) -> list[object]:
    """What earlier rounds did: the last ones whole, older ones a line each."""
    most = improve_rules().memory
    done = [r for r in rounds if r.dimension]
    older = [f"{r.dimension}, {r.action}, {r.section}: {r.outcome}{_change(r)}" for r in done[:-most]]
    kept = {"number", "outcome", "dimension", "action", "section", "reason", "before", "after", "left_out"}
    return [*older, *(r.model_dump(mode="json", include=kept) for r in done[-most:])]


def _change(done: ImprovementRound) -> str:
    return "" if done.after is None or done.before is None else f" {done.after - done.before:+.2f}"
