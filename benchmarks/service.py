"""Loads the service: ``make setup-load``, then ``python -m benchmarks.service``.

Fifty made-up curators (locust) for a minute over the demo, and over a ledger with a million findings; then one who asks
for page after page over ten thousand. The service is `kgcheck serve` in a process of its own, on the same machine as
who loads it. ``--findings``, ``--users``, ``--seconds`` and ``--only`` make it smaller; it ends by itself, and its last
table is one for benchmarks/README.md.
"""

import argparse
import csv
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from statistics import quantiles
from typing import NamedTuple
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from benchmarks.ledger import write_ledger
from kgcheck.workspace import Workspace
from tests.support.audits import demo

LOCUST = Path(".venv-load/bin/locust")
PAGES = 400
TOKEN = token_hex(16)
MANY_FILTERS = ("reason=value_mismatch", "label=C", "reason=id_deleted&label=B", "outcome=refuted", "decision=rejected")
DEMO_FILTERS = ("type=existence", "label=Protein", "reason=value_mismatch", "relation=ACTS_ON", "text=TP53")


class Served(NamedTuple):
    """A service that answers."""

    address: str
    pid: int

    @property
    def peak_mib(self) -> int:
        """The most memory that it has had."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmHWM"))

    @property
    def cpu_s(self) -> float:
        """Processor time that it has taken."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def cpu_ms(self) -> float:
        """The same of the threads that it has now, to a part of a millisecond: for one request."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


def main() -> None:
    """Load the service, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", choices=("demo", "many", "pages"), action="append", help="may be repeated")
    options = parser.parse_args()
    wanted = options.only or ["demo", "many", "pages"]
    if not LOCUST.exists():
        raise SystemExit("there is no locust: make setup-load")
    how, summary = f"{options.users} users for {options.seconds} s", list[str]()
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        folder = Path(name)
        if "demo" in wanted:
            place = folder / "demo.sqlite"
            with Workspace(store=str(demo().store), reference=demo().reference, ledger=place) as workspace:
                workspace.audit()
                found = workspace.list_findings().count()
            _show(f"\n## {how} over the demo ({found:,} findings)\n")
            with service(place, folder) as served:
                all_ = load(served, folder, options.users, options.seconds, DEMO_FILTERS, with_graph=True)
            summary.append(f"| {how} over the demo, {found:,} findings | {all_} |")
        if "many" in wanted:
            made = _made(folder / "many.sqlite", options.findings)
            _show(f"\n## {how} over {options.findings:,} findings ({made})\n")
            with service(folder / "many.sqlite", folder) as served:
                all_ = load(served, folder, options.users, options.seconds, MANY_FILTERS, with_graph=False)
            summary.append(f"| {how} over {options.findings:,} findings | {all_} |")
        if "pages" in wanted:
            _made(folder / "some.sqlite", 10_000)
            _show("\n## One user, page after page of 50 over 10,000 findings\n")
            with service(folder / "some.sqlite", folder) as served:
                summary.append(f"| one user, {PAGES} pages of 50 over 10,000 findings | {pages(served)} |")
    _show("\n## All of it, for benchmarks/README.md\n")
    _show("| what | requests | failed | p50 | p95 | p99 | most memory | processor time of the service |")
    _show("\n".join(["| --- | --- | --- | --- | --- | --- | --- | --- |", *summary]))


def _made(place: Path, findings: int) -> str:
    """Make a ledger; in what time."""
    begun = time.perf_counter()
    write_ledger(place, findings)
    return f"made in {time.perf_counter() - begun:.0f} s, {place.stat().st_size >> 20:,} MiB"


