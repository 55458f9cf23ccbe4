"""Compile the Biolink model and the Bioregistry into tables of facts: names, ends, patterns, flags.

    python -m benchmarks.standards biolink_model.yaml bioregistry.json OUT
        --bioregistry 0.15.6 --fetched 2026-11-27

Both files are of their packages on PyPI, ``biolink-model`` and ``bioregistry``. Needs PyYAML, which kgcheck itself does
not. Descriptions are left out. The same files give the same tables, a record a line.
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb

from kgcheck.inputs import parse_json
from kgcheck.outputs import write_text

_BIOLINK = {
    "title": "Biolink Model",
    "licence": "CC0-1.0",
    "homepage": "https://biolink.github.io/biolink-model/",
    "record_url": "https://w3id.org/biolink/vocab/{}",
}
_BIOREGISTRY = {
    "title": "Bioregistry",
    "licence": "CC0-1.0 (what it curates; patterns marked miriam, wikidata.property or bartoc are as those have them)",
    "homepage": "https://bioregistry.io",
    "record_url": "https://bioregistry.io/{}",
}

_ALL_PREDICATES = "related to"
"""The slot of which all predicates are kinds."""

_PATTERNS_BY = ("miriam", "wikidata.property", "bartoc")
"""The registries whose patterns the Bioregistry takes where it has none of its own, in its order."""


def class_name(name: str) -> str:
    """The local part of the CURIE of a class.

    >>> class_name("biological process"), class_name("RNA product")
    ('BiologicalProcess', 'RNAProduct')
    """
    return "".join(word[:1].upper() + word[1:] for word in name.split())


def slot_name(name: str) -> str:
    """The local part of the CURIE of a slot.

    >>> slot_name("interacts with")
    'interacts_with'
    """
    return "_".join(name.split())


def biolink_tables(model: Mapping[str, Any], imported: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Facts of the Biolink model: ``prefixes``, ``classes`` and ``slots``."""
    classes: dict[str, Any] = {}
    slots: dict[str, Any] = {}
    for part in (*imported, model):
        classes |= part.get("classes") or {}
        slots |= part.get("slots") or {}
    spelled = {prefix for one in classes.values() for prefix in (one or {}).get("id_prefixes", ())}
    # "KnowledgeGraph" and "knowledge graph" are one CURIE: the one with more to say is taken.
    of_classes = _by_name(_class(name, one or {}) for name, one in classes.items())
    of_slots = _by_name(
        _slot(name, one or {}, classes) | _stated(is_predicate=_ALL_PREDICATES in _kinds(name, slots))
        for name, one in slots.items()
    )
    prefixes = sorted(spelled | set(model.get("prefixes") or ()))
    return {"prefixes": prefixes, "classes": of_classes, "slots": of_slots}


def _kinds(name: str, slots: Mapping[str, Any]) -> set[str]:
    """The names of a slot and of all that it is a kind of."""
    found: set[str] = set()
    left = [name]
    while left:
        if (one := left.pop()) not in found:
            found.add(one)
            stated = slots.get(one) or {}
            left += [above for above in (stated.get("is_a"), *(stated.get("mixins") or ())) if above]
    return found


