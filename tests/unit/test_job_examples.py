"""The files of examples/jobs: each is what its program takes, as far as this machine can tell."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kgcheck.cli.main import cli
from kgcheck.curation.project import Project, read_project
from kgcheck.curation.schedule import Schedule
from tests.support import ROOT

FOLDER = ROOT / "examples" / "jobs"


@pytest.fixture(scope="module")
def project() -> Project:
    return read_project(FOLDER / "kgcheck.toml")


def commands(text: str) -> list[list[str]]:
    """The kgcheck command lines in a text."""
    return [shlex.split(line)[1:] for line in re.findall(r"kgcheck job[\w -]*", text)]


def check_commands(found: list[list[str]], project: Project) -> None:
    """Refuse a command line that kgcheck does not take, or that names a job that the project does not have."""
    assert found
    for words in found:
        with cli.make_context("kgcheck", list(words), resilient_parsing=True) as context:
            group = cli.get_command(context, words[0])
            assert isinstance(group, click.Group)
            command = group.commands[words[1]]
        with command.make_context(words[1], words[2:]) as parsed:
            project.job(parsed.params["name"])


def test_the_crontab(project: Project) -> None:
    lines = (FOLDER / "crontab").read_text(encoding="utf-8").splitlines()
    entries = [line for line in lines if re.match(r"[\d*]", line)]
    names: dict[str, str] = {}
    for line in entries:
        *words, command = line.split(maxsplit=5)
        Schedule(" ".join(words))
        (found,) = commands(command)
        names[found[-1]] = " ".join(words)
        check_commands([found], project)
        subprocess.run(["sh", "-n", "-c", command], check=True)

    assert names == {name: job.schedule for name, job in project.values.jobs.items()}
    # cron takes % for a line end.
    assert not any("%" in line for line in entries)
    assert all(
        re.match(r"[A-Z_]+=", line) for line in lines if line and not line.startswith("#") and line not in entries
    )


def test_the_kubernetes_cronjob(project: Project) -> None:
    job: dict[str, Any] = yaml.safe_load((FOLDER / "kubernetes-cronjob.yaml").read_text(encoding="utf-8"))

    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "CronJob")
    spec = job["spec"]
    nightly = project.job("nightly")
    assert spec["schedule"] == nightly.schedule
    Schedule(spec["schedule"], spec["timeZone"])
    assert spec["timeZone"] == project.values.time_zone
    assert spec["concurrencyPolicy"] in ("Allow", "Forbid", "Replace")
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    # Kubernetes takes a podFailurePolicy with this restart policy alone.
    assert pod["restartPolicy"] == "Never"
    (container,) = pod["containers"]
    check_commands([container["args"]], project)
    (rule,) = spec["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    secret = [entry for entry in container["env"] if "valueFrom" in entry]
    assert {"KGCHECK_LEDGER_PASSWORD", "CURATORS_ADDRESS"} <= {entry["name"] for entry in secret}
    assert all("PASSWORD" not in entry["name"] for entry in container["env"] if "value" in entry)


def test_the_systemd_units(project: Project, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("no systemd-analyze on this machine")
    units = sorted(FOLDER.glob("kgcheck-nightly.*"))
    for unit in units:
        shutil.copy(unit, tmp_path)
    command: list[str | Path] = [
        program,
        "verify",
        "--man=no",
        "--recursive-errors=no",
        *(tmp_path / unit.name for unit in units),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    ours = [line for line in done.stderr.splitlines() if "kgcheck-nightly" in line]
    assert ours == [], done.stderr
    calendar = re.search(r"OnCalendar=(.*)", (FOLDER / "kgcheck-nightly.timer").read_text())
    assert calendar is not None
    shown = subprocess.run([program, "calendar", calendar[1]], check=True, capture_output=True, text=True, timeout=60)
    assert "Next elapse" in shown.stdout
    check_commands(commands((FOLDER / "kgcheck-nightly.service").read_text()), project)


def test_the_workflow_of_github(project: Project) -> None:
    text = (FOLDER / "github-actions.yml").read_text(encoding="utf-8")
    flow: dict[Any, Any] = yaml.safe_load(text)

    # YAML 1.1 takes "on" for true.
    triggers = flow[True]
    assert triggers["schedule"] == [{"cron": project.job("nightly").schedule}]
    Schedule(triggers["schedule"][0]["cron"])
    steps = flow["jobs"]["nightly"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert flow["permissions"] == {"contents": "read"}
    runs = "\n".join(step["run"] for step in steps if "run" in step)
    subprocess.run(["sh", "-n", "-c", runs], check=True)
    check_commands(commands(runs), project)
    assert set(re.findall(r"secrets\.(\w+)", text)) == {project.values.notifications["curators"].address_env}
