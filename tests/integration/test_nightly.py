"""The job that `kgcheck init` writes: load, papers, audit and team, with services on loopback, over two nights."""

import json
import re
import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from kgcheck.ledger.ledger import Ledger
from kgcheck.model import Outcome
from kgcheck.service.app import create_app
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from tests.integration.test_build import FACTS_OF_DEMO
from tests.integration.test_graph_papers import Europe
from tests.support.api import bearer
from tests.support.audits import core_import, demo, kgcheck
from tests.support.loopback import Loopback
from tests.support.world import running

pytestmark = pytest.mark.slow


def test_a_night_builds_from_sources_and_finds_what_changed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    assert kgcheck("init", project, cwd=tmp_path).code == 0
    text = (project / "kgcheck.toml").read_text()
    (project / "kgcheck.toml").write_text(re.sub(r"(?m)^(literature|papers|team_\w+) = ", r"# \1 = ", text))
    shutil.copytree(FACTS_OF_DEMO, project / "sources")
    monkeypatch.setenv("KGCHECK_CONFIG", str(project / "kgcheck.toml"))
    night = json.loads(kgcheck("job", "run", "nightly", "--format", "json", cwd=project).out)

    assert (night["state"], night["severity"]) == ("done", "ok"), night
    assert re.match(r"built [\d,]+ nodes, [\d,]+ edges from .*sources$", night["result"]["notes"][0])
    with Ledger(project / ".kgcheck" / "ledger.sqlite", create=False) as kept:
        assert any("by construction" in text for text in kept.run(night["run"]).warnings)
    # A source withdraws an edge: the graph that was built has it still, and the next night finds it.
    links = project / "sources" / "link.tsv"
    row = "do\t2026\tparent\tDOID:0050739\tDOID:0050177\t"
    rest = [line for line in links.read_text().splitlines(keepends=True) if not line.startswith(row)]
    links.write_text("".join(rest))
    changed = json.loads(kgcheck("job", "run", "nightly", "--format", "json", cwd=project).out)
    with Ledger(project / ".kgcheck" / "ledger.sqlite", create=False) as kept:
        found = [f.task for f in kept.findings(kept.run(changed["run"]), [Outcome.REFUTED])]
    assert (changed["severity"], changed["result"]["new"]) == ("warn", 1), changed
    assert [(t.subject.id, t.relation, t.object and t.object.id) for t in found] == [
        ("DOID:0050739", "HAS_PARENT", "DOID:0050177")
    ]
    # What others made is loaded, and neither built over nor left out.
    shutil.rmtree(project / "import")
    shutil.copytree(core_import(), project / "import")
    other = json.loads(kgcheck("job", "run", "nightly", "--format", "json", cwd=project).out)
    assert "import was not built by kgcheck: it is loaded as it is" in other["result"]["notes"][0]
    assert not (project / "import" / "reference.duckdb").exists()


def test_the_job_of_init_does_it_all(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    assert kgcheck("init", project, cwd=tmp_path).code == 0
    shutil.copytree(core_import(), project / "import")
    shutil.copy(demo().reference, project / "reference.duckdb")
    with running(shared_data, tmp_path) as world, Loopback() as server:
        Europe(server, set())
        world.environment(monkeypatch)
        monkeypatch.setenv("KGCHECK_EUROPEPMC_URL", server.url)
        monkeypatch.setenv("KGCHECK_CONFIG", str(project / "kgcheck.toml"))
        nights = [json.loads(kgcheck("job", "run", "nightly", "--format", "json", cwd=project).out) for _ in range(2)]

    assert [night["state"] for night in nights] == ["done", "done"]
    assert all("handed to the team" in night["message"] for night in nights)
    assert nights[0]["result"]["notes"][0].startswith("loaded ")
    assert any(note.startswith("papers: ") for note in nights[0]["result"]["notes"])
    (report,) = nights[1]["result"]["reports"]
    assert "What the team decided" in Path(report).read_text()
    ledger = project / ".kgcheck" / "ledger.sqlite"
    with Ledger(ledger, create=False) as kept:
        handed = kept.team_findings(kept.run(nights[1]["run"]))
    decided = next(finding for one, finding in handed if one.is_decided)
    options = {"store": str(project / ".kgcheck/graph.lbdb"), "ledger": str(ledger)}
    service = Service(ServiceOptions(**options), Settings(home=project / ".kgcheck"))
    with TestClient(create_app(service), "http://127.0.0.1", headers=bearer(service)) as page:
        shown = page.get(f"/findings/{decided.fingerprint}").text
        run = page.get(f"/runs/{nights[1]['run']}").text
    assert "What the team did" in shown
    assert "[validation] validation agent: reference_look_up" in shown
    assert "What the team decided" in run
