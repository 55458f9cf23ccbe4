"""The encoder of a BERT sentence model as a graph of OpenVINO, made from its weights, without torch."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_REPORTS = "openvino.tools.ovc"

_CLOSED = 1e4
"""Amount taken from the score of a piece that is padding: nothing is left of it."""


def import_openvino() -> Any:
    """OpenVINO without its tools for converting models: those report to their makers that they were imported."""
    if "openvino" not in sys.modules:
        # None stands for a module that cannot be imported, and OpenVINO does without this one.
        sys.modules[_REPORTS] = None  # type: ignore[assignment]
    try:
        import openvino
    finally:
        if _REPORTS in sys.modules and sys.modules[_REPORTS] is None:
            del sys.modules[_REPORTS]
    return openvino


def bert_encoder(config: dict[str, Any], weight: Callable[[str], Floats]) -> Any:
    """The graph from embedded pieces and their mask to one vector a text, the mean over its pieces."""
    openvino = import_openvino()
    op = openvino.opset13
    width, heads, small = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]

    def fixed(value: Any, kind: Any = np.int64) -> Any:
        return op.constant(np.array(value, dtype=kind))

    def kept(name: str) -> Any:
        return op.constant(weight(name), shared_memory=True)

    def linear(x: Any, name: str) -> Any:
        return op.add(op.matmul(x, kept(f"{name}.weight"), False, True), kept(f"{name}.bias"))

    def normalised(x: Any, name: str) -> Any:
        flat = op.mvn(x, fixed([-1]), True, small, "INSIDE_SQRT")
        return op.add(op.multiply(flat, kept(f"{name}.weight")), kept(f"{name}.bias"))

    def by_head(x: Any) -> Any:
        return op.transpose(op.reshape(x, fixed([0, 0, heads, width // heads]), True), fixed([0, 2, 1, 3]))

    embedded = op.parameter([-1, -1, width], np.float32, name="embedded")
    mask = op.parameter([-1, -1], np.float32, name="mask")
    closed = op.multiply(op.subtract(mask, fixed(1, np.float32)), fixed(_CLOSED, np.float32))
    closed = op.unsqueeze(closed, fixed([1, 2]))
    x = normalised(embedded, "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        own = f"encoder.layer.{layer}"
        query, key, value = (by_head(linear(x, f"{own}.attention.self.{n}")) for n in ("query", "key", "value"))
        seen = op.transpose(op.scaled_dot_product_attention(query, key, value, closed), fixed([0, 2, 1, 3]))
        seen = linear(op.reshape(seen, fixed([0, 0, width]), True), f"{own}.attention.output.dense")
        x = normalised(op.add(x, seen), f"{own}.attention.output.LayerNorm")
        made = linear(op.gelu(linear(x, f"{own}.intermediate.dense"), "erf"), f"{own}.output.dense")
        x = normalised(op.add(x, made), f"{own}.output.LayerNorm")
    real = op.unsqueeze(mask, fixed([2]))
    mean = op.divide(op.reduce_sum(op.multiply(x, real), fixed([1])), op.reduce_sum(real, fixed([1])))
    return openvino.Model([mean], [embedded, mask], "sentence")
