"""Run an untrusted program in a sandbox (Bubblewrap, Landlock, seccomp) with resource limits.

Two walls stand around it. Bubblewrap gives it namespaces of its own, in which the interpreter, its libraries and the
inputs are the only files, read-only, beside one folder that it may write, a file system of a size of its own; within,
Landlock, seccomp and limits of the kernel leave it those files and few calls (`kgcheck.protocols.programs.inside`).
Where a machine has no user namespaces, the second wall stands alone, the record says so, and the folder must lie on a
disk; where it has no Landlock or seccomp, nothing is run.
"""

import hashlib
import json
import mmap
import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field

from kgcheck import clock
from kgcheck.errors import NAME_THERE, InputError, InputFormat, InputMissing, ProgramError
from kgcheck.graph.sandbox import NAMESPACES, bubblewrap, missing_guard
from kgcheck.inputs import MIB, parse_json, sha256_of
from kgcheck.model import Value
from kgcheck.protocols.programs.inside import Space, filled, opened

Language = Literal["python", "r"]
Guard = Literal["bubblewrap", "landlock"]
ReachedLimit = Literal["seconds", "processor", "memory", "disk", "files", "output", "threads", "open_files"]


class ProgramLimits(Value):
    """Resource limits of a program."""

    seconds: float = Field(default=600.0, gt=0, le=86_400)
    processor_seconds: int = Field(default=600, gt=0, le=86_400)
    memory_mib: int = Field(default=4096, ge=256, description="address space, and what is in memory")
    disk_mib: int = Field(default=1024, ge=1, description="files that it leaves, and all that it writes")
    files: int = Field(default=2_000, ge=1, description="files and folders that it makes")
    output_kib: int = Field(default=1024, ge=1, description="of each of stdout and stderr")
    threads: int = Field(default=32, ge=1)
    open_files: int = Field(default=256, ge=16)


class MadeFile(Value):
    """A file that a program left."""

    name: str
    bytes: int
    sha256: str


class ProgramRun(Value):
    """Record of a run of a program; ``exit`` is none if a signal ended it."""

    language: Language = "python"
    sha256: str = Field(description="of the program")
    inputs: dict[str, str] = Field(default_factory=dict, description="SHA-256 of each input, by name")
    guard: Guard
    limits: ProgramLimits
    started_at: datetime
    seconds: float
    processor_seconds: float
    memory_bytes: int = Field(description="the most that was in memory")
    exit: int | None = None
    signal: str = ""
    limit: ReachedLimit | None = Field(default=None, description="the limit that ended it")
    stdout: str = ""
    stderr: str = ""
    files: tuple[MadeFile, ...] = Field(default=(), description="none where a limit of disk or files ended it")

    @property
    def clean(self) -> bool:
        return self.exit == 0 and self.limit is None

    @property
    def end(self) -> str:
        """The end of a run that is not clean, in one line."""
        if self.limit:
            return f"it was ended by its limit of {self.limit}"
        if self.clean:
            return ""
        lines = self.stderr.strip().splitlines()
        return lines[-1] if lines else f"it ended with {self.signal or self.exit}"


LARGEST_RESULTS = 4 * MIB  # bytes of a results.json


def space_of(limits: ProgramLimits) -> Space:
    """Limits of the folder of a program."""
    return Space(limits.disk_mib * MIB, limits.files)


