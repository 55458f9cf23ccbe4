"""Give questions to any agent: a command, in a sandbox of its own (Bubblewrap), with one door to the configured model.

The agent finds its task in ``task.txt`` and on stdin, the data of the question under ``data``, and leaves its answer in
``answer.txt`` or on stdout. It sees the system's programs, what a person names and its own folder, a file system in
memory; no network, no process, no environment of others, and so no key: the door is a socket on the sandbox's own
loopback, which kgcheck answers (`kgcheck.llm.proxy`). Where no sandbox works, it is run only if a person says so.
"""

import errno
import os
import re
import resource
import shlex
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from kgcheck.bench.insights import Domain
from kgcheck.bench.question_sets import BenchQuestion, data_path, transcript_of
from kgcheck.errors import ConfigurationError, InputMissing, ModelUnavailable, ProgramError, UsageError
from kgcheck.graph.sandbox import NAMESPACES, bubblewrap, missing_guard
from kgcheck.inputs import MIB
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient
from kgcheck.llm.proxy import ModelProxy
from kgcheck.options import SetOptions
from kgcheck.outputs import make_folder, temporary_folder

_FOLDER = "/agent"
_ANSWER, _STDOUT, _STDERR = "answer.txt", "stdout.txt", "stderr.txt"
_LONGEST_ANSWER = 64 << 10
_DISK = 2048 * MIB
"""Bytes of the agent's folder; those of its other folders in memory are a quarter of them."""
_PROCESSES, _OPEN_FILES = 256, 1024
_START_S, _EVERY_S = 30.0, 0.1

_SYSTEM = ("/usr", "/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/ssl/openssl.cnf")
_FAMILIES = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
_REFUSED_CALLS = (
    "add_key bpf io_uring_setup kexec_load keyctl mount open_by_handle_at perf_event_open pivot_root ptrace"
    " process_vm_readv process_vm_writev request_key setns swapon umount2 unshare userfaultfd"
).split()

# Opens the door on the sandbox's own loopback, hands it out with the folder, and becomes the agent.
_ENTER = """
import os, resource, socket, sys
door, most, command = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3:]
door.set_inheritable(False)
folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
listening = socket.create_server(("127.0.0.1", 0), backlog=32)
socket.send_fds(door, [b"."], [listening.fileno(), folder])
os.environ["OPENAI_BASE_URL"] = os.environ["OPENAI_API_BASE"] = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
for limit in most.split(","):
    kind, number = map(int, limit.split("="))
    resource.setrlimit(kind, (number, number))
# Of files of the sandbox alone: one from outside could be opened anew, to be written, by its descriptor.
os.dup2(os.open("task.txt", os.O_RDONLY), 0)
for number, name in ((1, "stdout.txt"), (2, "stderr.txt")):
    os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
try:
    os.execvp(command[0], command)
except OSError as error:
    door.send(f"{command[0]}: {error.strerror}".encode())
"""


