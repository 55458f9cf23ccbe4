"""Ways between two labels through labels that nobody named."""

from collections.abc import Iterator

from kgcheck.profile.lexicon import Lexicon
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.questions.nodes import Direction

Step = tuple[Pattern, Direction, str]
"""A relation, its direction seen from the near end, and the label at the far end."""


class Routes:
    """Finds them.

    Args:
        schema: Profile.
        lexicon: Says which relations need words.
    """

    def __init__(self, schema: Schema, lexicon: Lexicon) -> None:
        self._schema = schema
        self._lexicon = lexicon

    def between(self, starts: tuple[str, ...], ends: tuple[str, ...], most: int) -> Iterator[tuple[str, list[Step]]]:
        """Ways from one label to another of at most so many relations that need no words; none visits a label twice."""
        usable = [
            p for p in self._schema.relations if p.head != p.tail and not self._lexicon.relation(p.type).words_needed
        ]
        ways: list[tuple[str, list[Step]]] = [(start, []) for start in starts]
        for _ in range(most):
            longer: list[tuple[str, list[Step]]] = []
            for start, steps in ways:
                here = steps[-1][2] if steps else start
                seen = {start, *(label for _, _, label in steps)}
                for p in usable:
                    if here not in (p.head, p.tail):
                        continue
                    there, direction = (p.tail, "out") if p.head == here else (p.head, "in")
                    if there not in seen:
                        step: Step = (p, "out" if direction == "out" else "in", there)
                        longer.append((start, [*steps, step]))
            yield from ((start, steps) for start, steps in longer if steps[-1][2] in ends)
            ways = longer

    def same(self, starts: tuple[str, ...], ends: tuple[str, ...]) -> list[tuple[str, list[Step]]]:
        """One relation between things that are said for each other, as a gene for its protein."""
        routes = self.between(starts, ends, 1)
        return [(start, steps) for start, steps in routes if self._lexicon.relation(steps[0][0].type).stands_for]
