"""Hold the statements of a manuscript against its own: units, directions, denials and symbols.

Two kinds of evidence: the numbers of the same sentence (a change "from 12 to 8" is no rise, p = 0.4 is not
significant), and another sentence of the same things. Neither tells which of the two is wrong, so that nothing here is
a contradiction.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.quantities import WrittenNumber, with_points
from kgcheck.grounding.remarks import Remark, Remarked
from kgcheck.grounding.results import quantities_of, words_about
from kgcheck.inputs import read_toml
from kgcheck.literature.documents import Span
from kgcheck.resources import resource_dir
from kgcheck.text.words import word_pattern

_SECTIONS = ("abstract", "introduction", "results", "discussion", "conclusion", "other")
_MOST_NUMBERS = 40  # numbers of a sentence; one with more is a list
_SAME_THINGS = 0.4  # share of the words about two numbers from which on they are of the same
_OFTEN_NAMED = 3  # times that a symbol stands in a text of which another one is a misspelling
_FEWEST_WORDS = 2  # words that a clause has more than
_MOST_BEFORE = 100  # letters before "from 12 to 8" that may tell its direction
_LEVEL = Decimal("0.05")

_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_SYMBOL = re.compile(r"(?<![\w/-])(?=[A-Za-z]*\d)[A-Z][A-Za-z0-9]{3,8}(?![\w/-])")
_P = re.compile(
    r"(?<![\w-])[pP](?:[- ]?values?)?(?:\s?\(?\w{0,12}\)?)?\s?(?P<sign>[=<>\u2264\u2265])\s?"
    r"(?P<value>0?\.\d{1,12}|1\.0{1,4}|[\d.]{1,6}\s?[\u00d7x]\s?10)"
)
_CLAUSES = re.compile(
    r";|:\s|,\s(?:whereas|while|but|although|though|however|and)\s|\b(?:whereas|but|although|while)\s"
)
_NUMBER = r"[-\u2212]?\d[\d,]*(?:\.\d+)?"
_FROM_TO = re.compile(
    rf"\bfrom\s(?:an?\s)?(?:[^\W\d_]+\s){{0,4}}?\(?(?P<one>{_NUMBER})\)?(?P<unit>[^\d.;,()]{{0,30}}?)\s?"
    rf"(?:\([^()]{{0,60}}\)\s)?to\s(?:an?\s)?(?:[^\W\d_]+\s){{0,4}}?\(?(?P<other>{_NUMBER})"
)
_THAN = re.compile(
    rf"(?P<between>[^.;()]{{0,80}})\((?:[^()\d]{{0,25}})(?P<one>{_NUMBER})[^()]{{0,40}}\)\s?(?:[^.;()]{{0,40}}\s)?"
    rf"(?:than|compared\s(?:with|to)|versus|vs\.?)\s[^.;()]{{0,80}}\((?:[^()\d]{{0,25}})(?P<other>{_NUMBER})"
)
_RATIO = re.compile(
    rf"\b(?:[aA]?OR|[aA]?HR|RR|IRR|(?:odds|hazard|risk|rate)\sratio)[^\d.;]{{0,20}}(?P<value>{_NUMBER})"
)


def check_consistency(manuscript: Manuscript) -> list[Remarked]:
    """Remark on what a manuscript says against its own numbers, or in another sentence."""
    sentences = [
        s
        for s in manuscript.sentences
        if s.section in _SECTIONS and manuscript.blocks[s.block].kind in ("paragraph", "legend")
    ]
    found = [r for s in sentences for r in (*_significance(manuscript, s), *_directions(manuscript, s))]
    return [*found, *_other_units(manuscript, sentences), *_misspelt_symbols(manuscript, sentences)]


def _other_units(manuscript: Manuscript, sentences: Sequence[Sentence]) -> Iterator[Remarked]:
    """Find numbers that another sentence has of the same things in another unit of their kind."""
    equal: dict[tuple[Decimal, Decimal, str], list[tuple[Sentence, WrittenNumber, set[str]]]] = defaultdict(list)
    for sentence in sentences:
        numbers = quantities_of(sentence)
        for number in numbers if len(numbers) <= _MOST_NUMBERS else ():
            first = number.unit.partition("/")[0]
            if kind := next((kind for kind, units in _rules()["units"].items() if first in units), ""):
                words = set(words_about(sentence.text, (number.start, number.end)))
                equal[number.value, number.step, kind].append((sentence, number, words))
    for measures in equal.values():
        for sentence, number, words in measures:
            others = [m for m in measures if m[0].text != sentence.text]
            if any(other.unit == number.unit for _, other, _ in others):
                continue
            for by, other, theirs in others:
                if (words or theirs) and 2 * len(words & theirs) / (len(words) + len(theirs)) >= _SAME_THINGS:
                    span, found = (number.start, number.end), f"{other.value:f} {other.unit}"
                    own = sentence.text[slice(*span)]
                    note = f"the text has {own} here, and {found} in sentence {by.number} of the same things"
                    yield _remarked(manuscript, Remark.UNIT_DIFFERS, sentence, span, note, found, by)
                    break


def _misspelt_symbols(manuscript: Manuscript, sentences: Sequence[Sentence]) -> Iterator[Remarked]:
    """Symbols that stand once, and are one that stands often but for two signs, one a letter, that changed places."""
    texts = [*(b.text for b in manuscript.blocks), *(cell for t in manuscript.tables for row in t.rows for cell in row)]
    counts = Counter(symbol for text in texts for symbol in _SYMBOL.findall(text))
    for sentence in sentences:
        for match in _SYMBOL.finditer(sentence.text):
            symbol = match[0]
            swaps = [
                symbol[:at] + symbol[at + 1] + symbol[at] + symbol[at + 2 :]
                for at in range(len(symbol) - 1)
                if symbol[at].isalpha() or symbol[at + 1].isalpha()
            ]
            right = next((s for s in swaps if s != symbol and counts[s] >= _OFTEN_NAMED), "")
            if counts[symbol] == 1 and right:
                note = f"{symbol} stands here alone, and {right} in {counts[right]} places: it may be misspelt"
                yield _remarked(manuscript, Remark.SYMBOL_MISSPELT, sentence, match.span(), note, right)


def _significance(manuscript: Manuscript, sentence: Sentence) -> Iterator[Remarked]:
    """Results that are called significant or not, against the probability beside them."""
    text = with_points(sentence.text)
    end = 0
    for match in _P.finditer(text):
        words = _WORD.findall(_clause(text[end : match.start()]))
        end = match.end()
        if any(_is("unsure", w) for w in words):
            continue
        claimed = any(_is("significant", w) for w in words)
        denies = any(_is("deny", w) or w.lower().startswith(("non", "insig")) for w in words)
        denied = any(_is("deny", w) and any(_is("found", x) for x in words[i + 1 : i + 7]) for i, w in enumerate(words))
        value = Decimal(0) if "10" in match["value"][3:] else Decimal(match["value"])
        small = (match["sign"] in "=<\u2264" and value < _LEVEL) or (match["sign"] == "<" and value == _LEVEL)
        large = (match["sign"] in "=>\u2265" and value > _LEVEL) or (match["sign"] == ">" and value == _LEVEL)
        if called := "denied" if denied and small else "called significant" if claimed and not denies and large else "":
            note = f"it is {called}, and {match[0]}"
            yield _remarked(manuscript, Remark.SIGNIFICANCE_DIFFERS, sentence, match.span(), note, match[0])


def _clause(text: str) -> str:
    """The last clause of a text that has words beside those in brackets."""
    parts = _CLAUSES.split(text)
    return next((p for p in reversed(parts) if len(_WORD.findall(str(p).partition("(")[0])) > _FEWEST_WORDS), text)


def _directions(manuscript: Manuscript, sentence: Sentence) -> Iterator[Remarked]:
    """Words of more and less against the two numbers that they compare."""
    text = with_points(sentence.text)
    found: list[tuple[Span, str]] = []
    # Years and numbers of figures are none of these.
    measured = {number.start for number in quantities_of(sentence)}
    for form in (_FROM_TO, _THAN):
        for match in form.finditer(text):
            before = match.groupdict().get("between") or _clause(text[: match.start()])[-_MOST_BEFORE:]
            words = _WORD.findall(before)
            # "(range from 7 to 5)" goes nowhere.
            way = 0 if words and words[-1].lower().startswith("rang") else _way(words)
            one, other = _value(match["one"]), _value(match["other"])
            grows = (other > one) if form is _FROM_TO else (one > other)
            compared = one != other and {match.start("one"), match.start("other")} <= measured
            if way and compared and (way > 0) is not grows:
                span = match.start("one"), match.end("other")
                found.append((span, text[slice(*span)]))
    for match in _RATIO.finditer(text):
        words = _WORD.findall(_clause(text[: match.start()]))
        at = next((i for i in range(len(words) - 1, -1, -1) if _is("up", words[i]) or _is("down", words[i])), -1)
        value, way = _value(match["value"]), _way(words)
        is_risk = at >= 0 and any(_is("risk", noun) for noun in words[at + 1 : at + 4])
        if is_risk and way and value > 0 and (way > 0) is not (value > 1):
            found.append((match.span("value"), match[0]))
    for span, shown in found:
        note = f"the numbers beside it say the opposite: {shown}"
        yield _remarked(manuscript, Remark.DIRECTION_DIFFERS, sentence, span, note, shown)


def _way(words: Sequence[str]) -> int:
    """1 where words say more, -1 where they say less, 0 where they say neither, both, or deny it."""
    ups, downs = (sum(_is(kind, w) for w in words) for kind in ("up", "down"))
    if any(_is("deny", w) for w in words) or (ups and downs):
        return 0
    return 1 if ups == 1 else -1 if downs == 1 else 0


def _value(written: str) -> Decimal:
    return Decimal(written.replace(",", "").replace("\u2212", "-"))


def _remarked(
    manuscript: Manuscript,
    remark: Remark,
    sentence: Sentence,
    span: Span,
    note: str,
    found: str,
    by: Sentence | None = None,
) -> Remarked:
    return Remarked(
        remark=remark, sentence=sentence.number, start=span[0], end=span[1], note=note, found=found,
        stated=sentence.text[slice(*span)], evidence=(manuscript.own_evidence(by or sentence, found),),
    )  # fmt: skip


@cache
def _rules() -> Mapping[str, Any]:
    return read_toml(resource_dir("corpus") / "grounding" / "consistency.toml")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return word_pattern(_rules()[name])


def _is(name: str, word: str) -> bool:
    return bool(_pattern(name).match(word.casefold()))
