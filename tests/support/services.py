"""UniProt and STRING on loopback: the wire shapes of ../shared/data/api, real recorded bodies wherever there are any.

The shapes (statuses, headers, keys) are those of API_SHAPES.md; what it quotes verbatim is read from it. Entries beyond
the recorded ones are made up for the test and say nothing about any protein.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.loopback import Loopback, Reply, Seen

RELEASE = "2026_03"
ACCESSION = re.compile(r"[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9]([A-Z][A-Z0-9]{2}[0-9]){1,2}")
PAGE = 500
"""Largest page of UniProt."""

Json = dict[str, Any]


def entry(accession: str, **fields: Any) -> Json:
    """An active entry, made up."""
    made: Json = {
        "entryType": "UniProtKB reviewed (Swiss-Prot)",
        "primaryAccession": accession,
        "uniProtkbId": f"{accession}_HUMAN",
        "organism": {"scientificName": "Homo sapiens", "taxonId": 9606},
        "sequence": {"value": "MSTAYK", "length": 6},
    }
    return made | fields


def inactive(accession: str, kind: str, to: Iterable[str] = (), reason: str = "") -> Json:
    """What is left of an accession."""
    why: Json = {"inactiveReasonType": kind}
    if to:
        why["mergeDemergeTo"] = list(to)
    if reason:
        why["deletedReason"] = reason
    return {
        "entryType": "Inactive",
        "primaryAccession": accession,
        "uniProtkbId": f"{accession}_HUMAN",
        "annotationScore": 0.0,
        "inactiveReason": why,
        "extraAttributes": {"uniParcId": "UPI0000128BBF"},
    }


class UniProtServer:
    """UniProt's REST service."""

    def __init__(self, server: Loopback, api: Path, *, batch_tells_inactive: bool = True) -> None:
        self.server = server
        self._shapes = (api / "API_SHAPES.md").read_text(encoding="utf-8")
        self._batch_tells_inactive = batch_tells_inactive
        self.release = RELEASE
        recorded = json.loads((api / "biomcp" / "uniprot_get_p15056_20260812.json").read_text(encoding="utf-8"))
        self.entries: dict[str, Json] = {recorded["primaryAccession"]: recorded}
        for name in ("deleted", "demerged"):
            told = json.loads((api / f"uniprot_website_{name}EntryModelData.json").read_text(encoding="utf-8"))
            self.entries[told["primaryAccession"]] = told
        self.add(
            inactive("B4DFC2", "MERGED", ["P21802"]),
            inactive("P00001", "DEMERGED", ["P99999", "P99998"]),
            inactive("A0A009ZZZ1", "DELETED", reason="Not part of a reference proteome"),
            entry("P21802", secondaryAccessions=["B4DFC2"]),
        )
        server.route("GET", r"/uniprotkb/accessions", self._batch)
        server.route("GET", r"/uniprotkb/([^/.]+)(\.json|\.txt)?", self._one)

    def add(self, *entries: Json) -> None:
        """More entries."""
        self.entries |= {e["primaryAccession"]: e for e in entries}

    @property
    def batch_calls(self) -> int:
        return sum(call.path == "/uniprotkb/accessions" for call in self.server.calls)

    def reply(self, status: int, body: Any, **headers: str) -> Reply:
        stamped = {"X-UniProt-Release": self.release, "X-UniProt-Release-Date": "02-September-2026"}
        return Reply(status, body, stamped | headers)

    def refusal(self, status: int) -> Reply:
        """The verbatim body of API_SHAPES.md for a refused accession."""
        mark = {404: "unknown", 400: "bad format"}[status]
        found = re.search(rf"^ {mark}\s+{status} (\{{.*?\}})(?:\s|$)", self._shapes, re.MULTILINE)
        assert found, f"API_SHAPES.md tells no body of {mark}"
        return self.reply(status, found[1].encode())

    def _one(self, seen: Seen, accession: str, form: str | None) -> Reply:
        if not ACCESSION.fullmatch(accession.split("-")[0]):
            return self.refusal(400)
        found = self.entries.get(accession.split("-")[0])
        if found is None:
            return self.refusal(404)
        if found["entryType"] == "Inactive" and form == ".txt":
            return self.reply(200, b"")
        if found.get("inactiveReason", {}).get("inactiveReasonType") == "MERGED":
            to = found["inactiveReason"]["mergeDemergeTo"][0]
            return self.reply(303, found, Location=f"/uniprotkb/{to}?from={accession}")
        return self.reply(200, found)

    def _batch(self, seen: Seen) -> Reply:
        asked = seen.query["accessions"].split(",")
        if len(asked) > 1000 or any(not ACCESSION.fullmatch(a) for a in asked):
            return self.refusal(400)
        found = [self.entries[a] for a in asked if a in self.entries]
        if not self._batch_tells_inactive:
            found = [e for e in found if e["entryType"] != "Inactive"]
        return self._page(seen, found)

    def _page(self, seen: Seen, found: list[Json]) -> Reply:
        size = int(seen.query.get("size", 25))
        if size > PAGE:
            return self.refusal(400)
        return self.reply(200, {"results": found[:size]})


