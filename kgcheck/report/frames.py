"""Findings as Arrow tables and pandas data frames, one row each, with evidence as structs."""

from collections.abc import Iterable
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgcheck.errors import MissingExtra
from kgcheck.ledger.rows import batches, finding_columns
from kgcheck.model import Evidence, Finding

if TYPE_CHECKING:
    import pandas

_ROWS = 10_000
"""Findings that are turned into columns at a time."""

_ARROW_TYPES: dict[Any, pa.DataType] = {
    **dict.fromkeys((datetime, datetime | None), pa.timestamp("us", tz="UTC")),
    float | None: pa.float64(),
    tuple[str, ...]: pa.list_(pa.string()),
}

EVIDENCE = pa.struct(
    [
        pa.field(name, _ARROW_TYPES.get(field.annotation, pa.string()), nullable=not field.is_required())
        for name, field in Evidence.model_fields.items()
    ]
)
"""One observation; the fields are those of kgcheck.Evidence."""

GAP = pa.struct([pa.field("source", pa.string(), nullable=False), pa.field("cause", pa.string(), nullable=False)])
"""A deciding source that could not be looked at, and why."""


def _texts(names: str, *, nullable: bool = True) -> list[pa.Field]:
    return [pa.field(name, pa.string(), nullable=nullable) for name in names.split()]


FINDINGS = pa.schema(
    [
        *_texts("run fingerprint type", nullable=False),
        *_texts("subject_label subject_id subject_name relation object_label object_id object_name"),
        *_texts("attribute rule value"),
        *_texts("outcome reason", nullable=False),
        *_texts("graph"),
        pa.field("confidence", pa.float64(), nullable=False),
        *_texts("note"),
        pa.field("missing", pa.list_(GAP)),
        *_texts("change_kind change_to change_because"),
        pa.field("change_candidates", pa.list_(pa.string())),
        pa.field("evidence", pa.list_(EVIDENCE)),
        *_texts("cause"),
    ]
)
"""Columns of `findings_arrow`."""


def findings_arrow(findings: Iterable[Finding]) -> pa.Table:
    """Findings as an Arrow table.

    >>> findings_arrow([]).column_names[:4]
    ['run', 'fingerprint', 'type', 'subject_label']
    """
    made = (pa.RecordBatch.from_pylist([_row(f) for f in some], schema=FINDINGS) for some in batches(findings, _ROWS))
    return pa.Table.from_batches(made, schema=FINDINGS)


def as_data_frame(table: pa.Table) -> "pandas.DataFrame":
    """An Arrow table as a data frame of pandas."""
    if find_spec("pandas") is None:
        raise MissingExtra("a data frame", "pandas")
    return table.to_pandas()


def _row(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    return {
        **finding_columns(finding),
        "graph": finding.mark.graph,
        "cause": finding.cause,
        "missing": [{"source": gap.source, "cause": gap.cause.value} for gap in verdict.missing],
        "evidence": [dict(e) for e in verdict.evidence],
    }
