"""Yes and no of a model: whether the look-ups of a conversation bear it out.

The two things that a question names are looked for in the graph, whatever the model made of it. Yes rests on an edge
between them that a tool has shown; no rests on look-ups that found none, for every way in which there could be one.
A question that says more than that is not judged.
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from kgcheck.agents.shown import Shown, Unsupported
from kgcheck.graph.store import GraphStore
from kgcheck.model import Ref, Triple
from kgcheck.profile.lexicon import Lexicon, load_lexicon, phrase
from kgcheck.profile.schema import Label, Pattern
from kgcheck.questions.answer import Edge

_WORD = re.compile(r"[^\s,;()?!]+")
_LONGEST = 8
_SAME = 20
"""Nodes that carry one name; of a name that more carry, nothing can be said."""

_SMALL = frozenset(
    "a an and are as at be been by can could did do does for from had has have if in into is it its may not of on or "
    "so than that the there this to was were what which with would you".split()
)
_MORE = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|only|solely|exclusively|all|every|each|any|some|both|either|exactly|same|"
    r"different|other|others|another|most|least|more|less|fewer|above|below|over|under|predicted|experimentally|directly|"
    r"indirectly|physically|strongly|how|many|score|scores|confidence|and|or)\b|n[\u2019']t\b|\d",
    re.IGNORECASE,
)
"""Words and numbers that change what is asked, in a way that an edge does not show."""


class Named(NamedTuple):
    """Where a question names something, and which nodes it may mean."""

    start: int
    end: int
    refs: tuple[Ref, ...]


def bears_out(question: str, holds: bool, shown: Shown, store: GraphStore) -> tuple[Edge, ...]:
    """Whether a yes or a no rests on what was shown.

    Args:
        question: In words.
        holds: What the model says.
        shown: What its tools have shown.
        store: The graph.

    Returns:
        The edges that a yes rests on; none for a no that is borne out.

    Raises:
        Unsupported: It does not, and why.
    """
    asked = _asked(question, store)
    found = tuple(shown.edges[t] for t in asked if t in shown.edges)
    if holds and not found:
        raise Unsupported(f"no tool has shown such an edge: {_told(asked)}")
    if not holds and found:
        raise Unsupported(f"a tool has shown that it is so: {_told([e.triple for e in found])}")
    unseen = [t for t in asked if not shown.lacks(t)]
    if not holds and unseen:
        raise Unsupported(f"no tool has looked for this edge: {_told(unseen)}")
    return found


def _asked(question: str, store: GraphStore) -> list[Triple]:
    """Every edge that a question may ask for."""
    named = _named(question, store)
    if len(named) != 2:
        raise Unsupported(
            f"yes or no needs two things that the question names and the graph has: there are {len(named)}",
            "answer with ids instead",
        )
    rest = "".join(c if not any(n.start <= i < n.end for n in named) else " " for i, c in enumerate(question))
    lexicon = load_lexicon(store.schema)
    if more := _more(rest.lower(), lexicon):
        raise Unsupported(f"what {more!r} means in the question cannot be seen from an edge", "answer with ids instead")
    one, other = named
    ways = [
        (pattern, head, tail, forth)
        for a, b in product(one.refs, other.refs)
        for head, tail, forth in ((a, b, True), (b, a, False))
        for pattern in store.schema.relations
        if (pattern.head, pattern.tail) == (head.label, tail.label) and head != tail
    ]
    said = {p.type for p, *_ in ways if _says(lexicon, p, rest.lower())}
    types = said or {p.type for p, *_ in ways}
    if len(types) != 1:
        raise Unsupported(f"which relation is asked for is not plain: {', '.join(sorted(types)) or 'none joins them'}")
    meant = [w for w in ways if w[0].type in types]
    return list(
        dict.fromkeys(
            Triple(head=head, relation=pattern.type, tail=tail)
            for pattern, head, tail, forth in meant
            if _way_fits(lexicon, pattern, rest.lower(), forth)
        )
    )


def _more(rest: str, lexicon: Lexicon) -> str:
    """A word of a question, without the names in it, that says more than that there is an edge; or nothing."""
    if more := _MORE.search(rest):
        return more[0]
    phrases = [p for r in lexicon.relations for p in (*r.forward, *r.backward)]
    phrases += [p for label in lexicon.labels for p in label.nouns]
    for pattern in phrases:
        rest = re.sub(phrase(pattern), " ", rest)
    left = [w.strip(".'\"") for w in _WORD.findall(rest)]
    return next((w for w in left if w and w not in _SMALL and w not in lexicon.words.ignored), "")


def _way_fits(lexicon: Lexicon, pattern: Pattern, rest: str, forth: bool) -> bool:
    """Whether an edge may stand in this direction; it is asked only where both ends are of one label."""
    if pattern.symmetric or pattern.head != pattern.tail:
        return True
    words = lexicon.relation(pattern.type)
    forward, backward = _holds(words.forward, rest), _holds(words.backward, rest)
    if forward == backward:
        raise Unsupported(f"which way {pattern.type} is asked for is not plain", "answer with ids instead")
    return forth == forward


def _says(lexicon: Lexicon, pattern: Pattern, rest: str) -> bool:
    words = lexicon.relation(pattern.type)
    return _holds(words.forward, rest) or _holds(words.backward, rest)


def _holds(phrases: tuple[str, ...], rest: str) -> bool:
    return any(re.search(phrase(p), rest) for p in phrases)


def _named(question: str, store: GraphStore) -> list[Named]:
    """What a question names, the longest names first; nothing twice."""
    found: list[Named] = []
    for start, end in _runs(question):
        if any(n.start < end and start < n.end for n in found):
            continue
        refs = _nodes(question[start:end], store)
        if refs:
            found.append(Named(start, end, refs))
    return sorted(found)


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Where names may stand: words in a row that neither begin nor end with a small one."""
    words = [(m.start(), m.start() + len(m[0].rstrip(".'\"\u2019"))) for m in _WORD.finditer(text)][:40]
    for count in range(_LONGEST, 0, -1):
        for run in zip(*(words[i:] for i in range(count)), strict=False):
            ends = (text[slice(*run[0])].lower(), text[slice(*run[-1])].lower())
            if not _SMALL & set(ends) and run[0][0] < run[-1][1]:
                yield run[0][0], run[-1][1]


def _nodes(name: str, store: GraphStore) -> tuple[Ref, ...]:
    found: list[Ref] = []
    for label in store.schema.labels:
        refs = _of_label(name, label, store)
        if len(refs) > _SAME:
            raise Unsupported(f"over {_SAME} {label.name} nodes are called {name!r}")
        found += refs
    return tuple(found)


def _of_label(name: str, label: Label, store: GraphStore) -> list[Ref]:
    ids = [name] if label.matches(name) and store.node(Ref(label=label.name, id=name)) is not None else []
    return [Ref(label=label.name, id=i) for i in dict.fromkeys([*ids, *store.ids_named(label, name, _SAME + 1)])]


def _told(triples: list[Triple]) -> str:
    more = f" and {len(triples) - 3} more" if len(triples) > 3 else ""
    return "; ".join(map(str, triples[:3])) + more