def made_files(folder: Path, limits: ProgramLimits) -> tuple[tuple[MadeFile, ...], ReachedLimit | None]:
    """The files of a folder, with what they are."""
    found = filled(str(folder), space_of(limits))
    if found.over:
        return (), found.over
    made = []
    for path in sorted(found.files):
        data = opened(path)
        if data is not None:
            with os.fdopen(data, "rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
                size = os.fstat(stream.fileno()).st_size
            name = os.path.relpath(path, folder).encode(errors="surrogateescape").decode(errors="backslashreplace")
            made.append(MadeFile(name=name, bytes=size, sha256=digest))
    return tuple(made), None


def read_program_results(folder: Path) -> dict[str, Any]:
    """The results that a program left."""
    path = folder / "results.json"
    data = opened(str(path))
    if data is None:
        raise InputFormat(f"{path} is no file", "a program leaves its results there, as a JSON object")
    with os.fdopen(data, "rb") as stream:
        text = stream.read(LARGEST_RESULTS + 1)
    if len(text) > LARGEST_RESULTS:
        raise InputFormat(f"{path} is larger than {LARGEST_RESULTS // MIB} MiB", "results are numbers, not data")
    try:
        made = parse_json(text.decode(), finite=True)
    except ValueError as error:
        raise InputFormat(f"{path} is no JSON: {error}", "a program leaves its results there, as an object") from None
    if not isinstance(made, dict):
        raise InputFormat(f"{path} is no JSON object", "name each result by its key")
    return made


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, however deep, and whatever the rights are that a program set."""
    if not folder.exists():
        return
    # Python's own removal ends at a thousand folders in each other.
    command = ["rm", "--recursive", "--force", "--one-file-system", "--", str(folder.absolute())]
    if subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder.absolute())], capture_output=True, check=False)  # noqa: S603, S607
        subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if folder.exists():
        raise OSError(f"{folder} cannot be removed")


_EVERY_S = 0.03
_PAUSES = 10  # ratio of the pause before the next look to the time of a look, if there are many files
_GRACE_S = 5.0
_SIGNS: dict[ReachedLimit, tuple[str, ...]] = {
    "memory": ("MemoryError", "bad_alloc", "Cannot allocate memory", "cannot allocate vector", "Unable to allocate"),
    "disk": ("File too large", "No space left on device"),
    "open_files": ("Too many open files",),
}
"""Messages of programs at limits that the kernel reports to them."""
_REPORT = "report"


class ProgramWatch:
    """Reads what a program says and ends it at its limits."""

    def __init__(self, process: "subprocess.Popen[bytes]", report: int, folder: Path, limits: ProgramLimits) -> None:
        self._process, self._report, self._folder, self._limits = process, report, folder, limits
        self._text = {"stdout": bytearray(), "stderr": bytearray(), _REPORT: bytearray()}
        self._began = time.monotonic()
        self._killed_at: float | None = None
        self._limit: ReachedLimit | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        # Whatever happened here, nothing of it goes on.
        if self._process.poll() is None:
            self._kill_all()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()
        os.close(self._report)

    def until_end(self) -> dict[str, Any]:
        """Wait for the end of the program: the fields of its run that tell how it ended."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout or 1, selectors.EVENT_READ, "stdout")
            ready.register(self._process.stderr or 2, selectors.EVENT_READ, "stderr")
            ready.register(self._report, selectors.EVENT_READ, _REPORT)
            next_look = 0.0
            while ready.get_map():
                for key, _ in ready.select(_EVERY_S):
                    some = os.read(key.fd, 1 << 16)
                    if not some:
                        ready.unregister(key.fd)
                    most, kept = self._limits.output_kib << 10, self._text[key.data]
                    kept += some[: most - len(kept)]
                    if len(kept) >= most and some:
                        self._end("output")
                began = time.monotonic()
                if began >= next_look:
                    self._look()
                    next_look = began + max(_EVERY_S, _PAUSES * (time.monotonic() - began))
        self._process.wait()
        return self._ended()

    def _look(self) -> None:
        """End it if it is over a limit that the kernel does not know."""
        now = time.monotonic()
        if self._text[_REPORT]:
            # It has ended, and what it left is copied.
            return
        if self._killed_at is not None:
            if now - self._killed_at > _GRACE_S:
                self._kill_all()
            return
        if now - self._began > self._limits.seconds:
            self._end("seconds")
            return
        facts = _facts(self._chain()[-1])
        if facts.get("Threads", 0) > self._limits.threads:
            self._end("threads")
        # Also what lies in files that have no name any more.
        elif max(facts.get("wchar", 0), facts.get("write_bytes", 0)) > 2 * (self._limits.disk_mib << 20):
            self._end("disk")
        elif over := filled(str(self._folder), space_of(self._limits)).over:
            self._end(over)

    def _end(self, limit: ReachedLimit) -> None:
        """Kill the program alone, so that what started it can report what it took."""
        if self._killed_at is None:
            self._limit, self._killed_at = limit, time.monotonic()
            with suppress(ProcessLookupError):
                os.kill(self._chain()[-1], signal.SIGKILL)

    def _kill_all(self) -> None:
        for each in reversed(self._chain()):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._process.wait()

    def _chain(self) -> list[int]:
        """Processes from the one that was started to the program: each has one child, and the program can have none."""
        chain = [self._process.pid]
        with suppress(OSError):
            while under := Path(f"/proc/{chain[-1]}/task/{chain[-1]}/children").read_text().split():
                chain.append(int(under[0]))
        return chain

    def _ended(self) -> dict[str, Any]:
        seconds = time.monotonic() - self._began
        stdout, stderr = (self._text[name].decode(errors="backslashreplace") for name in ("stdout", "stderr"))
        # Where it could not be started, that comes first; else how it ended, and then what became of what it left.
        reported: list[dict[str, Any]] = [json.loads(line) for line in self._text[_REPORT].splitlines()]
        found, left = (*reported, {}, {})[:2]
        if "failed" in found or (not found and self._limit is None):
            why = found.get("failed") or (stderr.strip().splitlines() or ["it was ended from outside"])[-1]
            raise ProgramError(f"a program could not be started in the sandbox: {why[:300]}", "see docs/security.md")
        if "lost" in left:
            raise InputError(
                f"cannot keep what a program left: {left['lost']}", "free disk space, or name another folder"
            )
        used, ended_by = found.get("processor_seconds", 0.0), found.get("signal", signal.SIGKILL.name)
        return {
            "exit": found.get("exit"),
            "signal": ended_by,
            "limit": self._limit or left.get("over") or self._reached_limit(found.get("exit"), ended_by, used, stderr),
            "seconds": round(seconds, 3),
            "processor_seconds": round(used, 3),
            "memory_bytes": found.get("memory_bytes", 0),
            "stdout": stdout,
            "stderr": stderr,
        }

    def _reached_limit(self, code: int | None, ended_by: str, used: float, stderr: str) -> ReachedLimit | None:
        if ended_by == "SIGXCPU" or (ended_by == "SIGKILL" and used >= self._limits.processor_seconds):
            return "processor"
        if ended_by == "SIGBUS":
            # A page of a file that is written through memory had no room.
            return "disk"
        kinds = (kind for kind, signs in _SIGNS.items() if any(sign in stderr[-2000:] for sign in signs))
        return next(kinds, None) if code != 0 else None


def _facts(process: int) -> dict[str, int]:
    """Numbers that the kernel has of a process; fewer where it ends just now."""
    found = {}
    for name in ("status", "io"):
        with suppress(OSError, ValueError):
            for line in Path(f"/proc/{process}/{name}").read_text().splitlines():
                key, _, value = line.partition(":")
                if key in ("Threads", "wchar", "write_bytes"):
                    found[key] = int(value)
    return found


INPUTS = "inputs"  # folder, beside what a program makes, in which it finds what it is given
_WORK, _PROGRAM = "/sandbox/work", "/sandbox/program"
_DEVICES = tuple(Path(f"/dev/{name}") for name in ("null", "zero", "full", "random", "urandom"))
_INSIDE = "kgcheck.protocols.programs.inside"
_START = Path(__file__).with_name("start.R")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SLACK = 1 << 20
"""Bytes by which the file system of a folder is larger than may be written, so that it is seen when more is."""

_PROBED_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


class Interpreter(NamedTuple):
    """Interpreter of a language."""

    command: tuple[str, ...]
    roots: tuple[Path, ...]
    environment: Mapping[str, str]


def run_program(
    program: str,
    folder: Path,
    *,
    language: Language = "python",
    inputs: Mapping[str, Path] | None = None,
    limits: ProgramLimits | None = None,
    guard: Guard | None = None,
) -> ProgramRun:
    """Run a program."""
    limits = limits or ProgramLimits()
    guard = guard or best_guard()
    interpreter = _python() if language == "python" else _r()
    given = _inputs(inputs or {})
    text = program.encode(errors="replace")
    try:
        remove(folder)
        folder.mkdir(parents=True, mode=0o700)
        if guard == "landlock" and not counts_mapped_writes(folder):
            remove(folder)
            raise ProgramError(
                f"programs cannot be run in {folder}: what is written there is not held to a limit",
                "name a folder on a disk, or allow user namespaces, so that Bubblewrap can make one of a fixed size",
            )
        with tempfile.TemporaryDirectory(prefix="kgcheck-program-") as beside:
            written = Path(beside, "program")
            written.write_bytes(text)
            linked = Path(beside, INPUTS)
            if guard == "landlock":
                # A link, as all in it are: the program can make none, so that it cannot give one another name.
                linked.mkdir()
                (folder / INPUTS).symlink_to(linked)
                for name, path in given.items():
                    (linked / name).symlink_to(path)
            started = clock.exact_now()
            ended = _run(guard, interpreter, written, folder.resolve(), given, limits)
        if (folder / INPUTS).is_symlink():
            (folder / INPUTS).unlink()
    except OSError as error:
        raise InputError(f"cannot make a folder for a program: {error}", "free disk space, or name another") from None
    files, too_much = made_files(folder, limits)
    ended["limit"] = ended["limit"] or too_much
    if ended["limit"] in ("disk", "files"):
        remove(folder)
        files = ()
    return ProgramRun(
        language=language,
        sha256=hashlib.sha256(text).hexdigest(),
        inputs={name: sha256_of(path) for name, path in given.items()},
        guard=guard,
        limits=limits,
        started_at=started,
        files=files,
        **ended,
    )


def counts_mapped_writes(folder: Path) -> bool:
    """Tell whether the kernel counts for a process what it writes to files there through its memory.

    It does on disks. On a tmpfs files are memory that no limit of a process knows of.
    """
    # Of this thread: others write meanwhile.
    io = Path("/proc/thread-self/io")

    def written() -> int:
        return next(int(line.split()[1]) for line in io.read_text().splitlines() if line.startswith("write_bytes:"))

    try:
        before = written()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(_PROBED_BYTES)
            with mmap.mmap(file.fileno(), _PROBED_BYTES) as mapped:
                for place in range(0, _PROBED_BYTES, mmap.PAGESIZE):
                    mapped[place] = 1
            return written() - before >= _PROBED_BYTES
    except (OSError, ValueError, StopIteration):
        return False


def best_guard() -> Guard:
    """The best guard that this machine has."""
    if missing := missing_guard():
        raise ProgramError(
            f"programs cannot be run here: {missing}",
            "use Linux 5.13 or newer with Landlock enabled and libseccomp installed",
        )
    return "bubblewrap" if bubblewrap() else "landlock"


def _run(
    guard: Guard,
    interpreter: Interpreter,
    program: Path,
    folder: Path,
    inputs: Mapping[str, Path],
    limits: ProgramLimits,
) -> dict[str, Any]:
    wrapped = guard == "bubblewrap"
    # As the program sees them: in namespaces of its own they are other ones than outside.
    work, path = (_WORK, _PROGRAM) if wrapped else (str(folder), str(program))
    reads, writes = os.pipe()
    left = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        order: dict[str, Any] = {
            "argv": [part.format(program=path) for part in interpreter.command],
            "env": {"HOME": work, "TMPDIR": work, "LANG": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
            | dict.fromkeys(_THREADS, "2")
            | dict(interpreter.environment),
            "folder": work,
            "rights": _rights(interpreter, work, path, inputs, program.with_name(INPUTS) if not wrapped else None),
            "limits": {
                resource.RLIMIT_AS: limits.memory_mib << 20,
                resource.RLIMIT_CPU: limits.processor_seconds,
                resource.RLIMIT_FSIZE: limits.disk_mib << 20,
                resource.RLIMIT_NOFILE: limits.open_files,
                resource.RLIMIT_MSGQUEUE: 0,
            },
            "report": writes,
        }
        if wrapped:
            order |= {"left": left, "space": space_of(limits)}
        start = [sys.executable, "-I", "-B", "-m", _INSIDE, json.dumps(order)]
        if wrapped:
            start = [bubblewrap(), *_walls(interpreter, program, inputs, limits), "--", *start]
        process = subprocess.Popen(  # noqa: S603 no shell, and an empty environment: it would be seen in the sandbox
            start,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(writes, left) if wrapped else (writes,),
            start_new_session=True,
        )
    finally:
        os.close(writes)
        os.close(left)
    with ProgramWatch(process, reads, folder, limits) as watch:
        return watch.until_end()


def _walls(interpreter: Interpreter, program: Path, inputs: Mapping[str, Path], limits: ProgramLimits) -> list[str]:
    """Options of Bubblewrap: what there is in its namespaces, and nothing else, not even /proc."""
    walls = [*NAMESPACES, "--cap-drop", "ALL", "--hostname", "sandbox"]
    for link in ("/bin", "/lib", "/lib64"):
        if os.path.islink(link):
            walls += ["--symlink", os.readlink(link), link]
    # What starts the program is kgcheck's own, in Python.
    for root in _outermost([*interpreter.roots, *_python().roots, Path(__file__).parents[2]]):
        walls += ["--ro-bind", str(root), str(root)]
    for device in _DEVICES:
        walls += ["--dev-bind", str(device), str(device)]
    walls += ["--ro-bind", str(program), _PROGRAM, "--size", str(space_of(limits).size + _SLACK), "--tmpfs", _WORK]
    # Mounted by itself, it can be neither renamed nor written.
    walls += ["--size", str(_SLACK), "--tmpfs", f"{_WORK}/{INPUTS}"]
    for name, path in inputs.items():
        walls += ["--ro-bind", str(path), f"{_WORK}/{INPUTS}/{name}"]
    return [*walls, "--remount-ro", f"{_WORK}/{INPUTS}", "--remount-ro", "/", "--chdir", _WORK]


def _rights(
    interpreter: Interpreter, work: str, program: str, inputs: Mapping[str, Path], linked: Path | None
) -> dict[str, int]:
    """Compute the Landlock rights by path. Links, devices, sockets and named pipes are made nowhere."""
    from landlock import FSAccess

    reading = FSAccess.READ_FILE | FSAccess.READ_DIR
    writing = (
        reading
        | (FSAccess.WRITE_FILE | FSAccess.TRUNCATE | FSAccess.REFER)
        | (FSAccess.MAKE_REG | FSAccess.MAKE_DIR | FSAccess.REMOVE_FILE | FSAccess.REMOVE_DIR)
    )
    rights = {str(root): reading | FSAccess.EXECUTE for root in interpreter.roots}
    rights |= {str(device): FSAccess.READ_FILE for device in _DEVICES}
    rights |= {"/dev/null": FSAccess.READ_FILE | FSAccess.WRITE_FILE, program: FSAccess.READ_FILE}
    rights |= {work: writing}
    if linked:
        rights |= {str(path): FSAccess.READ_FILE for path in inputs.values()}
        rights |= {str(linked): FSAccess.READ_DIR}
    return {path: int(flags & FSAccess.all()) for path, flags in rights.items()}


def _libraries() -> list[Path]:
    # Debian's alternatives are links alone, by which libraries name each other.
    names = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/alternatives")
    return [path for path in map(Path, names) if path.exists() and not path.is_symlink()]


def _python() -> Interpreter:
    """This very Python, with the packages that kgcheck has."""
    base = Path(sys.base_prefix)
    # Of a Python that shares its folder with other programs, its own parts alone.
    shared = base in (Path("/usr"), Path("/usr/local"))
    own = [base / "lib", *_links(Path(sys.executable))] if shared else [base]
    venv = [Path(sys.prefix)] if sys.prefix != sys.base_prefix else []
    # -I: neither the environment nor the folder that the program may write is looked at for modules.
    return Interpreter((sys.executable, "-I", "-B", "{program}"), _outermost([*_libraries(), *own, *venv]), {})


def _links(path: Path) -> list[Path]:
    """A path, where it leads, and so on: an interpreter is often a link to a link."""
    found = [path]
    while found[-1].is_symlink():
        there = Path(os.path.normpath(found[-1].parent / found[-1].readlink()))
        if there in found:
            break
        found.append(there)
    return found


@cache
def _r() -> Interpreter:
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise ProgramError("programs in R cannot be run here: there is no Rscript", "install R, or write it in Python")
    done = subprocess.run([rscript, "--vanilla", "-e", "cat(R.home())"], capture_output=True, text=True, check=False)  # noqa: S603
    home = Path(done.stdout.strip())
    if done.returncode or not (home / "bin/exec/R").is_file():
        raise ProgramError("programs in R cannot be run here: Rscript does not name its home", "install R anew")
    beside = [Path(name) for name in ("/etc/R", "/usr/share/R", "/usr/local/lib/R")]
    # Not by way of its scripts, which would start other programs.
    command = (str(home / "bin/exec/R"), "--no-echo", "--vanilla", f"--file={_START}", "--args", "{program}")
    environment = {
        "R_HOME": str(home),
        "LD_LIBRARY_PATH": str(home / "lib"),
        "R_SHARE_DIR": "/usr/share/R/share",
        "R_DEFAULT_PACKAGES": "NULL",
    }
    roots = [*_libraries(), home, *(path for path in beside if path.is_dir()), _START]
    return Interpreter(command, _outermost(roots), environment)


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Those that do not lie in another one of them."""
    every = list(dict.fromkeys(paths))
    return tuple(p for p in every if not any(p != other and p.is_relative_to(other) for other in every))


def _inputs(inputs: Mapping[str, Path]) -> dict[str, Path]:
    found = {}
    for name, path in inputs.items():
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r} is no name for an input", "take letters, digits, points, hyphens and underscores"
            )
        if not path.is_file():
            raise InputMissing(f"there is no file {path}", NAME_THERE)
        found[name] = path.resolve()
    return found
