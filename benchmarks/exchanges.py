"""Sentences of abstracts with one thing exchanged, by rule, for training: what is told of another thing is silence.

Put to its own abstract, a sentence is borne out as it stands. With a name, a number or a population of another one,
with a thing that another sentence names, or with both sides of an act exchanged, the abstract says nothing of it;
denied or with its direction turned round, it is contradicted.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.denials import denied, reversed_way
from kgcheck.literature.arguments import Argument, arguments, content_of, is_named
from kgcheck.literature.documents import Document
from kgcheck.literature.roles import acts

SUPPORTS, CONTRADICTS, SILENT = range(3)
KINDS = ("name", "label", "noun", "number", "population")
_POPULATIONS = ("women", "men", "mice", "rats", "children", "adults", "pigs", "rabbits", "zebrafish")
_THINGS = ("name", "label", "noun")
_HEADING = re.compile(r"^(?:[A-Z][A-Za-z/& ]{2,25}:|[A-Z]{5,}(?: [A-Z]{3,})* )\s*")
_LENGTHS = range(40, 300)
_TRIED = 20


def exchanged(
    document: Document, places: Sequence[int], pool: Mapping[str, Sequence[str]], chance: random.Random
) -> Iterator[tuple[str, int]]:
    """Claims made of one sentence of an abstract, each with the stance that the abstract has.

    Args:
        document: The abstract.
        places: Sentences of which one is drawn.
        pool: Names of other papers, by kind.
        chance: What draws.

    Yields:
        Claim and stance.
    """
    passages = document.passages
    fitting = [i for i in places if i < len(passages) and len(passages[i]) in _LENGTHS]
    if not fitting:
        return
    place = chance.choice(fitting)
    sentence = _HEADING.sub("", passages[place]).strip()
    named = [a for a in arguments(sentence) if a.kind in KINDS]
    if len(named) < 2:
        return
    yield sentence, SUPPORTS
    chance.shuffle(named)
    if (other := _other(named[0], document.abstract, pool, chance)) and (new := _put(sentence, named[0], other)):
        yield new, SILENT
    own = content_of(sentence)
    others = [p for i, p in enumerate(passages) if i != place]
    elsewhere = [a for p in others for a in arguments(p) if a.kind in _THINGS and not is_named(a, own)]
    mine = [a for a in named if a.kind in _THINGS]
    if elsewhere and mine:
        alike = [a for a in elsewhere if a.kind == mine[0].kind] or elsewhere
        if new := _put(sentence, mine[0], chance.choice(alike).words):
            yield new, SILENT
    for new in filter(None, (denied(sentence), reversed_way(sentence))):
        yield new, CONTRADICTS
    if new := _turned(sentence):
        yield new, SILENT


def _other(argument: Argument, abstract: str, pool: Mapping[str, Sequence[str]], chance: random.Random) -> str:
    """Something of the same kind that the abstract does not name."""
    if argument.kind == "number":
        return str(chance.randrange(2, 97))
    names = _POPULATIONS if argument.kind == "population" else pool.get(argument.kind, ())
    drawn = (chance.choice(names) for _ in range(_TRIED if names else 0))
    return next((n for n in drawn if n.lower() not in abstract.lower()), "")


def _put(claim: str, argument: Argument, other: str) -> str:
    new = re.sub(rf"(?<!\w){re.escape(argument.words)}(?!\w)", lambda _: other, claim, count=1)
    return "" if new == claim else new


def _turned(sentence: str) -> str:
    """A sentence with both sides of its first act exchanged."""
    for act in acts(sentence):
        sides = (act.agent, act.patient)
        if not act.mutual and not act.denied and all(side and len(side) < 60 and side in sentence for side in sides):
            new = sentence.replace(act.agent, "\0", 1).replace(act.patient, act.agent, 1).replace("\0", act.patient)
            if new != sentence:
                return new
    return ""
