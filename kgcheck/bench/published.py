"""SCV as BioKGBench ran it (its appendix D.3): the best passages in one prompt, one answer in JSON with quotes."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from pydantic import BaseModel

from kgcheck.bench.scv import RANKED, ClaimItem, ClaimWork, Scope
from kgcheck.errors import ModelAnswer
from kgcheck.literature.documents import Document, clean
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.verify import Verifier
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient, parse_answer
from kgcheck.llm.forms import messages_of
from kgcheck.model import Stance

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


class PublishedWork(ClaimWork):
    """Puts a claim and the best 50 passages to a model, once."""

    def __init__(
        self,
        index: LiteratureIndex | None,
        verifier: Verifier,
        scope: Scope,
        within: Sequence[str],
        *,
        client: ChatClient,
        limits: Limits,
        total: Meter,
    ) -> None:
        super().__init__(index, verifier, scope, RANKED, within)
        self._client, self._limits, self._total = client, limits, total

    def _judged(self, item: ClaimItem, read: Sequence[Document]) -> dict[str, Any]:
        shown = [{"passage": n, "title": d.title, "text": d.abstract} for n, d in enumerate(read, 1) if not d.retracted]
        task = (files("kgcheck.bench") / "prompts" / "claim.md").read_text(encoding="utf-8")
        meter = Meter(self._limits, self._client.prices, self._total)
        reply = self._client.complete(messages_of(task, {"claim": item.claim, "passages": shown}), meter=meter)
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
