"""A service has what it needs in its memory before anybody can ask, and the garbage collector leaves that alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgcheck.workspace import Workspace
from tests.support import PYTHONPATH
from tests.support.audits import core_demo
from tests.support.literature import build_index, papers

# When it can be reached, nothing has been asked yet: what is there by then, and what the first requests add.
SCRIPT = """
import gc, json, os, signal, sys, threading
from urllib.request import Request, urlopen
from kgcheck.options import ListeningOptions
from kgcheck.service import server
from kgcheck.service.state import ServiceOptions

def started(address, token):
    there, frozen = set(sys.modules), gc.get_freeze_count()
    loaded = sum(1 for _ in gc.get_objects(generation=2))
    def ask():
        for path in ("", "findings", "nodes/Gene/PARK2", "v1/findings", "v1/health/ready"):
            urlopen(Request(address + path, headers={"Authorization": f"Bearer {token}"})).read()
        print(json.dumps({"there": sorted(there), "later": sorted(set(sys.modules) - there), "frozen": frozen,
                          "loaded": loaded}), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=ask).start()

names = "store", "reference", "ledger", "literature"
server.serve(ServiceOptions(**dict(zip(names, sys.argv[1:]))), ListeningOptions(port=0), on_start=started)
"""


@pytest.mark.slow
def test_nothing_of_weight_is_imported_for_the_first_requests(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with Workspace(store=str(core_demo().store), reference=core_demo().reference, ledger=ledger) as workspace:
        workspace.audit(types=["existence"], ids=["PARK2"])
    build_index(tmp_path / "papers", papers())
    where = map(str, (core_demo().store, core_demo().reference, ledger, tmp_path / "papers"))
    words = [sys.executable, "-c", SCRIPT, *where]
    environment = os.environ | {"KGCHECK_HOME": str(tmp_path), "PYTHONPATH": PYTHONPATH}
    done = subprocess.run(
        list(map(str, words)), env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    found = json.loads(done.stdout)

    assert {"kgcheck.graph.embedded", "sqlalchemy", "duckdb"} <= set(found["there"])
    assert {"bm25s", "openvino", "tokenizers"} <= set(found["there"])
    assert [name for name in found["later"] if name.startswith("kgcheck")] == []
    # What is frozen to the end must not be taken for a leak.
    assert "leaked" not in done.stderr
    assert found["frozen"] > 100_000
    assert found["loaded"] < found["frozen"] / 10
