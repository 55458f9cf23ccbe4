"""Row and byte limits on the results of untrusted queries."""

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

LONGEST_ANSWER = 4 << 20
"""Bytes of JSON that the rows of one answer may have."""


class TooLargeAnswer(Exception):
    """Rows have more bytes, or a list more elements, than an answer may have."""


def bounded_rows(rows: Iterable[Sequence[Any]], limit: int, longest_list: int | None = None) -> list[list[Any]]:
    """At most `limit` rows, taken one by one and only as long as the answer stays within its bytes."""
    kept: list[list[Any]] = []
    size = len('{"rows": []}')
    for row in islice(rows, limit):
        size += len(json.dumps(row, default=str)) + len(", ")
        if size > LONGEST_ANSWER or (
            longest_list is not None and any(isinstance(v, list) and len(v) > longest_list for v in row)
        ):
            raise TooLargeAnswer
        kept.append(list(row))
    return kept
