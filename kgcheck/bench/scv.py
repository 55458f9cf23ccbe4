"""SCV benchmark: read claims by recipe, verify each against papers or given passages, and join sets of claims.

As BioKGBench ran it (its appendix D.3), a model gets the best passages in one prompt and gives one answer in JSON with
quotes; its set was joined of others over one corpus, questions made declarative claims.
"""

import csv
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from kgcheck.errors import (
    NAME_THERE,
    ConfigurationError,
    InputFormat,
    InputMissing,
    ModelAnswer,
    UnknownName,
    UsageError,
)
from kgcheck.inputs import parse_json, read_toml, read_whole
from kgcheck.literature.documents import Document, clean
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.verify import Verifier, verify
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient, parse_answer
from kgcheck.llm.forms import messages_of
from kgcheck.model import Stance, Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

Scope = Literal["corpus", "partial", "documents", "passages"]

RANKED = 50
"""Documents whose order is kept for the measures of retrieval."""

_NUMBER = re.compile(r"\d+")
_SPACES = re.compile(r"\s")


class ClaimFields(Value):
    """Fields of a record."""

    id: str
    claim: str
    label: str = ""
    documents: str = ""
    evidence: str = Field(default="", description="words that a right quote shares")
    evidence_document: str = ""
    evidence_sentences: str = ""
    passages: str = ""
    head: str = Field(default="", description="name, or names, of the head of an edge")
    tail: str = ""
    relation: str = ""


class ClaimRecipe(Value):
    """Recipe by which the claims of one format are read."""

    name: str
    format: Literal["csv", "json", "jsonl"]
    suffixes: tuple[str, ...]
    needs: tuple[str, ...]
    prefix: str = ""
    fields: ClaimFields
    labels: dict[str, Stance]
    unlabelled: tuple[str, ...] = Field(default=(), description="labels that say neither")
    claims: dict[str, str] = Field(default={}, description="by relation: its claim, with {head} and {tail}")
    kinds: dict[str, str] = Field(default={}, description="by relation: its name in calibrations")

    @property
    def mixed(self) -> bool:
        """True where one field names the papers of the evidence, and may hold words of it."""
        return bool(self.fields.evidence) and self.fields.evidence == self.fields.documents

    def stance(self, label: str) -> Stance | None:
        """Meaning of a label, however it is capitalised; None for one that is unknown."""
        known = {name.casefold(): stance for name, stance in self.labels.items()}
        return known.get(label.casefold())


class Gold(Value):
    """Evidence that people chose: sentences of a document, a whole document, or words."""

    document: str = ""
    sentences: tuple[int, ...] = ()
    words: str = ""


class ClaimItem(Value):
    """A claim with what is known of it."""

    id: str
    claim: str
    label: Stance | None = None
    documents: tuple[str, ...] = ()
    gold: tuple[Gold, ...] = ()
    passages: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    relation: str = Field(default="", description="pattern of the profile, or kind of statement")


@cache
def load_claim_recipes() -> tuple[ClaimRecipe, ...]:
    """All recipes, those that need most of a file first."""
    found: list[ClaimRecipe] = []
    for path in sorted((resource_dir("corpus") / "claims").glob("*.toml")):
        try:
            found.append(ClaimRecipe.model_validate(read_toml(path)))
        except (ValidationError, ValueError) as error:
            raise ConfigurationError(f"{path} is wrong: {error}", "correct the recipe") from error
    return tuple(sorted(found, key=lambda r: (-len(r.needs), r.name)))


def read_items(path: Path, recipe: str | None = None) -> list[ClaimItem]:
    """The claims of a file."""
    if not path.is_file():
        raise InputMissing(f"there is no file {path}", NAME_THERE)
    recipes = {r.name: r for r in load_claim_recipes()}
    if recipe and recipe not in recipes:
        raise UnknownName("claim recipe", recipe, recipes)
    for chosen in [recipes[recipe]] if recipe else list(recipes.values()):
        if not recipe and not path.name.lower().endswith(chosen.suffixes):
            continue
        records = list(_records(path, chosen))
        if recipe or (records and all(key in records[0] for key in chosen.needs)):
            return _items(records, chosen, path)
    raise InputFormat(f"{path} holds no claims that kgcheck can read", "name a recipe of corpus/claims with --recipe")


