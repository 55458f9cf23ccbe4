"""Text as kgcheck keeps it, and its sentences with exact offsets."""

import html
import re
import unicodedata

_MARKUP = re.compile(
    r"</?(?:i|b|u|p|br|em|strong|sub|sup|span|div|h\d|ul|ol|li|sec|title|italic|bold|abstracttext|jats:[a-z-]+|mml:[a-z]+)"
    r"(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
"""Tags that publishers leave in abstracts. Only these: `p<0.05 and n>3` is no tag."""

_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")

Span = tuple[int, int]
"""Start and end in a text, so that ``text[start:end]`` is the passage."""


def clean(text: str) -> str:
    """Text without entities, markup and control characters, in Unicode NFC, with single spaces.

    Args:
        text: As a provider gives it; entities may be escaped twice.

    Returns:
        What is kept. Quotes and offsets are those of this text.
    """
    text = html.unescape(html.unescape(text)) if "&" in text else text
    text = _MARKUP.sub(" ", text) if "<" in text else text
    text = unicodedata.normalize("NFC", text)
    # Lone surrogates and control characters can neither be stored nor shown.
    text = "".join(c if unicodedata.category(c) not in ("Cc", "Cs") else " " for c in text)
    return _SPACE.sub(" ", text).strip()


def sentences(text: str) -> tuple[Span, ...]:
    """Where the sentences of a text are, in order, without the space around them.

    Args:
        text: Cleaned text.

    Returns:
        Spans that do not overlap and leave out nothing but space.
    """
    import sentencex

    found: list[Span] = []
    for boundary in sentencex.get_sentence_boundaries("en", text):
        start, end = boundary["start_index"], boundary["end_index"]
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end = start + len(piece.strip())
        if end > start:
            found.append((start, end))
    return tuple(found)


def fingerprint_text(*parts: str) -> str:
    """The letters and digits of texts in lower case: equal for copies that differ in form only."""
    return " ".join(word for part in parts for word in _WORD.findall(part.casefold()))
