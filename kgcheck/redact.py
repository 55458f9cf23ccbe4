"""Takes secrets out of text that people, logs and files get to see: passwords in addresses, keys in query strings.

An address with a password is refused where it is given (`carries_credentials`); this is for what others say: messages
of libraries and services, addresses in files. A password may hold any sign, also those that end a host for a parser of
addresses (``bolt://user:p#w@host``), so that everything up to the last @ of a word goes.
"""

import re
from unicodedata import normalize
from urllib.parse import unquote

HIDDEN = "***"
"""Stands where a secret stood."""

_AT = r"(?:@|%40|\uff20)"
_RULES = (
    # An address with somebody before the host; a path has only one of the slashes left.
    (re.compile(rf"([a-z][a-z0-9+.-]*:/{{1,3}})\S*{_AT}", re.IGNORECASE), rf"\1{HIDDEN}@"),
    # The same without its scheme.
    (re.compile(rf"[^\s'\"@:/(\[]+:(?!/{{1,3}}\*\*\*@)[^\s@]*{_AT}(?=[\w\[])"), f"{HIDDEN}@"),
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

    Args:
        text: A message or an address.

    Returns:
        The text.

    >>> redact("cannot reach https://me:secret@host/x?key=abc")
    'cannot reach https://***@host/x?key=***'
    """
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text


def carries_credentials(address: str) -> bool:
    """Whether an address names somebody before its host, however that is written.

    Returns:
        True where it does.

    >>> carries_credentials("bolt://me%40host"), carries_credentials("bolt://host:7687")
    (True, False)
    """
    return "@" in _plain(address)


def is_secret_path(path: str) -> bool:
    """Whether what is to be a path is an address with a password: with no scheme, or with a mistyped one."""
    somebody, at, _ = _plain(path).rpartition("@")
    return bool(at) and ":" in somebody


def _plain(address: str) -> str:
    return normalize("NFKC", unquote(address))
