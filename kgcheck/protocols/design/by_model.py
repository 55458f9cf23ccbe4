"""ModelDesigner: design a protocol by a model that writes and one that reviews (BioResearcher).

What a model writes is data. A sentence counts where the passages, verified facts and ready analyses that it names bear
it out; what is not bound to any is dropped, and counted. The reviewer sees what is left of a draft, the designer what
was dropped and why. Answers come from the transcript first, then from the model.
"""

from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from kgcheck.errors import InputFormat, KgcheckError, ModelAnswer
from kgcheck.literature.lexical import content_words, stems
from kgcheck.literature.quote_relevance import opposes
from kgcheck.llm.budget import CostByPart, Limits, Meter
from kgcheck.llm.forms import messages_of
from kgcheck.progress import NoProgress, Progress
from kgcheck.protocols.design.by_rules import (
    UNNUMBERED,
    Passages,
    analysis_step,
    assembled,
    fitting_analyses,
    graph_steps,
    not_verified,
    quoted,
    words_of_analysis,
)
from kgcheck.protocols.design.material import (
    DesignAnswer,
    DesignFolder,
    DesignMaterial,
    DesignRules,
    holds_words,
    strange_marks,
    taken_sections,
)
from kgcheck.protocols.protocol import (
    ItemKind,
    StepItem,
    StepParameter,
    StepTool,
    StudyFact,
    StudyProtocol,
    StudySection,
    StudyStep,
    digest_of_things,
)
from kgcheck.protocols.rules import model_task

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

OBJECTIVE = "O"  # the id of the objective, on which a reason may rest, and no step


class Grounds:
    """The passages, facts and ready analyses that a protocol may rest on, by id."""

    def __init__(self, material: DesignMaterial) -> None:
        self.material, made = material, Passages()
        self.sections = {taken.id: taken for taken in taken_sections(material)}
        self.steps = {
            id_: {quoted(made, one, step).id: step for step in one.section.steps if step.dry}
            for id_, one in self.sections.items()
        }
        """Steps of the sections, by the ids of their passages."""
        self.passages = {passage.id: passage for passage in made.values()}
        self.facts = {fact.id: fact for fact in material.facts if fact.verified}
        self.analyses = dict(fitting_analyses(material))
        self._steps = {id_: step for steps in self.steps.values() for id_, step in steps.items()}
        quotes = {
            id_: (taken.section.heading, *(step.text for step in self.steps[id_].values()))
            for id_, taken in self.sections.items()
        }
        self.words = {
            OBJECTIVE: material.objective.text,
            **{id_: " ".join(texts) for id_, texts in quotes.items()},
            **{name: " ".join(words_of_analysis(name)) for name in self.analyses},
            **{id_: fact.stated for id_, fact in self.facts.items()},
            **{id_: f"{passage.heading} {passage.quote}" for id_, passage in self.passages.items()},
        }
        """The text of each source by its id."""
        # What must not be stated as true.
        self._not_verified = [(f.stated, stems(content_words(f.stated))) for f in material.facts if not f.verified]

    def objection(self, text: str, ids: Sequence[str], *, to_reasons: bool = False) -> str:
        """Return the reason why a sentence is not borne out by what it names."""
        rules = DesignRules.shipped()
        if not text or len(text) > rules.limits["sentence"]:
            return f"it is empty, or longer than {rules.limits['sentence']} characters"
        if unknown := [id_ for id_ in ids if id_ not in self.words]:
            return f"it names {unknown[0][:40]!r}, which there is not"
        if not ids or not (to_reasons or any(i != OBJECTIVE and i not in self.sections for i in ids)):
            return "it names no passage, fact or analysis that it rests on"
        grounds = [self.words[id_] for id_ in dict.fromkeys(ids)]
        if why := strange_marks(text, grounds):
            return why
        own = stems(content_words(text))
        shared = own & stems(content_words(" ".join(grounds)))
        if own and len(shared) / len(own) < rules.shares["bound"]:
            return "what it names speaks of other things"
        for stated, marks in self._not_verified:
            if marks and marks <= own:
                return f"it states what no audit supports: {stated}"
        return "it says the opposite of what it names" if opposes(text, grounds) == -1 else ""

    def parameter(self, name: str, value: str, passage: str, passages: Container[str]) -> StepParameter | None:
        """A setting, if a passage has it; with its number and unit where the report has them."""
        step, value = self._steps.get(passage), " ".join(value.split())
        if step is None or passage not in passages or not holds_words(step.text, value):
            return None
        same = next((p for p in step.parameters if p.value == value or p.value.endswith(f" {value}")), None)
        if same is not None:
            return same.model_copy(update={"passage": passage})
        return StepParameter(name=name, value=value, passage=passage) if holds_words(step.text, name) else None

    def tool(self, name: str, version: str, passage: str, passages: Container[str]) -> StepTool | None:
        """A tool, if a passage names it; without its version where that is not there."""
        step = self._steps.get(passage)
        if step is None or passage not in passages or not holds_words(step.text, name):
            return None
        is_there = version and holds_words(step.text, version)
        return StepTool(name=name, version=version if is_there else "", passage=passage)