def _records(path: Path, recipe: ClaimRecipe) -> Iterator[dict[str, Any]]:
    try:
        text = read_whole(path, encoding="utf-8-sig")
        if recipe.format == "csv":
            yield from csv.DictReader(text.splitlines(keepends=True))
        elif recipe.format == "jsonl" and not path.name.lower().endswith(".json"):
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    record = parse_json(line)
                    if not isinstance(record, dict):
                        raise InputFormat(
                            f"{path}, line {number}: not an object", "each line is one claim as a JSON object"
                        )
                    yield {"@row": number, **record}
        else:
            whole = parse_json(text)
            if isinstance(whole, dict):
                whole = [{"@key": key, **value} for key, value in whole.items() if isinstance(value, dict)]
            yield from (r for r in whole if isinstance(r, dict))
    except (OSError, ValueError, csv.Error, TypeError) as error:
        raise InputFormat(f"{path} is no {recipe.format} file: {str(error)[:200]}", "it may be cut off") from error


def _items(records: Sequence[dict[str, Any]], recipe: ClaimRecipe, path: Path) -> list[ClaimItem]:
    fields, found = recipe.fields, dict[str, ClaimItem]()
    for row, raw in enumerate(records, 1):
        head, tail = _names(raw.get(fields.head)), _names(raw.get(fields.tail))
        stated = str(raw.get(fields.relation) or "")
        claim = clean(str(raw.get(fields.claim) or ""))
        if not claim and head and tail:
            form = recipe.claims.get(stated, "")
            claim = form.replace("{head}", head[0]).replace("{tail}", tail[0])
        if not claim and not fields.head:
            raise InputFormat(f"{path}, record {row}: no claim", "remove the record, or name another recipe")
        item = ClaimItem(
            id=str(raw.get(fields.id) or row),
            claim=claim,
            label=_label(raw, recipe, f"{path}, record {row}"),
            documents=tuple(_ids(raw.get(fields.documents), recipe)),
            gold=tuple(_gold(raw, recipe)),
            passages=tuple(_texts(raw.get(fields.passages))),
            head=head,
            tail=tail,
            relation=recipe.kinds.get(stated, recipe.kinds.get("*", stated)),
        )
        before = found.get(item.id)
        if before:
            item = before.model_copy(
                update={
                    "documents": tuple(dict.fromkeys(before.documents + item.documents)),
                    "gold": before.gold + item.gold,
                    "passages": before.passages + item.passages,
                }
            )
        found[item.id] = item
    return list(found.values())


def _label(raw: dict[str, Any], recipe: ClaimRecipe, place: str) -> Stance | None:
    if not recipe.fields.label or recipe.fields.label not in raw:
        return None
    label = str("" if raw[recipe.fields.label] is None else raw[recipe.fields.label]).strip()
    if label in recipe.unlabelled:
        return None
    found = recipe.stance(label)
    if found or not label:
        return found
    raise InputFormat(f"{place}: {label[:40]!r} is no label", f"known: {', '.join(filter(None, recipe.labels))}")


def _ids(value: Any, recipe: ClaimRecipe) -> list[str]:
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple | dict):
        names = [str(v) for v in value if not recipe.mixed or _is_id(v)]
    else:
        names = _NUMBER.findall(str(value)) if str(value).startswith("[") else [str(value)]
    return [n if n.startswith(recipe.prefix) else recipe.prefix + n for n in names]


def _gold(raw: dict[str, Any], recipe: ClaimRecipe) -> Iterator[Gold]:
    fields = recipe.fields
    evidence = raw.get(fields.evidence)
    if words := [clean(t) for t in _texts(evidence) if not recipe.mixed or not _is_id(t)]:
        yield from (Gold(words=w) for w in words)
    if recipe.mixed:
        yield from (Gold(document=name) for name in _ids(evidence, recipe))
    if document := _ids(raw.get(fields.evidence_document), recipe):
        numbers = tuple(int(n) for n in _NUMBER.findall(str(raw.get(fields.evidence_sentences))))
        yield Gold(document=document[0], sentences=numbers)


def _is_id(value: Any) -> bool:
    """Tell whether an entry of a list of evidence names a paper: it has no space."""
    return not isinstance(value, list | dict) and not _SPACES.search(str(value).strip())


def _names(value: Any) -> tuple[str, ...]:
    return tuple(clean(name) for name in _texts(value))


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(v) for v in value if not isinstance(v, list | dict) and str(v).strip()]
    return [str(value)] if isinstance(value, str) and value.strip() else []


