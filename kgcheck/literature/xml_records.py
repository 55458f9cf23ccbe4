"""Stream the records of an XML file one at a time, bounded, without entities."""

import io
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from kgcheck.errors import InputFormat
from kgcheck.inputs import DEEPEST, LARGEST_DOCUMENT, MIB, Bounded


def xml_records(path: Path, kind: str, tags: Collection[str], roots: Collection[str] = ()) -> Iterator[Any]:
    """The elements with one of some tags that stand within no other such one, without namespaces in their tags.

    Each is emptied when the next is asked for. A file that begins with another element than ``roots`` is refused.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, iterparse

    around: list[Any] = []
    inside: Any = None
    try:
        raw = Bounded(path, lines=False, most=LARGEST_DOCUMENT)
        with io.BufferedReader(raw, MIB) as stream:
            for event, element in iterparse(stream, events=("start", "end")):
                if event == "start":
                    if "}" in element.tag:
                        element.tag = element.tag.rpartition("}")[2]
                    if roots and not around and element.tag not in roots:
                        raise InputFormat(
                            f"{path} is no {kind}: it begins with <{element.tag}>",
                            "name a file whose root is an article or a set of articles",
                        )
                    if inside is None and element.tag in tags:
                        inside = element
                    around.append(element)
                    if len(around) > DEEPEST:
                        raise InputFormat(
                            f"{path} nests elements deeper than {DEEPEST}", "no paper does: get the file again"
                        )
                    continue
                around.pop()
                if element is inside:
                    yield element
                    element.clear()
                    raw.mark()
                    inside = None
                if inside is None and len(around) == 1:
                    # Also its place in the set goes: millions of empty ones would stay.
                    around[0].clear()
                    raw.mark()
    except (ParseError, DefusedXmlException, OSError, EOFError, LookupError, ValueError, zlib.error) as error:
        raise InputFormat(f"{path} is not {kind}: {error!r}"[:300], "it may be cut off") from error
