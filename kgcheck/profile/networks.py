"""The names of live sources, as profiles use them; apart from what asks them, so that they can be named without it."""

from collections.abc import Mapping
from typing import Literal

NetworkType = Literal["functional", "physical"]

UNIPROT = "uniprot"
NETWORKS: Mapping[str, NetworkType] = {"string": "functional", "string_physical": "physical"}
"""The networks of STRING, as the profile names them."""
