"""A protocol for people: a page that stands alone, and Markdown."""

from collections.abc import Iterator

from kgcheck.protocols.protocol import StudyProtocol, StudyStep
from kgcheck.report.documents import page


def protocol_page(protocol: StudyProtocol, form: str) -> str:
    """A protocol to read."""
    return page(
        "protocol",
        form,
        own="protocol",
        protocol=protocol,
        used=protocol.steps_by_ground(),
        details=lambda s: [*_details(s)],
    )


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
