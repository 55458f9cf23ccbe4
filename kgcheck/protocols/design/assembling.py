"""Puts a protocol together: numbers passages, sections and steps, and keeps only what a step rests on."""

from collections.abc import Iterable, Sequence

from kgcheck.errors import UsageError
from kgcheck.protocols.design.material import DesignMaterial
from kgcheck.protocols.protocol import StudyPassage, StudyProtocol, StudySection, StudyStep
from kgcheck.protocols.report import ExperimentalReport, ReportSection, ReportStep

UNNUMBERED = "S1.1"
"""The id of a step that has no place yet."""


class QuotedPassages:
    """The passages of a protocol, each once, numbered as they come."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], StudyPassage] = {}

    def add(self, report: ExperimentalReport, section: ReportSection, step: ReportStep) -> StudyPassage:
        """Quote a step of a report."""
        key = (report.paper, step.text)
        if key not in self._found:
            self._found[key] = StudyPassage(
                id=f"Q{len(self._found) + 1}",
                paper=report.paper,
                title=report.title,
                year=report.year,
                url=report.url,
                section=section.kind,
                heading=" > ".join(section.path) or section.heading,
                quote=step.text,
                retracted=report.retracted,
            )
        return self._found[key]

    def all(self) -> tuple[StudyPassage, ...]:
        """The passages, in order."""
        return tuple(self._found.values())


def assembled(
    material: DesignMaterial,
    sections: Iterable[StudySection],
    passages: Sequence[StudyPassage],
    notes: Iterable[str],
) -> StudyProtocol:
    """The protocol: sections without steps are left out, and so are passages and data sets that no step rests on."""
    with_steps = [section for section in sections if section.steps]
    if not with_steps:
        raise UsageError(
            "no step of a protocol was found: the graph knows no name of the objective, and no paper gives a step",
            "name genes, diseases or drugs of the graph under 'about', or give papers with --reports or --search",
        )
    used = dict.fromkeys(i for section in with_steps for step in section.steps for i in step.quoted)
    new = {old: f"Q{n}" for n, old in enumerate((p.id for p in passages if p.id in used), 1)}
    numbered = []
    for number, section in enumerate(with_steps, 1):
        steps = [_renamed(step, new, f"S{number}.{place}") for place, step in enumerate(section.steps, 1)]
        numbered.append(section.model_copy(update={"id": f"S{number}", "steps": tuple(steps)}))
    named = {i for section in numbered for step in section.steps for i in step.data_sets}
    return StudyProtocol(
        objective=material.objective,
        made_at=material.made_at,
        made_by=material.made_by,
        sections=tuple(numbered),
        facts=material.facts,
        passages=tuple(p.model_copy(update={"id": new[p.id]}) for p in passages if p.id in new),
        data_sets=tuple(d for d in material.data_sets if d.id in named),
        notes=tuple(dict.fromkeys((*material.notes, *notes))),
    )


def _renamed(step: StudyStep, new: dict[str, str], id_: str) -> StudyStep:
    return step.model_copy(
        update={
            "id": id_,
            "passages": tuple(new[i] for i in dict.fromkeys(step.passages)),
            "parameters": tuple(p.model_copy(update={"passage": new.get(p.passage, "")}) for p in step.parameters),
            "tools": tuple(t.model_copy(update={"passage": new.get(t.passage, "")}) for t in step.tools),
        }
    )
