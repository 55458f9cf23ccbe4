"""A protocol as rows of tables."""

from collections.abc import Iterable, Sequence

from kgcheck.protocols.protocol import StudyProtocol, StudyStep


def step_rows(steps: Iterable[StudyStep]) -> list[dict[str, str]]:
    """Steps as rows."""
    return [
        {
            "step": step.id,
            "what to do": step.text,
            "takes": ", ".join(item.name for item in step.inputs),
            "makes": ", ".join(item.name for item in step.outputs),
            "rests on": few((*step.passages, *step.facts)),
            "analysis": step.analysis,
        }
        for step in steps
    ]


def grounds_rows(protocol: StudyProtocol, step: StudyStep) -> list[dict[str, str]]:
    """The passages and facts of a step as rows."""
    passages = [
        {
            "id": p.id,
            "what it rests on": f"\u201c{p.quote}\u201d",
            "where": " ".join(filter(None, (p.paper, p.heading))),
        }
        for p in protocol.passages
        if p.id in step.passages
    ]
    facts = [
        {"id": f.id, "what it rests on": f.stated, "where": " ".join(filter(None, (f.source, f.release, f.record)))}
        for f in protocol.facts
        if f.id in step.facts
    ]
    return [*passages, *facts]


def few(names: Sequence[str], most: int = 6) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
