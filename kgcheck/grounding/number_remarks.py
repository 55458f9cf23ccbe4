"""Remarks about numbers: what the text has, what stands in its place, and what that rests on."""

import re
from datetime import UTC, datetime

from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.quantities import WrittenNumber
from kgcheck.grounding.remarks import Check, Remark, Remarked, Repair, SentenceState
from kgcheck.grounding.results import Result, Results
from kgcheck.grounding.shares import Share
from kgcheck.model import Evidence, Stance, Tier, World


def verified(sentence: Sentence, quantity: WrittenNumber, result: Result, against: Results) -> Remarked:
    """That a number is a result."""
    state = SentenceState.VERIFIED if against.canonical else SentenceState.SUPPORTED
    note = f"{_shown(sentence, quantity)} is {_place_of(result, against)}: {_valued(result)}"
    return _remarked(sentence, quantity, Remark.NUMBER_VERIFIED, state, result, against, note)


def differs(sentence: Sentence, quantity: WrittenNumber, result: Result, against: Results) -> Remarked:
    """That another number stands where it would have to."""
    note = f"the text has {_shown(sentence, quantity)} here, and {_valued(result)} as {_place_of(result, against)}"
    # Two numbers of one text may be of two things that are called alike: only canonical results contradict.
    state = SentenceState.CONTRADICTED if against.canonical else SentenceState.UNSUPPORTED
    made = _remarked(sentence, quantity, Remark.NUMBER_DIFFERS, state, result, against, note)
    if not against.canonical or quantity.comparator != "=":
        return made
    right = result.value * 100 if quantity.unit == "%" and result.unit != "%" else result.value
    places = max(0, -int(quantity.step.as_tuple().exponent))
    repair = Repair(start=quantity.start, end=quantity.bare, to=f"{right:,.{places}f}")
    plain = sentence.text[quantity.start : quantity.bare].replace(",", "").lstrip("-")
    # A number with a power of ten or a scale is left to its author.
    return made.model_copy(update={"repair": repair}) if re.fullmatch(r"\d++(?:\.\d++)?|\.\d++", plain) else made


def unknown(sentence: Sentence, quantity: WrittenNumber, against: Results, where: str = "") -> Remarked:
    """That no result is a number."""
    shown = _shown(sentence, quantity)
    note = f"no result in {against.source} is {shown}" if against.canonical else f"the rest of the text has no {shown}"
    state = SentenceState.NOT_CHECKABLE if where else SentenceState.UNSUPPORTED
    note += f"; {where}" if where else ""
    return _remarked(sentence, quantity, Remark.NUMBER_UNKNOWN, state, None, against, note)


def share_differs(sentence: Sentence, share: Share, manuscript: Manuscript) -> Remarked:
    """That a percentage is not that of the counts beside it."""
    right = f"{100 * share.part / share.whole:.{max(1, -int(share.percent.as_tuple().exponent))}f}%"
    counts = f"{share.part} of {share.whole}"
    evidence = Evidence(
        source=manuscript.name,
        release=manuscript.sha256[:12],
        record=f"sentence {sentence.number}",
        retrieved_at=datetime.now(UTC),
        stance=Stance.CONTRADICTS,
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=f"{counts} is {right}",
        quote=sentence.text,
    )
    return Remarked(
        remark=Remark.NUMBER_DIFFERS,
        check=Check.NUMBER,
        state=SentenceState.CONTRADICTED,
        sentence=sentence.number,
        start=share.start,
        end=share.end,
        note=f"{counts} is {right}, and the sentence has {share.percent}%",
        stated=f"{share.percent}%",
        found=right,
        evidence=(evidence,),
    )


def _remarked(
    sentence: Sentence,
    quantity: WrittenNumber,
    remark: Remark,
    state: SentenceState,
    result: Result | None,
    against: Results,
    note: str,
) -> Remarked:
    stances = {Remark.NUMBER_VERIFIED: Stance.SUPPORTS, Remark.NUMBER_DIFFERS: Stance.CONTRADICTS}
    evidence = Evidence(
        source=against.source,
        release=against.release,
        record=result.name if result else "all",
        retrieved_at=against.at,
        stance=stances.get(remark, Stance.SILENT),
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=_valued(result) if result else None,
        quote=result.quote or None if result else None,
    )
    return Remarked(
        remark=remark,
        check=Check.NUMBER,
        state=state,
        sentence=sentence.number,
        start=quantity.start,
        end=quantity.end,
        note=note,
        stated=_shown(sentence, quantity),
        found=_valued(result) if result else "",
        evidence=(evidence,),
    )


def _shown(sentence: Sentence, quantity: WrittenNumber) -> str:
    sign = "" if quantity.comparator == "=" else f"{quantity.comparator} "
    return sign + sentence.text[quantity.start : quantity.end]


def _place_of(result: Result, against: Results) -> str:
    return f"{result.name} of {against.source}" if against.canonical else f"a number of {result.name}"


def _valued(result: Result | None) -> str:
    return f"{result.value:f} {result.unit}".strip() if result else ""
