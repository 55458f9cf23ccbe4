"""Questions made from the lexicon: every phrase of a relation, between nouns and ids, in every form of question."""

import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from kgcheck.profile.lexicon import Lexicon
from kgcheck.profile.schema import Pattern, Schema

FRAMES = (
    "Which {0} {1}?",
    "what {0} {1}",
    "List all {0} that {1}.",
    "Show me the {0} which {1}",
    "Give me every one of the {0} that {1}, please",
    "Find {0} that {1}",
    "Tell me which {0} {1}",
    "How many {0} {1}?",
)

NOUNS = {
    "Protein": ("proteins", "polypeptides"),
    "Gene": ("genes", "gene symbols"),
    "Disease": ("diseases", "disorders", "illnesses"),
    "Tissue": ("tissues", "organs"),
    "Biological_process": ("biological processes", "processes"),
    "Molecular_function": ("molecular functions", "functions"),
    "Cellular_component": ("cellular components", "compartments", "organelles"),
    "Pathway": ("pathways", "biological pathways"),
    "Protein_structure": ("structures", "PDB entries", "solved structures"),
    "Amino_acid_sequence": ("sequences", "amino acid sequences"),
    "Modified_protein": ("modified sites", "modification sites"),
    "Modification": ("modifications", "PTMs"),
}


class Asked(NamedTuple):
    """A question, and what it has to be understood as."""

    text: str
    pattern: Pattern
    direction: str
    number: bool


def texts(pattern: str, rng: random.Random) -> str:
    """One text that a regular expression of the lexicon means: groups, alternatives, optional parts, classes."""
    text, _ = _alternatives(pattern.replace("{0,3}", "?"), 0, rng)
    return " ".join(text.split())


def _alternatives(pattern: str, at: int, rng: random.Random) -> tuple[str, int]:
    options, current = [], ""
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            options.append(current)
            current, at = "", at + 1
            continue
        piece, at = _piece(pattern, at, rng)
        if at < len(pattern) and pattern[at] == "?":
            piece, at = (piece if rng.random() < 0.5 else ""), at + 1
        current += piece
    return rng.choice([*options, current]), at


def _piece(pattern: str, at: int, rng: random.Random) -> tuple[str, int]:
    if pattern[at] == "\\":
        return ("" if pattern[at + 1] == "b" else " " if pattern[at + 1] == "s" else pattern[at + 1]), at + 2
    if pattern[at] == "[":
        end = pattern.index("]", at)
        return rng.choice(pattern[at + 1 : end]), end + 1
    if pattern[at] != "(":
        return pattern[at], at + 1
    looks = pattern.startswith(("(?=", "(?!", "(?<"), at)
    text, end = _alternatives(pattern, at + 1, rng)
    return "" if looks else text, end + 1


def asked(schema: Schema, lexicon: Lexicon, ids: dict[str, str], seed: int = 0) -> Iterator[Asked]:
    """Every relation in both directions, by each of its phrases, in every frame."""
    rng = random.Random(seed)  # noqa: S311
    for pattern in schema.relations:
        if schema.label(pattern.tail).shares_ids_with:
            # An id alone names the protein, not its sequence.
            continue
        words = lexicon.relation(pattern.type)
        for phrases, backward in ((words.forward, False), (words.backward, True)):
            for phrase, frame in product(phrases, FRAMES):
                said = texts(phrase, rng)
                # A phrase is said of the head; backwards, of the tail.
                subject, other = (pattern.tail, pattern.head) if backward else (pattern.head, pattern.tail)
                way, back = ("in", "out") if backward else ("out", "in")
                if pattern.symmetric:
                    way = back = "either"
                count = frame.startswith("How many")
                first = frame.format(rng.choice(NOUNS[subject]), f"{said} {ids[other]}")
                yield Asked(first, pattern, way, count)
                does = "does " if frame.split()[0] in ("Which", "what", "Tell", "How") else ""
                second = frame.format(rng.choice(NOUNS[other]), f"{does}{ids[subject]} {said}")
                yield Asked(second, pattern, back, count)


def asked_by_noun(schema: Schema, lexicon: Lexicon, ids: dict[str, str], seed: int = 0) -> Iterator[Asked]:
    """Every relation that needs no words in both directions, by each noun of what is asked for."""
    rng = random.Random(seed)  # noqa: S311
    nouns = {label.name: label.nouns for label in lexicon.labels}
    frames = (
        "Which {0} are there for {1}?",
        "{0} of {1}",
        "how many {0} does {1} have?",
        "Please list the {0} of {1}.",
    )
    for pattern in schema.relations:
        if pattern.head == pattern.tail or lexicon.relation(pattern.type).words_needed:
            continue
        for wanted, other, way in ((pattern.head, pattern.tail, "out"), (pattern.tail, pattern.head, "in")):
            if schema.label(other).shares_ids_with:
                continue
            for noun, frame in product(nouns[wanted], frames):
                if "(?" in noun:
                    continue
                text = frame.format(texts(noun, rng), ids[other])
                yield Asked(text, pattern, way, frame.startswith("how many"))
