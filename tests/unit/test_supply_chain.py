"""What kgcheck is made of is pinned, listed and looked up."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from datetime import date
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import ROOT
from tests.support.audit_packages import accepted, read

DIGEST = re.compile(r"[\w./-]+:(v?\d+\.\d+[\w.-]*|server-b\d+)@sha256:[0-9a-f]{64}")


def test_base_images_are_pinned_by_digest() -> None:
    text = (ROOT / "Dockerfile").read_text()
    stages = re.findall(r"^FROM (\S+) AS (\S+)$", text, re.MULTILINE)
    bases = [base for place, (base, _) in enumerate(stages) if base not in {name for _, name in stages[:place]}]
    served = re.findall(r"^ +image: (\S+)", (ROOT / "docker-compose.yml").read_text(), re.MULTILINE)

    assert len(stages) == len(re.findall("^FROM", text, re.MULTILINE))
    assert bases
    assert served
    assert [image for image in bases + served if not DIGEST.fullmatch(image)] == []


@pytest.mark.slow
def test_sbom_is_valid_and_lists_every_pinned_package(tmp_path: Path) -> None:
    recipe = re.search(r"^sbom:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    options = recipe[1].replace("\\\n", " ").split("cyclonedx-py", 1)[1].split("build/sbom")[0].split()
    options = [o.replace("$$", "$") for o in options]
    # It is validated below: the program would import and do all that again.
    command = [sys.executable, "-m", "cyclonedx_py", *options, str(tmp_path / "sbom.json"), "--no-validate"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    text = (tmp_path / "sbom.json").read_text(encoding="utf-8")

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    listed = {(c["name"], c["version"]) for c in json.loads(text)["components"]}
    pinned = re.findall(r"^([\w.-]+)(?:\[\S+\])?==(\S+)", (ROOT / "requirements/run.txt").read_text(), re.MULTILINE)
    assert listed == set(pinned)
    assert len(listed) > 20


@pytest.mark.parametrize(
    ("out", "is_clean", "line"),
    [
        ('{"dependencies": [{"name": "x", "version": "1", "vulns": []}]}', True, "1 of 1 packages looked up, 0 known"),
        (
            '{"dependencies": [{"name": "x", "version": "1", "vulns": [{"id": "V-1", "fix_versions": ["2"]}]}]}',
            False,
            "1 of 1 packages looked up, 1 known vulnerabilities",
        ),
        (
            '{"dependencies": [{"name": "x", "skip_reason": "not found"}]}',
            False,
            "skipped: none of 1 packages could be",
        ),
        ("", False, "skipped: pip-audit could not look: no route"),
        ("[]", False, "skipped: pip-audit could not look: no route"),
    ],
)
def test_what_could_not_be_looked_up_is_not_called_clean(out: str, is_clean: bool, line: str) -> None:
    told = read(out, "Traceback\nno route\n")

    assert told.is_clean is is_clean
    assert told.lines[0].startswith(line)


def test_an_advisory_is_accepted_by_any_of_its_names_until_its_day() -> None:
    text = '[[accepted]]\nid = "CVE-1"\nuntil = 2027-01-31\nwhy = "it is not called"\n'
    found = {"id": "V-1", "aliases": ["CVE-1"], "fix_versions": []}
    out = json.dumps({"dependencies": [{"name": "x", "version": "1", "vulns": [found]}]})

    assert read(out, "", accepted(text, date(2027, 1, 31))).is_clean
    late = read(out, "", accepted(text, date(2027, 2, 1)))
    assert (late.is_clean, late.lines[1]) == (False, "x 1: V-1, mended in no version")


def packages_of(requirements: Iterable[str]) -> set[str]:
    """What requirements install, with what that needs."""
    found: set[str] = set()
    left = [(Requirement(one), "") for one in requirements]
    while left:
        wanted, extra = left.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        found.add(name)
        for each in {"", *wanted.extras}:
            if (key := f"{name}[{each}]") not in found:
                found.add(key)
                left += [(Requirement(one), each) for one in requires(name) or ()]
    return found


def imported_by(file: Path) -> set[str]:
    """What a module imports when it is imported itself, as whole packages."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    names = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in body if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(("extra", "module"), [("mcp", "kgcheck.mcp.server"), ("service", "kgcheck.service.server")])
def test_an_extra_has_every_package_that_its_modules_import(extra: str, module: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = packages_of([*project["dependencies"], *project["optional-dependencies"][extra]])
    script = f"import sys, {module}; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('kgcheck')))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    owners = packages_distributions()

    imported = set().union(*(imported_by(Path(file)) for file in done.stdout.split()))
    lacking = {
        name for name in imported if {canonicalize_name(one) for one in owners.get(name, ())}.isdisjoint(installed)
    }
    assert lacking - {"kgcheck"} - sys.stdlib_module_names == set()
