"""The elements of an XML file as they begin and end: bounded, and without entities or declarations of other files."""

import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgcheck.errors import InputFormat
from kgcheck.inputs import DEEPEST, LARGEST_DOCUMENT, MIB, Bounded


class XmlElements:
    """Reader of the elements of an XML file."""

    def __init__(self, path: Path, raw: Bounded, stream: io.BufferedIOBase) -> None:
        self._path = path
        self._raw = raw
        self._stream = stream
        self.around: list[Any] = []
        """The elements that are open, from the root on; without the one that has just ended."""

    def ends(self, start: Callable[[Any], None] | None = None) -> Iterator[Any]:
        """The elements as they end."""
        from defusedxml.ElementTree import iterparse

        for event, element in iterparse(self._stream, events=("start", "end")):
            if event == "end":
                self.around.pop()
                yield element
                continue
            if start:
                start(element)
            self.around.append(element)
            if len(self.around) > DEEPEST:
                raise InputFormat(
                    f"{self._path} nests elements deeper than {DEEPEST}", "no paper does: get the file again"
                )

    def end_record(self) -> None:
        """Say that a record has ended: the next one may be as long again."""
        self._raw.mark()


@contextmanager
def xml_elements(path: Path, kind: str) -> Iterator[XmlElements]:
    """Open an XML file."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError

    try:
        raw = Bounded(path, lines=False, most=LARGEST_DOCUMENT)
        with io.BufferedReader(raw, MIB) as stream:
            yield XmlElements(path, raw, stream)
    except (ParseError, DefusedXmlException, OSError, EOFError, LookupError, ValueError, zlib.error) as error:
        raise InputFormat(f"{path} is not {kind}: {error!r}"[:300], "it may be cut off") from error
