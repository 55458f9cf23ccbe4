"""Escape control, invisible and bidirectional characters in text from outside; ASCII JSON.

A terminal obeys control characters (ESC moves the cursor, changes colours, sets the clipboard), some characters turn
the direction of writing, so that a line reads otherwise than it is, and some are not seen at all. None of them reaches
a terminal, a report or JSON as itself. Line breaks and tabs are for layout: text from outside has none.
"""

import json
import re
from typing import Any

HIDDEN = (
    "\x00-\x1f\x7f-\x9f"  # C0 but for layout, DEL, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, line separators, directions and isolates
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff"  # halves of a pair, each alone
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags and variation selectors
)
"""The characters, as the inside of a character class: Unicode's categories Cc, Cf, Cs, Zl and Zp, and what it calls
default ignorable."""

_HIDDEN = re.compile(f"[{HIDDEN}]")
_IN_LAYOUT = re.compile(f"(?![\n\t])[{HIDDEN}]")
_NOT_PRINTABLE_ASCII = re.compile("[^\n\t\x20-\x7e]")

HIDDEN_RE2 = "".join(c if c == "-" else f"\\x{{{ord(c):x}}}" for c in HIDDEN.replace("\ud800-\udfff", ""))
"""The same for the regular expressions of DuckDB and Arrow, whose text has no halves of pairs."""


def visible(text: str, *, layout: bool = False) -> str:
    r"""Text in which what cannot be seen is spelt out: ESC as ``\x1b``, a turn of direction as ``<U+202E>``.

    >>> print(visible("red: \x1b[31m"))
    red: \x1b[31m
    """
    return (_IN_LAYOUT if layout else _HIDDEN).sub(_spelt, text)


def as_json(value: Any, *, indent: int | None = None) -> str:
    """A value as JSON in ASCII, which is the same on every terminal and in every encoding."""
    return safe_json(json.dumps(value, indent=indent))


def safe_json(text: str) -> str:
    """The same JSON in ASCII: outside of strings it has no other characters."""
    return _NOT_PRINTABLE_ASCII.sub(_escaped, text)


def _spelt(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0xA0 else f"<U+{code:04X}>"


def _escaped(match: re.Match[str]) -> str:
    pair = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pair[at : at + 4]}" for at in range(0, len(pair), 4))