def _by_name(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found = {str(record["name"]): record for record in sorted(records, key=lambda r: (len(r), _json(r)))}
    return [found[name] for name in sorted(found)]


def _class(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    return _stated(
        name=class_name(name),
        is_a=class_name(one.get("is_a") or ""),
        mixins=[class_name(mixin) for mixin in one.get("mixins") or ()],
        mixin=_is_true(one.get("mixin")),
        abstract=_is_true(one.get("abstract")),
        deprecated=_is_true(one.get("deprecated")),
        aliases=one.get("aliases") or [],
    )


def _slot(name: str, one: Mapping[str, Any], classes: Mapping[str, Any]) -> dict[str, Any]:
    def end(role: str) -> str:
        stated = one.get(role) or ""
        # A range may be a type or a list of values as well: only classes are ends of edges.
        return class_name(stated) if stated in classes else ""

    # LinkML writes the value of an annotation plainly or with its tag.
    canonical = (one.get("annotations") or {}).get("canonical_predicate")
    return _stated(
        name=slot_name(name),
        is_a=slot_name(one.get("is_a") or ""),
        mixins=[slot_name(mixin) for mixin in one.get("mixins") or ()],
        domain=end("domain"),
        range=end("range"),
        inverse=slot_name(one.get("inverse") or ""),
        symmetric=_is_true(one.get("symmetric")),
        canonical=_is_true(canonical.get("value") if isinstance(canonical, Mapping) else canonical),
        mixin=_is_true(one.get("mixin")),
        abstract=_is_true(one.get("abstract")),
        required=_is_true(one.get("required")),
        deprecated=_is_true(one.get("deprecated")),
    )


def _is_true(value: object) -> bool:
    """Tell whether a flag is set: ``deprecated`` is text in LinkML, which may say why."""
    return value is not None and str(value).strip().lower() not in ("", "false")


def _stated(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value}


def bioregistry_tables(registry: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Facts of the Bioregistry, ``prefixes``; and the prefixes whose pattern RE2 cannot compile, which is left out."""
    refused: list[str] = []
    records = [_prefix(prefix, one, refused) for prefix, one in sorted(registry.items())]
    return {"prefixes": records}, sorted(set(refused))


def _prefix(prefix: str, one: Mapping[str, Any], refused: list[str]) -> dict[str, Any]:
    external = {name: value for name, value in one.items() if isinstance(value, Mapping)}
    of_obo = external.get("obofoundry", {}).get("preferred_prefix")
    preferred = one.get("preferred_prefix") or of_obo
    stated = {"": one.get("pattern")} | {by: external.get(by, {}).get("pattern") for by in _PATTERNS_BY}
    patterns = {by: _whole(pattern) for by, pattern in stated.items() if pattern}
    if any(not _compiles(pattern) for pattern in patterns.values()):
        refused.append(prefix)
        patterns = {by: pattern for by, pattern in patterns.items() if _compiles(pattern)}
    by, pattern = next(iter(patterns.items()), ("", None))
    of_miriam = patterns.get("miriam")
    banana = one.get("banana") or (of_obo if _has_banana(one, external) else None)
    ended = any(
        external.get(r, {}).get("status") in ("deprecated", "inactive") for r in ("obofoundry", "ols", "miriam")
    )
    facts = _stated(
        prefix=prefix,
        preferred=preferred if preferred != prefix else None,
        synonyms=sorted(set(one.get("synonyms") or ()) - {prefix, preferred}),
        pattern=pattern,
        pattern_by=by,
        pattern_of_miriam=of_miriam if of_miriam != pattern else None,
        banana=banana,
        part_of=one.get("part_of"),
        ontology=_artifact(external.get("obofoundry", {})),
        deprecated=one.get("deprecated") if one.get("deprecated") is not None else ended,
    )
    # An empty one says that nothing stands between.
    return facts | ({"peel": one["banana_peel"]} if banana and "banana_peel" in one else {})


def _artifact(of_obo: Mapping[str, Any]) -> str | None:
    """Address of an ontology of the OBO Foundry that is not given up, in the form that is read most quickly."""
    addresses = {one["type"]: one["url"] for one in of_obo.get("artifacts", ())}
    kinds = ("obo", "obograph_json", "owl") if of_obo.get("status") != "inactive" else ()
    address = next((addresses[kind] for kind in kinds if kind in addresses), None)
    # Permanent addresses of the Foundry are the same under https.
    return address.replace("http://purl.obolibrary.org/", "https://purl.obolibrary.org/") if address else None


def _has_banana(one: Mapping[str, Any], external: Mapping[str, Any]) -> bool:
    """Tell whether ids of Identifiers.org and the OBO Foundry repeat their prefix, as the package itself infers it."""
    within = one.get("namespace_in_lui")
    if within is None:
        within = external.get("miriam", {}).get("extras", {}).get("namespaceEmbeddedInLui")
    return within is not False and "miriam" in external and "obofoundry" in external


def _whole(pattern: str) -> str:
    """An expression of whole texts; some end in a ? that means nothing there."""
    bare = pattern.rstrip("?") if pattern.endswith("$?") else pattern
    return f"{'' if bare.startswith('^') else '^'}{bare}{'' if bare.endswith('$') else '$'}"


def _compiles(pattern: str) -> bool:
    try:
        duckdb.execute("SELECT regexp_full_match('', ?)", [pattern]).fetchall()
    except duckdb.Error:
        return False
    return True


def written(head: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    """Tables as JSON, a record a line."""
    parts = [f'"source": {_json(head)}']
    for name, records in tables.items():
        lines = ",\n".join(map(_json, records))
        parts.append(f'"{name}": [\n{lines}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main(arguments: list[str] | None = None) -> str:
    """Compile the two files of a command line; return a line on the patterns that were left out, if any were."""
    import yaml

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("biolink", type=Path, help="biolink_model.yaml; files that it imports are read beside it")
    parser.add_argument("bioregistry", type=Path, help="bioregistry.json")
    parser.add_argument("out", type=Path, help="folder for biolink.json and bioregistry.json")
    parser.add_argument("--bioregistry", dest="release", required=True, help="release of the package bioregistry")
    parser.add_argument("--fetched", type=date.fromisoformat, required=True, help="day on which both were fetched")
    given = parser.parse_args(arguments)

    model = yaml.safe_load(given.biolink.read_bytes())
    beside = [given.biolink.with_name(f"{name}.yaml") for name in model.get("imports") or ()]
    imported = [yaml.safe_load(path.read_bytes()) for path in beside if path.is_file()]
    tables, refused = bioregistry_tables(parse_json(given.bioregistry.read_bytes()))
    fetched = {"fetched": str(given.fetched)}
    of_model = _BIOLINK | {"release": str(model["version"])} | fetched | _digest(given.biolink)
    of_registry = _BIOREGISTRY | {"release": given.release} | fetched | _digest(given.bioregistry)
    write_text(given.out / "biolink.json", written(of_model, biolink_tables(model, imported)))
    write_text(given.out / "bioregistry.json", written(of_registry, tables))
    return f"{len(refused)} patterns left out that RE2 cannot compile: {', '.join(refused)}" if refused else ""


def _digest(path: Path) -> dict[str, str]:
    return {"file": path.name, "sha256": sha256(path.read_bytes()).hexdigest()}


if __name__ == "__main__":
    raise SystemExit(main() or 0)
