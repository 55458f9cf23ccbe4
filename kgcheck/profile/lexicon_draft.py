"""Draft the words of a graph from the names of its labels and relations: rather too few than wrong ones."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from kgcheck.plurals import plural, words_in
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.profile.toml_files import read_tables
from kgcheck.resources import resource_dir
from kgcheck.standards.biolink import model

_NAMES = ("symbol", "label", "title", "synonym")
"""Properties that hold names in the graphs of others."""

_SYMBOLS = frozenset(("gene", "protein", "transcript"))
"""Nouns of what symbols name, which may be English words, too."""

_EMPTY_NOUNS = frozenset(("class", "entity", "node", "thing", "type"))
_NOUNS = "nouns.toml"
_EVERYDAY = 3
_GENERAL_NOUNS = frozenset(("entity", "taxon"))
"""Last words of a label that people leave out: chemical entities are chemicals."""

_NEGATIONS = frozenset(("absent", "cannot", "lack", "lacks", "missing", "never", "no", "not", "without"))
"""Words of relations that have no words in questions: those deny what they ask for in ways of their own."""

_PREPOSITIONS = frozenset(("as", "at", "by", "for", "from", "in", "into", "of", "on", "to", "with", "within"))
_MUTUAL = re.compile(
    "(associat|co-?exist|co-?express|co-?locali|connect|correlat|covar|homolog|interact|link|ortholog|paralog|relat|resembl|similar)"
    "[a-z]*"
)
"""Words of relations of which order means nothing."""

_PARTICIPLES = {"bind": "bound", "have": "had", "drive": "driven", "take": "taken", "lead": "led", "give": "given"}
_BE = "((is|are|be|been|was|were) )?"
_HAS = "(has|have|had|having|with) ((an?|the|its|as|as an?) )?"
_A = "((an?|the) )?"
_CODE = re.compile(r"(?:(.+)_)?([A-Z]+)[a-z]+[>_]?([A-Z]+)")
"""A relation of Hetionet, in its files ``CtD``, on a server ``TREATS_CtD``: the initials of both ends are in it."""

Phrases = tuple[list[str], list[str]]
"""Phrases of a relation, forwards and backwards."""

Nouns = Mapping[str, Sequence[str]]
"""Nouns of each label."""


def draft_words(schema: Schema) -> dict[str, Any]:
    """Tables of a ``lexicon.toml`` for a schema."""
    nouns = _nouns(schema)
    labels = [_label(label, nouns[label.name]) for label in schema.labels]
    relations, roles = list[dict[str, Any]](), list[dict[str, Any]]()
    for relation in schema.relation_types:
        patterns = schema.patterns(relation)
        words = _without_ends(_name_of(patterns), patterns, nouns)
        if not _NEGATIONS.isdisjoint(words):
            continue
        forward, backward = _phrases_with_inverse(words, patterns, nouns)
        is_mutual = _is_mutual(words, patterns)
        if is_mutual:
            forward = backward = [*forward, *backward]
        phrases = {"forward": list(dict.fromkeys(forward)), "backward": list(dict.fromkeys(backward))}
        relations.append({"type": relation} | ({"mutual": True} if is_mutual else {}) | phrases)
        roles += _roles(relation, words, patterns)
    named = [tuple(role["nouns"]) for role in roles]
    once = [role for role in roles if named.count(tuple(role["nouns"])) == 1]
    return {"draft": True, "labels": labels, "relations": relations, "role_nouns": once}


# --- labels ---------------------------------------------------------------------------------------------


def _label(label: Label, nouns: Sequence[str]) -> dict[str, Any]:
    names = [name for name in (*label.names, *_NAMES) if name in label.properties]
    exact = {"exact": True} if not _SYMBOLS.isdisjoint(nouns) else {}
    return {"name": label.name, "nouns": list(nouns), "names": names} | exact


def _nouns(schema: Schema) -> dict[str, list[str]]:
    """Nouns that mean one label: what is its name comes before other words for it, and these before a part of it."""
    ranks: dict[str, dict[str, int]] = {}
    for label in schema.labels:
        for rank, noun in _nouns_of(label.name):
            if noun not in _EMPTY_NOUNS:
                ranks.setdefault(noun, {}).setdefault(label.name, rank)
    named = {" ".join(words_in(label.name)): label.name for label in schema.labels}
    for noun, others in _everyday_nouns().items():
        if noun not in ranks and (meant := next((named[name] for name in others if name in named), None)):
            ranks[noun] = {meant: _EVERYDAY}
    found: dict[str, list[str]] = {label.name: [] for label in schema.labels}
    for noun, labels in ranks.items():
        best = [label for label, rank in labels.items() if rank == min(labels.values())]
        if len(best) == 1:
            found[best[0]] += [form for form in _forms(noun) if form == noun or form not in ranks]
    return found


@cache
def _everyday_nouns() -> Mapping[str, Sequence[str]]:
    """Nouns that no label may be called by, and the labels that they mean."""
    return read_tables(resource_dir("loaders") / _NOUNS)


def _nouns_of(label: str) -> Iterator[tuple[int, str]]:
    words = words_in(label)
    yield 0, " ".join(words)
    category = model().category("".join(word.capitalize() for word in words))
    for alias in category.aliases if category else ():
        yield 1, " ".join(words_in(alias))
    if len(words) > 1:
        yield 2, words[-1]
        if words[-1] in _GENERAL_NOUNS:
            yield 2, " ".join(words[:-1])


def _forms(noun: str) -> list[str]:
    """A noun in the singular and the plural."""
    return list(dict.fromkeys((noun, plural(noun), noun.removesuffix("s") if plural(noun) == noun else noun)))


# --- relations ------------------------------------------------------------------------------------------


def _name_of(patterns: Sequence[Pattern]) -> list[str]:
    """The words of a relation's name; of a code of Hetionet, the verb that it stands for."""
    name = re.sub(r"__\d+$", "", patterns[0].type)
    code = _CODE.fullmatch(name)
    if not code or any((p.head[:1], p.tail[:1]) != (code[2][0], code[3][0]) for p in patterns):
        return words_in(name)
    return words_in(code[1] or _codes().get(name, name))


