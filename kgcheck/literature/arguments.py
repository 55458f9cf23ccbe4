"""Find the named things and numbers of a claim that sentences lack, with synonyms and plurals.

A sentence about another gene, dose or population says nothing of a claim, however alike its words are. Named things
and numbers of the claim must stand in the sentences: by their own words, in the plural, with another hyphen or a Greek
letter, as an abbreviation that the paper explains, or by a synonym. What cannot be told to be the same is missing: a
wrong answer is worse than none.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from kgcheck.literature.polarity import CUES, cue_of, empty_words
from kgcheck.text.words import GREEK, either, stemmer, verifier_rules, words_of_list

_LETTERS = {name: name[0] for name in GREEK.values()}
_SHORT = {"interleukin": "il", "interleukins": "il", "ils": "il"}
_SHORT |= {"interferon": "ifn", "interferons": "ifn", "ifns": "ifn"}
_FOLD = str.maketrans(
    GREEK
    | {letter.upper(): name for letter, name in GREEK.items()}
    | {"\u00b5": "mu", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2019": "'"}
)
_TOKEN = re.compile(r"\d+(?:-\d+){2,}|\d+(?:[.,]\d+)*(?![\w])|[^\W_]+(?:['-][^\W_]+)*|%|/")
_CLOSE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(mg|kg|ml|mm|nm|mum|mmol)\b")
_PART = re.compile(r"\d+|[^\W\d_]+")
_HYPHEN = re.compile(r"-(?!\d)")  # A hyphen between words: the number of IL-4 is a part of the name
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SPELLING = (
    *(("aemi", "emi"), ("oedema", "edema"), ("oesoph", "esoph"), ("oestr", "estr"), ("haem", "hem"), ("paed", "ped")),
    *(("foet", "fet"), ("leuco", "leuko"), ("our", "or"), ("fibre", "fiber"), ("isation", "ization")),
)
_NUMBER_WORDS = {
    word: str(n)
    for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
    if n > 1
}
_ORDINALS = {
    w: f"{n}." for n, ws in enumerate(("second 2nd", "third 3rd", "fourth 4th", "fifth 5th"), 2) for w in ws.split()
}
_UNITS = frozenset(
    "mg kg g ug mug min minutes seconds ml l mm cm nm mum um mmol ml/min h hours days weeks months years hour day week "
    "month year".split()
)
_PER_CENT = frozenset({"%", "percent", "per"})
_OTHER = re.compile(r"(?:al|ic|ary|ous|ive|ed|ing|ly|ar|ble|oid|less|wide|free|ory|ent|ical|ize|izes|ise|ises)$")
"""Endings of words that name no thing by themselves: most adjectives, adverbs and verbs."""
_CELLS = ("cell", "cells", "lymphocyte", "lymphocytes")
_STATES = frozenset("positive negative free deficient null resistant sensitive dependent independent naive".split())
"""Ends of words such as HIV-negative that change who is meant."""

_NEAR = 0.65  # two stems are of one word if they begin alike over this share of the longer
_RUN = 5  # parts of words that one name may be made of


class Argument(NamedTuple):
    """One thing that a claim names, as it stands there, and how sentences may say it."""

    words: str
    kind: str
    forms: frozenset[str]


class SentenceContent(NamedTuple):
    """Words, numbers and runs of words of sentences, for comparison."""

    runs: frozenset[str]
    words: frozenset[str]
    stems: frozenset[str]
    numbers: frozenset[tuple[str, str]]


def missing(
    claim: str, sentences: Sequence[str], abstract: str = "", synonyms: Iterable[Sequence[str]] = ()
) -> tuple[str, ...]:
    """Find the arguments of a claim that sentences do not name.

    >>> missing("Aspirin prevents stroke in mice.", ["Aspirin prevented stroke."])
    ('mice',)
    """
    text = " ; ".join(sentences)
    also = []
    for long, short in explained(abstract or text):
        if re.search(rf"(?<!\w){re.escape(short)}s?(?!\w)", text):
            also.append(long)
        elif long.lower() in text.lower():
            also.append(short)
    text = " ; ".join([text, *also])
    for group in synonyms:
        named = re.compile(rf"(?<!\w)(?:{either(group)})(?!\w)", re.IGNORECASE)
        if group and named.search(text):
            claim = named.sub(" ", claim)
    there = content_of(text)
    return tuple(a.words for a in arguments(claim) if not is_named(a, there))


@lru_cache(maxsize=256)
def arguments(claim: str) -> tuple[Argument, ...]:
    """The named things and numbers of a claim."""
    tokens = _tokens(claim.translate(_FOLD))
    found: dict[tuple[str, str], Argument] = {}
    at = 0
    while at < len(tokens):
        words, argument = _argument(tokens, at)
        if argument:
            found.setdefault((argument.kind, argument.words.lower()), argument)
        at += words
    return tuple(found.values())


def _argument(tokens: list[str], at: int) -> tuple[int, Argument | None]:
    token, following, after = (*tokens[at : at + 3], "", "")[:3]
    lower = token.lower()
    may_have_label = len(lower) > 2 and lower.isalpha() and lower not in _NUMBER_WORDS and lower not in empty_words()
    if may_have_label and _is_label(lower, following):
        # vitamin C, kinase A, chromosome 21, histone H3; but in "naive T cells" the letter belongs to what follows.
        if lower not in _words("labelled") and after.isalpha() and (_is_common(lower) or _OTHER.search(lower)):
            form = _joined(f"{following} {after}")
            return 3, Argument(f"{following} {after}", "label", frozenset({form, form.removesuffix("s"), f"{form}s"}))
        return 2, Argument(f"{token} {following}", "label", frozenset({_joined(f"{token} {following}")}))
    if number := _number(lower):
        unit = _unit(following)
        shown = f"{token}{unit if unit == '%' else ' ' + unit if unit else ''}"
        return 1 + bool(unit), Argument(shown, "number", frozenset({f"{number}|{unit}"}))
    if re.fullmatch("[B-Z]", token) and following.lower() in _CELLS:
        return 2, Argument(f"{token} {following}", "label", frozenset(f"{lower}{cells}" for cells in _CELLS))
    if lower in _populations():
        return 1, Argument(token, "population", _populations()[lower])
    if lower in _words("humans"):
        return 1, Argument(token, "human", _words("humans"))
    if _is_shaped(token, first=at == 0):
        form = _joined(token)
        return 1, Argument(token, "name", _same().get(form, frozenset({form})))
    parts = [p for p in lower.removesuffix("'s").split("-") if len(p) > 2 and not _is_common(p)]
    if any(_stem(p) in _synonyms() or not _OTHER.search(p) for p in parts):
        return 1, Argument(token, "noun", frozenset(_forms(lower)))
    return 1, None


def head(text: str) -> Argument | None:
    """The one word of a side of an act that may name something, however common it is: "memory", "turmeric"."""
    words = [
        w for w in re.findall(r"[^\W\d_]{3,}(?:-[^\W\d_]+)*", text.translate(_FOLD).lower()) if not w.endswith("ly")
    ]
    named = [w for w in words if w not in empty_words() and w not in _words("general")]
    return Argument(named[-1], "head", frozenset(_forms(named[-1]))) if len(named) == 1 else None


def is_named(argument: Argument, content: SentenceContent) -> bool:
    """Tell if a text names an argument, in any of its forms."""
    if argument.kind == "number":
        number, _, unit = next(iter(argument.forms)).partition("|")
        return (number, unit) in content.numbers or (unit != "%" and (number, "") in content.numbers)
    if argument.kind == "population":
        return bool(argument.forms & content.words)
    if argument.kind == "human":
        # Of people is spoken where nobody is named; not where an animal is.
        return bool(argument.forms & content.words) or not any(
            content.words.intersection(line.split()) for line in verifier_rules("arguments")["animals"]
        )
    if argument.kind in ("name", "label"):
        return bool(argument.forms & content.runs) or _is_inflected(argument, content)
    # Of a word such as ear-leg no part is long enough to be its form.
    as_it_stands = _joined(argument.words.lower().removesuffix("'s")) in content.runs
    return as_it_stands or _has_stem(argument.forms, content)


def is_written(word: str, content: SentenceContent) -> bool:
    """Tell if a word stands in a text, in any of its forms."""
    return _has_stem([_stem(word)], content)


def _is_inflected(argument: Argument, content: SentenceContent) -> bool:
    """Tell if a name stands there in the plural, or with 's: only for words, not for symbols with digits."""
    if argument.kind == "label":
        return False
    word = argument.words.lower().removesuffix("'s")
    symbol = any(c.isdigit() or c.isupper() for c in argument.words[1:])
    if symbol and {other for form in argument.forms for other in (f"{form}s", form.removesuffix("s"))} & content.runs:
        return True
    if "-" not in word:
        return not symbol and _has_stem(_forms(word), content)
    # Each part of a word such as anti-CD20 must be there.
    return all(
        _joined(p) in content.runs
        or (p.isalpha() and _has_stem(_forms(p), content))
        or (_is_common(p) and p not in _STATES)
        for p in _HYPHEN.split(word)
        if len(p) > 1
    )


