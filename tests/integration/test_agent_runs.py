"""Any agent answers a set: real child processes, shut in, at a scripted endpoint; and agents that want out."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kgcheck.bench import agent_runs
from kgcheck.bench.agent_runs import letters
from kgcheck.bench.kgcheck import ProcessFault, agent_faults
from kgcheck.bench.question_sets import BenchQuestion, question_id
from kgcheck.graph.sandbox import bubblewrap
from tests.support.audits import Said, kgcheck
from tests.support.chat_server import ChatServer, Fail, Say, Script, chat_server

KEY = "sk-the-key-of-this-endpoint"
QUESTION: dict[str, Any] = {
    "id": "p/1",
    "form": "open",
    "question": "Which gene is highest?",
    "answer": "ZNX1 is the highest gene.",
}
QUESTION |= {"data": {"counts.tsv": "counts by gene"}}
CHOICE = {
    "id": "p/2",
    "form": "choice",
    "question": "Which gene?",
    "options": {"A": "QPR7", "B": "ZNX1"},
    "right": ["B"],
}

PRELUDE = """
import ctypes, json, os, socket, subprocess, sys, time, urllib.error, urllib.request
def ask(*messages, **more):
    body = json.dumps({"model": "mine", "messages": list(messages)} | more).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    try:
        return json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        return {"role": "assistant", "content": "", "status": error.code, "error": error.read().decode()}
def user(text):
    return {"role": "user", "content": text}
def answer(text):
    with open("answer.txt", "w") as file:
        file.write(text)
task = sys.stdin.read()
"""
GOOD = """
assert task == open("task.txt").read()
first = ask(user(task))
seen = "no data"
if "counts" in task:
    seen = subprocess.run(["cat", "data/counts.tsv"], capture_output=True, text=True).stdout
answer(ask(user(task), first, user(seen))["content"])
"""
NEEDS_WALLS = pytest.mark.skipif(not bubblewrap(), reason="this machine has no Bubblewrap that works")


def plays(asked: Any) -> Say:
    """Looks first, then answers."""
    if len(asked.messages) == 1:
        return Say("```sh\ncat data/counts.tsv\n```")
    return Say("ZNX1 is the highest gene, with 9 counts." if "highest" in asked.text else "Answer: B")


class Bench(NamedTuple):
    """A folder with a set and its data, and an endpoint."""

    folder: Path
    server: ChatServer

    def run(self, agent: str, *more: object, questions: tuple[Any, ...] = (QUESTION,), out: str = "out") -> Said:
        """Run an agent that is written in Python."""
        (self.folder / "set.jsonl").write_text("".join(f"{json.dumps(question)}\n" for question in questions))
        file = self.folder / "agent" / "agent.py"
        file.write_text(PRELUDE + agent)
        return self.command(f"python3 {file}", "--agent-file", file, *more, out=out)

    def command(self, command: str, *more: object, out: str = "out") -> Said:
        where = ("--data", "data", "--out", out)
        return kgcheck("batch", "set", "set.jsonl", "--agent", command, *where, *more, cwd=self.folder)

    def results(self, out: str = "out") -> dict[str, Any]:
        lines = (self.folder / out / "results.jsonl").read_text().splitlines()
        return {row["id"]: row for row in map(json.loads, lines)}

    def transcript(self, id_: str = "p/1") -> list[dict[str, Any]]:
        name = question_id(id_)
        return [json.loads(line) for line in (self.folder / f"out/transcripts/{name}.jsonl").read_text().splitlines()]


def playing(script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    (folder / "agent").mkdir()
    (folder / "data").mkdir()
    (folder / "data/counts.tsv").write_text("gene\tcount\nZNX1\t9\nQPR7\t3\n")
    with chat_server(script) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "scripted")
        monkeypatch.setenv("KGCHECK_LLM_API_KEY", KEY)
        monkeypatch.setenv("KGCHECK_LLM_RETRIES", "0")
        yield Bench(folder, server)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield from playing(lambda asked: bench_script[0](asked), tmp_path, monkeypatch)
    bench_script[0] = plays


bench_script: list[Script] = [plays]
"""The script of the endpoint, which a test may change."""


@NEEDS_WALLS
def test_an_agent_answers_by_the_model_and_what_it_started_and_goes_on(bench: Bench) -> None:
    done = bench.run(GOOD, questions=(QUESTION, CHOICE))
    again = bench.run(GOOD, questions=(QUESTION, CHOICE))
    other = bench.run(GOOD, "--calls", 3, questions=(QUESTION, CHOICE))

    assert (done.code, again.code, other.code) == (0, 0, 2), done.err + again.err
    assert "2 done now" in done.err
    assert "0 done now, 2 before" in again.err
    assert "other options: calls" in other.err
    found = bench.results()
    assert found["p/1"]["answer"] == "ZNX1 is the highest gene, with 9 counts."
    assert (found["p/2"]["chosen"], found["p/2"]["calls"]) == (["B"], 2)
    assert found["p/1"]["tokens"] > 0
    assert [set(bench.server.keys), {body["model"] for body in bench.server.requests}] == [{KEY}, {"scripted"}]


@NEEDS_WALLS
def test_the_transcript_has_each_exchange_once_and_no_key(bench: Bench) -> None:
    bench.run(GOOD)
    first, second = bench.transcript()

    assert (first["same"], second["same"]) == (0, 1)
    assert "Which gene is highest?" in first["messages"][0]["content"]
    assert [message["role"] for message in second["messages"]] == ["assistant", "user"]
    assert "ZNX1\t9" in second["messages"][1]["content"]
    assert second["reply"]["content"] == "ZNX1 is the highest gene, with 9 counts."
    assert not [path for path in bench.folder.rglob("*") if path.is_file() and KEY in path.read_text()]


ATTACKS = """
found = []
def tries(name, attack):
    try:
        if attack() is not False:
            found.append(name)
    except BaseException:
        pass