A = TypeVar("A", bound=BaseModel)


class DesignConversation:
    """Answers in their order: those that the folder has, and after them new ones, which it gets."""

    def __init__(self, folder: DesignFolder, client: "ChatClient | None" = None, meter: Meter | None = None) -> None:
        self._folder, self._client, self._meter = folder, client, meter
        self._left = deque(answer for answer in folder.answers if not answer.stopped)
        self._costs = CostByPart(meter or Meter(Limits()), (answer.cost for answer in folder.answers))

    @property
    def whole(self) -> bool:
        return not self._left

    def next(self, role: Literal["designer", "reviewer"], stage: str, task: str, given: object, form: type[A]) -> A:
        messages, where = messages_of(task, given), f"the transcript in {self._folder.path}"
        temperature = DesignRules.shipped().temperatures[role]
        question = digest_of_things([role, stage, form.__name__, temperature, messages])
        if self._left:
            recorded, anew = self._left.popleft(), "design it again in another folder"
            if recorded.question != question:
                changed = "it was changed, or made by another version of kgcheck"
                raise InputFormat(f"{where} does not go with {stage}: {changed}", anew)
            try:
                return form.model_validate_json(recorded.answer)
            except ValidationError:
                raise InputFormat(f"{where} has another form at {stage}", anew) from None
        if self._client is None:
            raise InputFormat(f"{where} ends before {stage}", "design it to its end first")
        kept, cost = DesignAnswer(role=role, stage=stage, question=question), self._costs.next
        try:
            answer, _ = self._client.answer(messages, form, meter=self._meter, temperature=temperature)
        except KgcheckError as error:
            self._folder.add(kept.model_copy(update={"stopped": error.message, "cost": cost()}))
            raise
        self._folder.add(kept.model_copy(update={"answer": answer.model_dump_json(), "cost": cost()}))
        return answer


MOST_SECTIONS = 12
MOST_POINTS = 20
MOST_STEPS = 30
MOST_SENTENCES = 12
MOST_NAMED = 20  # parts of one answer; what is more is an answer of another form


class WrittenBound(BaseModel):
    """A sentence with the ids that it rests on."""

    text: str = Field(max_length=2_000)
    rests_on: list[str] = Field(default=[], max_length=MOST_NAMED)


class WrittenHeading(BaseModel):
    """A heading with its reason and the sections of reports that it takes from."""

    heading: str = Field(max_length=300)
    reason: WrittenBound
    sources: list[str] = Field(default=[], max_length=MOST_NAMED)


class WrittenHeadings(BaseModel):
    """The headings of a protocol."""

    sections: list[WrittenHeading] = Field(min_length=1, max_length=MOST_SECTIONS)


class WrittenPart(BaseModel):
    """The outline of a section."""

    section: int = Field(ge=1, description="place of its heading")
    points: list[WrittenBound] = Field(max_length=MOST_POINTS)


class WrittenOutline(BaseModel):
    """The outline of a protocol, each point with the sections of reports and the facts that it takes from."""

    parts: list[WrittenPart] = Field(max_length=MOST_SECTIONS)


class WrittenParameter(BaseModel):
    """A setting as a passage has it."""

    name: str = Field(min_length=1, max_length=200)
    value: str = Field(min_length=1, max_length=300)
    passage: str = ""


class WrittenTool(BaseModel):
    """A tool as a passage has it."""

    name: str = Field(min_length=1, max_length=200)
    version: str = Field(default="", max_length=100)
    passage: str = ""


