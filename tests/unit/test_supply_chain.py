"""What kgcheck is made of is pinned, listed and looked up."""

import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.support import ROOT
from tests.support.audit_packages import LIST, accepted, read

DIGEST = re.compile(r"[\w./-]+:\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}")


def test_base_images_are_pinned_by_digest() -> None:
    text = (ROOT / "Dockerfile").read_text()
    stages = re.findall(r"^FROM (\S+) AS (\S+)$", text, re.MULTILINE)
    bases = [base for place, (base, _) in enumerate(stages) if base not in {name for _, name in stages[:place]}]
    served = re.findall(r"^ +image: (\S+)", (ROOT / "docker-compose.yml").read_text(), re.MULTILINE)

    assert len(stages) == len(re.findall("^FROM", text, re.MULTILINE))
    assert bases
    assert served
    assert [image for image in bases + served if not DIGEST.fullmatch(image)] == []


def test_sbom_is_valid_and_lists_every_pinned_package(tmp_path: Path) -> None:
    recipe = re.search(r"^sbom:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    options = recipe[1].replace("\\\n", " ").split("cyclonedx-py", 1)[1].split("build/sbom")[0].split()
    options = [o.replace("$$", "$") for o in options]
    subprocess.run(
        [sys.executable, "-m", "cyclonedx_py", *options, str(tmp_path / "sbom.json")],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
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


def test_the_list_of_accepted_advisories_can_be_read() -> None:
    accepted(LIST.read_text(encoding="utf-8"), date(2027, 1, 1))
