"""The tables of BioKGBench's paper for several endpoints: scripted models over HTTP, and kgcheck's own rules."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgcheck.bench.models import ModelEntry
from tests.support import team_scripts
from tests.support.audits import Said, demo, kgcheck
from tests.support.benchmark_models import careless, diligent
from tests.support.chat_server import ChatServer, chat_server
from tests.support.literature import build_index, papers

DISEASES = "Which diseases is P02649 associated with?"


@pytest.fixture
def servers() -> Iterator[tuple[ChatServer, ChatServer]]:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    with chat_server(diligent) as one, chat_server(careless) as other:
        yield one, other


@pytest.fixture
def compared(tmp_path: Path, servers: tuple[ChatServer, ChatServer], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that compares two models, and the rules without any."""
    ask = kgcheck("ask", DISEASES, "--store", demo().store, "--format", "json")
    gold = [f["ref"]["id"] for f in json.loads(ask.out)["found"]]
    (tmp_path / "q.json").write_text(json.dumps([{"question": DISEASES, "type": "one-hop", "answer": gold}]))
    edge = [team_scripts.HEAD[1], team_scripts.RELATION, team_scripts.TAIL[1]]
    items = [{"check": edge, "label": "refute"}, {"check": ["existence", "Protein", "P02649"], "label": "support"}]
    (tmp_path / "i.json").write_text(json.dumps(items))
    claim = {"id": "a", "claim": "Cold air helps horses.", "label": "yes", "documents": [papers()[0].id]}
    (tmp_path / "c.jsonl").write_text(json.dumps(claim) + "\n")
    monkeypatch.setenv("ONE_KEY", "secret-one")
    monkeypatch.setenv("KGCHECK_LLM_API_KEY", "key-of-another")
    one, other = servers
    file = tmp_path / "models.toml"
    file.write_text(f"""
runs = 2
sets = {{ kgqa = "q.json", kgcheck = "i.json", scv = "c.jsonl" }}
[[models]]
name = "Careful"
group = "large"
model = "m1"
base_url = "{one.url}"
key = "ONE_KEY"
price_input = 1.0
price_output = 2.0
[[models]]
name = "Rules"
group = "none"
[[models]]
name = "Careless"
group = "large"
model = "m2"
base_url = "{other.url}"
""")
    return file


def run(file: Path, *options: object) -> Said:
    index = file.parent / "index"
    if not index.exists():
        build_index(index, papers())
    where = ("--store", demo().store, "--reference", demo().reference, "--index", index)
    return kgcheck("bench", "models", file, *where, "--out", file.parent / "out", *options)


def test_the_tables_of_the_paper(compared: Path, servers: tuple[ChatServer, ChatServer]) -> None:
    said = run(compared, "--format", "json")

    assert said.code == 0, said.err
    tables = {
        t["title"]: [dict(zip(t["columns"], row, strict=True)) for row in t["rows"]] for t in json.loads(said.out)
    }
    careful, careless_, rules = tables["KGQA and SCV (table 5)"]
    assert [row["model"] for row in (careful, careless_, rules)] == ["Careful", "Careless", "Rules"]
    assert [row["KGQA F1"] for row in (careful, careless_, rules)] == ["100.0 ± 0.0", "0.0 ± 0.0", "100.0 ± 0.0"]
    assert careful["SCV accuracy"] == "100.0% ± 0.0%"
    by_kind = tables["KGQA by type of question (table 12)"]
    assert [row["executability one-hop"] for row in by_kind] == ["100.0 ± 0.0", "0.0 ± 0.0", "100.0 ± 0.0"]
    web, publications = (tables[f"KGCheck, {name} (table 6)"] for name in ("web databases", "publications"))
    assert [row["final exact match"] for row in web] == ["100.0 ± 0.0", "100.0 ± 0.0", ""]
    assert [row["final exact match"] for row in publications] == ["100.0 ± 0.0", "0.0 ± 0.0", ""]
    assert [row["verdict exact match"] for row in publications] == ["100.0 ± 0.0"] * 3
    causes = tables["Wrong conclusions of KGCheck by cause (figure 5)"]
    assert [row["misread evidence"] for row in causes] == ["0", "2", "0"]
    cost, free, _ = tables["Tokens and cost of a run"]
    assert float(cost["kgcheck cost"].split()[0]) > 0
    assert free["kgcheck cost"] == ""
    one, other = servers
    assert set(one.keys) == {"secret-one"}
    # The key of the environment is another endpoint's.
    assert set(other.keys) == {"none"}
    assert "secret-one" not in "".join(p.read_text() for p in (compared.parent / "out").rglob("*.json*"))


def test_what_is_there_is_not_run_again(compared: Path, servers: tuple[ChatServer, ChatServer]) -> None:
    first = run(compared)
    asked = [len(server.requests) for server in servers]
    again = run(compared)

    assert (first.code, again.code) == (0, 0)
    assert again.out == first.out
    assert [len(server.requests) for server in servers] == asked
    assert "KGQA and SCV (table 5)" in first.out


def test_no_price_of_another_model_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_LLM_PRICE_CACHED", "0.5")

    assert ModelEntry(name="a", model="m", price_input=1, price_output=2).settings().llm_price_cached is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("models = []\n[sets]\nkgqa = 'q.json'", "models"),
        ("sets = {}\nmodels = [{name = 'a'}]", "names no set"),
        ("sets = {kgqa = 'q.json'}\nmodels = [{name = 'a'}, {name = 'a'}]", "two models"),
        ("sets = {kgqa = 'none.json'}\nmodels = [{name = 'a'}]", "there is no file"),
        ("sets = {kgqa = 'q.json'}\nmodels = [{name = 'a', model = 'm', key = 'NOT_SET'}]", "NOT_SET is not set"),
        ("sets = {kgqa = 'q.json'}\nmodels = [{name = '..'}]", "should match pattern"),
        ("sets = {kgqa = 'q.json'}\nmodels = [{name = 'a', key = 'sk-123'}]", "key"),
        ("this is no TOML", "is wrong"),
    ],
)
def test_files_that_compare_nothing(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "models.toml").write_text(text)
    said = kgcheck("bench", "models", tmp_path / "models.toml", "--store", demo().store, "--out", tmp_path / "out")

    assert said.code == 2
    assert why in said.err
    assert "Traceback" not in said.err
