"""Forms that are recognised and not read, each by its own name and with what to do instead."""

import re
from collections.abc import Callable

from kgcheck.forms.form import RefusedForm
from kgcheck.forms.json_graphs import sketch
from kgcheck.forms.rdf import is_rdf_xml
from kgcheck.forms.source import Source
from kgcheck.forms.xml_graphs import xml_root

_TABLES = "write it as KGX TSV: nodes (id, category, name) and edges (subject, predicate, object)"
_CYTOSCAPE = "open it in Cytoscape{} and export the network to a file of CX or GraphML"
_NETWORKX = "convert it in Python: networkx.write_graphml(networkx.{}(file), 'graph.graphml')"
_ROBOT = "convert it: robot convert -i x.{} -o x.owl"
_COMMENTS = ("//", "--", "#", "/*", "* ", "*/", ";", "%")


def _begins(*starts: bytes) -> Callable[[Source], bool]:
    return lambda source: source.head.startswith(starts)


def _has_text(*patterns: str) -> Callable[[Source], bool]:
    return lambda source: all(re.search(pattern, source.text) for pattern in patterns)


def _has_line(pattern: str) -> Callable[[Source], bool]:
    """Tell by the first line of a text that is no comment; a line with tabs is a row of a table."""

    def fits(source: Source) -> bool:
        if b"\0" in source.head:
            return False
        lines = (line.strip() for line in source.lines)
        first = next((line for line in lines if line and not line.startswith(_COMMENTS)), "")
        return "\t" not in first and bool(re.match(pattern, first))

    return fits


def _has_root(name: str, within: str = "") -> Callable[[Source], bool]:
    def fits(source: Source) -> bool:
        root, attributes = xml_root(source)
        around = (attributes + (source.text[:2000] if within else "")).lower()
        return root.lower() == name.lower() and within.lower() in around

    return fits


def _has_keys(*ways: tuple[str, ...]) -> Callable[[Source], bool]:
    """Tell by the keys of a JSON document, or of what it holds as ``data``."""

    def fits(source: Source) -> bool:
        value = source.known(sketch).document
        found = [v for v in (value, value.get("data") if isinstance(value, dict) else None) if isinstance(v, dict)]
        return any(set(keys) <= v.keys() for v in found for keys in ways)

    return fits


def _is_spreadsheet(source: Source) -> bool:
    if source.head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return True
    # Any other zip is unpacked before it is looked at.
    return source.head.startswith((b"PK\x03\x04", b"application/vnd.oasis.opendocument"))


def _is_pickle(source: Source) -> bool:
    """Tell the opcodes PROTO and, from protocol 4 on, FRAME, before anything else."""
    head = source.head
    if len(head) < 3 or head[0] != 0x80:
        return False
    return (head[1] in (4, 5) and head[2] == 0x95) or (head[1] in (2, 3) and head[2:3] in b"}](cX\x8a")


def _is_metta(source: Source) -> bool:
    lines = [line.strip() for line in source.lines[:50] if line.strip() and not line.lstrip().startswith(";")]
    fitting = [line for line in lines if re.fullmatch(r"!?\(.*\)", line)]
    return len(fitting) > 0 and len(fitting) * 10 >= len(lines) * 9


def _is_rrf(source: Source) -> bool:
    lines = source.lines[:20]
    return bool(lines) and all(re.match(r"[CA]\d{7,8}\|", line) and line.endswith("|") for line in lines)


def _is_omop(source: Source) -> bool:
    header = source.lines[0] if source.lines else ""
    fields = {field.strip().strip('"').lower() for field in re.split(r"[\t;,|]", header)}
    return any(
        wanted <= fields
        for wanted in (
            {"concept_id_1", "concept_id_2", "relationship_id"},
            {"concept_code_1", "concept_code_2", "relationship_id"},
            {"concept_id", "vocabulary_id", "concept_code"},
            {"ancestor_concept_id", "descendant_concept_id"},
        )
    )


def _is_open_targets(source: Source) -> bool:
    return any(
        "datasourceId" in line and {"targetId", "targetFromSourceId", "diseaseId", "diseaseFromSource"} & line.keys()
        for line in source.known(sketch).lines
    )


def _is_meta_graph(source: Source) -> bool:
    """Tell categories with their prefixes and counts, where a graph would have nodes."""
    value = source.known(sketch).document
    nodes = value.get("nodes") if isinstance(value, dict) else None
    return isinstance(nodes, dict) and any(isinstance(n, dict) and "id_prefixes" in n for n in nodes.values())


def _is_owl_xml(source: Source) -> bool:
    is_owl = re.search(r"<Ontology\s[^<>]*\"http://www\.w3\.org/2002/07/owl#\"", source.text)
    return bool(is_owl) and not is_rdf_xml(source)


_FUNCTIONAL = r"\A(?>(?:\s|#[^\n]*\n)*)(?:Prefix\s*\(\s*[\w.-]*:\s*=|Ontology\s*\()"
_MANCHESTER = r"\A\s*(?:Prefix:\s+[\w.-]*:\s*<|Ontology:)"
_CYPHER = (
    r"(?i)(:(begin|auto|param|use)\b|create\s+(constraint|index|range\s+index|\()|(optional\s+)?match\s*\(|merge\s*\("
    r"|unwind\s|load\s+csv\s|using\s+periodic\s|call\s*(\{|apoc\.|db\.))"
)
_SQL = (
    r"(?i)(create\s+(temporary\s+|temp\s+)?(table|database|schema)\b|insert\s+into\s|drop\s+table\s"
    r"|begin\s+transaction\s*;|pragma\s+foreign_keys)"
)

