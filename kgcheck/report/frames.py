"""Findings as Arrow tables and data frames: one row a finding, its evidence as a list of structs."""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgcheck.errors import MissingExtra
from kgcheck.ledger.rows import finding_columns
from kgcheck.model import Finding

if TYPE_CHECKING:
    import pandas

_ROWS = 10_000
"""Findings that are turned into columns at a time."""

_TIME = pa.timestamp("us", tz="UTC")

EVIDENCE = pa.struct(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("release", pa.string(), nullable=False),
        pa.field("record", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("retrieved_at", _TIME, nullable=False),
        pa.field("pinned_at", _TIME),
        pa.field("stance", pa.string(), nullable=False),
        pa.field("world", pa.string(), nullable=False),
        pa.field("tier", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("value", pa.string()),
        pa.field("quote", pa.string()),
        pa.field("score", pa.float64()),
        pa.field("about", pa.string()),
        pa.field("replacements", pa.list_(pa.string())),
        pa.field("candidates", pa.list_(pa.string())),
    ]
)
"""One observation; the fields are those of kgcheck.Evidence."""

GAP = pa.struct([pa.field("source", pa.string(), nullable=False), pa.field("cause", pa.string(), nullable=False)])
"""A deciding source that could not be looked at, and why."""

FINDINGS = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("run", "fingerprint", "type")),
        *(pa.field(name, pa.string()) for name in ("subject_label", "subject_id", "subject_name", "relation")),
        *(pa.field(name, pa.string()) for name in ("object_label", "object_id", "object_name")),
        *(pa.field(name, pa.string()) for name in ("attribute", "rule", "value")),
        *(pa.field(name, pa.string(), nullable=False) for name in ("outcome", "reason")),
        pa.field("graph", pa.string()),
        pa.field("confidence", pa.float64(), nullable=False),
        pa.field("note", pa.string()),
        pa.field("missing", pa.list_(GAP)),
        *(pa.field(name, pa.string()) for name in ("change_kind", "change_to", "change_because")),
        pa.field("change_candidates", pa.list_(pa.string())),
        pa.field("evidence", pa.list_(EVIDENCE)),
        pa.field("cause", pa.string()),
    ]
)
"""Columns of `findings_arrow`."""


def findings_arrow(findings: Iterable[Finding]) -> pa.Table:
    """Findings as an Arrow table.

    >>> findings_arrow([]).column_names[:4]
    ['run', 'fingerprint', 'type', 'subject_label']
    """
    batches = (pa.RecordBatch.from_pylist([_row(f) for f in some], schema=FINDINGS) for some in _some(findings))
    return pa.Table.from_batches(batches, schema=FINDINGS)


def as_data_frame(table: pa.Table) -> "pandas.DataFrame":
    """An Arrow table as a data frame of pandas."""
    if find_spec("pandas") is None:
        raise MissingExtra("a data frame", "pandas")
    return table.to_pandas()


def _some(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    rest = iter(findings)
    while some := list(islice(rest, _ROWS)):
        yield some


def _row(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    return {
        **finding_columns(finding),
        "graph": finding.mark.graph,
        "cause": finding.cause,
        "missing": [{"source": gap.source, "cause": gap.cause.value} for gap in verdict.missing],
        "evidence": [{name: _plain(value) for name, value in e} for e in verdict.evidence],
    }


def _plain(value: Any) -> Any:
    """A field of an observation as Arrow takes it: members of an enum are strings already."""
    return list(value) if isinstance(value, tuple) else value
