"""Sentence models other than the packaged one, and GPUs: sentence-transformers, which brings torch."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from kgcheck.errors import ConfigurationError, MissingExtra
from kgcheck.literature.embed import PACKAGED, TORCH_EXTRA, Vectors, model_digest, model_path


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


def _has_bfloat16(torch: Any) -> bool:
    """Whether the processor computes in bfloat16 by itself: elsewhere it is slower than float32."""
    able = torch.cpu.get_capabilities()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16") or able.get("bf16"))
