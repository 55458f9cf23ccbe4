"""A plan as one plain sentence, so that a person sees how the question was read before reading the answer."""

from collections.abc import Iterable, Mapping

from kgcheck.model import Ref
from kgcheck.questions.plan import Anchor, Filter, Plan, PlanStep, Rank, Variable

Names = Mapping[Ref, str]
"""What the graph calls the nodes that a plan names."""

_COMPARED = {">=": "at least", "<=": "at most", ">": "more than", "<": "fewer than", "=": "exactly"}
_MOST_SHOWN = 3


def sentence(plan: Plan, names: Names) -> str:
    """Say what a plan asks."""
    target = plan.target
    if plan.whether and target.among:
        joint = " and " if plan.every else " or "
        subjects = joint.join(anchor(a, names) for a in target.among)
        has = "have" if len(target.among) > 1 and plan.every else "has"
        return f"whether {subjects} {has} {_and(_conditions(target, names), strip='with ')}"
    text = variable(target, names)
    if plan.rank:
        text = f"{_rank(plan.rank, names)}, of {text}"
    if plan.whether:
        return f"whether there are {text}"
    return f"the number of {text}" if plan.count else text


def variable(wanted: Variable, names: Names) -> str:
    """The nodes of a variable."""
    if wanted.among:
        return _and([" and ".join(anchor(a, names) for a in wanted.among), *_conditions(wanted, names)], sign=" ")
    conditions = _conditions(wanted, names)
    return f"{plural(wanted.label)} {_and(conditions)}".rstrip()


def plural(label: str) -> str:
    """A label as people write more of one.

    >>> plural("Biological_process")
    'biological processes'
    """
    word = label.replace("_", " ").lower()
    if word.endswith(("s", "x", "ch")):
        return f"{word}es"
    return f"{word}s"


def anchor(named: Anchor, names: Names) -> str:
    """The nodes that a question names."""
    shown = ", ".join(
        f"{names[ref]!r} ({ref.id})" if names.get(ref) and names[ref] != ref.id else ref.id
        for ref in named.refs[:_MOST_SHOWN]
    )
    if len(named.refs) == 1:
        return f"the {named.label} {shown}"
    more = f" and {len(named.refs) - _MOST_SHOWN} more" if len(named.refs) > _MOST_SHOWN else ""
    return f"any of the {len(named.refs)} {plural(named.label)} called {named.text!r} ({shown}{more})"


def _conditions(wanted: Variable, names: Names) -> list[str]:
    found = [" or ".join(_step(s, names) for s in group) for group in wanted.groups]
    found += [_step(s, names, lead="without") for s in wanted.without]
    found += [f"with {_filter(f)}" for f in wanted.filters]
    if wanted.ends:
        found.append(f"whose {wanted.ends[0]} ends in {wanted.ends[1]!r}")
    return found + [f"other than {anchor(a, names)}" for a in wanted.excluded]


def _step(step: PlanStep, names: Names, lead: str = "with") -> str:
    way = {"out": "to", "in": "from", "either": "to or from"}[step.direction]
    where = f" ({_and(map(_filter, step.filters))})" if step.filters else ""
    edge = f"{step.pattern.type} edge{where}"
    if step.times:
        many = f"{_COMPARED[step.times.comparison]} {step.times.value:g}"
        return f"{lead} {edge}s {way} {many} {_end(step, names)}"
    article = "any" if lead == "without" else "an" if edge[0] in "AEIO" else "a"
    some = "" if isinstance(step.to, Anchor) else "any of the "
    return f"{lead} {article} {edge} {way} {some}{_end(step, names)}"


def _end(step: PlanStep, names: Names) -> str:
    return anchor(step.to, names) if isinstance(step.to, Anchor) else variable(step.to, names)


def _filter(condition: Filter) -> str:
    value = repr(condition.value) if isinstance(condition.value, str) else f"{condition.value:g}"
    return f"{condition.property} {condition.comparison} {value}"


def _rank(rank: Rank, names: Names) -> str:
    side = "highest" if rank.descending else "lowest"
    many = "the one" if rank.limit == 1 else f"the {rank.limit}"
    if rank.property is None and rank.step:
        most = "most" if rank.descending else "fewest"
        return f"{many} {_step(rank.step, names).replace(' any of the ', f' the {most} ', 1)}"
    of = f" of {_step(rank.step, names).removeprefix('with ')}" if rank.step else ""
    return f"{many} with the {side} {rank.property}{of}"


def _and(parts: Iterable[str], sign: str = ", and ", strip: str = "") -> str:
    return sign.join(part.removeprefix(strip) for part in parts)
