"""Loads the service: ``make setup-load``, then ``python -m benchmarks.service``.

Fifty made-up curators (locust) for a minute over the demo, and over a ledger with a million findings; then one who asks
for page after page over ten thousand. The service is `kgcheck serve` in a process of its own, on the same machine as
who loads it. ``--findings``, ``--users`` and ``--seconds`` make it smaller.
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
from statistics import quantiles
from typing import NamedTuple
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from benchmarks.ledger import write_ledger
from kgcheck.workspace import Workspace
from tests.support.audits import demo

LOCUST = Path(".venv-load/bin/locust")
PAGES = 400
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


def main() -> None:
    """Load the service, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    if not LOCUST.exists():
        raise SystemExit("there is no locust: make setup-load")
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        folder = Path(name)
        with Workspace(store=str(demo().store), reference=demo().reference, ledger=folder / "demo.sqlite") as workspace:
            workspace.audit()
            found = workspace.list_findings().count()
        write_ledger(folder / "many.sqlite", options.findings)
        write_ledger(folder / "some.sqlite", 10_000)
        _show(f"\n## {options.users} users for {options.seconds} s over the demo ({found:,} findings)\n")
        with service(folder / "demo.sqlite", folder) as served:
            load(served, folder, options.users, options.seconds, DEMO_FILTERS, with_graph=True)
        _show(f"\n## {options.users} users for {options.seconds} s over {options.findings:,} findings\n")
        with service(folder / "many.sqlite", folder) as served:
            load(served, folder, options.users, options.seconds, MANY_FILTERS, with_graph=False)
        _show("\n## One user, page after page of 50 over 10,000 findings\n")
        with service(folder / "some.sqlite", folder) as served:
            pages(served)


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
    environment = os.environ | {"KGCHECK_HOME": str(folder / "home")}
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "kgcheck", *words, "--port", str(port)], env=environment, stderr=subprocess.DEVNULL
    )
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
        process.wait(60)


def load(served: Served, folder: Path, users: int, seconds: int, filters: tuple[str, ...], *, with_graph: bool) -> None:
    """Let made-up users work with a service, and print how long they waited."""
    environment = os.environ | {
        "KGCHECK_BENCH_FILTERS": " ".join(filters),
        "KGCHECK_BENCH_GRAPH": "1" if with_graph else "0",
    }
    base, before = folder / "load", served.cpu_s
    command = [str(LOCUST), "--headless", "--only-summary", "--locustfile", "benchmarks/load_users.py"]
    command += ["--users", str(users), "--spawn-rate", str(max(users // 5, 1)), "--run-time", f"{seconds}s"]
    command += ["--host", served.address, "--csv", str(base), "--loglevel", "ERROR"]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # noqa: S603
    _show("| what | requests | failed | p50 | p95 | p99 | most |\n| --- | --- | --- | --- | --- | --- | --- |")
    with (folder / "load_stats.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            figures = (f"{float(row[name]):.0f} ms" for name in ("50%", "95%", "99%", "Max Response Time"))
            what = "all" if row["Name"] == "Aggregated" else row["Name"]
            _show(f"| {what} | {int(row['Request Count']):,} | {row['Failure Count']} | {' | '.join(figures)} |")
    taken = served.cpu_s - before
    _show(f"\nMost memory of the service {served.peak_mib:,} MiB; it took {taken:.0f} s of processor time.")


def pages(served: Served) -> None:
    """Ask for page after page, by one filter or another, and print how long that took."""
    draw, times, cursor = random.Random(0), list[float](), None  # noqa: S311
    for _ in range(PAGES):
        chosen = draw.choice(["", *MANY_FILTERS, "text=C-00007"])
        query = chosen if cursor is None or draw.random() < 0.5 else urlencode({"cursor": cursor})
        begun = time.perf_counter()
        with urlopen(f"{served.address}/v1/findings?{query}", timeout=60) as answer:  # noqa: S310
            page = json.loads(answer.read())
        times.append((time.perf_counter() - begun) * 1000)
        cursor = page["next"]
    cuts = quantiles(times, n=100)
    _show("| pages | p50 | p95 | p99 | most |\n| --- | --- | --- | --- | --- |")
    _show(f"| {PAGES} | {cuts[49]:.0f} ms | {cuts[94]:.0f} ms | {cuts[98]:.0f} ms | {max(times):.0f} ms |")


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
