"""ModelDesigner: design a protocol by a model that writes and one that reviews (BioResearcher).

What a model writes is data. A sentence counts where the passages, verified facts and ready analyses that it names bear
it out; what is not bound to any is dropped, and counted. The reviewer sees what is left of a draft, the designer what
was dropped and why. Answers come from the transcript first, then from the model.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, Field, ValidationError

from kgcheck.errors import InputFormat, KgcheckError, ModelAnswer
from kgcheck.literature.lexical import content_words, stems
from kgcheck.literature.quote_relevance import opposes
from kgcheck.llm.budget import CostByPart, Limits, Meter
from kgcheck.llm.forms import messages_of
from kgcheck.progress import NoProgress, Progress
from kgcheck.protocols.design.by_rules import (
    UNNUMBERED,
    QuotedPassages,
    analysis_step,
    assembled,
    fitting_analyses,
    graph_steps,
    standing_of_fact,
    words_of_analysis,
)
from kgcheck.protocols.design.material import (
    AnalysisUse,
    DesignAnswer,
    DesignFolder,
    DesignMaterial,
    DesignRole,
    DesignRules,
    holds_words,
    strange_marks,
    taken_sections,
)
from kgcheck.protocols.programs.analyses import ready_analysis
from kgcheck.protocols.protocol import (
    ItemKind,
    StepItem,
    StepParameter,
    StepTool,
    StudyFact,
    StudyPassage,
    StudyProtocol,
    StudySection,
    StudyStep,
    digest_of_things,
)
from kgcheck.protocols.rules import model_task

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

OBJECTIVE = "O"
"""The id of the objective, on which a reason may rest, and no step."""


class Dropped(NamedTuple):
    """Something that a model wrote and that was thrown away, and why."""

    text: str
    why: str


class Grounds:
    """The passages, facts and ready analyses that a protocol may rest on, by id."""

    def __init__(self, material: DesignMaterial) -> None:
        self.material = material
        made = QuotedPassages()
        self.sections = {taken.id: taken for taken in taken_sections(material)}
        self.steps = {
            id_: {made.add(one, step).id: step for step in one.section.steps if step.dry}
            for id_, one in self.sections.items()
        }
        """Steps of the sections, by the ids of their passages."""
        self.passages: dict[str, StudyPassage] = {passage.id: passage for passage in made.all()}
        self.facts: dict[str, StudyFact] = {fact.id: fact for fact in material.facts if fact.verified}
        self.analyses: dict[str, AnalysisUse] = dict(fitting_analyses(material))
        self._steps = {id_: step for steps in self.steps.values() for id_, step in steps.items()}
        # What must not be stated as true.
        self._not_verified = [(f.stated, stems(content_words(f.stated))) for f in material.facts if not f.verified]

    def words_of(self, id_: str) -> str | None:
        """Return the text of a source by its id; None if there is no such id."""
        if id_ == OBJECTIVE:
            return self.material.objective.text
        if passage := self.passages.get(id_):
            return f"{passage.heading} {passage.quote}"
        if fact := self.facts.get(id_):
            return fact.stated
        if use := self.analyses.get(id_):
            return " ".join(words_of_analysis(ready_analysis(id_), use))
        if one := self.sections.get(id_):
            return " ".join((one.section.heading, *(step.text for step in self.steps[id_].values())))
        return None

    def objection(self, text: str, ids: Sequence[str], *, to_reasons: bool = False) -> str:
        """Return the reason why a sentence is not borne out by what it names."""
        limits = DesignRules.shipped().limits
        if not text or len(text) > limits.sentence:
            return f"it is empty, or longer than {limits.sentence} characters"
        words = {id_: self.words_of(id_) for id_ in dict.fromkeys(ids)}
        unknown = [id_ for id_, own in words.items() if own is None]
        if unknown:
            return f"it names {unknown[0][:40]!r}, which there is not"
        if not words or not (to_reasons or any(i != OBJECTIVE and i not in self.sections for i in words)):
            return "it names no passage, fact or analysis that it rests on"
        grounds = [own for own in words.values() if own]
        if why := strange_marks(text, grounds):
            return why
        own = stems(content_words(text))
        shared = own & stems(content_words(" ".join(grounds)))
        if own and len(shared) / len(own) < limits.bound:
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
        return StepTool(
            name=name, version=version if version and holds_words(step.text, version) else "", passage=passage
        )

    def text_of(self, ids: Iterable[str]) -> str:
        return " ".join(filter(None, (self.words_of(id_) for id_ in ids)))


A = TypeVar("A", bound=BaseModel)

_ANEW = "design it again in another folder"


class DesignConversation:
    """Answers in their order: those that the folder has, and after them new ones, which it gets."""

    def __init__(self, folder: DesignFolder, client: "ChatClient | None" = None, meter: Meter | None = None) -> None:
        self._folder, self._client, self._meter = folder, client, meter
        self._recorded = [answer for answer in folder.answers if not answer.stopped]
        self._place = 0
        self._costs = CostByPart(meter or Meter(Limits()), (answer.cost for answer in folder.answers))

    @property
    def whole(self) -> bool:
        return self._place == len(self._recorded)

    def next(self, role: DesignRole, stage: str, task: str, given: Mapping[str, object], form: type[A]) -> A:
        messages = messages_of(task, given)
        temperature = getattr(DesignRules.shipped().temperatures, role)
        question = digest_of_things([role, stage, form.__name__, temperature, messages])
        if self._place < len(self._recorded):
            return self._again(stage, question, form)
        if self._client is None:
            raise InputFormat(
                f"the transcript in {self._folder.path} ends before {stage}", "design it to its end first"
            )
        answered: dict[str, Any] = {"role": role, "stage": stage, "question": question}
        try:
            answer, _ = self._client.answer(messages, form, meter=self._meter, temperature=temperature)
        except KgcheckError as error:
            self._folder.add(DesignAnswer(**answered, stopped=error.message, cost=self._costs.next()))
            raise
        kept = DesignAnswer(**answered, answer=answer.model_dump_json(), cost=self._costs.next())
        self._folder.add(kept)
        self._recorded.append(kept)
        self._place += 1
        return answer

    def _again(self, stage: str, question: str, form: type[A]) -> A:
        recorded, where = self._recorded[self._place], f"the transcript in {self._folder.path}"
        self._place += 1
        if recorded.question != question:
            changed = "it was changed, or made by another version of kgcheck"
            raise InputFormat(f"{where} does not go with {stage}: {changed}", _ANEW)
        try:
            return form.model_validate_json(recorded.answer)
        except ValidationError:
            raise InputFormat(f"{where} has another form at {stage}", _ANEW) from None


MOST_SECTIONS = 12
MOST_POINTS = 20
MOST_STEPS = 30
MOST_SENTENCES = 12
MOST_NAMED = 20
"""Parts of one answer; what is more is an answer of another form."""


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


MOST_FACTS = 60
"""Facts of one request: those between nodes of the objective come first."""

MOST_PASSAGES = 60
"""Passages of one request."""

D = TypeVar("D", WrittenHeadings, WrittenOutline, WrittenDetails)

K = TypeVar("K")


class ModelDesigner:
    """Designs one protocol."""

    def __init__(
        self, material: DesignMaterial, conversation: DesignConversation, progress: Progress | None = None
    ) -> None:
        self._material, self._talk = material, conversation
        self._grounds = Grounds(material)
        self._progress = progress or NoProgress()
        self._dropped = 0
        self._notes: list[str] = []

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
                made = self._section(number, heading, outline.get(number, []), sections)
                if made.steps:
                    sections.append(made)
                else:
                    self._notes.append(f"the section {heading.heading!r} is left out: no step of it is borne out")
                step.advance()
        if len(sections) == before:
            model = self._material.made_by
            raise ModelAnswer(f"nothing that {model} wrote is borne out by what it names", "try another model")
        if self._dropped:
            self._notes.append(f"sentences and settings of the model that were thrown away: {self._dropped:,}")
        used = {step.analysis for section in sections for step in section.steps}
        self._notes += [
            f"the ready analysis {name!r} fits, and no step is it"
            for name in self._grounds.analyses
            if name not in used
        ]
        return assembled(self._material, sections, tuple(self._grounds.passages.values()), self._notes)

    def _reviewed(
        self, stage: str, given: Mapping[str, Any], form: type[D], keep: Callable[[D], tuple[K, list[Dropped]]]
    ) -> K:
        """A draft that a reviewer approves, or the last of so many rounds."""
        most, task = DesignRules.shipped().limits.rounds, model_task(f"design {stage.partition(' ')[0]}")
        written = self._talk.next("designer", stage, task, given, form)
        for number in range(1, most + 1):
            kept, dropped = keep(written)
            draft = written.model_dump(mode="json")
            left_out = [{"text": d.text[:300], "why": d.why} for d in dropped]
            shown = {"objective": self._objective(), "stage": stage, "draft": draft, "thrown_away": left_out}
            review = self._talk.next("reviewer", stage, model_task("design review"), shown, DesignReview)
            if review.approved:
                break
            if number == most:
                self._notes.append(f"the reviewer did not approve {stage} in {most} rounds")
                break
            remarks = [" ".join(r.split())[:300] for r in review.remarks]
            again = {**given, "draft": draft, "thrown_away": left_out, "remarks": remarks}
            written = self._talk.next("designer", stage, task, again, form)
        self._dropped += len(dropped)
        return kept

    def _headings(self, written: WrittenHeadings) -> tuple[list[WrittenHeading], list[Dropped]]:
        kept: list[WrittenHeading] = []
        dropped: list[Dropped] = []
        stages = [stage.heading for stage in DesignRules.shipped().stages]
        for one in written.sections:
            heading, reason = _line(one.heading), _line(one.reason.text)
            ids = [*one.reason.rests_on, *one.sources, OBJECTIVE]
            if not heading or len(heading) > DesignRules.shipped().limits.heading:
                dropped.append(Dropped(heading, "the heading is empty, or too long"))
                continue
            if any(heading == k.heading for k in kept):
                dropped.append(Dropped(heading, "the heading is there already"))
                continue
            # A heading without a reason that holds is a heading still, if its own words are borne out, or are ours.
            if heading not in stages and (
                why := self._grounds.objection(
                    heading, [i for i in ids if self._grounds.words_of(i) is not None], to_reasons=True
                )
            ):
                dropped.append(Dropped(heading, why))
                continue
            if reason and (why := self._grounds.objection(reason, one.reason.rests_on, to_reasons=True)):
                dropped.append(Dropped(reason, why))
                reason = ""
            strange = [i for i in one.sources if i not in self._grounds.sections]
            dropped += [Dropped(i, "there is no such section") for i in strange]
            sources = list(dict.fromkeys(i for i in one.sources if i in self._grounds.sections))
            kept.append(WrittenHeading(heading=heading, reason=WrittenBound(text=reason), sources=sources))
        return kept, dropped

    def _outline(self, written: WrittenOutline, most: int) -> tuple[dict[int, list[WrittenBound]], list[Dropped]]:
        kept: dict[int, list[WrittenBound]] = {}
        dropped: list[Dropped] = []
        for part in written.parts:
            for point in part.points:
                if part.section > most:
                    dropped.append(Dropped(_line(point.text), f"there is no heading {part.section}"))
                elif why := self._grounds.objection(_line(point.text), point.rests_on, to_reasons=True):
                    dropped.append(Dropped(_line(point.text), why))
                else:
                    kept.setdefault(part.section, []).append(point)
        return kept, dropped

    def _section(
        self, number: int, heading: WrittenHeading, points: Sequence[WrittenBound], before: Sequence[StudySection]
    ) -> StudySection:
        given = {
            "objective": self._objective(),
            "section": {"number": number, "heading": heading.heading, "reason": heading.reason.text},
            "outline": [{"point": _line(p.text), "rests_on": p.rests_on} for p in points],
            "earlier_sections": [{"heading": s.heading, "summary": s.summary} for s in before],
            **self._sources(heading, points),
        }
        stage = f"details of section {number}"
        return _study_section(
            heading.heading, heading.reason.text, self._reviewed(stage, given, WrittenDetails, self._details)
        )

    def _details(self, written: WrittenDetails) -> tuple[list[StudyStep], list[Dropped]]:
        dropped: list[Dropped] = []
        kept = [step for one in written.steps if (step := self._step(one, dropped)) is not None]
        return kept, dropped

    def _step(self, written: WrittenStep, dropped: list[Dropped]) -> StudyStep | None:
        sentences: list[str] = []
        ids: dict[str, None] = {}
        for sentence in written.sentences:
            text = _line(sentence.text)
            whole = text if text.endswith((".", "!", "?")) else f"{text}."
            # Of a section, its passages bear a step out.
            rests_on = [i for i in sentence.rests_on if i not in self._grounds.sections]
            why = "it is there twice" if whole in sentences else self._grounds.objection(text, rests_on)
            if why:
                dropped.append(Dropped(text, why))
                continue
            sentences.append(whole)
            ids |= dict.fromkeys(i for i in rests_on if i != OBJECTIVE)
        if not sentences:
            return None
        stated = self._grounds.text_of(ids).casefold()
        known = {d.id for d in self._material.data_sets if d.can_be_taken}
        control = _line(written.control)
        if control and (why := self._grounds.objection(control, [*ids])):
            dropped.append(Dropped(control, why))
            control = ""

        def kept(text: str, value: K | None) -> Iterator[K]:
            if value is None:
                dropped.append(Dropped(text, "no passage of the step has it"))
            else:
                yield value

        parameters = [
            q
            for p in written.parameters
            for q in kept(f"{p.name} {p.value}", self._grounds.parameter(p.name, p.value, p.passage, ids))
        ]
        tools = [q for t in written.tools for q in kept(t.name, self._grounds.tool(t.name, t.version, t.passage, ids))]
        statistics = [q for s in map(_line, written.statistics) for q in kept(s, s if s.casefold() in stated else None)]
        data_sets = [q for i in written.data_sets for q in kept(i, i if i in known else None)]
        step = StudyStep(
            id=UNNUMBERED,
            text=" ".join(sentences),
            inputs=tuple(StepItem(name=_line(i.name) or "?", kind=i.kind) for i in written.inputs),
            outputs=tuple(StepItem(name=_line(i.name) or "?", kind=i.kind) for i in written.outputs),
            parameters=tuple(parameters),
            tools=tuple(tools),
            statistics=tuple(dict.fromkeys(statistics)),
            data_sets=tuple(dict.fromkeys(data_sets)),
            facts=tuple(i for i in ids if i in self._grounds.facts),
            passages=tuple(i for i in ids if i in self._grounds.passages),
            control=control,
        )
        return self._as_analysis(step, [i for i in ids if i in self._grounds.analyses])

    def _as_analysis(self, step: StudyStep, names: Sequence[str]) -> StudyStep:
        """A step that rests on a ready analysis is that analysis, with what it takes and makes."""
        if not names:
            return step
        pattern = next(p for p in self._grounds.analyses[names[0]].steps if p.runs)
        runs = analysis_step(names[0], pattern, self._material)
        return step.model_copy(
            update={
                "analysis": names[0],
                "inputs": step.inputs or runs.inputs,
                "outputs": step.outputs or runs.outputs,
                "parameters": step.parameters or runs.parameters,
                "statistics": step.statistics or runs.statistics,
                "control": step.control or runs.control,
            }
        )

    def _objective(self) -> dict[str, object]:
        return {"id": OBJECTIVE} | self._material.objective.model_dump(mode="json")

    def _overview(self) -> dict[str, object]:
        return {
            "objective": self._objective(),
            "sections": [
                {"id": one.id, "paper": one.report.paper}
                | {name: getattr(one.section, name) for name in ("heading", "suggestion", "outline")}
                for one in self._grounds.sections.values()
            ],
            **self._given_material(self._facts(), {"id", "title", "state"}),
        }

    def _sources(self, heading: WrittenHeading, points: Sequence[WrittenBound]) -> dict[str, object]:
        """Collect the material for the details of a section: all that its heading and its outline name."""
        named = dict.fromkeys((*heading.sources, *(i for p in points for i in p.rests_on)))
        chosen = [id_ for id_ in self._grounds.sections if id_ in named] or [*self._grounds.sections]
        passages = [(s, id_, step) for s in chosen for id_, step in self._grounds.steps[s].items()][:MOST_PASSAGES]
        first = [f for f in self._grounds.facts.values() if f.id in named]
        facts = dict.fromkeys((*first, *self._facts()))
        return {
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
            **self._given_material([*facts][:MOST_FACTS], {"id", "title", "species", "assay", "state"}),
        }

    def _facts(self) -> list[StudyFact]:
        """The verified facts, those between nodes of the objective first."""
        own = {node.ref for node in self._material.nodes}

        def rank(fact: StudyFact) -> bool:
            return not {fact.task.subject, fact.task.object or fact.task.subject} <= own

        return sorted(self._grounds.facts.values(), key=rank)[:MOST_FACTS]

    def _given_material(self, facts: Sequence[StudyFact], data_set_fields: set[str]) -> dict[str, object]:
        """Facts, ready analyses, what is not verified, and some fields of the data sets."""
        not_verified = [fact for fact in self._material.facts if not fact.verified]
        return {
            "facts": [{"id": f.id, "fact": f.stated} for f in facts],
            "analyses": [
                {"id": name, "steps": [{"what": s.text, "control": s.control} for s in use.steps]}
                for name, use in self._grounds.analyses.items()
            ],
            "not_verified": [f"{fact.stated} ({standing_of_fact(fact)})" for fact in not_verified[:MOST_FACTS]],
            "data_sets": [d.model_dump(mode="json", include=data_set_fields) for d in self._material.data_sets],
        }


def _study_section(heading: str, rationale: str, steps: Sequence[StudyStep]) -> StudySection:
    """A section, with the first words of each step for who writes the next one."""
    summary = " ".join(f"{step.text[:120].split('. ')[0].rstrip('.')}." for step in steps)[:600]
    return StudySection(id="S1", heading=heading, rationale=rationale, summary=summary, steps=tuple(steps))


def _line(text: str) -> str:
    return " ".join(text.split())
