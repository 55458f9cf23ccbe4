"""Regular expressions of a profile, matched in time that grows with the text alone.

A profile may come from anybody, and Python's own engine can take ages for `(a+)+`. So they are matched by RE2, the
engine that DuckDB has too: what is an id in a statement is one here.
"""

import pyarrow as pa
import pyarrow.compute as pc

LONGEST_PATTERN = 1_000
"""Characters of one expression."""


def whole_pattern(pattern: str) -> str:
    """An expression for whole texts, checked.

    Args:
        pattern: RE2 syntax: no look-around, no back references.

    Returns:
        The expression.

    Raises:
        ValueError: It is none, or too long.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"the expression has more than {LONGEST_PATTERN:,} characters")
    try:
        # On its own, too: brackets that do not match could otherwise close those that are put around it.
        for text in (pattern, _whole(pattern)):
            pc.match_substring_regex(pa.scalar(""), pattern=text)
    except pa.ArrowInvalid as error:
        told = str(error).removeprefix("Invalid regular expression: ")
        raise ValueError(f"{pattern!r} is no regular expression of RE2: {told}") from None
    return pattern


def matches(pattern: str, text: str) -> bool:
    """Whether a text as a whole has the form.

    >>> matches("GO:[0-9]{7}", "GO:0006915"), matches("GO:[0-9]{7}", "GO:0006915 ")
    (True, False)

    Args:
        pattern: As `whole_pattern` accepted it.
        text: At most a line.

    Returns:
        Whether it does.
    """
    return bool(pc.match_substring_regex(pa.scalar(text), pattern=_whole(pattern)).as_py())


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"
