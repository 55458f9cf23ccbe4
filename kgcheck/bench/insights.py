"""Insights of papers: a finding in a sentence, its techniques, and words of the paper that bear it.

By rules an insight is a claim that the paper makes, in its own words. A model's insight counts where the paper has its
grounding word for word, and where it says a finding; others are thrown away with a reason. A person signs what may
become questions; a signature is of the words that were read, and an insight that was edited since is unsigned.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator

from kgcheck import clock
from kgcheck.bench.answer_judge import judge_by_rules
from kgcheck.errors import UnknownName, UsageError
from kgcheck.grounding.claims.choosing import PaperText, choose_claims, parts_of_abstract
from kgcheck.inputs import read_whole
from kgcheck.literature.arguments import arguments
from kgcheck.literature.documents import Rejected, clean
from kgcheck.literature.formats import choose_recipe, read_documents
from kgcheck.literature.papers import WholePaper, parts_of
from kgcheck.literature.verify import instructs
from kgcheck.llm.forms import messages_of
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

if TYPE_CHECKING:
    from kgcheck.llm.budget import Meter
    from kgcheck.llm.client import ChatClient

SignState = Literal["validated", "in_part", "adjusted", "rejected", "outside_tools"]
USABLE: tuple[SignState, ...] = ("validated", "in_part", "adjusted")
MOST_TEXT = 60_000
"""Characters of a paper that a model reads, abstract and results first."""

_READ_FIRST = ("abstract", "results", "conclusion", "discussion", "introduction")


class Domain(Value):
    """A field of science: its name, techniques, generic words and examples; prompts stand beside it in its folder."""

    name: str
    techniques: tuple[str, ...]
    generic: tuple[str, ...]
    examples: dict[str, str] = {}
    folder: Path = Field(default=Path(), exclude=True)

    @classmethod
    def read(cls, place: str) -> "Domain":
        """Read one that comes with kgcheck by its name, or the folder of another one."""
        shipped = resource_dir("corpus") / "bench"
        folder = Path(place) if "/" in place else shipped / place
        if not (folder / "domain.toml").is_file():
            known = [path.parent.name for path in sorted(shipped.glob("*/domain.toml"))]
            raise UnknownName("domain", place, known, "a folder is written with a slash: ./mine")
        return read_value(folder / "domain.toml", cls).model_copy(update={"folder": folder})

    def prompt(self, name: str) -> str:
        """The task of a model, with the examples of the field."""
        path = self.folder / f"{name}.md"
        path = path if path.is_file() else resource_dir("corpus") / "bench" / "biology" / f"{name}.md"
        text = read_whole(path).replace("{domain}", self.name)
        return text.replace("{examples}", self.examples.get(name, "")).strip()

    @cached_property
    def _generic(self) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{'|'.join(self.generic)})\b", re.IGNORECASE)

    def objection(self, summary: str) -> str:
        """The reason why a summary is no insight: generic, or without a result."""
        things = [thing for thing in arguments(summary) if thing.kind != "number"]
        if self._generic.search(summary):
            return f"it is generic: {self._generic.search(summary)[0]}"  # type: ignore[index]
        return "" if len(things) > 1 else "it says nothing of two things: no result"


class InsightSignature(Value):
    """Judgement of a person on an insight as it stood: the digest is of its words."""

    state: SignState
    by: str = Field(min_length=1)
    on: str
    reason: str = ""
    parts: tuple[str, ...] = Field(default=(), description="sub-claims that were validated, where not all were")
    digest: str

    @model_validator(mode="after")
    def _gives_reason(self) -> Self:
        if self.state in ("rejected", "outside_tools") and not self.reason.strip():
            raise ValueError("an insight is rejected with a reason")
        if self.state == "in_part" and not self.parts:
            raise ValueError("in part: the parts that are validated are to be named")
        return self


class Insight(Value):
    """A finding of a paper."""

    id: str
    paper: str
    year: int | None = None
    summary: str = Field(min_length=1)
    techniques: tuple[str, ...] = ()
    grounding: str = Field(min_length=1, description="words of the paper, as they stand in it")
    section: str = ""
    by: str = "rules"
    data: dict[str, str] = {}
    signature: InsightSignature | None = None

    def digest(self, parts: Sequence[str] = ()) -> str:
        """Digest of what a person reads of it, and of the parts that are validated, where not all is."""
        read = [self.paper, self.summary, self.techniques, self.grounding, self.data, [*parts]]
        return sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def is_signed(self) -> bool:
        """Tell whether a person has signed it as it stands."""
        return bool(self.signature and self.signature.digest == self.digest(self.signature.parts))

    def is_usable(self, states: Sequence[SignState] = USABLE) -> bool:
        """Tell whether it is signed as it stands, in one of some states: unless named, those that do not reject it."""
        return bool(self.is_signed and self.signature and self.signature.state in states)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a question that are those of its insight."""
        own = {name: getattr(self, name) for name in ("paper", "year", "summary", "grounding", "data")}
        return own | {"insight": self.id, "techniques": ", ".join(self.techniques)}

    @property
    def parts(self) -> tuple[str, ...]:
        """Statements of it that may become questions."""
        return self.signature.parts if self.signature and self.signature.state == "in_part" else (self.summary,)


class ProposedInsight(BaseModel):
    """One insight as a model proposes it."""

    summary: str
    techniques: list[str] = []
    grounding: list[str]


class ProposedInsights(BaseModel):
    """The form of an answer."""

    insights: list[ProposedInsight]