def _has_stem(forms: Iterable[str], content: SentenceContent) -> bool:
    return any(_near(form, stem) for form in forms for stem in content.stems)


@lru_cache(maxsize=512)
def content_of(text: str) -> SentenceContent:
    """Count the words, numbers and runs of words of a text, for comparison with arguments."""
    folded = text.translate(_FOLD)
    tokens = _tokens(folded)
    # A word stands there whole, of however many parts it is.
    runs = {_joined(form) for t in tokens for form in (t, t.lower().removesuffix("'s"))}
    # A comma or a bracket does not part a name more than a space does; a new sentence does.
    for piece in folded.split(";"):
        parts = [_american(_letter(p.lower())) for p in _PART.findall(piece)]
        for count in range(1, _RUN + 1):
            runs |= {"".join(run) for run in zip(*(parts[i:] for i in range(count)), strict=False)}
    words = {p for t in tokens for p in (t.lower().removesuffix("'s"), *t.lower().split("-"))}
    stems = {_stem(part) for w in words for part in w.removesuffix("'s").split("-")}
    numbers = {
        (number, _unit(following))
        for token, following in zip(tokens, [*tokens[1:], ""], strict=False)
        for part in token.lower().split("-")
        if (number := _number(part))
    }
    return SentenceContent(frozenset(runs), frozenset(words), frozenset(stems), frozenset(numbers))


