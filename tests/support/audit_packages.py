"""Asks pip-audit whether the pinned packages have known vulnerabilities, where its data can be reached.

python -m tests.support.audit_packages requirements/run.txt requirements/dev.txt

Ends with 1 if some have. Where nothing could be looked up, which is not "nothing found", it says so and ends with 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

LIMIT_S = 120
"""Longest time for one file."""


class Told(NamedTuple):
    """What came of one file: the exit code, and a line for each thing to know."""

    code: int
    lines: list[str]


def read(out: str, err: str) -> Told:
    """What pip-audit says in JSON, or why it says nothing.

    Args:
        out: Its stdout.
        err: Its stderr.

    Returns:
        What came of it.
    """
    try:
        packages = json.loads(out)["dependencies"]
    except (ValueError, KeyError, TypeError):
        said = [line for line in err.splitlines() if line.strip()]
        return Told(0, [f"skipped: pip-audit could not look: {said[-1] if said else 'it said nothing'}"])
    looked = [p for p in packages if "vulns" in p]
    if not looked:
        why = packages[0].get("skip_reason", "no reason given") if packages else "no packages"
        return Told(0, [f"skipped: none of {len(packages)} packages could be looked up: {why}"])
    found = [
        f"{p['name']} {p['version']}: {v['id']}, mended in {', '.join(v['fix_versions']) or 'no version'}"
        for p in looked
        for v in p["vulns"]
    ]
    lines = [f"{len(looked)} of {len(packages)} packages looked up, {len(found)} known vulnerabilities", *found]
    return Told(1 if found else 0, lines)


def ask(requirements: Path) -> Told:
    """Audit one requirement file.

    Args:
        requirements: Pinned, with hashes.

    Returns:
        What came of it.
    """
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--format", "json"]
    try:
        done = subprocess.run(
            [*command, "--progress-spinner", "off", "--timeout", "10", "-r", str(requirements)],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Told(0, [f"skipped: pip-audit did not end in {LIMIT_S} seconds"])
    return read(done.stdout, done.stderr)


if __name__ == "__main__":
    told = {name: ask(Path(name)) for name in sys.argv[1:]}
    for name, (_, lines) in told.items():
        sys.stdout.write("".join(f"pip-audit {name}: {line}\n" for line in lines))
    sys.exit(max((t.code for t in told.values()), default=0))
