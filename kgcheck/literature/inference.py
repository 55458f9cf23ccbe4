"""InferenceModel: a user's NLI cross-encoder in a local folder, on OpenVINO; no code of the folder is run."""

import hashlib
import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from kgcheck.errors import LET_READ, ConfigurationError, InputError, MissingExtra
from kgcheck.inputs import parse_json, read_whole, sha256_of
from kgcheck.literature.embed import import_openvino
from kgcheck.literature.polarity import Numbers
from kgcheck.literature.trained_verifier import Linear, read_weights, softmax
from kgcheck.literature.weights import EXTRA
from kgcheck.model import Value

MODEL_FILES = ("model.onnx", "openvino_model.xml")  # names of a model in its folder, the first that is there
LONGEST = 512  # word pieces of a pair that are read, where the model reads no fewer
_CHARACTERS = 20_000  # most characters of a text that are cut into word pieces: far more than a model reads
_ANOTHER = "name another folder, or fetch the model again"
_PADDED_TO = 32
_FOR, _AGAINST, _NEITHER = range(3)
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_LABELS = (
    (_FOR, re.compile(r"entail(?:s|ment|ed)?")),
    (_AGAINST, re.compile(r"(?:contradict(?:s|ion|ed|ory)?|conflict(?:s|ing)?)")),
    (_NEITHER, re.compile(r"neutral|(?:not?|non)_?(?:contradict(?:s|ion|ed|ory)?|conflict(?:s|ing)?)")),
)


