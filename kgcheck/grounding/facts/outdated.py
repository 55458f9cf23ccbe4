"""Names and ids in a manuscript that their owners have replaced: former symbols, merged and deleted ids."""

import re
from collections.abc import Container, Mapping, Sequence

from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import SnapshotSource
from kgcheck.grounding.facts.named import HumanText, NamedThing, Prose, has_beside, without_marks
from kgcheck.grounding.facts.words import statement_words
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.remarks import Check, Remark, Remarked, Repair, SentenceState
from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Ref
from kgcheck.profile.schema import Label, Schema

_TOKEN = re.compile(r"[A-Za-z]+:\d+|[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
_SYMBOL = re.compile(r"(?=[^a-z]*[A-Z])(?=.*[A-Z].*[A-Z0-9])[A-Z][A-Za-z0-9-]{2,}")

_LONG = 5
"""Letters and digits of a symbol from which on hardly anything else is called so."""

_BASES = frozenset("ACGTU")

_REPLACED = (Reason.ID_PREVIOUS, Reason.ID_WITHDRAWN)
_GONE = (
    *_REPLACED, Reason.ID_MERGED, Reason.ID_DEMERGED, Reason.ID_DELETED, Reason.ID_OBSOLETE, Reason.ID_SECONDARY,
    Reason.ID_RETIRED, Reason.ID_SUPERSEDED,
)  # fmt: skip


class OutdatedNames:
    """Finder of symbols and ids that their owners have replaced or withdrawn."""

    def __init__(self, schema: Schema, reference: SnapshotSource) -> None:
        self._reference = reference
        self._symbols = [label for label in schema.labels if label.key in label.names]
        self._ids = [
            label
            for label in schema.labels
            # A form that an ordinary word or a number has is the form of no id in a text.
            if not label.shares_ids_with and not any(map(label.matches, ("word", "Word", "2015", "10th")))
        ]

    def remarks(
        self, manuscript: Manuscript, things: Mapping[int, Sequence[NamedThing]], human: HumanText | None
    ) -> list[Remarked]:
        """The outdated names of a manuscript."""
        prose = Prose.from_manuscript(manuscript)
        words: dict[str, list[tuple[int, int, int]]] = {}
        kinds: dict[str, Label] = {label.name: label for label in (*self._symbols, *self._ids)}
        texts = {s.number: s.text for s in manuscript.sentences if manuscript.blocks[s.block].kind == "paragraph"}
        for number, text in texts.items():
            for match in _TOKEN.finditer(without_marks(text)):
                words.setdefault(match[0], []).append((number, match.start(), match.end()))
        places = {(label.name, word): at for word, at in words.items() for label in self._labels(word, prose)}
        tasks = [
            CheckTask(type=CheckType.EXISTENCE, subject=Ref(label=label, id=name)) for label, name in sorted(places)
        ]
        found = []
        for task, observed in zip(tasks, self._reference.observe_all(tasks), strict=True):
            judged = verdict(CheckType.EXISTENCE, *observed)
            label = kinds[task.subject.label]
            is_symbol = label in self._symbols
            if judged.outcome is not Outcome.REFUTED or judged.reason not in (_REPLACED if is_symbol else _GONE):
                continue
            about = [e for e in judged.evidence if e.reason is judged.reason]
            now = sorted({r for e in about for r in e.replacements})
            if is_symbol and len(now) != 1:
                continue
            for number, start, end in places[label.name, task.subject.id]:
                if is_symbol and not (
                    (human is None or human.allows(texts[number], things[number]))
                    and self._is_of_a_gene(texts[number], start, end, now[0], things[number], words)
                ):
                    continue
                what, became = "symbol" if is_symbol else "id", f": now {', '.join(now)}" if now else ""
                reason = judged.reason.value.removeprefix("id_")
                found.append(
                    Remarked(
                        remark=Remark.SYMBOL_OUTDATED if is_symbol else Remark.ID_OUTDATED,
                        check=Check.GRAPH,
                        state=SentenceState.UNSUPPORTED,
                        sentence=number,
                        start=start,
                        end=end,
                        note=f"{task.subject.id} is a {reason} {what}{became}",
                        stated=task.subject.id,
                        found=", ".join(now),
                        task=task,
                        evidence=tuple(about),
                        repair=Repair(start=start, end=end, to=now[0]) if len(now) == 1 else None,
                    )
                )
        return found

    def _labels(self, token: str, prose: Prose) -> list[Label]:
        has_digit = any(map(str.isdigit, token)) and len(token) > len("ID:1")
        found = [label for label in self._ids if label.matches(token)] if has_digit else []
        unsure = token in statement_words().unsure or token in prose.explained or token.lower() in prose.words
        if not found and not unsure and _SYMBOL.fullmatch(token):
            found = [label for label in self._symbols if label.matches(token)]
        return found

    def _is_of_a_gene(
        self, text: str, start: int, end: int, now: str, things: Sequence[NamedThing], words: Container[str]
    ) -> bool:
        """Recognise a former symbol: by that of today elsewhere, words or genes near it, or its form."""
        symbol = text[start:end]
        if set(symbol) <= _BASES:
            return False
        if now in words:
            return True
        if text[end : end + 1] in ("+", "/", "-") or text[max(0, start - 1) : start] in ("-", "/"):
            # A marker of cells, an antibody, part of another word.
            return False
        if has_beside(text, start, end):
            return True
        if any(set(thing.ids) & {label.name for label in self._symbols} and thing.sure for thing in things):
            return True
        return len(symbol) > _LONG and any(map(str.isdigit, symbol))