class WrittenItem(BaseModel):
    """Input or output of a step, as a model writes it."""

    name: str = Field(min_length=1, max_length=80)
    kind: ItemKind = "other"


class WrittenStep(BaseModel):
    """A step in sentences."""

    sentences: list[WrittenBound] = Field(max_length=MOST_SENTENCES)
    inputs: list[WrittenItem] = Field(default=[], max_length=MOST_NAMED)
    outputs: list[WrittenItem] = Field(default=[], max_length=MOST_NAMED)
    parameters: list[WrittenParameter] = Field(default=[], max_length=MOST_NAMED)
    tools: list[WrittenTool] = Field(default=[], max_length=MOST_NAMED)
    statistics: list[str] = Field(default=[], max_length=MOST_NAMED)
    data_sets: list[str] = Field(default=[], max_length=MOST_NAMED)
    control: str = Field(default="", max_length=600)


class WrittenDetails(BaseModel):
    """The steps of one section."""

    steps: list[WrittenStep] = Field(max_length=MOST_STEPS)


class DesignReview(BaseModel):
    """Review of a draft by a model."""

    remarks: list[str] = Field(default=[], max_length=MOST_NAMED)
    approved: bool


MOST_FACTS = 60  # facts of one request: those between nodes of the objective come first
MOST_PASSAGES = 60  # passages of one request
D = TypeVar("D", WrittenHeadings, WrittenOutline, WrittenDetails)

K = TypeVar("K")