@dataclass
class ClaimWork:
    """Verifies items: a function for the batch runner. ``within``: the documents that a partial scope searches in."""

    index: LiteratureIndex | None
    verifier: Verifier
    scope: Scope
    top: int
    within: Sequence[str] = ()
    strict: bool = field(default=True, kw_only=True)

    def __call__(self, item: ClaimItem) -> dict[str, Any]:
        """The result of an item."""
        started = time.perf_counter()
        read, ranked = self._read(item)
        return {**self._judged(item, read), "retrieved": ranked, "seconds": round(time.perf_counter() - started, 4)}

    def _judged(self, item: ClaimItem, read: Sequence[Document]) -> dict[str, Any]:
        judged = verify(item.claim, read, self.verifier, strict=self.strict)
        spoken = [o for o in judged.opinions if o.stance is not Stance.SILENT]
        return {
            "claim": item.claim,
            "label": item.label.value if item.label else None,
            "answer": judged.stance.value,
            "probability": judged.probability,
            "conflict": judged.conflict,
            "note": judged.note,
            "read": len(judged.opinions),
            "retracted": list(judged.retracted),
            "opinions": [
                {
                    "document": o.document,
                    "stance": o.stance.value,
                    "probability": round(o.probability, 4),
                    "quotes": [q.model_dump() for q in o.quotes],
                }
                for o in spoken
            ],
        }

    def _read(self, item: ClaimItem) -> tuple[Sequence[Document], list[str] | None]:
        """The documents to read, and all that a search ranked, where there was one."""
        if self.scope == "passages":
            return self._given(item), None
        if self.index is None:
            raise UsageError("this scope needs an index", "name one with --index")
        if self.scope == "documents":
            if not item.documents:
                raise UsageError(f"the claim {item.id} names no document", "use --scope corpus")
            return self.index.documents(item.documents), None
        if self.scope == "partial" and not self.within:
            raise UsageError("no claim of the file names a document", "use --scope corpus")
        within = self.within if self.scope == "partial" else None
        hits = self.index.search(item.claim, limit=RANKED, within=within)
        return [hit.document for hit in hits[: self.top]], [hit.document.id for hit in hits]

    def _given(self, item: ClaimItem) -> list[Document]:
        if not item.passages:
            raise UsageError(f"the claim {item.id} has no passages", "use --scope corpus or documents")
        texts = [clean(p) for p in item.passages]
        return [Document(ids=(f"passage {n}",), abstract=text) for n, text in enumerate(texts, 1) if text]


FOLDED = {
    **dict.fromkeys(("supports", "supported"), Stance.SUPPORTS),
    **dict.fromkeys(("refutes", "refuted", "unsupports", "unsupported"), Stance.CONTRADICTS),
    **dict.fromkeys(("unsure", "unrelated"), Stance.SILENT),
}
"""Answers that count, in lower case; any other one is an error."""

ERROR = "error"


class PublishedAnswer(BaseModel):
    """The form of an answer. No model is bound to it: one that does not keep to it has made an error."""

    answer: str
    quotes: list[str] = []


@dataclass
class PublishedWork(ClaimWork):
    """Puts a claim and the best passages to a model, once."""

    client: ChatClient = field(kw_only=True)
    limits: Limits = field(kw_only=True)
    total: Meter = field(kw_only=True)

    def _judged(self, item: ClaimItem, read: Sequence[Document]) -> dict[str, Any]:
        shown = [{"passage": n, "title": d.title, "text": d.abstract} for n, d in enumerate(read, 1) if not d.retracted]
        task = (files("kgcheck.bench") / "prompts" / "claim.md").read_text(encoding="utf-8")
        meter = Meter(self.limits, self.client.prices, self.total)
        reply = self.client.complete(messages_of(task, {"claim": item.claim, "passages": shown}), meter=meter)
        answer, note, quotes = ERROR, "", list[str]()
        try:
            given = parse_answer(reply.text, PublishedAnswer)
            folded = FOLDED.get(given.answer.strip().casefold())
            answer, quotes = (folded.value, given.quotes) if folded else (ERROR, [])
            note = "" if folded else f"no answer of the benchmark: {given.answer[:40]!r}"
        except ModelAnswer as error:
            note = error.message
        return {
            "claim": item.claim,
            "label": item.label.value if item.label else None,
            "answer": answer,
            "probability": None,
            "note": note,
            "read": len(shown),
            "tokens": reply.usage.total,
            "cost": meter.spent.money,
            "opinions": [_quoted(quote, answer, read) for quote in dict.fromkeys(map(clean, quotes)) if quote],
        }


