"""Encode a list value as one text with escaped separators, and decode it, in Python and SQL.

The items stand apart by a semicolon and a space; inside an item, a backslash stands before each semicolon and
backslash. So nothing is lost, and a list without those two characters reads as one would write it.
"""

import re
from collections.abc import Iterable, Sequence

_PART = re.compile(r"\\[\\;]|; |.", re.DOTALL)

JOINED_SQL = r"array_to_string(list_transform({items}, lambda i: replace(replace(i, '\', '\\'), ';', '\;')), '; ')"
"""DuckDB's way to say `joined`; ``{items}`` is a list of strings."""


SPLIT_SQL = (
    r"CASE WHEN len({items}) = 1 THEN list_concat({items}, string_split_regex({items}[1], '\s*[,|;]\s*')) "
    "ELSE {items} END"
)
"""The names that a list has: a lone item may be a list that a graph holds as one text, so its parts count, too."""


def separator_of(items: Sequence[str]) -> str | None:
    """Return the separator of a list that a graph holds as one text; None where it is a list."""
    return next((s for s in ("|", ";", ",") if len(items) == 1 and s in items[0]), None)


def joined(items: Iterable[str]) -> str:
    """A list as one text.

    >>> joined(["TP53", "P53"])
    'TP53; P53'
    >>> items_of(joined(["TP53", "a; b"]))
    ['TP53', 'a; b']
    """
    return "; ".join(item.replace("\\", "\\\\").replace(";", "\\;") for item in items)


def items_of(text: str | None) -> list[str]:
    """The list that `joined` made a text of. No text is no items: of a list with one empty item, nothing comes back."""
    if not text:
        return []
    items = [""]
    for part in _PART.findall(text):
        if part == "; ":
            items.append("")
        else:
            items[-1] += part[-1]
    return items