def papers_in(files: Iterable[Path], refused: list[str]) -> Iterator[PaperText]:
    """Papers of files of every form that an index takes, whole or as abstracts."""
    for file in files:
        for record in read_documents(file, choose_recipe(file)):
            if isinstance(record, Rejected):
                refused.append(f"{record.place or file}: {record.detail}")
            elif isinstance(record, WholePaper):
                parts = parts_of(record)
                yield PaperText(parts.head, parts.paragraphs, parts_of_abstract(parts.head, record))
            else:
                yield PaperText(record, (), parts_of_abstract(record, None))


def extract(
    papers: Iterable[PaperText],
    domain: Domain,
    refused: list[str],
    client: "ChatClient | None" = None,
    meter: "Meter | None" = None,
) -> list[Insight]:
    """Extract the insights of papers, by rules or by a model; `refused` takes the rest, each with its reason."""
    made: list[Insight] = []
    for paper in papers:
        if paper.head.retracted or any(instructs(document.abstract) for document in paper.documents):
            refused.append(f"{paper.head.id}: it is retracted, or holds an instruction to its reader")
            continue
        before = len(made)
        by_rules = ((claim.quote, [claim.quote], claim.section, list[str]()) for claim in choose_claims(paper))
        proposed = _by_model(paper, domain, client, meter) if client else by_rules
        for summary, quotes, section, techniques in proposed:
            why = domain.objection(summary) or next(
                (f"no words of the paper: {q[:80]!r}" for q in quotes if not _stands(q, paper)), ""
            )
            if why or not quotes:
                refused.append(f"{paper.head.id}: {summary[:80]!r}: {why or 'no grounding'}")
                continue
            grounding = " ... ".join(quotes)
            name = sha256(f"{paper.head.id}\0{grounding}".encode()).hexdigest()[:10]
            if name in {one.id for one in made}:
                refused.append(f"{paper.head.id}: {summary[:80]!r}: its words bear {name} already")
                continue
            made.append(
                Insight(
                    id=name,
                    paper=paper.head.id,
                    year=paper.head.year,
                    summary=summary,
                    techniques=tuple(techniques) or _techniques(paper, quotes, domain),
                    grounding=grounding,
                    section=section,
                    by=client.model if client else "rules",
                )
            )
        if len(made) == before:
            refused.append(f"{paper.head.id}: no result that could be an insight")
    return made


def _by_model(
    paper: PaperText, domain: Domain, client: "ChatClient", meter: "Meter | None"
) -> Iterator[tuple[str, list[str], str, list[str]]]:
    texts = [f"## {d.section}\n{d.abstract}" for kind in _READ_FIRST for d in paper.documents if d.section == kind]
    question = {"title": paper.head.title, "paper": "\n\n".join(texts)[:MOST_TEXT]}
    answer, _ = client.answer(messages_of(domain.prompt("insights"), question), ProposedInsights, meter=meter)
    for one in answer.insights:
        yield (
            clean(one.summary),
            [clean(quote) for quote in one.grounding if clean(quote)],
            "",
            [clean(t) for t in one.techniques],
        )


def _stands(quote: str, paper: PaperText) -> bool:
    """Tell whether a paper has words exactly, at least a clause of them."""
    return len(quote.split()) >= 6 and any(quote in document.abstract for document in paper.documents)


def _techniques(paper: PaperText, quotes: Sequence[str], domain: Domain) -> tuple[str, ...]:
    """Techniques of the field in the grounding and the paragraphs that have it, else in the methods."""
    near = [d.abstract for d in paper.documents if any(quote in d.abstract for quote in quotes)]
    methods = [d.abstract for d in paper.documents if d.section == "methods"]
    for texts in (near, methods):
        joined = " ".join(texts)
        if found := tuple(t for t in domain.techniques if re.search(rf"(?<!\w){re.escape(t)}", joined, re.IGNORECASE)):
            return found
    return ()


def sign(
    insights: Sequence[Insight],
    name: str,
    state: SignState,
    by: str,
    *,
    reason: str = "",
    parts: Sequence[str] = (),
    summary: str = "",
) -> list[Insight]:
    """Sign one of some insights; an adjusted one gets another summary."""
    if name not in (known := {one.id: one for one in insights}):
        raise UnknownName("insight", name, known)
    if bool(summary) != (state == "adjusted"):
        raise UsageError(
            "an adjusted insight has another summary, and no other one", "add --summary, with --as adjusted"
        )
    changed = known[name].model_copy(update={"summary": summary} if summary else {})
    try:
        signed = InsightSignature(
            state=state,
            by=by,
            on=clock.now().date().isoformat(),
            reason=reason,
            parts=tuple(parts),
            digest=changed.digest(parts),
        )
    except ValidationError as error:
        raise UsageError(str(error.errors()[0]["ctx"]["error"]), "add --reason, or --part for each part") from None
    return [changed.model_copy(update={"signature": signed}) if one.id == name else one for one in insights]


def relation_rows(insights: Sequence[Insight], findings: Path) -> list[dict[str, str]]:
    """Label how each finding of experts stands to the nearest insight: related strongly, weakly, or not."""
    rows = []
    for finding in filter(None, map(str.strip, read_whole(findings).splitlines())):
        scored = [(judge_by_rules(finding, f"{one.summary} {one.grounding}").score, one.id) for one in insights]
        score, name = max(scored, default=(1, ""))
        relation = "strongly" if score > 3 else "weakly" if score > 1 else "not related"
        rows.append({"finding": finding[:80], "related": relation, "insight": name if score > 1 else ""})
    return rows
