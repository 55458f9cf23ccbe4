"""A tiny model of inference for tests: each word adds its own scores to the labels."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from kgcheck.literature.embed import import_openvino

THREE = ("entailment", "neutral", "contradiction")
WORDS: Mapping[str, tuple[float, ...]] = {"agrees": (6, 0, -6), "differs": (-6, 0, 6), "broken": (np.nan, 0, 0)}
"""What a word adds to entailment, neutral and contradiction; any other adds nothing."""

_UNKNOWN = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def model_folder(
    folder: Path,
    labels: Sequence[str] = THREE,
    *,
    outputs: Sequence[str] | None = None,
    length: int = -1,
    config: Mapping[str, Any] | None = None,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
) -> Path:
    """A model in a folder, as a user has one."""
    folder.mkdir(parents=True, exist_ok=True)
    openvino = import_openvino()
    op = openvino.opset13
    table = np.zeros((len(_UNKNOWN) + len(WORDS), len(outputs or labels)), dtype=np.float32)
    for row, scores in enumerate(WORDS.values(), len(_UNKNOWN)):
        own = dict(zip(THREE, scores, strict=True)) | {"not_contradiction": -scores[2]}
        table[row] = [own.get(name.lower(), 0.0) for name in outputs or labels]
    ids, *rest = (op.parameter([-1, length], np.int64, name=name) for name in inputs)
    scores = op.gather(op.constant(table), ids, op.constant(np.int64(0)))
    for other in rest[:1]:
        mask = op.unsqueeze(op.convert(other, "f32"), op.constant(np.array([2])))
        # What is padding must count for nothing, whatever stands there.
        scores = op.select(op.greater(mask, op.constant(np.float32(0.5))), scores, op.constant(np.float32(0)))
    total = op.reduce_sum(scores, op.constant(np.array([1])))
    model = openvino.Model([total], [ids, *rest], "tiny")
    openvino.save_model(model, folder / "openvino_model.xml", compress_to_fp16=False)
    vocabulary = {word: n for n, word in enumerate((*_UNKNOWN, *WORDS))}
    pieces = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    pieces.normalizer = Lowercase()
    pieces.pre_tokenizer = Whitespace()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    pieces.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    pieces.save(str(folder / "tokenizer.json"))
    named = {"id2label": {str(n): name for n, name in enumerate(labels)}} | dict(config or {})
    (folder / "config.json").write_text(json.dumps(named), encoding="utf-8")
    return folder
