"""Redact secrets in text: passwords in addresses, keys in query strings.

An address with a password is refused where it is given (`carries_credentials`); this is for what others say: messages
of libraries and services, addresses in files. A password may hold any sign, also those that end a host for a parser of
addresses (``bolt://user:p#w@host``), so that everything up to the last @ of a word goes.
"""

import re
from unicodedata import normalize
from urllib.parse import unquote

HIDDEN = "***"
"""Stands where a secret stood."""

_AT = re.compile(r"@|%40|\uff20")
_WRITTEN_AT = re.compile(r"(?:%40|\uff20)(?=[\w\[])")
_SCHEME = re.compile(r"(?<![a-z0-9+.-])[0-9+.-]*+[a-z][a-z0-9+.-]*+:/{1,3}", re.IGNORECASE)
_NAME = re.compile(r"(?<![^\s'\"@:/(\[])[^\s'\"@:/(\[]++:(?!/{1,3}\*\*\*@)")
_RULES = (
    (
        re.compile(
            r"\b(\w*(?:api[_-]?key|password|passwd|pwd|secret|access[_-]?token|auth[_-]?token|client[_-]?key)=)[^&\s'\"]+",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"([?&;](?:key|token|auth|authorization|sig|signature)=)[^&\s'\"]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"\b(bearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"\b(sk-)[\w-]{12,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(kgc_)\w*[\w-]{8,}"), rf"\1{HIDDEN}"),
)


def redact(text: str) -> str:
    """Text with *** in the place of what looks like a secret.

    >>> redact("cannot reach https://me:secret@host/x?key=abc")
    'cannot reach https://***@host/x?key=***'
    """
    text = re.sub(r"\S+", _without_somebody, text)
    text = re.sub(r"[^\s@]+(?:@(?=[\w\[]))?", _without_name, text)
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text


def _without_somebody(word: re.Match[str]) -> str:
    """An address with somebody before its host; a path has only one of the slashes left."""
    text = word[0]
    ends = [at.span() for at in _AT.finditer(text)][-1:]
    begins = _SCHEME.search(text, 0, ends[0][0]) if ends else None
    return f"{text[: begins.end()]}{HIDDEN}@{text[ends[0][1] :]}" if begins else text


def _without_name(part: re.Match[str]) -> str:
    """The same without its scheme: up to an @ that a host follows."""
    text = part[0]
    ends = [(len(text) - 1, len(text))] if text.endswith("@") else [at.span() for at in _WRITTEN_AT.finditer(text)][-1:]
    begins = next((m.start() for m in _NAME.finditer(text) if ends and m.end() <= ends[0][0]), None)
    return text if begins is None else f"{text[:begins]}{HIDDEN}@{text[ends[0][1] :]}"


def carries_credentials(address: str) -> bool:
    """Tell whether an address names somebody before its host, in whatever spelling.

    >>> carries_credentials("bolt://me%40host"), carries_credentials("bolt://host:7687")
    (True, False)
    """
    return "@" in _plain(address)


def is_secret_path(path: str) -> bool:
    """Tell whether a path is really an address with a password: with no scheme, or with a mistyped one."""
    somebody, at, _ = _plain(path).rpartition("@")
    return bool(at) and ":" in somebody


def _plain(address: str) -> str:
    return normalize("NFKC", unquote(address))
