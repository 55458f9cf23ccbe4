"""A protocol for people: a page that stands alone, and Markdown."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kgcheck.protocols.protocol import StudyProtocol, StudyStep
from kgcheck.report.documents import page


def protocol_page(protocol: StudyProtocol, form: str) -> str:
    """A protocol to read.

    Args:
        protocol: The protocol.
        form: html or markdown.

    Returns:
        The text, ending in a line break.
    """
    return page(
        "protocol", form, own="protocol", protocol=protocol, used=_used(protocol), details=lambda s: [*_details(s)]
    )


def _used(protocol: StudyProtocol) -> Mapping[str, Sequence[str]]:
    """The steps that rest on a fact, a passage or a data set, by its id."""
    used: dict[str, dict[str, None]] = defaultdict(dict)
    for step in protocol.steps:
        quoted = (*(p.passage for p in step.parameters), *(t.passage for t in step.tools))
        for id_ in (*step.facts, *step.passages, *step.data_sets, *quoted):
            used[id_][step.id] = None
    return {id_: [*steps] for id_, steps in used.items()}


def _details(step: StudyStep) -> Iterator[tuple[str, str]]:
    """What a step has besides its text, in words."""
    lists = {
        "Takes": [i.name for i in step.inputs],
        "Makes": [i.name for i in step.outputs],
        "Parameters": [f"{p.name}: {p.value}" for p in step.parameters],
        "Tools": [f"{t.name} {t.version or '(no version named)'}" for t in step.tools],
        "Statistics": [*step.statistics],
        "Data sets": [*step.data_sets],
        "Control": [step.control] if step.control else [],
        "Ready analysis": [step.analysis] if step.analysis else [],
        "Why": [step.rationale] if step.rationale else [],
    }
    return ((name, "; ".join(values)) for name, values in lists.items() if values)
