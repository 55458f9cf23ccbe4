"""docs/mcp.md says what the server says: ``python -m tests.unit.test_mcp_docs`` writes that part of it anew."""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import Tool

from kgcheck.ledger.accounts import Role
from kgcheck.mcp.guards import Asking
from kgcheck.mcp.server import make_server
from kgcheck.workspace import Workspace
from tests.support import ROOT
from tests.support.mcp import talk

PAGE = ROOT / "docs/mcp.md"
BEGIN, END = "<!-- made by tests/unit/test_mcp_docs.py -->", "<!-- end of what is made -->"


def made() -> str:
    """The part of the page that the server itself tells."""

    async def work(client: Client) -> str:
        return "\n\n".join([_tool(tool) for tool in (await client.list_tools()).tools])

    with Workspace() as workspace:
        return talk(make_server(workspace, Asking(Role.CURATOR, "ada")), work)


def _tool(tool: Tool) -> str:
    required = set(tool.input_schema.get("required", ()))
    takes = [
        (f"`{name}`{'' if name in required else ' (optional)'}", _place(schema, tool.input_schema.get("$defs")))
        for name, schema in tool.input_schema["properties"].items()
    ]
    reads = tool.annotations and tool.annotations.read_only_hint
    who = "Reads only." if reads else "Writes decisions; needs the role curator."
    return "\n\n".join([f"### {tool.name}", f"{tool.title}. {tool.description} {who}", _rows("takes", takes)])


def _place(schema: dict[str, Any], known: dict[str, Any] | None = None) -> str:
    text = schema.get("description", "")
    forms = [form for form in schema.get("anyOf", [schema]) if form.get("type") != "null"]
    kind = _kind(forms[0], known or {})
    text = text or forms[0].get("description", "")
    default = schema.get("default")
    shown = f" [{default}]" if default not in (None, [], "", {}) and not isinstance(default, dict) else ""
    return f"{kind}{shown}{': ' + text if text else ''}"


def _kind(schema: dict[str, Any], known: dict[str, Any]) -> str:
    if "$ref" in schema:
        named = known.get(schema["$ref"].rpartition("/")[2], {})
        if "enum" in named:
            return "one of " + _listed(named["enum"])
        return f"object with {_listed(list(named.get('properties', {})))}"
    if "enum" in schema:
        return "one of " + _listed(schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(form, known) for form in schema["anyOf"])
    if schema.get("type") == "array":
        most = f", at most {schema['maxItems']}" if "maxItems" in schema else ""
        return f"list of {_kind(schema['items'], known)}{most}"
    bounds = [f"from {schema['minimum']}"] if "minimum" in schema else []
    bounds += [f"to {schema['maximum']}"] if "maximum" in schema else []
    bounds += [f"at most {schema['maxLength']} characters"] if "maxLength" in schema else []
    return " ".join([{"string": "text"}.get(schema.get("type", ""), schema.get("type", "object")), *bounds])


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _rows(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {name} | {text.replace('|', '/')} |" for name, text in rows]
    return "\n".join([f"| {title} | |", "| --- | --- |", *lines])


def whole(text: str) -> str:
    """The page with what the server tells now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{_wrapped(made())}\n\n{END}{after}"


def _wrapped(text: str) -> str:
    return "\n".join(
        line if line.startswith(("|", "#")) else textwrap.fill(line, 120, break_long_words=False)
        for line in text.splitlines()
    )


def test_the_page_says_what_the_server_says() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert text == whole(text), "python -m tests.unit.test_mcp_docs writes it anew"


def test_set_ups_of_clients_are_json_with_our_command() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    found = [json.loads(block) for block in blocks]

    assert len(found) >= 4
    for entry in found:
        (servers,) = [value for value in entry.values() if isinstance(value, dict)]
        server = servers["kgcheck"]
        assert server.get("url", "").endswith("/mcp") or server["args"][0] == "mcp"


if __name__ == "__main__":
    Path(PAGE).write_text(whole(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
