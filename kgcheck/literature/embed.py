"""SentenceModel: vectors of texts by a local model, on OpenVINO (the packaged one) or sentence-transformers."""

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kgcheck.errors import ConfigurationError, MissingExtra
from kgcheck.literature.weights import EXTRA, PACKAGED, TORCH_EXTRA, has_torch, model_digest, model_path

PIECES = 256  # word pieces of a text that the packaged model reads: what it was trained with
Vectors = NDArray[np.float32]  # one row a text, of length 1, so that a scalar product is a cosine
_PADDED_TO = 16
_TOGETHER = 2_048  # word pieces that are computed together: more are no faster, and take memory
_GPU = Path("/dev/nvidia0")


class Embedder(Protocol):
    """Anything that makes vectors of texts. Its runtime is what computes them, and how exactly."""

    name: str
    digest: str
    runtime: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, one row a text."""


class _Runtime(NamedTuple):
    precision: str
    dimension: int
    compute: Callable[[list[str]], Vectors]


class SentenceModel:
    """A sentence embedding model: the packaged one, or that of a local folder.

    It computes in bfloat16 where a GPU or the processor has instructions for it; the vectors are float32. May be used
    by several threads, one after the other.
    """

    def __init__(
        self,
        name: str = PACKAGED,
        *,
        library: Literal["openvino", "torch"] = "openvino",
        precision: str = "auto",
        threads: int = 0,
    ) -> None:
        path = model_path(name)
        self.name = name if name == PACKAGED else str(path.resolve())
        self.digest = model_digest(path)
        self._loaded = _on_torch(path, precision) if library == "torch" else _on_openvino(path, precision, threads)
        self.precision, self.dimension = self._loaded.precision, self._loaded.dimension
        self.runtime = f"{library} {self.precision}"
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._lock:
            vectors = self._loaded.compute(list(texts))
        # Normalised here: in bfloat16 the length would be off by half a percent.
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


_REPORTS = "openvino.tools.ovc"

_CLOSED = 1e4  # amount taken from the score of a piece that is padding: nothing is left of it


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


def _bert_encoder(config: dict[str, Any], weight: Callable[[str], Vectors]) -> Any:
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


def _on_openvino(path: Path, precision: str, threads: int) -> _Runtime:
    """Load a BERT encoder. Only texts of one padded length are computed together: no vector depends on its company."""
    try:
        openvino = import_openvino()
        from safetensors import safe_open
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("embedding texts", EXTRA) from error
    core = openvino.Core()
    able = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    precision = precision if precision != "auto" else "bfloat16" if able else "float32"
    options = {
        "INFERENCE_PRECISION_HINT": {"bfloat16": "bf16", "float32": "f32"}[precision],
        "INFERENCE_NUM_THREADS": threads or len(os.sched_getaffinity(0)),
        "NUM_STREAMS": 1,
        # Other processes of the machine have their cores, too.
        "ENABLE_CPU_PINNING": False,
    }
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        # Opened twice: what is mapped while the graph is compiled counts as memory, too.
        with safe_open(path / "model.safetensors", "numpy") as mapped:
            request = core.compile_model(
                _bert_encoder(config, mapped.get_tensor), "CPU", options
            ).create_infer_request()
        # Looked up outside of the graph, and read as they are needed: few rows of this table ever are.
        weights: Any = safe_open(path / "model.safetensors", "numpy")
        words = weights.get_slice("embeddings.word_embeddings.weight")
        kinds = weights.get_tensor("embeddings.token_type_embeddings.weight")
        places: Vectors = weights.get_tensor("embeddings.position_embeddings.weight") + kinds[0]
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
    # Tokenizers and OpenVINO raise bare exceptions.
    except Exception as error:
        raise ConfigurationError(
            f"{path} holds no BERT sentence model: {str(error)[:200]}",
            "name the folder of another model with --model, or fetch this one again",
        ) from error
    tokenizer.enable_truncation(PIECES)
    tokenizer.no_padding()

    def compute(texts: list[str]) -> Vectors:
        vectors = np.zeros((len(texts), places.shape[1]), dtype=np.float32)
        pieces = [np.array(encoding.ids, dtype=np.int64) for encoding in tokenizer.encode_batch(texts)]
        lengths = [-(-len(own) // _PADDED_TO) * _PADDED_TO for own in pieces]
        order = sorted(range(len(texts)), key=lambda i: lengths[i])
        while order:
            length = lengths[order[0]]
            part = [i for i in order[: max(1, _TOGETHER // length)] if lengths[i] == length]
            order = order[len(part) :]
            ids, mask = np.zeros((len(part), length), dtype=np.int64), np.zeros((len(part), length), dtype=np.float32)
            for row, i in enumerate(part):
                ids[row, : len(pieces[i])] = pieces[i]
                mask[row, : len(pieces[i])] = 1
            used, at = np.unique(ids, return_inverse=True)
            rows = np.concatenate([words[int(n) : int(n) + 1] for n in used])
            request.infer([rows[at] + places[:length], mask], share_inputs=True)
            vectors[part] = request.get_output_tensor().data
        return vectors

    return _Runtime(precision, int(places.shape[1]), compute)


def _on_torch(path: Path, precision: str) -> _Runtime:
    # A model is a local folder: a hub must not be asked, nor be waited for.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging
    except ImportError as error:
        raise MissingExtra(f"the model {path}", TORCH_EXTRA) from error
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if precision == "auto":
        # A processor without such instructions is slower with bfloat16 than in float32.
        able = any(torch.cpu.get_capabilities().get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
        precision = "bfloat16" if device == "cuda" or able else "float32"
    try:
        model: Any = SentenceTransformer(
            str(path), device=device, model_kwargs={"dtype": getattr(torch, precision)}, local_files_only=True
        )
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(
            f"{path} holds no sentence-transformers model: {error}", "name the folder of a sentence model"
        ) from error
    threads = torch.get_num_threads()

    def compute(texts: list[str]) -> Vectors:
        # One short text gains nothing from threads, and on a busy machine they wait for each other ten times as long.
        torch.set_num_threads(1 if len(texts) == 1 else threads)
        made = model.encode(
            texts, batch_size=32, normalize_embeddings=False, convert_to_tensor=True, show_progress_bar=False
        )
        return np.asarray(made.float().cpu().numpy())

    return _Runtime(precision, int(model.get_embedding_dimension()), compute)


def open_model(name: str = PACKAGED, *, many: bool = False) -> SentenceModel:
    """A model, to embed many texts or one: the packaged one by OpenVINO, any other by sentence-transformers."""
    if name != PACKAGED or (many and _GPU.exists() and has_torch()):
        return SentenceModel(name, library="torch")
    # On a busy machine the threads of one query wait for each other longer than it takes.
    return SentenceModel(threads=0 if many else 1)