class AgentRunner:
    """Answers questions by an agent, each in a fresh folder and within walls of its own."""

    def __init__(self, options: SetOptions, file: Path, out: Path, home: Path) -> None:
        """Look at what the agent would see: the set, the results and the workspace may not be in it."""
        self._options, self._argv = options, shlex.split(options.agent or "")
        self._files, self._data = [path.resolve() for path in options.agent_files], options.data or file.parent
        self._hidden = [path.resolve() for path in (file, out, home, Path("/proc/self"))]
        self._bubblewrap = "" if options.unsandboxed else bubblewrap()
        chosen = options.model_dump(mode="json", include={"agent_files", "calls", "seconds", "unsandboxed"})
        self.identity: dict[str, Any] = {"agent": self._argv, **chosen}
        if not self._argv:
            raise UsageError("the agent has no command", "give one with --agent 'COMMAND ...'")
        if options.unsandboxed:
            return
        if not self._bubblewrap or missing_guard():
            raise ConfigurationError(
                f"no agent can be shut in here: {missing_guard() or 'there is no Bubblewrap that works'}",
                "apt install bubblewrap, or pip install 'kgcheck[protocols]'; --unsandboxed runs it with your rights",
            )
        for root in self._roots():
            if not root.exists():
                raise InputMissing(f"there is no file {root}", "correct --agent-file")
            self._refuse_hidden(root, "name less with --agent-file")

    def answer(
        self, question: BenchQuestion, folder: Path, client: ChatClient, domain: Domain, limits: Limits, total: Meter
    ) -> dict[str, Any]:
        """Answer one question; an agent that gives no answer has answered wrongly, unless the endpoint failed."""
        transcript = transcript_of(folder, question)
        make_folder(transcript.parent)
        transcript.unlink(missing_ok=True)
        meter = Meter(limits.model_copy(update=self._limits), client.prices, total)
        proxy = ModelProxy(client, meter, transcript)
        with temporary_folder() as made:
            task = made / "task.txt"
            task.write_text(_task(question, domain), encoding="utf-8")
            given = {"task.txt": task} | {f"data/{name}": data_path(self._data, name) for name in question.data}
            for path in given.values():
                self._refuse_hidden(path, "keep data in a folder of their own")
            (made / "work").mkdir()
            answer, why = self._run(made / "work", given, proxy)
        if proxy.spent:
            raise proxy.spent
        if not answer and proxy.failures:
            raise ModelUnavailable(proxy.failures[-1], "see the endpoint, and run the same command again")
        spent = meter.spent
        return {
            "answer": answer,
            "chosen": letters(answer, question.options),
            "because": why,
            "tokens": spent.input_tokens + spent.output_tokens,
            "cost": spent.money,
            "seconds": round(spent.seconds, 1),
            "calls": spent.turns,
            "left_out": sorted(proxy.left_out),
        }

    @property
    def _limits(self) -> dict[str, Any]:
        return {"turns": self._options.calls, "seconds": self._options.seconds}

    def _refuse_hidden(self, path: Path, hint: str) -> None:
        if seen := [one for one in self._hidden if one.is_relative_to(path) or path.is_relative_to(one)]:
            raise UsageError(f"the agent could read {seen[0]} by {path}", hint)

    def _roots(self) -> list[Path]:
        """Folders and files that every agent sees: the system's programs, kgcheck's own Python, and what is named."""
        own = Path(sys.base_prefix).resolve()
        system = [Path(name) for name in _SYSTEM if os.path.exists(name)]
        return [*system, *([] if own.is_relative_to("/usr") else [own]), *self._files]

    def _run(self, folder: Path, given: Mapping[str, Path], proxy: ModelProxy) -> tuple[str, str]:
        """Run the agent to its end: its answer, and why there is none, or what ended it."""
        ours, theirs = socket.socketpair()
        with ours, ExitStack() as ending:
            ours.settimeout(_START_S)
            with theirs:
                process = ending.enter_context(self._start(folder, given, proxy, theirs))
            ending.callback(self._end, process)
            listening, made = _handed_out(ours, process)
            ending.callback(os.close, made)
            ending.enter_context(proxy.at(listening))
            over = ""
            while process.poll() is None and not over:
                time.sleep(_EVERY_S)
                over = self._over(process, proxy.meter)
            self._end(process)
            return _answer(made, over and f"stopped after {over}", process.returncode)

    def _start(
        self, folder: Path, given: Mapping[str, Path], proxy: ModelProxy, door: socket.socket
    ) -> "subprocess.Popen[bytes]":
        """Start the agent; it sends its listening socket and its folder through `door`."""
        limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: _OPEN_FILES, resource.RLIMIT_FSIZE: _DISK}
        limits |= {resource.RLIMIT_NPROC: _PROCESSES} if self._bubblewrap else {}
        home = _FOLDER if self._bubblewrap else str(folder)
        bins = [f"{path}/bin" for path in (*self._files, Path(sys.base_prefix)) if (path / "bin").is_dir()]
        environment = {"HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "TZ": "UTC"}
        environment |= {"PATH": ":".join([*bins, os.defpath]), "OPENAI_API_KEY": proxy.token}
        environment |= {"OPENAI_MODEL": proxy.client.model}
        most = ",".join(f"{kind}={number}" for kind, number in limits.items())
        command = [os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", _ENTER, str(door.fileno()), most]
        walls, handed = list[str](), [door.fileno()]
        with ExitStack() as opened:
            if self._bubblewrap:
                calls = opened.enter_context(tempfile.TemporaryFile())
                _export_calls(calls)
                handed.append(calls.fileno())
                walls = [*self._walls(given, environment), "--seccomp", str(calls.fileno()), "--"]
            else:
                for name, path in given.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).symlink_to(path)
            return subprocess.Popen(  # noqa: S603 no shell, and an empty environment: an agent could see Bubblewrap's
                [*walls, *command, *self._argv],
                env={} if self._bubblewrap else environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=handed,
                start_new_session=True,
            )

    def _walls(self, given: Mapping[str, Path], environment: Mapping[str, str]) -> Iterator[str]:
        """Command and options of Bubblewrap: what there is, and nothing else."""
        shared = ("--size", str(_DISK // 4), "--tmpfs")
        yield from (self._bubblewrap, *NAMESPACES, "--cap-drop", "ALL", "--uid", "1000", "--gid", "1000")
        # Where kgcheck is run by root, settings of the kernel could be written there, without any capability.
        yield from ("--hostname", "sandbox", "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev")
        for link in ("/bin", "/sbin", "/lib", "/lib64"):
            if os.path.islink(link):
                yield from ("--symlink", os.readlink(link), link)
        yield from (*shared, "/dev/shm", "--remount-ro", "/dev", *shared, "/tmp")  # noqa: S108 its own
        for root in self._roots():
            yield from ("--ro-bind", str(root), str(root))
        yield from ("--size", str(_DISK), "--tmpfs", _FOLDER)
        for name, path in given.items():
            yield from ("--ro-bind", str(path), f"{_FOLDER}/{name}")
        for name, value in environment.items():
            yield from ("--setenv", name, value)
        yield from ("--remount-ro", "/", "--chdir", _FOLDER)

    def _over(self, process: "subprocess.Popen[bytes]", meter: Meter) -> str:
        """Say which limit an agent is over that the kernel does not see to; empty where none."""
        if meter.spent.seconds > self._options.seconds:
            return f"{self._options.seconds:g} seconds"
        number, size = _footprint(process.pid)
        if number > _PROCESSES:
            return f"{_PROCESSES} processes"
        return f"{self._options.agent_memory_mib} MiB of memory" if size > self._options.agent_memory_mib * MIB else ""

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        """End an agent and all that it started: with Bubblewrap ends its whole namespace."""
        if process.poll() is None or not self._bubblewrap:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _task(question: BenchQuestion, domain: Domain) -> str:
    data = "\n".join(f"- data/{name}: {words}" for name, words in question.data.items())
    parts = {"question": question.words, "data": data or "- none"}
    return re.sub(r"\{(question|data)\}", lambda m: parts[m[1]], domain.prompt(f"agent_{question.form}"))


def _handed_out(door: socket.socket, process: "subprocess.Popen[bytes]") -> tuple[socket.socket, int]:
    """The listening socket and the folder of an agent that has begun."""
    handed, failed = list[int](), b""
    with suppress(OSError):
        _, handed, _, _ = socket.recv_fds(door, 1, 2, socket.MSG_CMSG_CLOEXEC)
        # Nothing comes where the command could be started.
        failed = door.recv(300)
    if len(handed) == 2 and not failed:
        return socket.socket(fileno=handed[0]), handed[1]
    for each in handed:
        os.close(each)
    process.kill()
    why = failed or (process.stderr.read(2000) if process.stderr else b"")
    raise ProgramError(
        f"the agent could not be started: {why.decode(errors='replace').strip()}",
        "name a command that is installed, with its files (--agent-file); see docs/benchmarks.md",
    )


def _answer(folder: int, over: str, code: int) -> tuple[str, str]:
    """The answer that an agent left in its folder, with what ended it, or why there is none."""
    for name in (_ANSWER, *(() if code or over else (_STDOUT,))):
        if answer := _text_in(folder, name):
            return ("", "the answer is too long") if len(answer) > _LONGEST_ANSWER else (answer, over)
    complaint = _text_in(folder, _STDERR).splitlines()
    return "", over or f"exit {code}: {(complaint or ['it gave no answer'])[-1][:300]}"


def _text_in(folder: int, name: str) -> str:
    """Text of a file of an agent's folder, of which more than an answer is not read; links are not followed."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        return stream.read(4 * _LONGEST_ANSWER).decode(errors="replace").strip()


_LETTERS = re.compile(
    r"\W*(?:(?:[Tt]he )?(?:[Ff]inal |right |correct )?(?:[Aa]nswers?|[Oo]ptions?)(?: is| are)?\W+)?"
    r"([A-H](?:(?:\W+and)?\W+[A-H])*)\W*"
)


def letters(answer: str, options: Mapping[str, str]) -> list[str]:
    r"""Options that an answer chooses, in its last line, which names nothing else.

    >>> letters("I looked at it.\nAnswer: A, C", {"A": "x", "B": "y", "C": "z"})
    ['A', 'C']
    >>> letters("B is wrong", {"A": "x", "B": "y"})
    []
    """
    found = _LETTERS.fullmatch(answer.strip().rpartition("\n")[2])
    return sorted({*re.findall(r"\b[A-H]\b", found[1])} & options.keys()) if found else []


def _export_calls(file: IO[bytes]) -> None:
    """Write a filter of the kernel's calls: sockets of loopback and of files alone, and no call that builds walls."""
    import pyseccomp as seccomp

    rules, refused = seccomp.SyscallFilter(seccomp.ALLOW), seccomp.ERRNO(errno.EPERM)
    for family in {*range(max(_FAMILIES))} - _FAMILIES:
        rules.add_rule(refused, "socket", seccomp.Arg(0, seccomp.EQ, family))
    rules.add_rule(refused, "socket", seccomp.Arg(0, seccomp.GT, max(_FAMILIES)))
    for name in _REFUSED_CALLS:
        with suppress(OSError, ValueError):
            rules.add_rule(refused, name)
    rules.export_bpf(file)
    file.seek(0)


def _footprint(process: int) -> tuple[int, int]:
    """Number and bytes in memory of a process and those below it; of too many, it looks at no more."""
    left, number, size = [process], 0, 0
    while left and number <= _PROCESSES:
        place = Path(f"/proc/{left.pop()}")
        with suppress(OSError):
            size += int((place / "statm").read_text().split()[1]) * resource.getpagesize()
            number += 1
            for thread in os.listdir(place / "task"):
                left += map(int, (place / "task" / thread / "children").read_text().split())
    return number, size
