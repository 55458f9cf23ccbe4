"""Extract steps from sentences of methods: verbs, inputs, outputs, species, and dry or wet lab."""

import re
from collections import Counter
from functools import cached_property, lru_cache
from typing import NamedTuple

from pydantic import Field

from kgcheck.literature.documents import Span
from kgcheck.protocols.protocol import ItemKind, ReportStep, StepItem
from kgcheck.protocols.reports.parameters import parameters_in
from kgcheck.protocols.reports.tools_and_data import data_set_ids, statistics_in, tools_in
from kgcheck.protocols.rules import MOST_CHARACTERS, AnyCase, ProtocolRules, Words
from kgcheck.text.words import wildcard_pattern

_ADVERBS = (
    r"(?:\s(?:\w{2,20}ly|then|also|next|further|again|not|all|each|both|either|thus|therefore|always|once|twice|often|first"
    r"|instead|later|now|only|well|never|still|in turn|in addition|kept and|initially)){0,3}"
)
_PASSIVE = re.compile(
    rf"\b(?P<be>was|were|is|are){_ADVERBS}\s(?P<verb>[a-z]{{2,15}}(?:-[a-z]{{2,20}})?)\b(?P<out>\sout\b)?",
    re.IGNORECASE,
)
_PASSIVE_AFTER_A_WORD = re.compile(
    r"\b(?P<be>was|were)\s(?!the\b|more\b|less\b|than\b|from\b|for\b|with\b|not\b|those\b|these\b|as\b|to\b|an?\b)[a-z]{3,12}\s"
    r"(?P<verb>[a-z]{2,15}(?:-[a-z]{2,20})?)\b(?P<out>\sout\b)?"
)
_PERFECT = re.compile(r"\b(?:has|have)\s(?P<be>been)\s(?:\w{2,20}ly\s)?(?P<verb>[a-z]{2,15})\b(?P<out>\sout\b)?")
_SERVED = re.compile(r"\b(?P<verb>served|acted) as\b")
_ACTIVE = re.compile(
    rf"\b(?:we|I|the authors)(?:\shave|\shad)?{_ADVERBS}\s(?P<verb>[a-z]{{2,15}}(?:-[a-z]{{2,20}})?)\b"
    r"(?P<out>\sout\b)?",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\b(?:that|which|who|whose \w+|not|if|when|once)\s$", re.IGNORECASE)
_CONDITION = re.compile(r"^(?:If|When|Whenever|Once|Although|Though|Because|Since|Suppose|Even|While|As)\b")
_IN_BRACKETS = re.compile(r"\s?\([^()]{0,200}\)|\s?\[[^\[\]]{0,80}\]")
_ASIDE = re.compile(r"^\s*(?:\w+ing\b|with|in|on|at|by|for|from|to|of|including|such as|e\.g)\b", re.IGNORECASE)
_ORDER = re.compile(r"^(?:\W{0,3}\(?\d{0,2}[.)]?\s)?(?P<verb>[A-Z][a-z]{1,14})\s")
_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_CLAUSE = re.compile(
    r"[,;:()]|\b(?:and|but|which|that|while|whereas|where|when|because|since|if|after|before|then)\b", re.IGNORECASE
)
_PHRASE_ENDS = re.compile(
    r"[;:()\[]|[,.](?!\d)|\b(?:using|by|with|to|for|in|at|on|from|as|into|and|or|that|which|who|where|when"
    r"|between|within|through|via|under|over|after|before|was|were|is|are|during|until|based|according|per|if|had|have|has)\b",
    re.IGNORECASE,
)
_HEAD_ENDS = re.compile(r"\s(?:of|from|in|for|with|on|at|to|by|between|among|within)\s")
_FROM = re.compile(r"\bfrom\s", re.IGNORECASE)
_INTO = re.compile(r"\binto\s", re.IGNORECASE)
_DETERMINER = re.compile(
    r"^(?:(?:the|a|an|all|each|every|these|those|this|that|our|their|its|both|some|any|such|then|also|finally|briefly|first|next|here|thus|for|"
    r"subsequently|additionally|further|remaining|resulting|same|\d[\d,.]*)\s)+",
    re.IGNORECASE,
)
_PRONOUNS = frozenset("it they them this these those which that who there both each all".split())
_MOST_ITEMS = 4
_MOST_WORDS = 7


class Deed(NamedTuple):
    """A verb that tells what was done: ``passive`` things are named before it, others after it."""

    verb: str
    span: Span
    passive: bool


@lru_cache(maxsize=256)
def deeds_of(text: str) -> tuple[Deed, ...]:
    """Extract the deeds that a sentence reports, by their verbs.

    >>> [d.verb for d in deeds_of("Reads were mapped with care and we then counted them.")]
    ['mapped', 'counted']
    >>> deeds_of("The protocol was approved by the ethics committee."), deeds_of("Mice were known to sleep.")
    ((), ())
    """
    text = text[:MOST_CHARACTERS]
    words = StepWords.shipped()
    passive = (m for pattern in (_PASSIVE, _PASSIVE_AFTER_A_WORD) for m in pattern.finditer(text))
    found = [d for m in passive if (d := _passive(m, words))]
    found += [d for m in _PERFECT.finditer(text) if (d := _passive(m, words)) and d.verb.split()[0] in words.perfect]
    found += [d for m in _ACTIVE.finditer(text) if (d := _active(m, words))]
    found += [
        Deed(m["verb"].lower(), m.span("verb"), passive=False)
        for pattern in (*words.deeds, _SERVED)
        for m in pattern.finditer(text)
    ]
    if not found and (order := _ORDER.match(text)) and order["verb"].lower() in words.orders:
        found.append(Deed(order["verb"].lower(), order.span("verb"), passive=False))
    if words.refusal.search(text):
        found = [d for d in found if d.verb.split()[0] not in words.permits]
    found.sort(key=lambda d: d.span)
    return tuple(d for n, d in enumerate(found) if not n or d.span[0] >= found[n - 1].span[1])


def _passive(match: re.Match[str], words: "StepWords") -> Deed | None:
    verb, text, start = match["verb"].lower(), match.string, match.start()
    is_participle = verb.endswith("ed") and len(verb) > 3 and verb not in words.no_participles
    if verb in words.states or not (is_participle or verb in words.irregular):
        return None
    if match["be"].lower() in ("is", "are"):
        # A general truth is told in the present, too, in a clause that depends on another.
        depends = _RELATIVE.search(text, max(0, start - 24), start) or (
            _CONDITION.match(text) and "," not in text[:start]
        )
        if depends or words.base(verb) not in words.present:
            return None
    return Deed(verb + (match["out"] or ""), match.span("verb"), passive=True)


def _active(match: re.Match[str], words: "StepWords") -> Deed | None:
    verb = match["verb"].lower()
    past = (verb.endswith("ed") and verb not in words.no_participles) or verb in words.irregular_past
    if verb in words.active_states or not (past or verb in words.present):
        return None
    return Deed(verb + (match["out"] or ""), match.span("verb"), passive=False)


def step_of(text: str, number: int, *, without: tuple[Span, ...] = (), dry_heading: bool = False) -> ReportStep | None:
    """A sentence as a step of a report."""
    step, words = read_step(text, number, without=without, dry_heading=dry_heading), StepWords.shipped()
    # A sentence without a deed may give settings alone: "95°C for 5 min, then 35 cycles at 60°C".
    units = [p.unit for p in step.parameters if p.name not in ("age", "share")]
    is_recipe = sum(bool(unit) and unit not in words.people_units for unit in units) >= 3
    is_step = deeds_of(text) or step.data_sets or (is_recipe and not words.refusal.search(text))
    return step if is_step else None


def read_step(text: str, number: int, *, without: tuple[Span, ...] = (), dry_heading: bool = False) -> ReportStep:
    """A sentence that is known to be a step, with what it names."""
    accessions = data_set_ids(text[:MOST_CHARACTERS])
    tools = tools_in(text)
    spans = (*without, *(t.span for t in tools), *((d.start, d.end) for d in accessions))
    statistics, known = statistics_in(text), StepWords.shipped()
    inputs, outputs = _items(text, deeds_of(text))
    named = tuple(StepItem(name=d.id, kind="data_set") for d in accessions)
    words = Counter(_WORD.findall(text[:MOST_CHARACTERS].lower()))
    wet, dry = (sum(words[w] for w in words.keys() & of) for of in (known.wet, known.dry))
    dry += bool(tools) + 2 * bool(statistics or accessions or dry_heading)
    return ReportStep(
        number=number,
        text=text,
        parameters=parameters_in(text, spans),
        tools=tuple(t.tool for t in tools),
        statistics=statistics,
        data_sets=accessions,
        inputs=tuple(dict.fromkeys((*inputs, *named)))[:_MOST_ITEMS],
        outputs=outputs[:_MOST_ITEMS],
        dry=dry > wet,
    )


def outline_of(text: str) -> str:
    """A step in a few words: its first verb, and what it is done to.

    >>> outline_of("The telomere length was measured by PCR.")
    'measured telomere length'
    """
    deeds = deeds_of(text)
    if not deeds:
        return " ".join(text.split()[:_MOST_WORDS])
    thing = _object(text, deeds[0])
    return f"{deeds[0].verb} {thing}".strip()


def _object(text: str, deed: Deed) -> str:
    return _before(text, deed.span[0]) if deed.passive else _after(text, deed.span[1])


def _before(text: str, end: int) -> str:
    clause = _IN_BRACKETS.sub("", text[max(0, end - 240) : end]).rstrip()
    clause = re.sub(r"(?<!\s)\s+(?:was|were|is|are)\b.{0,60}$", "", clause)
    parts = [p for p in _CLAUSE.split(clause) if p and p.strip()]
    return next((thing for p in reversed(parts) if not _ASIDE.match(p) and (thing := _phrase(p))), "")


def _after(text: str, start: int) -> str:
    rest = _IN_BRACKETS.sub("", text[start : start + 160]).lstrip()
    rest = _DETERMINER.sub("", rest.removeprefix("out ").lstrip())
    end = _PHRASE_ENDS.search(rest)
    return _phrase(rest[: end.start()] if end else rest)


def _phrase(words: str) -> str:
    """A thing without what only points to it; the last words where there are many."""
    plain = _DETERMINER.sub("", " ".join(words.split()))
    head = _HEAD_ENDS.split(plain)[0] if len(plain.split()) > _MOST_WORDS else plain
    return " ".join(head.split()[-_MOST_WORDS:])[:200] if any(c.isalpha() for c in head) else ""


def _items(text: str, deeds: tuple[Deed, ...]) -> list[tuple[StepItem, ...]]:
    """Extract the inputs and outputs of a step, as far as its verbs say; the last word of each tells its kind."""
    words = StepWords.shipped()
    taken: dict[str, None] = {}
    made: dict[str, None] = {}
    for deed in deeds:
        thing, rest = _object(text, deed), text[deed.span[1] : deed.span[1] + 80]
        makes, takes = deed.verb in words.makes, deed.verb in words.takes
        if thing and thing.lower() not in _PRONOUNS and (makes or takes):
            (made if makes else taken)[thing] = None
        if makes and (source := _FROM.search(rest)) and (thing := _after(rest, source.end())):
            # "Cells were obtained from Somebody Ltd" names who sold them.
            taken |= {} if all(w[0].isupper() for w in thing.split()) else {thing: None}
        if takes and (target := _INTO.search(rest)) and (thing := _after(rest, target.end())):
            made[thing] = None
    found = [[(name, reversed(name.lower().split())) for name in names] for names in (taken, made)]
    return [
        tuple(
            StepItem(name=n, kind=next((words.kinds[w] for w in last if w in words.kinds), "other")) for n, last in some
        )
        for some in found
    ]


def species_in(text: str) -> Counter[str]:
    """Count the mentions of each organism in a text, by its scientific name."""
    words = StepWords.shipped()
    return Counter(words.species_names[m[0].lower()] for m in words.organism.finditer(text))


class StepWords(ProtocolRules):
    """Words of steps."""

    file = "steps"
    states: Words
    active_states: Words
    no_participles: Words
    irregular: Words
    irregular_past: Words
    irregular_present: dict[str, str] = Field(description="verbs that count in the present, by their participles")
    present: frozenset[str]
    orders: frozenset[str]
    people: str
    people_units: frozenset[str] = Field(description="units of results and of descriptions")
    people_verbs: str
    things: str
    things_verbs: str
    settings: tuple[str, ...]
    perfect: Words
    permits: Words
    not_steps: tuple[str, ...]
    not_headings: AnyCase
    headings: AnyCase
    no_studies: tuple[str, ...]
    items: dict[ItemKind, tuple[str, ...]]
    makes: Words = Field(description="verbs whose object is made")
    takes: Words = Field(description="verbs whose object is taken")
    wet: Words = Field(description="words of work at a bench")
    dry: Words = Field(description="words of computing")
    species: dict[str, tuple[str, ...]]

    @cached_property
    def kinds(self) -> dict[str, ItemKind]:
        return {word: kind for kind, members in self.items.items() for word in members}

    @cached_property
    def species_names(self) -> dict[str, str]:
        return {word: name for name, words in self.species.items() for word in words}

    @cached_property
    def organism(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{wildcard_pattern(self.species_names)})(?!\w)", re.IGNORECASE)

    @cached_property
    def refusal(self) -> re.Pattern[str]:
        return re.compile(wildcard_pattern(self.not_steps), re.IGNORECASE)

    @cached_property
    def deeds(self) -> tuple[re.Pattern[str], ...]:
        people, people_did, things, did = (
            "|".join(words.split()) for words in (self.people, self.people_verbs, self.things, self.things_verbs)
        )
        patterns = (
            rf"\b(?:{people})(?:\s(?!was\b|were\b|who\b|that\b|is\b|are\b)[\w()/-]{{1,30}}){{0,8}}?"
            rf"\s(?P<verb>{people_did})\b",
            rf"\b(?:{things})(?:\s(?!was\b|were\b|which\b|that\b|is\b|are\b)[\w()/-]{{1,30}}){{0,6}}?"
            rf"\s(?P<verb>{did})\b(?!\s(?:is|was|were|are|by|in|for|as|to|here)\b)",
            rf"\b(?:{wildcard_pattern(self.settings)})\b.{{0,60}}?\b(?P<verb>was|were|included)\b",
        )
        return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)

    def base(self, verb: str) -> str:
        """The verb of the list of those that count in the present whose participle a word is."""
        for ending in ("ed", "d", ""):
            if verb.endswith(ending) and (stem := verb.removesuffix(ending)) in self.present:
                return stem
        short = verb.removesuffix("ed")
        if short[-1:] == short[-2:-1] and short[:-1] in self.present:
            return short[:-1]
        if short.endswith("i") and short[:-1] + "y" in self.present:
            return short[:-1] + "y"
        return self.irregular_present.get(verb, verb)