@cache
def _codes() -> Mapping[str, str]:
    return read_tables(resource_dir("loaders") / "codes.toml")


def _without_ends(words: list[str], patterns: Sequence[Pattern], nouns: Nouns) -> list[str]:
    """Words without what says only which labels are joined: "gene associated with condition"."""
    first, last = 0, len(words)
    for n in range(1, len(words)):
        if all(" ".join(words[:n]) in nouns[p.head] for p in patterns) and words[n] not in _PREPOSITIONS:
            first = n
    for n in range(first + 1, len(words)):
        if all(" ".join(words[n:]) in nouns[p.tail] for p in patterns):
            if words[n - 1] in _PREPOSITIONS or _is_verb(words[n - 1]):
                last = min(last, n)
    return words[first:last]


def _phrases_with_inverse(words: list[str], patterns: Sequence[Pattern], nouns: Nouns) -> Phrases:
    forward, backward = _phrases(words)
    predicate = model().predicate("_".join(words_in(patterns[0].type))) or model().predicate("_".join(words))
    if predicate and (inverse := model().inverse(predicate)):
        turned = [p.model_copy(update={"head": p.tail, "tail": p.head}) for p in patterns]
        there, back = _phrases(_without_ends(words_in(inverse.name), turned, nouns))
        forward, backward = [*forward, *back], [*backward, *there]
    return forward, backward


def _phrases(words: list[str]) -> Phrases:
    """Phrases of a relation that is called so."""
    text = " ".join(words)
    match words:
        case []:
            return [], []
        case ["is", "a"] | ["isa"]:
            return _phrases(["subclass", "of"])
        case ["is" | "are" | "was", *rest] if rest:
            return _phrases(rest)
        case ["has" | "have", *rest] if rest:
            noun = _any_form(" ".join(rest))
            return [text, f"{_HAS}{noun}"], [f"{_BE}{_A}{noun} (of|for|in)"]
        case [*before, "of" | "for" as preposition] if before and not _is_verb(before[0]):
            noun = _any_form(" ".join(before))
            return [f"{_BE}{_A}{noun} {preposition}"], [f"{_HAS}{noun}"]
        case [*before, last] if before and last in _PREPOSITIONS:
            if _is_verb(before[0]):
                return [" ".join([_active(before[0], past=True), *words[1:]])], []
            return [f"{_BE}{text}"], []
    adverbs = [word for word in words if word.endswith("ly")]
    verb, rest = words[len(adverbs) : len(adverbs) + 1], words[len(adverbs) + 1 :]
    if words[: len(adverbs)] == adverbs and verb and _is_verb(verb[0]):
        active = " ".join([*adverbs, _active(verb[0]), *rest])
        passive = " ".join([*adverbs, _participle(verb[0])])
        return [active if rest else f"{active}( (with|to|in|on))?"], [] if rest else [f"{_BE}{passive} (by|with|in)"]
    by_name = f"{_BE}(related|linked|connected) (to )?(by|as|through) {_A}{text}( (to|with|of))?"
    return [by_name], [by_name]


def _any_form(noun: str) -> str:
    return f"({'|'.join(_forms(noun))})"


def _is_verb(word: str) -> bool:
    """Tell whether a word looks like a verb of what one thing does: treats, regulates."""
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _base(verb: str) -> str:
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def _active(verb: str, *, past: bool = False) -> str:
    base = _base(verb)
    going = base[:-1] if base.endswith("e") and not base.endswith("ee") else base
    return f"({'|'.join([base, verb, f'{going}ing', *([_participle(verb)] if past else [])])})"


def _participle(verb: str) -> str:
    base = _base(verb)
    if base in _PARTICIPLES:
        return _PARTICIPLES[base]
    if base.endswith("e"):
        return f"{base}d"
    return f"{base[:-1]}ied" if re.search(r"[^aeiou]y$", base) else f"{base}ed"


def _is_mutual(words: list[str], patterns: Sequence[Pattern]) -> bool:
    predicate = model().predicate("_".join(words_in(patterns[0].type)))
    stated = (predicate and predicate.symmetric) or any(p.symmetric for p in patterns)
    return bool(stated) or words[-1:] == ["with"] or any(map(_MUTUAL.fullmatch, words))


def _roles(relation: str, words: list[str], patterns: Sequence[Pattern]) -> Iterator[dict[str, Any]]:
    """The noun that a relation such as ``has_phenotype`` has for one end."""
    if len(words) > 1 and words[0] in ("has", "have") and words[-1] not in _PREPOSITIONS:
        tails = {p.tail for p in patterns}
        if len(tails) == 1:
            forms = _forms(" ".join(words[1:]))
            yield {"nouns": forms, "relation": relation, "role": "tail", "label": tails.pop(), "soft": True}