@contextmanager
def service(ledger: Path, folder: Path) -> Iterator[Served]:
    """`kgcheck serve` over the demo's graph and a ledger.

    Args:
        ledger: The ledger.
        folder: For its home.

    Yields:
        The service, which answers.

    Raises:
        URLError: It does not answer.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["serve", "--store", str(demo().store), "--reference", str(demo().reference), "--ledger", str(ledger)]
    environment = os.environ | {"KGCHECK_HOME": str(folder / "home"), "KGCHECK_START_TOKEN": TOKEN}
    # As many requests as come: here it is not to be found out that a user has a limit.
    words += ["--port", str(port), "--rate", "1000000"]
    log = (folder / "service.log").open("wb")
    process = subprocess.Popen([sys.executable, "-m", "kgcheck", *words], env=environment, stderr=log)  # noqa: S603
    try:
        until = time.monotonic() + 120
        while True:
            try:
                with urlopen(f"http://127.0.0.1:{port}/v1/health/ready", timeout=60):
                    break
            except URLError:
                if process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.2)
        yield Served(f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
        log.close()


def load(served: Served, folder: Path, users: int, seconds: int, filters: tuple[str, ...], *, with_graph: bool) -> str:
    """Let made-up users work with a service, and print how long they waited.

    Args:
        served: The service.
        folder: For what locust writes.
        users: How many at a time.
        seconds: How long.
        filters: What they look for, each as it stands in an address.
        with_graph: Also look at what is near a finding.

    Returns:
        The cells of the summary.

    Raises:
        SystemExit: locust did not end, or nothing was asked.
    """
    environment = os.environ | {
        "KGCHECK_BENCH_FILTERS": " ".join(filters),
        "KGCHECK_BENCH_GRAPH": "1" if with_graph else "0",
        "KGCHECK_START_TOKEN": TOKEN,
    }
    base, before = folder / "load", served.cpu_s
    command = [str(LOCUST), "--headless", "--only-summary", "--locustfile", "benchmarks/load_users.py"]
    command += ["--users", str(users), "--spawn-rate", str(max(users // 5, 1)), "--run-time", f"{seconds}s"]
    # What is under way at the end is waited for, but not for ever.
    command += ["--stop-timeout", "30", "--host", served.address, "--csv", str(base), "--loglevel", "ERROR"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        subprocess.run(command, env=environment, timeout=seconds + 120, check=False, **quiet)  # type: ignore[call-overload]  # noqa: S603
    except subprocess.TimeoutExpired:
        raise SystemExit(f"locust did not end: {folder / 'service.log'} has what the service wrote") from None
    _show("| what | requests | failed | p50 | p95 | p99 | most |\n| --- | --- | --- | --- | --- | --- | --- |")
    whole = ""
    with (folder / "load_stats.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            counts = f"{int(row['Request Count']):,} | {row['Failure Count']}"
            p50, p95, p99, most = (f"{float(row[n]):,.0f} ms" for n in ("50%", "95%", "99%", "Max Response Time"))
            if row["Name"] == "Aggregated":
                whole = f"{counts} | {p50} | {p95} | {p99}"
            what = row["Name"] if row["Name"] != "Aggregated" else "all"
            _show(f"| {what} | {counts} | {p50} | {p95} | {p99} | {most} |")
    for failure in _failures(folder / "load_failures.csv"):
        _show(f"\nfailed: {failure}")
    if not whole:
        raise SystemExit("locust asked nothing")
    return f"{whole} | {served.peak_mib:,} MiB | {served.cpu_s - before:.0f} s |".removesuffix(" |")


def _failures(file: Path) -> list[str]:
    with file.open(newline="") as rows:
        return [f"{row['Name']}, {row['Occurrences']} times: {row['Error'][:300]}" for row in csv.DictReader(rows)]


def pages(served: Served) -> str:
    """Ask for page after page, by one filter or another, and print how long that took.

    Args:
        served: The service.

    Returns:
        The cells of the summary.
    """
    draw, before, cursor = random.Random(0), served.cpu_s, None  # noqa: S311
    times, taken = dict[str, list[float]](), dict[str, list[float]]()
    for number in range(PAGES):
        chosen = draw.choice(["", *MANY_FILTERS, f"text=C-{number:05}"])
        kind = "a text not searched before" if "text=" in chosen else chosen or "no filter"
        if cursor and draw.random() < 0.5:
            kind, chosen = "next page", urlencode({"cursor": cursor})
        used, begun = served.cpu_ms, time.perf_counter()
        request = Request(f"{served.address}/v1/findings?{chosen}", headers={"Authorization": f"Bearer {TOKEN}"})  # noqa: S310
        with urlopen(request, timeout=60) as answer:  # noqa: S310
            page = json.loads(answer.read())
        times.setdefault(kind, []).append((time.perf_counter() - begun) * 1000)
        taken.setdefault(kind, []).append(served.cpu_ms - used)
        cursor = page["next"]
    # Processor time beside it: on a busy machine the rest says little about the service.
    _show(
        "| pages | number | p50 | p95 | p99 | processor time: p50 | p95 |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for some in (times, taken):
        some["all"] = [one for each in some.values() for one in each]
    for kind, waited in sorted(times.items()):
        p50, p95, p99 = _cuts(waited)
        used50, used95, _ = _cuts(taken[kind])
        _show(f"| {kind} | {len(waited)} | {p50} | {p95} | {p99} | {used50} | {used95} |")
    p50, p95, p99 = _cuts(times["all"])
    return f"{PAGES} | 0 | {p50} | {p95} | {p99} | {served.peak_mib:,} MiB | {served.cpu_s - before:.0f} s"


def _cuts(figures: list[float]) -> tuple[str, str, str]:
    cuts = quantiles(figures, n=100, method="inclusive") if len(figures) > 1 else figures * 99
    return f"{cuts[49]:.0f} ms", f"{cuts[94]:.0f} ms", f"{cuts[98]:.0f} ms"


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