class InferenceModel:
    """A cross-encoder with two or three labels: contradiction or not, or entailment, neutral and contradiction.

    May be used by several threads, one after the other.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        try:
            openvino = import_openvino()
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("a model of inference", EXTRA) from error
        model, tokenizer = _model_files(folder)
        config = _config(folder)
        self.name = folder.resolve().name
        self.places = _places(config, folder)
        self.digest = _digest(model, tokenizer, self.places)
        options: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
        # The same on every processor; in bfloat16 some graphs of a fixed size give nonsense (OpenVINO 2026).
        options["INFERENCE_PRECISION_HINT"] = "f32"
        try:
            core = openvino.Core()
            graph = core.read_model(str(model))
            self._pieces = Tokenizer.from_file(str(tokenizer))
        # Tokenizers and OpenVINO raise bare exceptions.
        except Exception as error:
            raise ConfigurationError(f"{folder} holds no model of inference: {_first_line(error)}", _ANOTHER) from error
        self._inputs = _inputs(graph, folder)
        wanted = graph.inputs[0].partial_shape[1]
        self._fixed = wanted.get_length() if wanted.is_static else 0
        limits = ((self._pieces.truncation or {}).get("max_length"), config.get("max_position_embeddings"), LONGEST)
        self._longest = self._fixed or min(LONGEST, *(n for n in limits if isinstance(n, int) and n > 8))
        padding = (self._pieces.padding or {}).get("pad_id", config.get("pad_token_id"))
        self._padding = padding if isinstance(padding, int) and padding >= 0 else 0
        self._pieces.no_padding()
        self._pieces.no_truncation()
        self._special = self._pieces.num_special_tokens_to_add(is_pair=True)
        self._lock = threading.Lock()
        try:
            self._request = core.compile_model(graph, "CPU", options).create_infer_request()
        except Exception as error:
            raise ConfigurationError(f"{folder} cannot be computed: {_first_line(error)}", _ANOTHER) from error
        self._folder = folder
        self.read("A claim.", ["A sentence."])

    @property
    def has_support(self) -> bool:
        """Tell whether it tells entailment from neither: a model of two labels tells contradiction alone."""
        return _FOR in self.places

    def reads(self, claim: str) -> bool:
        """Tell whether a claim leaves room for sentences beside it: half of what the model reads."""
        return len(claim) <= _CHARACTERS and len(self._encoded(claim).ids) <= self._longest // 2

    def read(self, claim: str, texts: Sequence[str]) -> Numbers:
        """Return the log odds that texts support or contradict a claim.

        Of a long one as much of the beginning is read as the model takes.
        """
        odds = np.zeros((len(texts), 2))
        for row, text in enumerate(texts):
            scores = self._scores(claim, text)
            if scores.shape != (len(self.places),) or not np.isfinite(scores).all():
                given = f"{len(scores)} numbers" if np.isfinite(scores).all() else "what is no number"
                raise ConfigurationError(
                    f"the model in {self._folder} gives {given} for a pair, where its labels are {len(self.places)}",
                    "export it again as a classifier of pairs, with one number a label",
                )
            for at, meaning in enumerate(self.places):
                if meaning in (_FOR, _AGAINST):
                    rest = np.delete(scores, at)
                    odds[row, meaning] = scores[at] - rest.max() - np.log(np.exp(rest - rest.max()).sum())
        return odds

    def _encoded(self, text: str) -> Any:
        return self._pieces.encode(text[:_CHARACTERS], add_special_tokens=False)

    def _scores(self, claim: str, text: str) -> Numbers:
        own, other = self._encoded(text), self._encoded(claim)
        own.truncate(max(self._longest - self._special - len(other.ids), 0))
        pair = self._pieces.post_process(own, other)
        pair.truncate(self._longest)
        length = self._fixed or min(-(-len(pair.ids) // _PADDED_TO) * _PADDED_TO, self._longest)
        pair.pad(length, pad_id=self._padding)
        columns = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        with self._lock:
            try:
                made = self._request.infer([np.array([columns[n]], dtype=kind) for n, kind in self._inputs])
            except Exception as error:
                raise ConfigurationError(
                    f"{self._folder} cannot be computed: {_first_line(error)}", _ANOTHER
                ) from error
            return np.array(next(iter(made.values())), dtype=np.float64).reshape(-1)


def _model_files(folder: Path) -> tuple[Path, Path]:
    if not folder.is_dir():
        raise ConfigurationError(f"there is no model folder {folder}", "KGCHECK_INFERENCE names a local folder")
    model = next((folder / n for n in MODEL_FILES if (folder / n).is_file()), None)
    if model is None:
        hint = "export it: optimum-cli export onnx --task text-classification --model MODEL DIR"
        raise ConfigurationError(f"{folder} holds neither {' nor '.join(MODEL_FILES)}", hint)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise ConfigurationError(f"{folder} holds no tokenizer.json", "copy it from where the model is from")
    return model, tokenizer


def _digest(model: Path, tokenizer: Path, places: tuple[int, ...]) -> str:
    """SHA-256 of all that the numbers depend on, and of what each of them means, 16 digits."""
    beside = sorted(p for p in model.parent.glob(f"{model.stem}*") if p.is_file() and p != model)
    weights = [p for p in beside if re.search(r"(?:\.bin|[._]data)$", p.name)]
    whole = hashlib.sha256(bytes(places))
    for path in (model, *weights, tokenizer):
        try:
            whole.update(bytes.fromhex(sha256_of(path)))
        except OSError as error:
            raise ConfigurationError(f"cannot read {path}: {error.strerror or error}", LET_READ) from error
    return whole.hexdigest()[:16]


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config: dict[str, Any] = {} | parse_json(read_whole(path))
    except (InputError, ValueError, TypeError) as error:
        why = "it is no JSON object" if isinstance(error, TypeError) else str(error)[:200]
        raise ConfigurationError(f"{path} cannot be read: {why}", "it names the labels: id2label") from error
    return config


def _places(config: dict[str, Any], folder: Path) -> tuple[int, ...]:
    """Return the meaning of each output of a model, by the names of its labels, in any order."""
    names = config.get("id2label")
    if not isinstance(names, dict) and isinstance(config.get("label2id"), dict):
        names = {str(place): name for name, place in config["label2id"].items()}
    labels = [str(names.get(str(n), ""))[:100] for n in range(len(names))] if isinstance(names, dict) else []
    places = []
    for label in labels:
        plain = re.sub(r"[\s_-]+", "_", label.strip().lower())
        places += [next((meaning for meaning, pattern in _LABELS if pattern.fullmatch(plain)), -1)]
    if sorted(places) not in ([_FOR, _AGAINST, _NEITHER], [_AGAINST, _NEITHER]):
        raise ConfigurationError(
            f"the labels of the model in {folder} are {', '.join(labels[:4]) or 'not named'}: that is no inference",
            'id2label names "entailment", "neutral" and "contradiction", or "contradiction" and "not_contradiction",'
            " each by its place among the outputs",
        )
    return tuple(places)


def _inputs(graph: Any, folder: Path) -> list[tuple[str, Any]]:
    found = []
    for port in graph.inputs:
        name = next((n for n in _INPUTS if n in port.get_names()), None)
        rank = port.partial_shape.rank
        if name is None or rank.is_dynamic or rank.get_length() != 2:
            shown = ", ".join(sorted(port.get_names())) or "without a name"
            wanted = f"a model of pairs has {', '.join(_INPUTS)} by 2 axes"
            raise ConfigurationError(f"the model in {folder} has an input {shown}", wanted)
        found.append((name, port.element_type.to_dtype()))
    if "input_ids" not in dict(found):
        raise ConfigurationError(f"the model in {folder} has no input input_ids", "export it for text classification")
    return found


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


BESIDE = "inference_head.json"  # the name of a head in the folder of its model
READ = 3  # sentences of a paper that are read, the best: each alone, and all together
INFERRED = (
    *("supports", "contradicts", "silent"),
    *(f"{way}_{n}" for way in ("for", "against") for n in ("first", "second", "third", "most", "least", "together")),
)
"""Features that a head weighs: log chances of counted features, and log odds of the model."""

_LEAST = 1e-4


class InferenceHead(Value):
    """Weights for one model of inference, beside counted features with vectors and without."""

    digest: str
    vectors: Linear
    words: Linear


class InferenceReader:
    """A model of inference and its head.

    Without a head, a model that tells entailment, neutral and contradiction is taken at its word: its chances for the
    text of which it is surest that it entails or contradicts the claim.
    """

    def __init__(self, model: InferenceModel, head: InferenceHead | None) -> None:
        if head is None and not model.has_support:
            raise ConfigurationError(
                f"the model {model.name} ({model.digest}) has no weights, and tells contradiction alone",
                "python -m benchmarks.train_inference DIR trains them; a model that tells entailment needs none",
            )
        self.model = model
        self._head = head
        self.name = f"{model.name} {model.digest}"

    @classmethod
    def of(cls, folder: Path) -> Self:
        """A reader with the model of a folder, and its head if there is one; each is opened once."""
        model = _opened(folder.resolve(), folder.stat().st_mtime_ns if folder.is_dir() else 0)
        return cls(model, _read_head(folder, model.digest))

    def chances(
        self, claim: str, before: Numbers, passages: Sequence[str], order: Sequence[int], *, vectors: bool
    ) -> Numbers:
        odds = self.model.read(claim, to_infer(passages, order))
        if self._head is None:
            return plain(odds)
        head = self._head.vectors if vectors else self._head.words
        found: Numbers = softmax(head.scores(inferred(before, odds)[None, :]))[0]
        return found


def to_infer(passages: Sequence[str], order: Sequence[int]) -> list[str]:
    """The texts of a paper that a model of inference reads."""
    best = list(order[:READ])
    return [*(passages[i] for i in best), " ".join(passages[i] for i in sorted(best))]


def inferred(before: Numbers, odds: Numbers) -> Numbers:
    """Return the features that a head weighs, by the names in INFERRED."""
    single = odds[:-1]
    # A paper with fewer sentences has its best one instead of those that it lacks.
    padded = np.concatenate([single, np.repeat(single[:1], READ - len(single), axis=0)])
    columns = np.concatenate([padded, padded.max(axis=0)[None], padded.min(axis=0)[None], odds[-1:]])
    row: Numbers = np.concatenate([np.log(np.maximum(before, _LEAST)), columns.T.ravel()])
    return row


def plain(odds: Numbers) -> Numbers:
    """Chances of a model with three labels for the text of which it is surest."""
    both = 1 / (1 + np.exp(-odds))
    surest = both[int(both.max(axis=1).argmax())]
    return np.array([*surest, max(1 - surest.sum(), 0.0)])


def _read_head(folder: Path, digest: str) -> InferenceHead | None:
    path = folder / BESIDE
    if not path.is_file():
        return None
    head = read_weights(path, InferenceHead)
    if head.digest != digest:
        raise ConfigurationError(
            f"the weights in {path} are for the model {head.digest}, and this is {digest}", "train them again"
        )
    for linear in (head.vectors, head.words):
        sizes = {len(row) for row in (linear.mean, linear.scale, *linear.coefficients)}
        outputs = (len(linear.intercept), len(linear.coefficients))
        if linear.names != INFERRED or sizes != {len(INFERRED)} or outputs != (3, 3):
            raise ConfigurationError(f"the weights in {path} are of other features", "train them again")
    return head


@lru_cache(maxsize=1)
def _opened(folder: Path, changed: int) -> InferenceModel:
    return InferenceModel(folder)
