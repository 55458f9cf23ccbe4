"""A model of inference that a user gives: its labels, its limits, its head, and what a verifier makes of it."""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import ConfigurationError
from kgcheck.literature.documents import Document
from kgcheck.literature.inference import (
    BESIDE,
    INFERRED,
    LONGEST,
    InferenceHead,
    InferenceModel,
    InferenceReader,
    inferred,
    plain,
    to_infer,
)
from kgcheck.literature.trained_verifier import TOO_LONG, Linear, TrainedVerifier
from kgcheck.literature.verify import verify
from kgcheck.model import Stance
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support.inference import THREE, model_folder
from tests.support.literature import build_index

TWO = ("contradiction", "not_contradiction")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> InferenceModel:
    return InferenceModel(model_folder(tmp_path_factory.mktemp("inference") / "tiny"))


@pytest.mark.parametrize("labels", list(permutations(THREE)))
def test_labels_may_stand_in_any_order(labels: tuple[str, ...], tmp_path: Path) -> None:
    model = InferenceModel(model_folder(tmp_path / "m", [n.upper() for n in labels]))

    odds = model.read("a claim", ["it agrees", "it differs", "it is"])

    assert odds[0, 0] > 5 > -5 > odds[0, 1]
    assert odds[1, 1] > 5 > -5 > odds[1, 0]
    assert odds[2] == pytest.approx([-np.log(2)] * 2, abs=1e-6)


@pytest.mark.parametrize("labels", [TWO, TWO[::-1]])
def test_two_labels_say_nothing_of_support(labels: tuple[str, ...], tmp_path: Path) -> None:
    model = InferenceModel(model_folder(tmp_path / "m", labels))

    odds = model.read("a claim", ["it agrees", "it differs"])

    assert not model.has_support
    assert odds.tolist() == [[0.0, pytest.approx(-12)], [0.0, pytest.approx(12)]]


def test_labels_are_read_from_label2id_too(tmp_path: Path) -> None:
    named = {"id2label": None, "label2id": {"contradiction": 2, "entailment": 0, "neutral": 1}}

    assert InferenceModel(model_folder(tmp_path / "m", config=named)).read("c", ["differs"])[0, 1] > 5


@pytest.mark.parametrize(
    "labels",
    [
        ("LABEL_0", "LABEL_1", "LABEL_2"),
        ("entailment", "neutral", "neutral"),
        ("entailment", "not_entailment"),
        ("entailment", "neutral"),
        ("entailment", "contradiction"),
        ("positive",),
        (*THREE, "other"),
    ],
)
def test_labels_that_are_no_inference_are_refused(labels: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"are {', '.join(labels)}: that is no inference") as error:
        InferenceModel(model_folder(tmp_path / "m", labels))

    assert "id2label" in str(error.value.hint)


