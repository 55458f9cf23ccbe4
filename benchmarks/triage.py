"""Times the list of findings as the page shows it: ``python -m benchmarks.triage``.

One who asks for page after page, with facets and filters, over made-up findings of which some were decided about.
Processor time of the service and of who asks is measured, in one process, and no browser. ``--findings`` makes it
larger or smaller.
"""

import argparse
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import quantiles

from starlette.testclient import TestClient

from benchmarks.ledger import write_ledger
from benchmarks.timing import Row, print_table
from kgcheck.service.app import create_app
from kgcheck.service.limits import ServiceLimits
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace

PAGES = 100
DECIDED = 500
FILTERS = {
    "any filter": (
        "",
        "reason=value_mismatch",
        "label=C",
        "outcome=refuted&label=B",
        "decision=open&decision=reopened",
    ),
    "one decision before each": ("decision=open",),
    "a text that was not searched before": ("q=C-0{0:05d}",),
}


def main() -> None:
    """Measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as folder:
        ledger = Path(folder) / "ledger.sqlite"
        write_ledger(ledger, options.findings)
        names = _decide(ledger)
        limits = ServiceLimits(per_minute=1_000_000)
        service = Service(ServiceOptions(ledger=str(ledger), limits=limits), Settings(home=Path(folder) / "home"))
        token, _ = service.users.add("bench", "curator", by="bench")
        signed = {"Authorization": f"Bearer {token}"}
        with TestClient(create_app(service), "http://127.0.0.1", headers=signed) as client:
            first = _seconds(client, "/findings")
            rows = [
                Row(
                    f"triage page over {options.findings:,}, the first of all",
                    f"{first * 1000:.0f} ms of processor time",
                    "",
                    "",
                )
            ]
            for what, filters in FILTERS.items():
                times = []
                for number, wanted in enumerate(islice(cycle(filters), PAGES)):
                    if "decision before" in what:
                        with service.open() as workspace:
                            workspace.decide([names[number % len(names)]], "reopen", by="bench")
                    times.append(_seconds(client, f"/findings?{wanted.format(number)}"))
                rows.append(_row(f"triage page over {options.findings:,}, {what}", times))
            for what, paths in {
                "the overview": ["/"],
                "a finding beside the list": [f"/findings/{name}?decision=open" for name in names],
                "a finding's page": [f"/findings/{name}?decision=open" for name in names],
            }.items():
                # As the page's own script asks for a part of it.
                more = {"X-Fragment": "1"} if "beside" in what else {}
                times = [_seconds(client, path, **more) for path in islice(cycle(paths), PAGES)]
                rows.append(_row(f"{what}, of {options.findings:,}", times))
    print_table(rows)


def _decide(ledger: Path) -> list[str]:
    with Workspace(ledger=ledger) as workspace:
        names = [one.fingerprint for one in workspace.list_findings().page(limit=DECIDED)]
        workspace.decide(names[: DECIDED // 2], "accept", by="bench")
        workspace.decide(names[DECIDED // 2 :], "reject", by="bench")
    return names


def _row(what: str, times: list[float]) -> Row:
    p50, p95 = (1000 * quantiles(times, n=100)[n] for n in (49, 94))
    return Row(f"{what}, {len(times)} times", f"p50 {p50:.0f} ms, p95 {p95:.0f} ms of processor time", "", "")


def _seconds(client: TestClient, path: str, **headers: str) -> float:
    # Processor time: that of a busy machine says nothing about the page.
    started = time.process_time()
    answer = client.get(path, headers=headers)
    seconds = time.process_time() - started
    if answer.status_code != 200 or (path == "/findings" and 'class="row' not in answer.text):
        raise RuntimeError(f"{answer.status_code} for {path}")
    return seconds


if __name__ == "__main__":
    main()