class StringServer:
    """STRING's REST service, with the recorded rows of BRAF's network and whatever else a test wants."""

    def __init__(self, server: Loopback, api: Path) -> None:
        self.server = server
        self._shapes = (api / "API_SHAPES.md").read_text(encoding="utf-8")
        text = (api / "biomcp" / "string_network_braf_20260811.json").read_text(encoding="utf-8")
        self.links: list[Json] = json.loads(text)
        self.physical: list[Json] = []
        self.known: dict[str, str] = {}
        server.route("GET", "/api/json/version", self._version)
        server.route("POST", "/api/json/get_string_ids", self._ids)
        server.route("POST", "/api/json/network", self._network)

    def knows(self, **proteins: str) -> None:
        """Accessions that STRING maps."""
        self.known |= proteins

    def link(self, a: str, b: str, score: float, *, physical: bool = False, **more: Any) -> None:
        """A link, made up; scores are numbers, and 0 is written without a point."""
        row = {"stringId_A": a, "stringId_B": b, "preferredName_A": a, "preferredName_B": b, "ncbiTaxonId": 9606}
        scores = dict.fromkeys(("nscore", "fscore", "pscore", "ascore", "escore", "dscore", "tscore"), 0)
        (self.physical if physical else self.links).append(row | {"score": score} | scores | more)

    def not_found(self) -> Reply:
        """The verbatim body of API_SHAPES.md for a protein that STRING does not know."""
        found = re.search(r"^ unmapped\s+404 (\[.*?\])(?:\s|$)", self._shapes, re.MULTILINE)
        assert found, "API_SHAPES.md tells no body of an unmapped id"
        return Reply(404, found[1].encode())

    def _version(self, seen: Seen) -> Reply:
        return Reply(body=[{"string_version": "12.0", "stable_address": "https://version-12-0.string-db.org"}])

    def _refuses(self, seen: Seen) -> bool:
        return int(seen.form["species"]) == 1

    def _ids(self, seen: Seen) -> Reply:
        asked = seen.form["identifiers"].split("\r")
        begins = f"{seen.form['species']}."
        if self._refuses(seen):
            return Reply(400, [{"Error": "bad request", "ErrorMessage": "species"}])
        return Reply(
            body=[
                {
                    "queryItem": name,
                    "queryIndex": index,
                    "stringId": self.known[name],
                    "ncbiTaxonId": int(seen.form["species"]),
                    "taxonName": "Homo sapiens",
                    "preferredName": self._called(self.known[name]),
                    "annotation": "",
                }
                for index, name in enumerate(asked)
                if self.known.get(name, "").startswith(begins)
            ]
        )

    def _called(self, string_id: str) -> str:
        """The name that the links have for a protein."""
        named = {r[f"stringId_{end}"]: r[f"preferredName_{end}"] for r in (*self.physical, *self.links) for end in "AB"}
        return str(named.get(string_id, string_id))

    def _network(self, seen: Seen) -> Reply:
        asked = seen.form["identifiers"].split("\r")
        if self._refuses(seen):
            return Reply(400, [{"Error": "bad request", "ErrorMessage": "species"}])
        rows = self.physical if seen.form.get("network_type") == "physical" else self.links
        least = int(seen.form.get("required_score", 400)) / 1000
        if len(asked) == 1:
            # One protein alone is filled up with its partners, and with the links among those.
            return Reply(body=rows)
        if any(not p.startswith(f"{seen.form['species']}.") for p in asked):
            return self.not_found()
        among = [r for r in rows if r["stringId_A"] in asked and r["stringId_B"] in asked and r["score"] >= least]
        return Reply(body=among)