class ModelDesigner:
    """Designs one protocol."""

    def __init__(
        self, material: DesignMaterial, conversation: DesignConversation, progress: Progress | None = None
    ) -> None:
        self._material, self._talk = material, conversation
        self._grounds, self._progress = Grounds(material), progress or NoProgress()
        self._dropped: list[dict[str, str]] = []
        """Parts of the present draft that were thrown away, and why."""
        self._count = 0
        self._notes: list[str] = []
        self._objective = {"id": OBJECTIVE} | material.objective.model_dump(mode="json")

    def design(self) -> StudyProtocol:
        with self._progress.step("designing a protocol", None) as step:
            overview = self._overview()
            headings = self._reviewed("headings", overview, WrittenHeadings, self._headings)
            step.advance()
            given = overview | {"headings": [{"number": n, "heading": h.heading} for n, h in enumerate(headings, 1)]}
            outline: dict[int, list[WrittenBound]] = {}
            if headings:
                outline = self._reviewed("outline", given, WrittenOutline, lambda w: self._outline(w, len(headings)))
            step.advance()
            # The steps from the graph are a section; those of a model take them in.
            fixed = tuple(step for _, step in graph_steps(self._material))
            first = DesignRules.shipped().stages[0]
            sections = [_study_section(first.heading, first.purpose, fixed)] if fixed else []
            before = len(sections)
            for number, heading in enumerate(headings, 1):
                given = self._given(number, heading, outline.get(number, []), sections)
                steps = self._reviewed(f"details of section {number}", given, WrittenDetails, self._details)
                if steps:
                    sections.append(_study_section(heading.heading, heading.reason.text, steps))
                else:
                    self._notes.append(f"the section {heading.heading!r} is left out: no step of it is borne out")
                step.advance()
        if len(sections) == before:
            model = self._material.made_by
            raise ModelAnswer(f"nothing that {model} wrote is borne out by what it names", "try another model")
        if self._count:
            self._notes.append(f"sentences and settings of the model that were thrown away: {self._count:,}")
        used = {step.analysis for section in sections for step in section.steps}
        left = [name for name in self._grounds.analyses if name not in used]
        self._notes += [f"the ready analysis {name!r} fits, and no step is it" for name in left]
        return assembled(self._material, sections, self._grounds.passages.values(), self._notes)

    def _reviewed(self, stage: str, given: Mapping[str, Any], form: type[D], keep: Callable[[D], K]) -> K:
        """A draft that a reviewer approves, or the last of so many rounds."""
        most, task = DesignRules.shipped().limits["rounds"], model_task(f"design {stage.partition(' ')[0]}")
        written = self._talk.next("designer", stage, task, given, form)
        for number in range(1, most + 1):
            self._dropped = []
            kept = keep(written)
            draft = {"draft": written.model_dump(mode="json"), "thrown_away": self._dropped}
            shown = {"objective": self._objective, "stage": stage, **draft}
            review = self._talk.next("reviewer", stage, model_task("design review"), shown, DesignReview)
            if review.approved:
                break
            if number == most:
                self._notes.append(f"the reviewer did not approve {stage} in {most} rounds")
                break
            remarks = [" ".join(r.split())[:300] for r in review.remarks]
            written = self._talk.next("designer", stage, task, {**given, **draft, "remarks": remarks}, form)
        self._count += len(self._dropped)
        return kept

    def _drop(self, text: str, why: str) -> bool:
        """Throw something away, if there is a reason."""
        if why:
            self._dropped.append({"text": text[:300], "why": why})
        return bool(why)

    def _headings(self, written: WrittenHeadings) -> list[WrittenHeading]:
        kept: list[WrittenHeading] = []
        stages, longest = [s.heading for s in DesignRules.shipped().stages], DesignRules.shipped().limits["heading"]
        for one in written.sections:
            heading, reason = _line(one.heading), _line(one.reason.text)
            why = ""
            if not heading or len(heading) > longest:
                why = "the heading is empty, or too long"
            elif any(heading == k.heading for k in kept):
                why = "the heading is there already"
            # A heading without a reason that holds is a heading still, if its own words are borne out, or are ours.
            elif heading not in stages:
                ids = [i for i in (*one.reason.rests_on, *one.sources, OBJECTIVE) if i in self._grounds.words]
                why = self._grounds.objection(heading, ids, to_reasons=True)
            if self._drop(heading, why):
                continue
            if reason and self._drop(reason, self._grounds.objection(reason, one.reason.rests_on, to_reasons=True)):
                reason = ""
            strange = {i: "there is no such section" for i in one.sources if i not in self._grounds.sections}
            sources = [i for i in dict.fromkeys(one.sources) if not self._drop(i, strange.get(i, ""))]
            kept.append(WrittenHeading(heading=heading, reason=WrittenBound(text=reason), sources=sources))
        return kept

    def _outline(self, written: WrittenOutline, most: int) -> dict[int, list[WrittenBound]]:
        kept: dict[int, list[WrittenBound]] = {}
        for part, point in ((one, point) for one in written.parts for point in one.points):
            why = f"there is no heading {part.section}" if part.section > most else ""
            why = why or self._grounds.objection(_line(point.text), point.rests_on, to_reasons=True)
            if not self._drop(_line(point.text), why):
                kept.setdefault(part.section, []).append(point)
        return kept

    def _details(self, written: WrittenDetails) -> list[StudyStep]:
        return [step for one in written.steps if (step := self._step(one)) is not None]

    def _step(self, written: WrittenStep) -> StudyStep | None:
        grounds = self._grounds
        sentences: list[str] = []
        ids: dict[str, None] = {}
        for sentence in written.sentences:
            text = _line(sentence.text)
            whole = text if text.endswith((".", "!", "?")) else f"{text}."
            # Of a section, its passages bear a step out.
            rests_on = [i for i in sentence.rests_on if i not in grounds.sections]
            if not self._drop(text, "it is there twice" if whole in sentences else grounds.objection(text, rests_on)):
                sentences.append(whole)
                ids |= dict.fromkeys(i for i in rests_on if i != OBJECTIVE)
        if not sentences:
            return None
        stated = " ".join(grounds.words[id_] for id_ in ids).casefold()
        known = {d.id for d in self._material.data_sets if d.can_be_taken}
        control = _line(written.control)
        if control and self._drop(control, grounds.objection(control, [*ids])):
            control = ""

        def kept(text: str, value: K | None) -> list[K]:
            self._drop(text, "no passage of the step has it" if value is None else "")
            return [] if value is None else [value]

        parameters = [
            q
            for p in written.parameters
            for q in kept(f"{p.name} {p.value}", grounds.parameter(p.name, p.value, p.passage, ids))
        ]
        tools = [q for t in written.tools for q in kept(t.name, grounds.tool(t.name, t.version, t.passage, ids))]
        statistics = [q for s in map(_line, written.statistics) for q in kept(s, s if s.casefold() in stated else None)]
        data_sets = [q for i in written.data_sets for q in kept(i, i if i in known else None)]
        inputs, outputs = (
            tuple(StepItem(name=_line(i.name) or "?", kind=i.kind) for i in items)
            for items in (written.inputs, written.outputs)
        )
        step = StudyStep(
            id=UNNUMBERED,
            text=" ".join(sentences),
            inputs=inputs,
            outputs=outputs,
            parameters=tuple(parameters),
            tools=tuple(tools),
            statistics=tuple(dict.fromkeys(statistics)),
            data_sets=tuple(dict.fromkeys(data_sets)),
            facts=tuple(i for i in ids if i in grounds.facts),
            passages=tuple(i for i in ids if i in grounds.passages),
            control=control,
        )
        analysis = next((i for i in ids if i in grounds.analyses), None)
        if analysis is None:
            return step
        # A step that rests on a ready analysis is that analysis, with what it takes and makes.
        pattern = next(p for p in grounds.analyses[analysis].steps if p.runs)
        runs = analysis_step(analysis, pattern, self._material)
        taken = {
            n: getattr(step, n) or getattr(runs, n)
            for n in ("inputs", "outputs", "parameters", "statistics", "control")
        }
        return step.model_copy(update={"analysis": analysis, **taken})

    def _overview(self) -> dict[str, object]:
        return {
            "objective": self._objective,
            "sections": [
                {"id": one.id, "paper": one.report.paper}
                | {name: getattr(one.section, name) for name in ("heading", "suggestion", "outline")}
                for one in self._grounds.sections.values()
            ],
            **self._given_material(self._facts(), {"id", "title", "state"}),
        }

    def _given(
        self, number: int, heading: WrittenHeading, points: Sequence[WrittenBound], before: Sequence[StudySection]
    ) -> dict[str, object]:
        """Collect the material for the details of a section: all that its heading and its outline name."""
        named = dict.fromkeys((*heading.sources, *(i for p in points for i in p.rests_on)))
        chosen = [id_ for id_ in self._grounds.sections if id_ in named] or [*self._grounds.sections]
        passages = [(s, id_, step) for s in chosen for id_, step in self._grounds.steps[s].items()][:MOST_PASSAGES]
        first = [f for f in self._grounds.facts.values() if f.id in named]
        facts = [*dict.fromkeys((*first, *self._facts()))][:MOST_FACTS]
        return {
            "objective": self._objective,
            "section": {"number": number, "heading": heading.heading, "reason": heading.reason.text},
            "outline": [{"point": _line(p.text), "rests_on": p.rests_on} for p in points],
            "earlier_sections": [{"heading": s.heading, "summary": s.summary} for s in before],
            "passages": [
                {
                    "id": id_,
                    "section": self._grounds.sections[section].section.heading,
                    "quote": step.text,
                    "parameters": [f"{p.name} {p.comparator} {p.value}" for p in step.parameters],
                    "tools": [t.written for t in step.tools],
                }
                for section, id_, step in passages
            ],
            **self._given_material(facts, {"id", "title", "species", "assay", "state"}),
        }

    def _facts(self) -> list[StudyFact]:
        """The verified facts, those between nodes of the objective first."""
        own = {node.ref for node in self._material.nodes}
        ends = {
            fact: {fact.task.subject, fact.task.object or fact.task.subject} for fact in self._grounds.facts.values()
        }
        return sorted(ends, key=lambda fact: not ends[fact] <= own)[:MOST_FACTS]

    def _given_material(self, facts: Sequence[StudyFact], data_set_fields: set[str]) -> dict[str, object]:
        return {
            "facts": [{"id": f.id, "fact": f.stated} for f in facts],
            "analyses": [
                {"id": name, "steps": [{"what": s.text, "control": s.control} for s in use.steps]}
                for name, use in self._grounds.analyses.items()
            ],
            "not_verified": not_verified(self._material)[:MOST_FACTS],
            "data_sets": [d.model_dump(mode="json", include=data_set_fields) for d in self._material.data_sets],
        }


def _study_section(heading: str, rationale: str, steps: Sequence[StudyStep]) -> StudySection:
    summary = " ".join(f"{step.text[:120].split('. ')[0].rstrip('.')}." for step in steps)[:600]
    return StudySection(id="S1", heading=heading, rationale=rationale, summary=summary, steps=tuple(steps))


def _line(text: str) -> str:
    return " ".join(text.split())
