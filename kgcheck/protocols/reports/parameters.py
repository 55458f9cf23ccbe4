"""Extract settings that a sentence of a paper states: numbers with names and units, defaults.

A number is a setting where its unit, a sign of comparison, the word before it or what it counts says of what. How many
patients or samples there were, and what came out, is none.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from itertools import takewhile

from pydantic import Field

from kgcheck.grounding.quantities import WrittenNumber, quantities
from kgcheck.literature.documents import Span
from kgcheck.protocols.protocol import StepParameter
from kgcheck.protocols.rules import MOST_CHARACTERS, ProtocolRules, Words
from kgcheck.text.words import wildcard_pattern

_DILUTION = re.compile(r"(?<![\w:./])1\s?[:\u2236]\s?(\d{1,3}(?:,\d{3})+|\d{2,6})(?![\w:/]|\.\d)")
_DAY = re.compile(r"\b[Dd]ays? (?P<value>\d{1,3}(?:\s?(?:[-\u2013]|to|or|and)\s?\d{1,3})?)(?![\w.,/]\d|\w)")
_RANGE = re.compile(r"\s?(?:[-\u2010-\u2014\u2212]|to|and)\s?$")
_LIST = re.compile(r",\s|,?\s(?:and|or)\s")
_LIKE_YEAR = re.compile(r"(?<![\w.,/^+:-])(?:1[5-9]|20)\d\d(?![\d.,]*\d)")
_SIGN = re.compile(r"([<>=≤≥~≈\u223c\u2264\u2265])\s?$")
_LAST_WORDS = re.compile(r"(?<![\w\u00b0])(?:[^\W_][\w.'\u2019*/-]{0,40}[ \u00a0]){0,7}[^\W_][\w.'\u2019*/-]{0,40}$")
_NEXT_WORDS = re.compile(
    r"[\s-]{1,2}(?:\([wv]/[wv]\)\s)?(?:of\s)?((?:[A-Za-z\u0370-\u03ff][\w\u2019'-]{0,40})(?:\s[A-Za-z][\w-]{0,40}){0,2})"
)
_AFTER = re.compile(r"[\s-]{1,2}((?:[a-z][\w-]{0,30}\s){0,2}[a-z][\w.-]{0,30})")
_CROSS_VALIDATION = re.compile(r"[\s-]{0,2}(?:stratified )?cross[\s-]?validat", re.IGNORECASE)
_CONNECTING = frozenset(
    "of at to was were is be set as a than less more greater equal below above exceeding under over the lower higher"
    " smaller larger fewer or = equals using about approximately around ca circa from between with exactly only"
    " up".split()
)
_IN_BRACKET = re.compile(r"((?:[^\W\d_][\w/+-]{1,40} )?[^\W\d_][\w/+-]{0,40}) \($|\(([^\W\d_][\w/+-]{1,40}), $")
_BRACKET_ENDS = re.compile(r"\s?[);,]")
_NAMES_A_MATERIAL = ("concentration", "dose", "volume", "share", "mass", "amount")
_COUNTS_NOTHING = 10**7
_MANY = 1_000
_LEAST_SPUN = 50
_SPUN = re.compile(r"centrifug|\bspun\b|\bspin\b|pellet|supernatant|sediment", re.IGNORECASE)


def parameters_in(text: str, without: Iterable[Span] = ()) -> tuple[StepParameter, ...]:
    """The settings of a sentence.

    >>> [(p.name, p.comparator, p.value, p.unit) for p in parameters_in("All with FDR<0.05 were kept 3 h at 37°C.")]
    [('FDR', '<', '0.05', ''), ('duration', '=', '3 h', 'h'), ('temperature', '=', '37°C', '°C')]
    """
    text = text[:MOST_CHARACTERS]
    left_out = list(without)
    found: list[tuple[int, StepParameter]] = []
    for match in _DILUTION.finditer(text):
        left_out.append(match.span())
        if not text[: match.start()].rstrip().endswith(("ratio", "ratio of")):
            found.append((match.start(), StepParameter(name="dilution", value=match[0])))
    for match in _DAY.finditer(text):
        left_out.append(match.span("value"))
        day = match["value"]
        number = Decimal(day) if day.isdecimal() and day.isascii() else None
        found.append((match.start(), StepParameter(name="day", value=day, number=number)))
    # Numbers that are no years, for a unit follows that only methods have: 2000 rpm.
    years = [m for m in _LIKE_YEAR.finditer(text) if ParameterWords.shipped().unit.match(text, m.end())]
    numbers = {m.start(): WrittenNumber(*m.span(), m.end(), Decimal(m[0]), Decimal(1)) for m in years}
    numbers |= {q.start: q for q in quantities(text, left_out)}
    for setting in _joined(text, [_Setting(text, numbers[at]) for at in sorted(numbers)]):
        if name := setting.name():
            found.append((setting.start, setting.parameter(name)))
    for match in ParameterWords.shipped().defaults.finditer(text):
        found.append((match.start(), StepParameter(name=match[1].lower(), value="default")))
    return tuple(dict.fromkeys(p for _, p in sorted(found, key=lambda f: f[0])))


def _without_connecting(words: list[str]) -> list[str]:
    while words and words[-1].lower() in _CONNECTING:
        words = words[:-1]
    return words


class _Setting:
    """A number in a text, and what says of what it is."""

    def __init__(self, text: str, number: WrittenNumber) -> None:
        self.text = text
        self.start, self.value_start = number.start, number.start
        self.number = number.value
        self.unit, self.end = number.unit, number.end
        self.is_range = self.has_two_ends = False
        sign = _SIGN.search(text, max(0, number.start - 3), number.start)
        self.compared = bool(sign) or number.comparator not in ("=", "")
        self.comparator = sign[1] if sign and number.comparator == "=" else number.comparator
        if sign:
            self.start = sign.start()
        if own := ParameterWords.shipped().unit.match(text, number.number_end):
            # "10,000 x g" is no factor, and "2 mg/kg" no mass.
            if own.end() > self.end or not self.unit:
                self.unit, self.end = ParameterWords.shipped().units[own[1]], own.end()
        if self.unit == "g" and self.number >= _LEAST_SPUN and _SPUN.search(text):
            self.unit = "\u00d7 g"
        if self.unit == "°C" and text[max(0, number.start - 2) : number.start] in (" \u2013", "(\u2013"):
            # A dash that stands for the sign.
            self.number, self.value_start = -self.number, number.start - 1
        self.ends_in_unit = self.end > number.number_end
        before = text[max(0, self.start - 90) : self.start].rstrip("( \u00a0[,~≈\u223c±|")
        found = _LAST_WORDS.search(before)
        looked = found[0].split() if found else []
        self.words = _without_connecting(looked)
        """The last words before the number that may name it, without those that only join."""
        self.joined = len(self.words) < len(looked)
        if self.joined and not self.words:
            # The joining words took all that was looked at.
            again = _LAST_WORDS.search(before[: found.start()].rstrip()) if found else None
            self.words = _without_connecting(again[0].split() if again else [])

    def name(self) -> str:  # noqa: PLR0911
        # A mean with its deviation is what came out.
        around = self.text[max(0, self.value_start - 1) : self.value_start + 1]
        if "±" in around or self.text[self.end :].lstrip().startswith("±"):
            return ""
        if self.unit == "%" and self.text.startswith(" of ", self.end):
            return ""
        known = ParameterWords.shipped()
        last = self.words[-1].lower().strip("'\u2019") if self.words else ""
        # One letter may be a unit, too: "for 3 h at 37°C".
        if last in known.results and (len(last) > 1 or self.compared or not self.unit):
            return ""
        if last in ("p", "p-value", "p-values") and self.comparator == "=" and not self.joined:
            return ""
        if self.unit == "M" and (self.number >= 100 or self.text[self.end : self.end + 1] == "-"):
            return ""
        if self.unit == "fold":
            return "cross-validation" if _CROSS_VALIDATION.match(self.text, self.end) else ""
        if last == "ph" and self.words[-1] in ("pH", "PH"):
            return "pH"
        plainly = self.unit or self.joined or self.compared or last in known.direct
        noun = last in known.nouns or last.removesuffix("s") in known.nouns
        if (plainly and noun) or (self.compared and self._is_symbol()):
            return self._phrase()
        if self.unit:
            return self._of_unit()
        if counted := self._counted():
            return counted
        if "significan" in self.text[max(0, self.start - 60) : self.start].lower() and 0 < self.number < 1:
            return "significance level"
        return ""

    def may_share(self, unit: str) -> bool:
        """Tell whether it may be in a list whose last member has the unit: it has neither one nor a name."""
        if self.ends_in_unit or self.has_two_ends:
            return False
        return unit.startswith(self.unit) if self.unit else not self.name()

    def _is_symbol(self) -> bool:
        """Tell whether a name stands before a sign, as in ``minDepth = 5``."""
        last = self.words[-1] if self.words else ""
        return (
            last[:1].isalpha()
            and last.lower() not in ParameterWords.shipped().stop
            and not (last.endswith("ed") and last.islower())
        )

    def _phrase(self) -> str:
        words = [self.words[-1]]
        if len(words[0]) == 1:
            return words[0]
        known = ParameterWords.shipped()
        for word in reversed(self.words[:-1]):
            if word.lower() in known.stop or word in known.units or not word[0].isalpha() or word.endswith((",", ".")):
                break
            words.insert(0, word)
        return " ".join(words[-3:])[:200]

    def _of_unit(self) -> str:
        """Name a number with a unit: by what it is a number of, or by the unit."""
        known = ParameterWords.shipped()
        kind = known.kinds.get(self.unit) or known.kinds.get(self.unit.partition("/")[0], "")
        if "/" in self.unit and self.unit not in known.kinds:
            if self.unit.endswith(("/min", "/s", "/h", "/day")):
                kind = "rate"
            elif kind in _NAMES_A_MATERIAL:
                kind = "concentration"
        if kind in _NAMES_A_MATERIAL:
            if bracket := self._before_bracket():
                return bracket
            after = _NEXT_WORDS.match(self.text, self.end)
            words = after[1].split() if after else []
            # Up to one that names no material.
            named = takewhile(lambda w: w.lower() not in known.stop and w.lower() not in ("ph", "per"), words)
            if material := " ".join(named)[:200]:
                return material
            # No word or comma stands between the number and the word before it: "zincol 10 mg".
            alone = not self.joined and self.text[max(0, self.start - 2) : self.start - 1].isalnum()
            if kind != "share" and self._is_symbol() and alone:
                return self.words[-1]
        if kind == "share":
            # Without a name or a material it is what came out.
            return "share" if self.compared else ""
        if kind == "duration" and re.search(
            r"\b(?:aged?|old|older|younger)\b", self.text[max(0, self.start - 25) : self.end + 12]
        ):
            return "age"
        return kind or "value"

    def _before_bracket(self) -> str:
        """The material before a bracket that has no more than how much: "PHA (5 mg/ml)", "acid (MPA, 25 mg/ml)"."""
        found = _IN_BRACKET.search(self.text, max(0, self.start - 90), self.start)
        if found is None or not _BRACKET_ENDS.match(self.text, self.end):
            return ""
        known, words = ParameterWords.shipped(), (found[1] or found[2]).split()
        return " ".join(w for w in words if w.lower() not in known.stop and w not in known.units)

    def _counted(self) -> str:
        """Name the things that a bare number counts, if that is set and not found: permutations, cycles."""
        after = _AFTER.match(self.text, self.end)
        words = after[1].split() if after else []
        known = ParameterWords.shipped()
        counted = known.counted | known.many
        place = next((n for n, w in enumerate(words) if w.strip("-.") in counted), None)
        if place is None or any(w in known.stop for w in words[:place]):
            return ""
        if words[place] in known.many:
            return words[place] if self.number >= _MANY else ""
        return " ".join(words[: place + 1]).rstrip(".") if 0 < self.number < _COUNTS_NOTHING else ""

    def parameter(self, name: str) -> StepParameter:
        value = self.text[self.value_start : self.end].strip(" <>=≤≥~≈\u223c")
        return StepParameter(
            name=name,
            value=value[:300] or str(self.number),
            number=None if self.is_range else self.number,
            unit=self.unit,
            comparator=self.comparator if self.comparator in ("<", ">", "≤", "≥") else "=",
        )


def _joined(text: str, settings: list["_Setting"]) -> Iterator["_Setting"]:
    """Settings in which the two ends of a range are one, and the members of a list before their common unit."""
    kept: list[_Setting] = []
    for setting in settings:
        last = kept[-1] if kept else None
        between = text[last.end : setting.start] if last else ""
        if last is None or len(between) > 5:
            kept.append(setting)
        elif (
            _RANGE.fullmatch(between)
            and setting.unit.startswith(last.unit)
            and (between.strip() != "and" or re.search(r"\bbetween $", text[max(0, last.start - 9) : last.start]))
        ):
            if text[last.start : setting.start] == "10\u2212":
                # A power whose digits are no longer set high.
                last.number = Decimal(10) ** -min(int(setting.number), 99)
            else:
                last.is_range = last.has_two_ends = True
            last.end, last.unit = setting.end, setting.unit
        elif setting.unit and _LIST.fullmatch(between) and last.may_share(setting.unit):
            first = kept.pop()
            while kept and not kept[-1].unit and _LIST.fullmatch(text[kept[-1].end : first.start]):
                first = kept.pop()
            first.end, first.unit, first.is_range = setting.end, setting.unit, True
            kept.append(first)
        else:
            kept.append(setting)
    yield from kept


class ParameterWords(ProtocolRules):
    """Words beside numbers, and units."""

    file = "parameters"
    nouns: Words
    direct: Words
    results: Words
    counted: Words
    many: Words
    stop: Words
    default: tuple[str, ...]
    spellings: dict[str, tuple[str, ...]] = Field(alias="units")
    members: dict[str, tuple[str, ...]] = Field(alias="kinds")

    @cached_property
    def units(self) -> dict[str, str]:
        return {spelling: unit for unit, spellings in self.spellings.items() for spelling in spellings}

    @cached_property
    def unit(self) -> re.Pattern[str]:
        return re.compile(rf"[ \u00a0\u2009\u202f-]?({wildcard_pattern(self.units)})(?![^\W\d_])")

    @cached_property
    def kinds(self) -> dict[str, str]:
        return {unit: kind for kind, members in self.members.items() for unit in members}

    @cached_property
    def defaults(self) -> re.Pattern[str]:
        nouns = wildcard_pattern(words.split()[-1] for words in self.default)
        return re.compile(rf"\b(?:default|standard) ((?:{nouns}))\b", re.IGNORECASE)
