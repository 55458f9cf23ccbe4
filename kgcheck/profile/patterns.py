"""Check a profile's regular expressions, match texts and read named groups, by RE2.

A profile may come from anybody, and Python's own engine can take ages for `(a+)+`. So they are matched by RE2, the
engine that DuckDB has too: what is an id in a statement is one here.
"""

import struct

import pyarrow as pa
import pyarrow.compute as pc

LONGEST_PATTERN = 1_000
"""Characters of one expression."""

_TOO_LONG = f"the expression has more than {LONGEST_PATTERN:,} characters"


def whole_pattern(pattern: str) -> str:
    """An expression for whole texts, checked."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(_TOO_LONG)
    try:
        # On its own, too: brackets that do not match could otherwise close those that are put around it.
        for text in (pattern, anchored(pattern)):
            pc.match_substring_regex(_one(""), pattern=text)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise ValueError(f"{pattern!r} is no regular expression of RE2: {reason}") from None
    return pattern


def group_names(pattern: str) -> tuple[str, ...]:
    """The names of the groups of an expression, in their order.

    >>> group_names("(?P<entry>[A-Z]+)(?:-(?P<isoform>[0-9]+))?"), group_names("[A-Z]+(-[0-9]+)?")
    (('entry', 'isoform'), ())
    """
    if "(?P<" not in pattern:
        return ()
    try:
        found = pc.extract_regex(_one(""), pattern=anchored(pattern))
    except pa.ArrowInvalid:
        raise ValueError(
            f"{pattern!r} has groups with names and groups without: write (?:...) for those without"
        ) from None
    return tuple(field.name for field in found.type)


def groups_of(pattern: str, text: str) -> dict[str, str]:
    """Return the named groups of an expression in a text; nothing where the text has not the form.

    >>> groups_of("(?P<entry>[A-Z]+)(?:-(?P<isoform>[0-9]+))?", "AB-2")
    {'entry': 'AB', 'isoform': '2'}
    """
    return pc.extract_regex(_one(text), pattern=anchored(pattern))[0].as_py() or {}


def matches(pattern: str, text: str) -> bool:
    """Tell whether a text as a whole has the form.

    >>> matches("GO:[0-9]{7}", "GO:0006915"), matches("GO:[0-9]{7}", "GO:0006915 ")
    (True, False)
    """
    return bool(pc.match_substring_regex(_one(text), pattern=anchored(pattern))[0].as_py())


def named_pattern(pattern: str) -> str:
    """An expression that is looked for in a text, and whose groups have names, checked."""
    if pattern:
        if len(pattern) > LONGEST_PATTERN:
            raise ValueError(_TOO_LONG)
        try:
            found_groups(pattern, "")
        except pa.ArrowInvalid as error:
            raise ValueError(f"{pattern!r} cannot be used: {error}") from None
    return pattern


def found_groups(pattern: str, text: str) -> dict[str, str]:
    r"""The named groups of the first place where an expression fits; in it, ^ and $ are ends of lines.

    >>> found_groups("^v(?P<release>[0-9.]+)$", "a list\nv12.0")
    {'release': '12.0'}
    """
    found: dict[str, str] | None = pc.extract_regex(_one(text), pattern=f"(?m){pattern}")[0].as_py()
    return found or {}


def _one(text: str) -> pa.StringArray:
    # From its bytes: to make an array of Python's values, pyarrow imports pandas where that is installed, for a second.
    written = text.encode()
    return pa.StringArray.from_buffers(1, pa.py_buffer(struct.pack("=ii", 0, len(written))), pa.py_buffer(written))


def anchored(pattern: str) -> str:
    """The expression of a whole text."""
    return f"^(?:{pattern})$"