def _tokens(folded: str) -> list[str]:
    return _TOKEN.findall(_CLOSE.sub(r"\1 \2", folded))


@cache
def explained(abstract: str) -> tuple[tuple[str, str], ...]:
    """Abbreviations that a text explains, as in: chronic obstructive pulmonary disease (COPD)."""
    found = []
    for match in re.finditer(r"\(([A-Za-z][\w-]{1,9})\)", abstract):
        short = match[1]
        if sum(c.isupper() for c in short) < 2:
            continue
        before = re.findall(r"[\w'-]+", abstract[max(0, match.start() - 120) : match.start()])
        letters = [c for c in short.lower() if c.isalpha()]
        for count in range(1, min(len(letters) + 3, len(before)) + 1):
            long = " ".join(before[-count:])
            # All letters stand in it, in their order.
            rest = iter(long.lower())
            if long[0].lower() == letters[0] and all(letter in rest for letter in letters):
                found.append((long, short))
                break
    return tuple(found)


def _is_label(lower: str, following: str) -> bool:
    """Tell if a letter, a number, or both, after a name tells apart several things of that name."""
    if lower in _words("labelled"):
        return bool(re.fullmatch(r"[A-Za-z]|\d{1,3}|[A-Za-z]\d{1,2}|[IVXivx]{2,4}", following))
    return bool(re.fullmatch(r"[B-HJ-Z]|[A-Z]\d{1,2}|[IVX]{2,4}", following)) or (following == "A" and lower.isalpha())


def _is_shaped(token: str, *, first: bool) -> bool:
    if len(token) < 2:
        return False
    if any(c.isdigit() for c in token) or any(c.isupper() for c in token[1:]):
        return True
    if any(part in _LETTERS for part in token.lower().split("-")):
        return True
    return token[0].isupper() and not first and not _is_common(token.lower())


@cache
def _is_common(word: str) -> bool:
    return word in empty_words() or _stem(word) in _common() or bool(cue_of(word, CUES))


def _forms(lower: str) -> tuple[str, ...]:
    parts = [p for p in lower.removesuffix("'s").split("-") if len(p) > 3 and not _is_common(p)]
    stem = _stem(parts[0] if parts else lower)
    return (stem, *_synonyms().get(stem, ()))


def _near(one: str, other: str) -> bool:
    if one == other:
        return True
    alike = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return alike >= 4 and alike >= _NEAR * max(len(one), len(other))


def _joined(text: str) -> str:
    return "".join(_american(_letter(p.lower())) for p in _PART.findall(text))


def _letter(part: str) -> str:
    """The letter of a Greek one that is spelt out, alone or at the end of a symbol: kappa, NFkappa."""
    if part in _LETTERS:
        return _LETTERS[part]
    if part in _SHORT:
        return _SHORT[part]
    for name, letter in _LETTERS.items():
        if len(name) > 3 and part.startswith(name) and len(part) == len(name) + 1:
            return letter + part[-1]
        if len(name) > 3 and part.endswith(name) and len(part) <= len(name) + 4:
            return part.removesuffix(name) + letter
    return part


def _number(text: str) -> str:
    if not _NUMBER.fullmatch(text):
        return _NUMBER_WORDS.get(text) or _ORDINALS.get(text, "")
    plain = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _unit(following: str) -> str:
    lower = following.lower()
    return "%" if lower in _PER_CENT else lower if lower in _UNITS else ""


@cache
def _stem(word: str) -> str:
    return str(stemmer().stemWord(_american(word)))


def _american(word: str) -> str:
    for british, american in _SPELLING:
        word = word.replace(british, american)
    return word


def _words(name: str) -> frozenset[str]:
    return words_of_list("arguments", name)


@cache
def _common() -> frozenset[str]:
    return frozenset(map(_stem, _words("common")))


@cache
def _same() -> dict[str, frozenset[str]]:
    groups = [frozenset(map(_joined, line.split())) for line in verifier_rules("arguments")["synonyms"]]
    return {form: group for group in groups for form in group}


@cache
def _synonyms() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in verifier_rules("arguments")["synonyms"]:
        stems = tuple(dict.fromkeys(map(_stem, line.split())))
        found |= {stem: found.get(stem, ()) + stems for stem in stems}
    return found


@cache
def _populations() -> dict[str, frozenset[str]]:
    rules = verifier_rules("arguments")
    found: dict[str, frozenset[str]] = {}
    for line in (*rules["populations"], *rules["animals"]):
        for word in line.partition("|")[0].split():
            found[word] = found.get(word, frozenset()) | frozenset(line.replace("|", " ").split())
    return found