REFUSED = (
    RefusedForm("a pointer of Git LFS", _begins(b"version https://git-lfs."), "fetch the file itself: git lfs pull"),
    RefusedForm(
        "a web page (HTML)",
        _has_text(r"(?is)\A(?>(?:\s|<!--.*?-->)*)<(!doctype\s+html|html|head|body)\b"),
        "it may be the message of an error: fetch the file again",
    ),
    RefusedForm("an error message in XML", _has_root("Error", "<Code>"), "the file was not granted: fetch it again"),
    RefusedForm("a text in UTF-16", _begins(b"\xff\xfe", b"\xfe\xff"), "iconv -f UTF-16 -t UTF-8 FILE > OTHER"),
    RefusedForm("PDF", _begins(b"%PDF-"), "name the files of a graph"),
    RefusedForm("Excel, Word or OpenDocument", _is_spreadsheet, "save each sheet of a graph as CSV"),
    RefusedForm("LadybugDB", _begins(b"LBUG"), "audit it as a store: --store FILE"),
    RefusedForm(
        "a dump of Neo4j", _begins(b"DZV1", b"DGV1"), "load it in Neo4j and name the store: --store neo4j://HOST"
    ),
    RefusedForm("a Cypher script", _has_line(_CYPHER), "run it in Neo4j and name the store: --store neo4j://HOST"),
    RefusedForm("an SQL script", _has_line(_SQL), "run it in SQLite and name that file, or " + _TABLES),
    RefusedForm("a dump of PostgreSQL", _begins(b"PGDMP"), _TABLES),
    RefusedForm(
        "a Python pickle",
        _is_pickle,
        "it can run anything when it is opened: if you trust it, write its graph in Python as JSON of"
        " networkx.node_link_data",
    ),
    RefusedForm("an array of NumPy", _begins(b"\x93NUMPY"), _TABLES),
    RefusedForm("HDF5", _begins(b"\x89HDF\r\n\x1a\n"), _TABLES),
    RefusedForm("data of R", _begins(b"RDX2\n", b"RDX3\n"), _TABLES),
    RefusedForm("XGMML", _has_root("graph", "xgmml"), _CYTOSCAPE.format("")),
    RefusedForm("a Cytoscape session", _has_root("cysession"), _CYTOSCAPE.format("")),
    RefusedForm(
        "BioPAX", _has_root("RDF", "biopax.org/release/biopax-level"), _CYTOSCAPE.format(", which reads BioPAX,")
    ),
    RefusedForm("GPML (WikiPathways)", _has_root("pathway", "GPML"), _CYTOSCAPE.format(" with the app WikiPathways")),
    RefusedForm("SBML", _has_root("sbml"), _CYTOSCAPE.format(" with the app cy3sbml")),
    RefusedForm("PSI-MI XML", _has_root("entrySet"), _CYTOSCAPE.format(", which reads PSI-MI,")),
    RefusedForm("KGML (KEGG)", _has_root("pathway", "KGML"), _CYTOSCAPE.format(" with the app KEGGscape")),
    RefusedForm("GEXF", _has_root("gexf"), _NETWORKX.format("read_gexf")),
    RefusedForm("GML", _has_text(r"(?m)^[ \t]*+graph\s*+\[", r"(?m)^[ \t]*+node\s*+\["), _NETWORKX.format("read_gml")),
    RefusedForm("Pajek", _has_line(r"(?i)\*(vertices|network)\b"), _NETWORKX.format("read_pajek")),
    RefusedForm("DOT (Graphviz)", _has_line(r"(?i)(strict\s+)?(di)?graph\b[^\[\]]*\{"), _TABLES),
    RefusedForm(
        "a BEL script",
        _has_text(r"(?m)^(SET\s+DOCUMENT\s|DEFINE\s+(NAMESPACE|ANNOTATION)\s)"),
        "convert it with PyBEL: pybel.to_nodelink_file(pybel.from_bel_script(file), 'graph.bel.nodelink.json')",
    ),
    RefusedForm("MeTTa", _is_metta, "name the graph's files for Neo4j or of CSV, if there are any, or " + _TABLES),
    RefusedForm("UMLS in RRF", _is_rrf, _TABLES),
    RefusedForm("OMOP vocabulary tables", _is_omop, _TABLES),
    RefusedForm(
        "node-link YAML",
        _has_text(r"\A(?!\s*[{\[<])", r"(?m)^[ -]*nodes:\s*$", r"(?m)^[ -]*links:\s*$"),
        "convert it to JSON: python -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'",
    ),
    RefusedForm(
        "GA4GH phenopackets",
        _has_keys(("phenotypicFeatures",), ("proband", "pedigree"), ("subject", "interpretations")),
        "it describes a person: name a graph that was made of such",
    ),
    RefusedForm(
        "GO-CAM (minerva) JSON",
        _has_keys(("individuals", "facts")),
        "name the model's Turtle file (.ttl), which is RDF",
    ),
    RefusedForm("Open Targets evidence", _is_open_targets, _TABLES),
    RefusedForm("a summary of a graph", _is_meta_graph, "it counts a graph's categories: name the graph's own files"),
    RefusedForm("OWL in functional syntax", _has_text(_FUNCTIONAL, r"\bOntology\s*\("), _ROBOT.format("ofn")),
    RefusedForm("OWL/XML", _is_owl_xml, _ROBOT.format("owx")),
    RefusedForm("OWL in Manchester syntax", _has_text(_MANCHESTER, r"(?m)^Ontology:"), _ROBOT.format("omn")),
)
"""Forms that are known and not read."""
