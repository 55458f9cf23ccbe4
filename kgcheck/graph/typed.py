"""Columns of a store whose values have any type, brought to the types of the schema."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.graph.store import AS_TEXT, NO_ID, brought_to
from kgcheck.profile.schema import Property

Column = Sequence[Any]


def typed_table(
    keys: Sequence[Column], properties: Mapping[str, Property], values: Sequence[Column], schema: pa.Schema
) -> pa.Table:
    """Columns of a scan, each value brought to the type that the schema gives it."""
    arrays = [_key(column) for column in keys]
    as_text: list[list[str] | None] | None = None
    for (name, spec), column in zip(properties.items(), values, strict=True):
        kind = schema.field(name).type
        array = _as_it_stands(column, kind)
        if array is None:
            array = pa.array([None if v is None else brought_to(spec.type, v) for v in column], kind)
            if spec.type in ("integer", "number"):
                as_text = as_text or [None] * len(column)
                for i, value in enumerate(column):
                    if isinstance(value, str):
                        as_text[i] = [*(as_text[i] or ()), name]
        arrays.append(array)
    rows = len(keys[0])
    kind = schema.field(AS_TEXT).type
    arrays.append(pa.nulls(rows, kind) if as_text is None else pa.array(as_text, kind))
    return pa.Table.from_arrays(arrays, schema=schema)


def _key(column: Column) -> pa.Array:
    array = _as_it_stands(column, pa.string())
    if array is None:
        array = pa.array([None if v is None else str(v) for v in column], pa.string())
    return array.fill_null(NO_ID)


def _as_it_stands(column: Column, kind: pa.DataType) -> pa.Array | None:
    """The column as Arrow reads it, or None where a value has another type, which takes a closer look."""
    # Arrow would take a text for a list of its letters.
    if pa.types.is_list(kind) and not all(v is None or isinstance(v, list) for v in column):
        return None
    try:
        array = pa.array(column, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(array), array, pa.scalar(None, kind))
    return array