def unlinked(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def written(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (unlinked("openvino_model.xml"), "neither model.onnx nor openvino_model.xml"),
        (unlinked("openvino_model.bin"), "holds no model of inference|cannot be computed"),
        (unlinked("tokenizer.json"), "no tokenizer.json"),
        (unlinked("config.json"), "config.json cannot be read"),
        (written("config.json", "[" * 100_000), "config.json cannot be read"),
        (written("config.json", "[]"), "no JSON object"),
        (written("config.json", '{"id2label": "neutral"}'), "no inference"),
        (written("config.json", '{"label2id": {"entailment": []}}'), "no inference"),
        (written("tokenizer.json", "{}"), "holds no model of inference"),
        (written("openvino_model.xml", "<net"), "holds no model of inference"),
        (written("model.onnx", "not a model"), "holds no model of inference"),
    ],
)
def test_a_folder_without_a_model_is_refused(spoil: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    spoil(model_folder(tmp_path / "m"))

    with pytest.raises(ConfigurationError, match=message):
        InferenceModel(tmp_path / "m")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"inputs": ("pixel_values", "attention_mask")}, "has an input pixel_values"),
        ({"inputs": ("attention_mask",)}, "no input input_ids"),
        ({"labels": TWO, "outputs": THREE}, "gives 3 numbers for a pair, where its labels are 2"),
    ],
)
def test_models_of_another_form_are_refused(tmp_path: Path, made: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        InferenceModel(model_folder(tmp_path / "m", **made))


def test_no_folder_and_what_is_no_number_are_refused(tiny: InferenceModel, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no model folder"):
        InferenceReader.of(tmp_path / "m")
    with pytest.raises(ConfigurationError, match="gives what is no number"):
        tiny.read("a claim", ["it is broken"])


def test_of_a_long_text_the_beginning_is_read_beside_the_whole_claim(tmp_path: Path) -> None:
    model = InferenceModel(model_folder(tmp_path / "m", length=16))

    odds = model.read("one two three differs", ["word " * 500 + "agrees", "agrees agrees " + "word " * 100_000])

    assert odds[0, 1] > 5
    assert odds[1, 0] > 5
    assert not model.reads("word " * 9)
    assert model.reads("word " * 8)


def test_the_length_of_any_graph_is_bounded(tiny: InferenceModel, tmp_path: Path) -> None:
    assert not tiny.reads("word " * (LONGEST // 2 + 1))
    assert not tiny.reads("w" * 1_000_000)
    short = InferenceModel(model_folder(tmp_path / "m", config={"max_position_embeddings": 20}))
    assert not short.reads("word " * 11)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=200), st.text(max_size=2_000))
def test_any_text_is_read(claim: str, text: str) -> None:
    model = _ANY[0]

    assert not model.reads(claim) or np.isfinite(model.read(claim, [text])).all()


_ANY: list[InferenceModel] = []


@pytest.fixture(scope="module", autouse=True)
def _any(tiny: InferenceModel) -> None:
    _ANY[:] = [tiny]


def test_the_digest_is_of_weights_tokenizer_and_what_outputs_mean(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "a")
    one = InferenceModel(folder)
    (folder / "config.json").write_text(json.dumps({"label2id": {n: i for i, n in enumerate(THREE)}}), encoding="utf-8")
    renamed = InferenceModel(folder)
    (folder / "config.json").write_text(json.dumps({"id2label": dict(enumerate(reversed(THREE)))}), encoding="utf-8")
    turned = InferenceModel(folder)
    longer = InferenceModel(model_folder(tmp_path / "b", length=64))

    assert one.digest == renamed.digest
    assert len({one.digest, turned.digest, longer.digest}) == 3


ABSTRACT = "We gave zincol to mice. Zincol differs from all that was known of gout. Nothing else was seen."
CLAIM = "Zincol prevents gout in mice."


def test_the_gate_comes_after_inference(tiny: InferenceModel) -> None:
    paper = Document(ids=("x",), abstract=ABSTRACT)
    verifier = TrainedVerifier(inference=InferenceReader(tiny, None))

    about = verify(CLAIM, [paper], verifier)
    other = verify("Zincol prevents asthma in mice.", [paper], verifier)

    question = ("Does zincol prevent gout in mice?", [paper])
    # Without a head three labels are taken at their word; questions are read without the model.
    assert about.opinions[0].probability == pytest.approx(1, abs=0.01)
    assert verifier.judge(*question) == TrainedVerifier().judge(*question)
    assert plain(np.array([[-9.0, -9.0]]))[2] == pytest.approx(1, abs=0.001)
    assert (about.stance, other.stance) == (Stance.CONTRADICTS, Stance.SILENT)
    assert "asthma" in other.opinions[0].note
    assert about.verifier == f"trained, with {tiny.name} {tiny.digest}"


def test_a_claim_without_room_is_read_without_the_model(tiny: InferenceModel) -> None:
    paper = Document(ids=("x",), abstract=ABSTRACT)
    claim = "Zincol prevents gout in mice " + "and gout " * 200

    (opinion,) = TrainedVerifier(inference=InferenceReader(tiny, None)).judge(claim, [paper])
    (alone,) = TrainedVerifier().judge(claim, [paper])

    assert opinion.note == TOO_LONG
    assert opinion.probabilities == alone.probabilities


def head(digest: str, names: tuple[str, ...] = INFERRED, against: float = 1.0) -> InferenceHead:
    """A head that goes by the text that contradicts most."""
    zeros, ones = (0.0,) * len(names), (1.0,) * len(names)
    weights = [0.0] * len(names)
    weights[names.index("against_most") if "against_most" in names else 0] = against
    linear = Linear(
        names=names, mean=zeros, scale=ones, coefficients=(zeros, tuple(weights), zeros), intercept=(0.0, 0.0, 0.0)
    )
    return InferenceHead(digest=digest, vectors=linear, words=linear)


def test_a_head_beside_the_model_is_used(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m", TWO)
    digest = InferenceModel(folder).digest
    (folder / BESIDE).write_text(head(digest).model_dump_json(), encoding="utf-8")
    reader = InferenceReader.of(folder)

    chances = reader.chances(CLAIM, np.array([0.8, 0.1, 0.1]), ["It differs.", "It is."], [1, 0], vectors=False)

    assert chances[1] > 0.99
    assert reader.name == f"m {digest}"


def test_two_labels_need_a_head(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no weights, and tells contradiction alone") as error:
        InferenceReader.of(model_folder(tmp_path / "m", TWO))

    assert "benchmarks.train_inference" in str(error.value.hint)


def test_heads_of_another_model_or_of_other_features_are_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m")
    digest = InferenceModel(folder).digest
    broken = json.loads(head(digest).model_dump_json())
    broken["words"]["intercept"] = [0.0]
    wrong = {
        "are for the model 0000": head("0000").model_dump_json(),
        "of other features": head(digest, ("a", "b")).model_dump_json(),
        "of other features ": json.dumps(broken),
        "cannot be read": "{}",
    }

    for message, text in wrong.items():
        (folder / BESIDE).write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=message.strip()):
            InferenceReader.of(folder)


def test_few_sentences_count_as_their_best() -> None:
    assert to_infer(["one", "two", "three", "four"], [3, 0, 2, 1]) == ["four", "one", "three", "one three four"]
    odds = np.array([[1.0, -1.0], [2.0, -3.0]])

    row = dict(zip(INFERRED, inferred(np.array([1.0, 0.0, 0.0]), odds), strict=True))

    assert [row[f"for_{n}"] for n in ("first", "second", "third", "most", "least", "together")] == [1, 1, 1, 1, 1, 2]
    assert row["against_together"] == -3
    assert row["contradicts"] < -9


def test_a_workspace_takes_it_for_claims_alone(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "tiny")
    index = build_index(tmp_path / "index", [Document(ids=("x",), abstract=ABSTRACT, recipe="jsonl")])
    with Workspace(literature=index, settings=Settings(inference=folder)) as workspace:
        verdict = workspace.verify(CLAIM).verdict

    assert verdict.stance is Stance.CONTRADICTS
    assert verdict.verifier.startswith("trained, with tiny ")