def reads(path):
    return lambda: open(path, "rb").read(1) and None
def writes(path):
    return lambda: os.close(os.open(path, os.O_WRONLY))
def makes(path):
    return lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
def key_in(text):
    return KEY in text
def others():
    for each in os.listdir("/proc"):
        for name in ("environ", "cmdline"):
            try:
                if KEY.encode() in open(f"/proc/{each}/{name}", "rb").read(100000):
                    return True
            except OSError:
                pass
    return False
def connects(family, address, kind=socket.SOCK_STREAM):
    def attack():
        with socket.socket(family, kind) as one:
            one.settimeout(2)
            one.connect(address)
    return attack
libc = ctypes.CDLL(None, use_errno=True)
tries("read the set", reads(SET))
tries("read what stands beside the agent", reads(BESIDE))
tries("read the results", lambda: os.listdir(OUT) and None)
tries("read the home", reads(HOME))
tries("read the passwords", reads("/etc/shadow"))
tries("key in the environment", lambda: key_in(str(os.environ)))
tries("key in /proc", others)
tries("see the shell", lambda: PARENT in [text for text in os.listdir("/proc")])
for path in (BESIDE, __file__, "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "task.txt", "data/counts.tsv"):
    tries(f"write {path}", writes(path))
for number in (0, *range(3, 64)):
    tries(f"write descriptor {number}", writes(f"/proc/self/fd/{number}"))
def of_first(name):
    path = f"/proc/1/fd/{name}"
    return lambda: os.readlink(path).replace("/dev/null", "").startswith("/") and writes(path)()
for name in os.listdir("/proc/1/fd") if WALLS else ():
    tries(f"write {name} of the first process", of_first(name))
if WALLS:
    for path in ("/usr/x", "/etc/x", "/x", "/dev/x"):
        tries(f"make {path}", makes(path))
tries("reach the endpoint itself", connects(socket.AF_INET, ("127.0.0.1", PORT)))
tries("reach another host", connects(socket.AF_INET, ("192.0.2.1", 53), socket.SOCK_DGRAM))
tries("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) and None)
tries("packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW) and None)
if WALLS:
    tries("user namespace", lambda: libc.unshare(0x10000000) == 0)
    tries("mount", lambda: libc.mount(b"none", b"/agent", b"tmpfs", 0, None) == 0)
answer("ESCAPED: " + "; ".join(found) if found else "nothing")
"""


def hostile(bench: Bench, *more: str) -> str:
    """Run the attacks by kgcheck in a process of its own, whose environment has the key; what they got."""
    beside, home = bench.folder / "agent" / "secret.txt", bench.folder / "home" / ".netrc"
    home.parent.mkdir(exist_ok=True)
    for path in (beside, home):
        path.write_text("secret")
    names: dict[str, Any] = {
        "SET": str(bench.folder / "set.jsonl"),
        "BESIDE": str(beside),
        "OUT": str(bench.folder / "out"),
    }
    names |= {
        "HOME": str(Path.home()),
        "KEY": KEY,
        "WALLS": "--unsandboxed" not in more,
        "PARENT": str(os.getpid()),
        "PORT": int(bench.server.url.split(":")[2].split("/")[0]),
    }
    text = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    (bench.folder / "set.jsonl").write_text(json.dumps(QUESTION) + "\n")
    file = bench.folder / "agent" / "agent.py"
    file.write_text(PRELUDE + text + ATTACKS)
    command = [sys.executable, "-m", "kgcheck", "batch", "set", "set.jsonl", "--agent", f"python3 {file}"]
    command += ["--agent-file", str(file), "--data", "data", "--out", "out", "--seconds", "60", *more]
    done = subprocess.run(command, cwd=bench.folder, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(bench.results()["p/1"]["answer"])


@pytest.mark.slow
@NEEDS_WALLS
def test_an_agent_gets_neither_key_nor_set_nor_network_nor_a_file_of_others(bench: Bench) -> None:
    assert hostile(bench) == "nothing"
    assert (bench.folder / "data/counts.tsv").read_text().endswith("QPR7\t3\n")


@pytest.mark.slow
def test_without_walls_the_same_agent_gets_them(bench: Bench) -> None:
    found = hostile(bench, "--unsandboxed")

    assert "read the set" in found
    assert "key in /proc" in found
    assert "reach the endpoint itself" in found
    assert f"write {bench.folder / 'agent/secret.txt'}" in found
    assert "key in the environment" not in found


@NEEDS_WALLS
def test_an_agent_that_never_ends_is_ended_with_all_that_it_started(bench: Bench) -> None:
    mark = "mark-of-an-agent-that-never-ends"
    agent = f"""
import signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen(["python3", "-c", "import os, time; os.setsid(); time.sleep(60)", "{mark}"], start_new_session=True)
while True:
    time.sleep(1)
"""
    done = bench.run(agent, "--seconds", 1.5)
    graded = kgcheck("bench", "grade", "set.jsonl", "out", "--format", "json", cwd=bench.folder)

    assert done.code == 0, done.err
    assert bench.results()["p/1"]["because"] == "stopped after 1.5 seconds"
    assert bench.results()["p/1"]["seconds"] < 6.5
    assert json.loads(graded.out)[0]["score"] == "1.00"
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in text_of(path)]


def text_of(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


@NEEDS_WALLS
@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (
            "x = bytearray(400 << 20)\nx[::4096] = b'x' * len(x[::4096])\ntime.sleep(20)",
            "stopped after 128 MiB of memory",
        ),
        ("[os.fork() or time.sleep(20) for _ in range(40)]; time.sleep(20)", "stopped after 12 processes"),
        (
            "f = os.open('full', 65)\ntry:\n  while 1: os.write(f, bytes(1 << 20))\nexcept OSError:\n  os._exit(7)",
            "exit 7: it gave no answer",
        ),
        ("open('/tmp/full', 'wb').write(b'x' * (16 << 20))", "exit 1: OSError: [Errno 28] No space left on device"),
        ("open('/dev/shm/full', 'wb').write(b'x' * (16 << 20))", "exit 1: OSError: [Errno 28] No space left on device"),
        ("os.symlink('/etc/passwd', 'answer.txt')", "exit 0: it gave no answer"),
        ("os.mkfifo('answer.txt')", "exit 0: it gave no answer"),
        ("answer('x' * (1 << 20))", "the answer is too long"),
        ("print('log'); sys.exit('broken')", "exit 1: broken"),
    ],
)
def test_what_an_agent_takes_too_much_of_or_leaves_wrong(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, agent: str, why: str
) -> None:
    monkeypatch.setattr(agent_runs, "_DISK", 8 << 20)
    monkeypatch.setattr(agent_runs, "_PROCESSES", 12)
    done = bench.run(agent, "--agent-memory-mib", 128, "--seconds", 30)

    result = bench.results()["p/1"]
    assert (done.code, result["answer"], result["because"]) == (0, "", why)


@NEEDS_WALLS
def test_the_answer_is_on_stdout_where_no_file_has_it(bench: Bench) -> None:
    bench.run("print('ZNX1 is the highest gene.')")

    assert bench.results()["p/1"]["answer"] == "ZNX1 is the highest gene."


@NEEDS_WALLS
def test_an_agent_over_its_calls_is_refused_more_and_one_over_the_total_stays_open(bench: Bench) -> None:
    agent = "replies = [ask(user(task)) for _ in range(4)]\nanswer(str([r.get('status') for r in replies]))"
    bench.run(agent, "--calls", 2)
    over = bench.run(agent, "--total-tokens", 5, "--workers", 1, questions=(QUESTION, CHOICE), out="total")

    assert bench.results()["p/1"]["answer"] == "[None, None, 403, 403]"
    assert (over.code, bench.results("total")) == (3, {})
    assert "2 questions are open" in over.err


@NEEDS_WALLS
def test_an_endpoint_that_fails_is_no_wrong_answer(bench: Bench) -> None:
    bench_script[0] = lambda asked: Fail(500, f"broken {KEY}")
    failed = bench.run("print(ask(user(task))['error'], file=sys.stderr)\nsys.exit(1)")
    assert failed.code == 3
    assert "does not answer" in bench.results()["p/1"]["error"]
    assert KEY not in str(bench.results())

    bench_script[0] = plays
    done = bench.run(GOOD)
    assert (done.code, bench.results()["p/1"]["answer"]) == (0, "ZNX1 is the highest gene, with 9 counts.")


@NEEDS_WALLS
def test_a_command_that_is_not_there_and_data_that_are_not_there_are_errors(bench: Bench) -> None:
    bench.run(GOOD)
    none = bench.command("no-such-agent --x", out="none")
    stray = bench.run(GOOD, questions=(QUESTION | {"data": {"../set.jsonl": "the set"}},), out="stray")
    lacking = bench.run(GOOD, questions=(QUESTION | {"data": {"none.h5ad": "cells"}},), out="lacking")
    whole = bench.run(GOOD, "--data", ".", questions=(QUESTION | {"data": {".": "all"}},), out="whole")

    assert (none.code, stray.code, lacking.code, whole.code) == (3, 3, 3, 3)
    assert "no-such-agent: No such file or directory" in bench.results("none")["p/1"]["error"]
    assert "leads out of" in bench.results("stray")["p/1"]["error"]
    assert "there is no " in bench.results("lacking")["p/1"]["error"]
    assert "the agent could read" in bench.results("whole")["p/1"]["error"]


@NEEDS_WALLS
@pytest.mark.parametrize("named", [".", "set.jsonl", "/", "/proc", "out", "out/run-1"])
def test_files_of_an_agent_that_hold_the_set_or_the_results_are_refused(bench: Bench, named: str) -> None:
    (bench.folder / "out/run-1").mkdir(parents=True)
    done = bench.run(GOOD, "--agent-file", named)

    assert done.code == 2
    assert "the agent could read" in done.err


def test_without_bubblewrap_nothing_is_run_unless_a_person_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_runs, "bubblewrap", lambda: "")
    refused = bench.run(GOOD)
    done = bench.run(GOOD, "--unsandboxed")

    assert (refused.code, done.code) == (2, 0), done.err
    assert "no agent can be shut in here" in refused.err
    assert "--unsandboxed" in refused.err
    assert bench.results()["p/1"]["answer"] == "ZNX1 is the highest gene, with 9 counts."


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("B", ["B"]),
        ("A, B", ["A", "B"]),
        ("I looked.\nThe right answers are: A and B.", ["A", "B"]),
        ("**B**", ["B"]),
        ("(B)", ["B"]),
        ("B is wrong", []),
        ("Not the answer: B", []),
        ("Answer: none of A or B", []),
        ("C", []),
        ("", []),
    ],
)
def test_letters_are_read_from_a_line_that_has_nothing_else(answer: str, chosen: list[str]) -> None:
    assert letters(answer, {"A": "x", "B": "y"}) == chosen


def table(bench: Bench, *more: str) -> tuple[list[dict[str, Any]], Said]:
    done = kgcheck("bench", "grade", "set.jsonl", *more, "--format", "json", cwd=bench.folder)
    return json.loads(done.out), done


@NEEDS_WALLS
def test_an_agent_stands_beside_its_model_alone(bench: Bench) -> None:
    bench.run(GOOD, questions=(QUESTION, CHOICE))
    before, _ = table(bench, "out")
    alone = {"OpenAnswer": {"answer": "QPR7 is lowest."}, "ChosenOptions": {"chosen": ["B"]}}
    bench_script[0] = lambda asked: Say(json.dumps(alone[asked.form or ""]))
    kgcheck("batch", "set", "set.jsonl", "--by", "model", "--out", "alone", cwd=bench.folder)
    (model, agent), _ = table(bench, "out", "alone")

    assert (before[0]["score gain"], before[0]["accuracy gain"]) == ("not run", "not run")
    assert (model["system"], model["score gain"]) == ("alone", "")
    assert (agent["system"], agent["model"], agent["score"], model["score"]) == ("out", "scripted", "5.00", "1.00")
    assert (agent["score gain"], agent["accuracy gain"]) == ("+4.00", "+0.00")


@NEEDS_WALLS
def test_wrong_answers_of_agents_are_counted_by_what_the_transcripts_show(bench: Bench) -> None:
    bench.run("ask(user(task)); answer('QPR7 is the highest gene.')")
    (row,), _ = table(bench, "out", "--failures")
    kgcheck("batch", "set", "set.jsonl", "--by", "model", "--out", "alone", cwd=bench.folder)
    none = kgcheck("bench", "grade", "set.jsonl", "alone", "--failures", cwd=bench.folder)

    assert (row["items"], row["wrong"], row["none of these"]) == (1, 1, 0)
    assert (row["unshown statement"], row["environment not explored"], row["chatter"]) == (1, 0, 0)
    assert none.code == 2
    assert "alone has no transcripts" in none.err


def said(*turns: tuple[str, str]) -> list[dict[str, Any]]:
    """A conversation in which each turn shows something, and has a reply."""
    return [{"same": 0, "messages": [{"role": "user", "content": s}], "reply": {"content": r}} for s, r in turns]


TASK = "Which gene is highest? data/counts.tsv"
LOOK = "```cat data/counts.tsv```"


@pytest.mark.parametrize(
    ("turns", "answer", "faults"),
    [
        (((TASK, LOOK), ("ZNX1 is the highest gene with 9.04.", "done")), "ZNX1 is the highest gene, with 9.", []),
        (((TASK, LOOK), ("ZNX1 0.913", "done")), "ZNX1 has 91.3% of the counts.", []),
        (((TASK, LOOK), ("ZNX1 0.913", "done")), "ZNX1 has 93.1% of the counts.", ["unshown statement"]),
        (((TASK, LOOK), ("ZNX1 9", "done")), "QPR7 is highest.", ["unshown statement"]),
        (((TASK, LOOK), ("ZNX1 is the highest gene.", "x")), "ZNX1 is not the highest gene.", ["misread evidence"]),
        (((TASK, LOOK), ("ZNX1 is not the highest gene.", "x")), "ZNX1 is not the highest gene.", []),
        (((TASK, "I will look."), (f"ZNX1 9 {LOOK}", "done")), "ZNX1 is the highest gene.", ["chatter"]),
        (((TASK, "```ls```"), ("ZNX1", "done")), "ZNX1 is the highest gene.", ["environment not explored"]),
        (((TASK, "```ls```"), (TASK, "done")), "It is the highest gene.", ["environment not explored"]),
        (((TASK, LOOK), ("ZNX1", "done")), "", ["no conclusion"]),
        ((), "", ["environment not explored", "no conclusion"]),
    ],
)
def test_faults_of_agents_are_read_off_what_was_shown(
    turns: tuple[tuple[str, str], ...], answer: str, faults: list[str]
) -> None:
    question = BenchQuestion.model_validate(QUESTION)

    assert list(agent_faults(said(*turns), question, answer)) == faults


def test_a_call_that_is_made_twice_is_chatter() -> None:
    call = {"function": {"name": "read", "arguments": '{"path": "counts.tsv"}'}}
    turns = said((TASK, ""), ("ZNX1 9", ""), ("ZNX1 9", "done"))
    for turn in turns[:2]:
        turn["reply"]["tool_calls"] = [call]
    question = BenchQuestion.model_validate(QUESTION)

    assert agent_faults(turns, question, "ZNX1 is highest.") == (ProcessFault.CHATTER,)
    assert agent_faults(turns[1:], question, "ZNX1 is highest.") == ()
