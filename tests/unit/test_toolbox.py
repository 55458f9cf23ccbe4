"""The one list of tools: prompts, documentation and the toolbox go by it."""

import re
from importlib.resources import files

import pytest

from kgcheck.agents.tool_types import NamedNodesResult, NodesResult, RelationsResult
from kgcheck.agents.toolbox import MOST_EDGES, MOST_NODES, TOOLS, Toolbox
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import UnknownName
from tests.support import ROOT
from tests.support.audits import MemoryStore
from tests.unit.test_llm_brain import Source

PROMPTS = {"kg": AgentRole.KG, "validation": AgentRole.VALIDATION, "leader": AgentRole.LEADER, "asker": AgentRole.ASKER}
ACTS_ON = "Protein ACTS_ON Protein"


def toolbox(proteins: int = 2, parallel: int = 1, way: str = "P00000 P00001") -> Toolbox:
    head, tail = way.split()
    nodes = [{"id": f"P{n:05}", "name": f"NAME{n}"} for n in range(proteins)]
    edges = [{"head": head, "tail": tail, "score": n / 1000} for n in range(parallel)]
    return Toolbox(MemoryStore({"Protein": nodes}, {ACTS_ON: edges}), Source())


def protein(id_: str) -> dict[str, str]:
    return {"label": "Protein", "id": id_}


@pytest.mark.parametrize(("prompt", "role"), PROMPTS.items())
def test_a_prompt_names_tools_of_its_role_alone(prompt: str, role: AgentRole) -> None:
    text = (files("kgcheck.agents") / "prompts" / f"{prompt}.md").read_text(encoding="utf-8")
    named = {word for word in re.findall(r"`(\w+)`", text) if word in TOOLS}

    assert named <= {name for name, tool in TOOLS.items() if role in tool.roles}
    assert named or role is AgentRole.LEADER
    former = re.findall(r"kg_\w+|uniprot_\w+|string_\w+", text)
    assert not former


def test_the_documentation_lists_every_tool() -> None:
    rows = [
        f"| `{t.name}` | {', '.join(r.value for r in AgentRole if r in t.roles)} | {t.purpose} |"
        for t in TOOLS.values()
    ]
    assert "\n".join(rows) in (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("role", AgentRole)
def test_a_role_calls_its_own_tools_alone(role: AgentRole) -> None:
    box = toolbox()
    own = {tool.name for tool in box.tools(role)}

    assert own == {name for name, tool in TOOLS.items() if role in tool.roles}
    for name in TOOLS.keys() - own:
        with pytest.raises(UnknownName, match=f"there is no tool of the {role.value}"):
            box.call(role, name, {})


def test_nodes_are_found_by_name_or_id_under_one_label_or_all() -> None:
    def found(**arguments: str) -> dict[str, tuple[str, ...]]:
        result = toolbox().call(AgentRole.ASKER, "find_nodes", arguments)
        assert isinstance(result, NamedNodesResult)
        return result.ids

    assert found(name="NAME1") == found(name="NAME1", label="Protein") == {"Protein": ("P00001",)}
    assert found(name="P00001") == {"Protein": ("P00001",)}
    assert found(name="NAME1", label="Disease") == found(name="nobody") == {}


def test_relations_name_the_end_that_is_missing_and_where_edges_are_cut_off() -> None:
    def relations(box: Toolbox, one: str, other: str) -> RelationsResult:
        result = box.call(AgentRole.KG, "relations", {"one": protein(one), "other": protein(other)})
        assert isinstance(result, RelationsResult)
        return result

    assert [m.id for m in relations(toolbox(), "P00000", "P99999").missing] == ["P99999"]
    few, many = (relations(toolbox(parallel=n), "P00000", "P00001") for n in (2, MOST_EDGES + 5))
    assert few.missing == ()
    assert {(len(r.edges), r.cut_off) for r in few.relations if r.edges} == {(2, False)}
    assert {(len(r.edges), r.cut_off) for r in many.relations if r.edges} == {(MOST_EDGES, True)}
    turned = {str(r.triple): r.turned for r in many.relations if r.edges}
    assert turned == {"P00000 ACTS_ON P00001": 0, "P00001 ACTS_ON P00000": MOST_EDGES}


def test_neighbours_are_counted_whole_and_shown_in_part_with_no_ways_in_the_result() -> None:
    ids = [f"P{n:05}" for n in range(1, MOST_NODES + 51)]
    nodes = {"Protein": [{"id": i} for i in ["P00000", *ids]]}
    store = MemoryStore(nodes, {ACTS_ON: [{"head": "P00000", "tail": i} for i in ids]})
    step = {"node": protein("P00000"), "relation": "ACTS_ON", "direction": "out", "label": "Protein"}

    result = Toolbox(store, Source()).call(AgentRole.ASKER, "neighbours", step)

    assert isinstance(result, NodesResult)
    assert (result.total, len(result.nodes), len(result.paths), result.cut_off) == (250, MOST_NODES, MOST_NODES, True)
    assert set(result.model_dump()) == {"total", "nodes", "cut_off"}
    # Order means nothing, so that there is one way for both.
    assert Toolbox(store, Source()).call(AgentRole.ASKER, "neighbours", step | {"direction": "in"}) == result
