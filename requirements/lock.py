"""Pin what pyproject.toml asks for, with hashes: ``make lock``; with UPGRADE=--upgrade, the newest versions."""

import re
import subprocess
import sys
from pathlib import Path

from install import SETS

ROOT = Path(__file__).parents[1]
# Extras stay in the pins: an installer that meets coverage[toml] where coverage is pinned takes the newest of it.
COMPILE = [
    *("--quiet", "--no-strip-extras", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-emit-index-url"),
]
SERVICE = ["fast", "jobs", "llm", "mcp", "papers", "pdf", "postgres", "service", "telemetry"]
TESTED = [*SERVICE, "grounding", "pandas", "protocols", "py2neo", "rdf"]
# Name: the extras of kgcheck (none: without kgcheck), the groups, the file whose pins hold here, too.
FILES: dict[str, tuple[list[str] | None, list[str], str]] = {
    "run": ([], [], ""),
    "demo": (["papers"], ["build"], "run"),
    "dev": (sorted(TESTED), ["dev"], "demo"),
    "service": (SERVICE, [], "dev"),
    "docs": (None, ["docs"], "dev"),
    "load": (None, ["load"], "dev"),
    "train": (None, ["train"], "dev"),
    "uv": (None, ["uv"], "dev"),
    "weights": (None, ["weights"], ""),
    "models": (None, ["models"], ""),
    "oldest_pip": (None, ["oldest_pip"], ""),
}
ALONE = {name for _, alone in SETS.values() for name in alone}
"""Installed without what they depend on, which is torch or a program of which the weights alone are used."""


def with_plain_pins(text: str) -> str:
    """Repeat pins that have extras without them: else pip 22.3 takes the newest where a name is asked for plain."""
    return re.sub(
        r"^(([\w.-]+)\[[^]]+\])(==.*\n(?: .*\n)*)", lambda pin: pin[0] + pin[2] + pin[3], text, flags=re.MULTILINE
    )


def main(options: list[str]) -> None:
    """Pin every file, in an order in which those that others hold to come first."""
    for name, (extras, groups, held) in FILES.items():
        file = f"requirements/{name}.txt"
        asked = [] if extras is None else ["pyproject.toml", *(f"--extra={extra}" for extra in extras)]
        asked += [*(f"--group={group}" for group in groups), *(["-c", f"requirements/{held}.txt"] if held else [])]
        alone = ["--no-deps"] if name in ALONE else []
        command = [sys.executable, "-m", "uv", "pip", "compile", *COMPILE, *options, *asked, *alone, "-o", file]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        path = ROOT / file
        path.write_text(with_plain_pins(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
