"""Asks pip-audit whether the pinned packages have known vulnerabilities, where its data can be reached.

python -m tests.support.audit_packages requirements/run.txt requirements/dev.txt

A new advisory is reported and stops nobody's work; with --release it ends with 1, but for those that advisories.toml
accepts until a day. Where nothing could be looked up, which is not "nothing found", it says so: a release stops there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Collection
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("advisories.toml")

LIMIT_S = 120
"""Longest time for one file."""


class Told(NamedTuple):
    """What came of one file: whether a release may have it, and a line for each thing to know."""

    is_clean: bool
    lines: list[str]


def accepted(text: str, today: date) -> frozenset[str]:
    """The advisories that are accepted on a day."""
    return frozenset(
        row["id"] for row in tomllib.loads(text).get("accepted", ()) if row["why"] and today <= row["until"]
    )


def read(out: str, err: str, known: Collection[str] = ()) -> Told:
    """What pip-audit says in JSON, or why it says nothing; `known` are the advisories that are accepted."""
    try:
        packages = json.loads(out)["dependencies"]
    except (ValueError, KeyError, TypeError):
        said = [line for line in err.splitlines() if line.strip()]
        return Told(False, [f"skipped: pip-audit could not look: {said[-1] if said else 'it said nothing'}"])
    looked = [p for p in packages if "vulns" in p]
    if not looked:
        why = packages[0].get("skip_reason", "no reason given") if packages else "no packages"
        return Told(False, [f"skipped: none of {len(packages)} packages could be looked up: {why}"])
    found = [(p, v, not {v["id"], *v.get("aliases", ())}.isdisjoint(known)) for p in looked for v in p["vulns"]]
    lines = [f"{len(looked)} of {len(packages)} packages looked up, {len(found)} known vulnerabilities"]
    for p, v, is_accepted in found:
        mended = f"mended in {', '.join(v['fix_versions']) or 'no version'}"
        lines.append(f"{p['name']} {p['version']}: {v['id']}, {'accepted' if is_accepted else mended}")
    return Told(all(is_accepted for *_, is_accepted in found), lines)


def ask(requirements: Path) -> Told:
    """Audit one requirement file, pinned and with hashes."""
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
        return Told(False, [f"skipped: pip-audit did not end in {LIMIT_S} seconds"])
    return read(done.stdout, done.stderr, accepted(LIST.read_text(encoding="utf-8"), datetime.now(UTC).date()))


if __name__ == "__main__":
    is_release = "--release" in sys.argv
    told = {name: ask(Path(name)) for name in sys.argv[1:] if name != "--release"}
    for name, (_, lines) in told.items():
        sys.stdout.write("".join(f"pip-audit {name}: {line}\n" for line in lines))
    sys.exit(is_release and not all(t.is_clean for t in told.values()))