def _quoted(quote: str, answer: str, read: Sequence[Document]) -> dict[str, Any]:
    """A quote as an opinion of the passage that holds it; of none, where none does."""
    found = next((d for d in read if quote in d.abstract and not d.retracted), None)
    start = found.abstract.index(quote) if found else 0
    place = {"start": start, "end": start + len(quote) if found else 0, "text": quote}
    return {"document": found.id if found else "", "stance": answer, "quotes": [place]}


VERDICTS = {Stance.SUPPORTS: "Supports", Stance.CONTRADICTS: "Refutes", Stance.SILENT: "Unsure"}
"""Labels as BioKGBench's files have them."""


class JoinedClaim(Value):
    """A claim in the form of BioKGBench's own files."""

    id: str
    claim: str
    verdict: str
    evidence: tuple[str, ...]


class _Words(Value):
    never: tuple[str, ...]
    verbs: frozenset[str]
    predicates: frozenset[str]
    before: frozenset[str]


@cache
def _words() -> _Words:
    return read_value(resource_dir("corpus") / "bench" / "claims.toml", _Words)


def as_claim(question: str) -> str | None:
    """Turn a yes or no question into the claim that a yes affirms; None where its parts are not plain.

    >>> as_claim("Does high blood pressure reduce the risk of chronic low back pain?")
    'High blood pressure reduces the risk of chronic low back pain.'
    >>> as_claim("Are polyps from pre-menopausal women less similar to others?")
    'Polyps from pre-menopausal women are less similar to others.'
    >>> as_claim("Does an increase in dose affect survival?")
    """
    known = _words()
    first, *rest = question.strip().removesuffix("?").split() or [""]
    text, kind = " ".join(rest), first.casefold()
    folded = [word.casefold() for word in rest]
    if re.search(r"[?:;]", text) or re.search(rf"\b(?:{'|'.join(known.never)})\b", text, re.IGNORECASE) or not rest:
        return None
    if kind not in ("do", "does", "can", "could", "is", "are", "was", "were"):
        return None
    of_form = known.predicates if kind in ("is", "are", "was", "were") else known.verbs
    found = [at for at, word in enumerate(folded) if word in of_form]
    if len(found) != 1 or not found[0]:
        return None
    at = place = found[0]
    while place and (folded[place - 1] in known.before or folded[place - 1].endswith("ly")):
        place -= 1
    if kind == "does":
        rest[at] = _third_person(rest[at])
    if not place:
        return None
    if rest[0].isascii() and rest[0].isalpha() and rest[0].islower():
        rest[0] = rest[0].capitalize()
    return f"{' '.join([*rest[:place], *([] if kind in ('do', 'does') else [kind]), *rest[place:]])}."


def _third_person(verb: str) -> str:
    if verb.casefold() in ("be", "have"):
        return {"be": "is", "have": "has"}[verb.casefold()]
    if re.search(r"[^aeiou]y$", verb, re.IGNORECASE):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if re.search(r"(?:s|x|z|ch|sh|o)$", verb, re.IGNORECASE) else f"{verb}s"


def _has_all(index: LiteratureIndex, documents: Sequence[str]) -> bool:
    try:
        return bool(documents) and bool(index.documents(documents))
    except UnknownName:
        return False


def join_claims(files: Sequence[Path], index: LiteratureIndex) -> tuple[list[JoinedClaim], Counter[str]]:
    """Join the labelled claims of files whose papers an index has, and count those left out by reason."""
    made: dict[str, JoinedClaim] = {}
    left_out = Counter[str]()
    if twice := [name for name, count in Counter(file.stem for file in files).items() if count > 1]:
        raise UsageError(f"two files are called {twice[0]}, and claims go by these names", "copy one to another name")
    for file in files:
        for item in read_items(file):
            claim = as_claim(item.claim) if item.claim.endswith("?") else item.claim
            if item.label is None:
                left_out["without a label"] += 1
            elif claim is None:
                left_out["questions whose claim is not plain"] += 1
            elif not _has_all(index, item.documents):
                left_out["whose papers are not all in the index"] += 1
            elif claim.casefold() in made:
                left_out["that were there already"] += 1
            else:
                verdict = VERDICTS[item.label]
                made[claim.casefold()] = JoinedClaim(
                    id=f"{file.stem}:{item.id}", claim=claim, verdict=verdict, evidence=item.documents
                )
    if not made:
        raise UsageError("no claim is left", "; ".join(f"{n:,} {why}" for why, n in left_out.items()))
    return list(made.values()), left_out
