"""Both images of the Dockerfile keep the rules that linters of such files have, where Docker itself cannot be asked."""

import re
from functools import cache
from typing import NamedTuple

import pytest

from kgcheck.cli.main import cli
from kgcheck.service.probe import PATH
from tests.support import ROOT


class Stage(NamedTuple):
    """A stage, with its instructions in order."""

    name: str
    base: str
    steps: list[tuple[str, str]]


@cache
def stages() -> dict[str, Stage]:
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: dict[str, Stage] = {}
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name] = Stage(name, base, [])
        else:
            found[list(found)[-1]].steps.append((word, rest))
    return found


def lineage(name: str) -> list[tuple[str, str]]:
    """All instructions of a stage and those that it is built on, in order."""
    stage = stages()[name]
    return [*(lineage(stage.base) if stage.base in stages() else []), *stage.steps]


def test_only_known_instructions_are_used() -> None:
    known = {"ENV", "COPY", "RUN", "USER", "WORKDIR", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}

    assert {word for stage in stages().values() for word, _ in stage.steps} <= known
    assert set(stages()) == {"python", "uv", "base", "service-packages", "job-packages", "service", "job"}
    # What `docker build .` makes without a target.
    assert list(stages())[-1] == "job"


@pytest.mark.parametrize(("image", "pins"), [("service", "service"), ("job", "run")])
def test_an_image_runs_as_nobody_special_with_pinned_packages(image: str, pins: str) -> None:
    own = lineage(image)
    packages = dict(stages()[f"{image}-packages"].steps)

    assert [rest for word, rest in own if word == "USER"] == ["kgcheck"]
    assert ("COPY", f"--from={image}-packages /opt/packages /opt/packages") in own
    assert packages["COPY"].split()[0] == f"requirements/{pins}.txt"
    assert "--require-hashes --only-binary :all:" in packages["RUN"]
    # Neither the list of packages nor what installs them is left in what is shipped.
    assert not any("requirements/" in rest or "pip install" in rest for _, rest in own)
    assert dict(own)["ENTRYPOINT"] == '["python", "-m", "kgcheck"]'


@pytest.mark.parametrize("image", ["service", "job"])
def test_kgcheck_is_found_without_the_environment(image: str) -> None:
    """PYTHONPATH does not reach the guarded process that reads an embedded graph: it is started with ``python -I``."""
    run = dict(stages()[f"{image}-packages"].steps)["RUN"]

    assert "/kgcheck.pth', 'w').write('/opt/kgcheck')" in run
    assert not any("PYTHONPATH" in rest for _, rest in lineage(image))


def test_what_only_its_owner_may_read_is_read_by_the_user_of_the_image() -> None:
    """A checkout of somebody whose files are for them alone (umask 077)."""
    steps = [rest for word, rest in stages()["base"].steps if word in ("COPY", "RUN")]

    assert steps.index("cypher /opt/kgcheck/cypher") < next(
        place for place, step in enumerate(steps) if step.startswith("chmod -R a+rX /opt/kgcheck ")
    )


def test_what_is_copied_is_there_and_let_through() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [
        path
        for stage in stages().values()
        for word, rest in stage.steps
        if word == "COPY" and not rest.startswith("--from=")
        for path in rest.split()[:-1]
    ]

    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert set(copied) == let_in


def test_the_service_starts_by_its_command_and_is_looked_after() -> None:
    service = dict(stages()["service"].steps)
    words = re.findall(r'"([^"]+)"', service["CMD"])

    assert cli.get_command(None, words[0])  # type: ignore[arg-type]
    assert words[words.index("--host") + 1] == "0.0.0.0"  # noqa: S104
    assert service["EXPOSE"] == words[words.index("--port") + 1]
    assert service["STOPSIGNAL"] == "SIGTERM"
    assert '["python", "-m", "kgcheck.service.probe"]' in service["HEALTHCHECK"]
    assert PATH == "/v1/health/live"


def test_pins_of_the_service_are_those_of_the_tests() -> None:
    pin = re.compile(r"^([\w.-]+)(?:\[\S+\])?==(\S+)", re.MULTILINE)
    service = dict(pin.findall((ROOT / "requirements/service.txt").read_text()))
    tested = dict(pin.findall((ROOT / "requirements/dev.txt").read_text()))

    assert {name: version for name, version in service.items() if tested.get(name) != version} == {}
    assert {"fastapi", "uvicorn", "mcp", "psycopg", "cronsim", "opentelemetry-sdk", "python-json-logger"} <= set(
        service
    )
    assert not {"pytest", "playwright", "hypothesis"} & set(service)
