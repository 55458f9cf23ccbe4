"""Reject a section that a model wrote again if it brings in a citation, number or address, or loses one unsaid.

Everything that a model wrote is held against the old text, the results and the passages that it was given. What cannot
be found there is a reason to reject the text, never to put it right.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kgcheck.grounding.ground import Grounded
from kgcheck.grounding.manuscript import Block, Table
from kgcheck.grounding.manuscripts.markers import AuthorYears
from kgcheck.grounding.numbers import numbers_of_results
from kgcheck.grounding.quantities import quantities
from kgcheck.grounding.remarks import REMARKS, Check, Remarked, SentenceState
from kgcheck.grounding.results import Results
from kgcheck.grounding.revising import Revision
from kgcheck.literature.documents import Span
from kgcheck.visible import visible

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_CITED = re.compile(r"(?:\[\^?|\^)\s?\d{1,4}(?:\s?[,;\u2013-]\s?\d{1,4}){0,60}\s?[\]^]")
_WORD = re.compile(r"[^\s,;()\[\]]+")
_MARKUP = re.compile(
    r"""(?:https?://|www\.)[^\s<>)\]]+      # addresses
    |\b10\.\d{4,9}/[^\s<>)\]]+              # DOIs
    |(?<=\]\()[^\s)]+                       # targets of links and images
    |(?<=\]:)\s*\S+                         # targets below the text
    |<[A-Za-z/!?][^\s>]*                    # HTML
    |\\[A-Za-z]+                            # commands
    |\{=\w+\}                               # what is written through
    """,
    re.VERBOSE,
)


def objection_to(revision: Revision, results: Results | None) -> str:
    """Say why the new text of a section is rejected, before it is grounded."""
    before, after = _changed(revision.old.blocks, revision.new.blocks)
    return (
        _list_differs(revision)
        or _hidden(revision)
        or _strange_markup(revision)
        or _strange_citation(revision, after)
        or _strange_number(revision, after, results)
        or _lost(revision, before, after)
    )


def objection_to_remarks(old: Grounded, new: Grounded, left_out: Sequence[str]) -> str:
    """Say why the new text is rejected for what was found of it."""
    more = Counter(map(_contradiction, _contradicted(new))) - Counter(map(_contradiction, _contradicted(old)))
    for remarked in _contradicted(new):
        if more[_contradiction(remarked)] > 0:
            return f"it is contradicted: {REMARKS[remarked.remark].lower()}: {remarked.note}"
    if new.incomplete and not old.incomplete:
        return "what it states could not be looked up"
    lost = sorted(_verified(old) - _verified(new))
    unnamed = [fact for fact in lost if not any(fact.casefold() in one.casefold() for one in left_out)]
    return f"it loses the verified fact {unnamed[0]!r}, and does not say so" if unnamed else ""


def _changed(old: Sequence[Block], new: Sequence[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
    """The blocks of both that are not the same at the beginning and at the end."""
    most = min(len(old), len(new))
    start = next((n for n in range(most) if old[n].text != new[n].text), most)
    most -= start
    end = next((n for n in range(most) if old[-1 - n].text != new[-1 - n].text), most)
    return old[start : len(old) - end], new[start : len(new) - end]


def _list_differs(revision: Revision) -> str:
    old, new = revision.old.references, revision.new.references
    if new[: len(old)] != old or tuple(r.key for r in new[len(old) :]) != revision.added:
        return "the list of references does not stay as it was"
    return ""


def _hidden(revision: Revision) -> str:
    """Object to signs that nobody sees: programs may read them."""
    text = revision.body.replace("\t", " ").replace("\r", "")
    if visible(text, layout=True) != text and visible(revision.section.body, layout=True) == revision.section.body:
        return "it holds signs that cannot be seen"
    return ""


def _strange_markup(revision: Revision) -> str:
    known = "\n".join((revision.section.body, *revision.given))
    marks = dict.fromkeys(m[0].strip() for m in _MARKUP.finditer(revision.body))
    strange = next((mark for mark in marks if mark.rstrip(".") not in known), "")
    if strange:
        return f"it brings in {strange!r}, which is neither in the old text nor in what was given"
    figures = revision.section.body.count("![") - revision.body.count("![")
    return "it loses a figure" if figures > 0 else ""


def _strange_citation(revision: Revision, after: Iterable[Block]) -> str:
    keys = {r.key for r in revision.new.references}
    strange = next((k for block in after for m in block.markers for k in m.keys if k not in keys), "")
    if not strange:
        finder = AuthorYears(revision.new.references)
        old = {revision.section.body[m.start : m.end] for m in finder.marks(revision.section.body)}
        names = (revision.body[m.start : m.end] for m in finder.marks(revision.body) if not m.found)
        strange = next((name for name in names if name not in old), "")
    return f"it cites {strange!r}, which is neither in the list nor was given" if strange else ""


def _measured(text: str, without: Iterable[Span] = ()) -> set[tuple[object, ...]]:
    return {(q.value, q.unit, q.comparator) for q in quantities(text, without)}


def _strange_number(revision: Revision, after: Sequence[Block], results: Results | None) -> str:
    old = "\n".join((revision.section.body, *revision.given))
    names = " ".join(result.name for result in results.all) if results else ""
    known, words = _measured(old), {word for text in (old, names) for _, word in _numbered(text)}
    right: Counter[str] = Counter()
    if results:
        for text in _statements(after, revision.old.tables, revision.new.tables):
            right.update(text[start:end] for start, end in numbers_of_results(text, results))
    body = revision.body
    own = quantities(body)
    measured = [(q.start, q.number_end) for q in own]
    most = len(revision.new.references)
    cited = [m.span() for m in _CITED.finditer(body) if all(0 < int(n) <= most for n in re.findall(r"\d+", m[0]))]
    for at, word in _numbered(body):
        if _covering(cited, at) is not None:
            continue
        place = _covering(measured, at)
        if place is None:
            fine = word in words
        else:
            quantity = own[place]
            fine = (quantity.value, quantity.unit, quantity.comparator) in known
            if not fine:
                # As often as it is right: a result may stand in a sentence about something else, too.
                shown = body[quantity.start : quantity.number_end]
                right[shown] -= 1
                fine = right[shown] >= 0
        if not fine:
            return f"it holds the number {word}, which is in neither the results, the old text nor what was given"
    return ""


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """The numbers of a text by their places; of one within a name, as IL-6, the name."""
    names = [m.span() for m in _NAME.finditer(text) if any(map(str.isalpha, m[0]))]
    for match in _NUMBER.finditer(text):
        place = _covering(names, match.start())
        yield match.start(), match[0] if place is None else text[slice(*names[place])].casefold()


def _covering(spans: Sequence[Span], at: int) -> int | None:
    """Find which of some spans in order covers a place."""
    place = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return place if place >= 0 and at < spans[place][1] else None


def _statements(after: Iterable[Block], old: Sequence[Table], new: Sequence[Table]) -> Iterator[str]:
    """Sentences and rows of tables that are new, without their citations."""
    for block in after:
        text = block.text
        for marker in block.markers:
            text = text[: marker.start] + " " * (marker.end - marker.start) + text[marker.end :]
        yield from (text[start:end] for start, end in block.spans)
    for table in new:
        if table.rows not in [t.rows for t in old]:
            head = " ".join(table.rows[0]) if table.rows else ""
            yield from (f"{head} {' '.join(row)}" for row in table.rows)


def _lost(revision: Revision, before: Sequence[Block], after: Sequence[Block]) -> str:
    """A citation, a number or a table of the old text that is gone, and of which the model does not say so."""
    named = {w.strip(".:@^") for text in revision.left_out for w in _WORD.findall(text)}
    old, new = ({k for b in blocks for m in b.markers for k in m.keys} for blocks in (before, after))
    if gone := sorted(old - new - named):
        return f"it loses the citation of {gone[0]!r}, and does not say so"
    kept = {q for b in after for q in _measured(b.text, _places(b))} | _measured(revision.body)
    for block in before:
        for q in quantities(block.text, _places(block)):
            shown = block.text[q.start : q.number_end].strip()
            if (q.value, q.unit, q.comparator) not in kept and not {shown, block.text[q.start : q.end]} & named:
                return f"it loses the number {block.text[q.start : q.end]}, and does not say so"
    tables = [t.rows for t in revision.new.tables]
    if any(t.rows not in tables for t in revision.old.tables):
        return "it loses or changes a table"
    return ""


def _places(block: Block) -> list[Span]:
    return [(m.start, m.end) for m in block.markers]


def _contradicted(found: Grounded) -> list[Remarked]:
    return [r for r in found.remarks if r.state is SentenceState.CONTRADICTED]


def _contradiction(remarked: Remarked) -> tuple[object, ...]:
    return remarked.remark, remarked.stated, remarked.found, remarked.reference


def _verified(found: Grounded) -> set[str]:
    return {
        r.stated for r in found.remarks if r.check is Check.GRAPH and r.state is SentenceState.VERIFIED and r.stated
    }
