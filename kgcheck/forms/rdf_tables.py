"""Turn RDF statements into nodes and edges, in the database: files may hold more statements than fit in memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import pyarrow as pa

from kgcheck.choices import STATED_OTHERWISE
from kgcheck.duck import insert_arrow, put_arrow
from kgcheck.errors import InputFormat
from kgcheck.forms import curies, rdf_parsing
from kgcheck.forms.curies import BIOLINK, DC, DCTERMS, FOAF, OBO, OBO_IN_OWL, OWL, RDF, RDFS, SCHEMA, SKOS
from kgcheck.forms.rdf_parsing import Quad, RejectedRows, Syntax
from kgcheck.forms.source import Source
from kgcheck.forms.tables import GraphTables, RejectedRow, arrow_tables
from kgcheck.plurals import how_many

_NANOPUB = "http://www.nanopub.org/nschema#"
_OBAN = "http://purl.org/oban/"
_PREDICATES = 20_000
"""Predicates that are remembered."""

SUBCLASS = "subclass_of"
"""Relation of a class to those above it, by its name in RDF and not that of a profile."""

_KEYS = {
    "name": (
        *(RDFS + "label", SKOS + "prefLabel", DC + "title", DCTERMS + "title"),
        *(space + "name" for space in (BIOLINK, SCHEMA, FOAF)),
    ),
    "def": (OBO + "IAO_0000115", SKOS + "definition"),
    "comment": (RDFS + "comment",),
    "is_obsolete": (OWL + "deprecated",),
    "replaced_by": (OBO + "IAO_0100001",),
    "consider": (OBO_IN_OWL + "consider",),
    "namespace": (OBO_IN_OWL + "hasOBONamespace",),
    "alt_id": (OBO_IN_OWL + "hasAlternativeId",),
    "xref": (OBO_IN_OWL + "hasDbXref",),
    "subset": (OBO_IN_OWL + "inSubset",),
    "synonym": (
        SKOS + "altLabel",
        *(f"{OBO_IN_OWL}has{kind}Synonym" for kind in ("Exact", "Broad", "Narrow", "Related")),
    ),
}
"""Properties by the names that OBO files have for them, and the predicates that mean them."""

_KEY_OF = {predicate: key for key, predicates in _KEYS.items() for predicate in predicates}
_ANNOTATIONS = {RDFS + "seeAlso", RDFS + "isDefinedBy", DCTERMS + "license", FOAF + "page", SKOS + "inScheme"}
"""Predicates whose objects are no things of the graph, even where they are IRIs."""

_ROLES = {
    RDF + "type": "type",
    BIOLINK + "category": "type",
    RDFS + "subClassOf": "subclass",
    OWL + "onProperty": "on",
    OWL + "someValuesFrom": "some",
    OBO_IN_OWL + "id": "same",
    BIOLINK + "id": "same",
    **{space + name: role for space in (RDF, BIOLINK) for name, role in (("subject", "head"), ("object", "tail"))},
    **{space + "predicate": "relation" for space in (RDF, BIOLINK)},
    _OBAN + "association_has_subject": "head",
    _OBAN + "association_has_predicate": "relation",
    _OBAN + "association_has_object": "tail",
    _NANOPUB + "hasAssertion": "assertion",
    _NANOPUB + "hasProvenance": "about",
    _NANOPUB + "hasPublicationInfo": "about",
}
_SCHEMA = (
    *("owl:Ontology", "owl:ObjectProperty", "owl:DatatypeProperty", "owl:AnnotationProperty", "owl:Axiom"),
    *("owl:Annotation", "owl:Restriction", "owl:TransitiveProperty", "owl:SymmetricProperty", "owl:FunctionalProperty"),
    *("owl:AllDisjointClasses", "owl:AllDifferent", "owl:NegativePropertyAssertion", "rdf:Property", "rdfs:Datatype"),
)
"""Types of what describes the graph and is not in it."""

_COLUMNS = pa.schema(
    {
        **{"file": pa.int32(), "line": pa.int64(), "seq": pa.int64()},
        **dict.fromkeys(("subject", "role", "relation", "key", "object"), pa.string()),
        **{"is_literal": pa.bool_(), "graph": pa.string()},
    }
)
_TABLES = ("statement", "fact", "about_graph", "schema_subject", "reified", "plain", "blank", "annotation")


def read_rdf(sources: Sequence[Source], tables: GraphTables, syntax: Syntax) -> None:
    """Read files of RDF; where one cannot be read, the others are, and then it is told."""
    put_arrow(tables.db, "statement", _COLUMNS.empty_table())
    try:
        failures = _load(sources, tables, syntax)
        _Tabulation(tables, sources).run()
    finally:
        for table in _TABLES:
            tables.db.execute(f"DROP TABLE IF EXISTS temp.{table}").fetchall()
    if failures:
        first, *others = failures
        more = f"; nor {', '.join(other.message for other in others)}" if others else ""
        raise InputFormat(f"{first.message}{more}", first.hint)


def _load(sources: Sequence[Source], tables: GraphTables, syntax: Syntax) -> list[InputFormat]:
    failures: list[InputFormat] = []
    declared: list[tuple[str, str]] = []
    sound: list[Source] = []
    for source in sources:
        try:
            declared += rdf_parsing.prefixes(source, syntax)
            sound.append(source)
        except InputFormat as error:
            failures.append(error)
    contracted, numbers = curies.contraction(declared), count(1)
    for source in sound:
        rejected = RejectedRows()
        try:
            rows = _rows(source, rdf_parsing.statements(source, syntax, rejected), contracted, numbers)
            for some in arrow_tables(rows, _COLUMNS):
                insert_arrow(tables.db, "statement", some)
        except InputFormat as error:
            tables.db.execute("DELETE FROM statement WHERE file = ?", [source.number]).fetchall()
            failures.append(error)
            continue
        tables.reject(source, rejected)
        tables.more_rejected += rejected.more
        if not tables.count("statement", source):
            place = f", line {rejected[0].line}: {rejected[0].detail}" if rejected else ""
            failures.append(
                InputFormat(f"{source.name} holds no RDF statement{place}", "it may be empty, cut off, or no RDF")
            )
    return failures


def _rows(
    source: Source, statements: Iterable[Quad], contracted: Callable[[str], str], numbers: Iterator[int]
) -> Iterator[tuple[Any, ...]]:
    """Statements as rows: IRIs contracted, predicates by what they do."""

    def curie(name: str) -> str:
        return name if name.startswith("_:") else contracted(name)

    @lru_cache(_PREDICATES)
    def predicate(iri: str) -> tuple[str, str, str]:
        key = _KEY_OF.get(iri)
        role = _ROLES.get(iri) or ("annotation" if key or iri in _ANNOTATIONS else "other")
        return role, SUBCLASS if role == "subclass" else contracted(iri), key or curies.last_part(iri)

    for one in statements:
        role, relation, key = predicate(one.predicate)
        language = one.language.lower()
        key = f"{key}@{language}" if language and language.split("-")[0] != "en" else key
        names = curie(one.subject), one.object if one.is_literal else curie(one.object)
        yield (
            *(source.number, one.line, next(numbers), names[0], role, relation, key, names[1]),
            *(one.is_literal, curie(one.graph)),
        )


class _Tabulation:
    """The steps from the table ``statement`` to ``node`` and ``edge``."""

    def __init__(self, tables: GraphTables, sources: Sequence[Source]) -> None:
        self._tables = tables
        self._sources = {source.number: source for source in sources}

    def run(self) -> None:
        self._facts()
        self._number_blank_nodes()
        self._schema()
        self._reified()
        self._edges()
        self._nodes()

    def _do(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._tables.db.execute(statement, list(values)).fetchall()

    def _facts(self) -> None:
        """Statements, each once, without what is about nanopublications."""
        self._do("CREATE TEMP TABLE about_graph AS SELECT DISTINCT object AS graph FROM statement WHERE role = 'about'")
        self._do(
            "INSERT INTO about_graph SELECT DISTINCT graph FROM statement WHERE role = 'assertion' AND graph <> ''"
        )
        self._do("""
            CREATE TEMP TABLE fact AS
            SELECT file, min(line) AS line, min(seq) AS seq, subject, role, relation, key, object, is_literal, graph,
                file IN (SELECT file FROM statement WHERE role = 'type' AND object = 'owl:Ontology') AS of_ontology
            FROM statement ANTI JOIN about_graph USING (graph)
            GROUP BY file, subject, role, relation, key, object, is_literal, graph""")
        for file, publications, asserted, about in self._do("""
            SELECT file, count(DISTINCT subject) FILTER (role = 'assertion'),
                count(*) FILTER (graph IN (SELECT object FROM statement WHERE role = 'assertion')),
                count(*) FILTER (graph IN (SELECT graph FROM about_graph))
            FROM statement GROUP BY file HAVING count(*) FILTER (role = 'assertion') > 0 ORDER BY file"""):
            self._tables.notes.append(
                f"{self._sources[file].name}: {publications:,} nanopublications; {asserted:,} statements of assertions "
                f"are read, and {about:,} of heads, provenance and publication info are about them"
            )
        ((twice,),) = self._do("""
            SELECT count(*) - (SELECT count(*) FROM fact) FROM statement ANTI JOIN about_graph USING (graph)""")
        if twice:
            repeated = how_many(twice, "statement")
            self._tables.notes.append(f"{repeated} repeated in a file of RDF, where each counts once")

    def _number_blank_nodes(self) -> None:
        """In the order of the file: the parser names some by chance."""
        self._do("""
            CREATE TEMP TABLE blank AS
            SELECT name, regexp_extract(name, '^_:\\d+\\.') || 'b' || row_number() OVER (ORDER BY min(seq), name) AS id
            FROM (SELECT subject AS name, seq * 2 AS seq FROM fact WHERE starts_with(subject, '_:') UNION ALL
                SELECT object, seq * 2 + 1 FROM fact WHERE NOT is_literal AND starts_with(object, '_:'))
            GROUP BY name""")
        self._do("UPDATE fact SET subject = blank.id FROM blank WHERE starts_with(subject, '_:') AND subject = name")
        self._do("""
            UPDATE fact SET object = blank.id FROM blank
            WHERE NOT is_literal AND starts_with(object, '_:') AND object = name""")

    def _schema(self) -> None:
        """Subjects that describe the graph: properties, axioms, class expressions, lists, nanopublications."""
        self._do(
            """
            CREATE TEMP TABLE schema_subject AS
            SELECT subject FROM fact WHERE role = 'type' AND list_contains(?, object)
            UNION SELECT subject FROM fact WHERE starts_with(subject, '_:') AND (
                (role = 'type' AND object IN ('owl:Class', 'rdfs:Class', 'rdf:List'))
                OR regexp_matches(relation, '^(owl:|rdf:(first|rest)$)'))
            UNION SELECT subject FROM statement WHERE role = 'assertion'
            UNION SELECT object FROM statement WHERE role = 'assertion'""",
            list(_SCHEMA),
        )

    def _reified(self) -> None:
        """Nodes that are statements: of Biolink, OBAN or RDF."""
        self._do(
            """
            CREATE TEMP TABLE reified AS
            SELECT *, heads <> 1 OR relations <> 1 OR tails <> 1 OR has_text AS wrong FROM (
            SELECT subject AS statement, min(file) AS file, min(line) AS line, min(seq) AS seq,
                any_value(object) FILTER (role = 'head') AS head, any_value(object) FILTER (role = 'tail') AS tail,
                any_value(CASE WHEN object = 'rdfs:subClassOf' THEN ? ELSE object END)
                    FILTER (role = 'relation') AS relation,
                any_value(graph) AS graph,
                count(DISTINCT object) FILTER (role = 'head') AS heads,
                count(DISTINCT object) FILTER (role = 'relation') AS relations,
                count(DISTINCT object) FILTER (role = 'tail') AS tails,
                bool_or(is_literal AND role <> 'relation') AS has_text
            FROM fact WHERE role IN ('head', 'relation', 'tail') GROUP BY subject)""",
            SUBCLASS,
        )
        for file, line, statement, heads, relations, tails in self._do(
            "SELECT file, line, statement, heads, relations, tails FROM reified WHERE wrong ORDER BY seq"
        ):
            parts = f"it has {heads} subjects, {relations} predicates and {tails} objects"
            detail = "its subject or object is a text" if heads == relations == tails == 1 else parts
            self._tables.reject(self._sources[file], [RejectedRow(line, "statement", detail, statement)])
        for file, n in self._do("""
            SELECT reified.file, count(DISTINCT statement) FROM reified
            JOIN fact ON subject = statement AND key = 'negated' AND lower(object) IN ('true', '1')
            WHERE NOT wrong GROUP BY reified.file"""):
            self._tables.negated[self._sources[file].name] += n

    def _edges(self) -> None:
        self._do("""
            CREATE TEMP TABLE plain AS
            SELECT fact.* FROM fact
            ANTI JOIN schema_subject ON fact.subject = schema_subject.subject
            ANTI JOIN schema_subject AS schema_object ON fact.object = schema_object.subject
            ANTI JOIN reified ON fact.subject = reified.statement
            ANTI JOIN reified AS reified_object ON fact.object = reified_object.statement
            WHERE NOT is_literal AND (role = 'subclass' OR (role = 'other' AND NOT of_ontology) OR (
                role = 'other' AND NOT starts_with(fact.subject, '_:') AND NOT starts_with(fact.object, '_:')
                AND EXISTS (FROM fact AS known WHERE known.role = 'type' AND (
                    (known.subject = fact.relation AND known.object = 'owl:ObjectProperty')
                    OR (known.subject = fact.object AND known.object = 'owl:NamedIndividual')))))""")
        self._do("""
            INSERT INTO edge
            SELECT subject, relation, object, CASE WHEN graph = '' THEN MAP {} ELSE MAP {'graph': graph} END, file, line
            FROM plain ANTI JOIN reified
            ON NOT wrong AND subject = head AND plain.relation = reified.relation AND object = tail ORDER BY seq""")
        self._do("""
            INSERT INTO edge
            SELECT class.subject, upper.object, filler.object, MAP {}, class.file, class.line
            FROM fact AS class
            JOIN fact AS upper ON class.object = upper.subject AND upper.role = 'on'
            JOIN fact AS filler ON class.object = filler.subject AND filler.role = 'some'
            WHERE class.role = 'subclass' AND NOT starts_with(class.subject, '_:')
                AND NOT starts_with(upper.object, '_:') AND NOT starts_with(filler.object, '_:')
            ORDER BY class.seq""")
        ((unread,),) = self._do("""
            SELECT count(*) FROM fact AS class WHERE role = 'subclass' AND starts_with(object, '_:')
                AND NOT EXISTS (FROM fact AS filler WHERE filler.subject = class.object AND filler.role = 'some'
                    AND NOT starts_with(filler.object, '_:'))""")
        if unread:
            axioms = how_many(unread, "SubClassOf axiom")
            self._tables.notes.append(f"{axioms} not read: no class and no property to some class stands there")
        self._do("""
            INSERT INTO edge
            WITH each AS (
                SELECT subject, key, object, min(fact.seq) AS seq FROM fact JOIN reified ON subject = statement
                WHERE role IN ('other', 'annotation') AND object <> '' GROUP BY subject, key, object),
            text AS (SELECT subject, key, string_agg(object, '|' ORDER BY seq) AS value FROM each GROUP BY subject, key)
            SELECT head, relation, tail, map_concat(
                CASE WHEN starts_with(statement, '_:') THEN MAP {} ELSE MAP {'id': statement} END,
                CASE WHEN graph = '' THEN MAP {} ELSE MAP {'graph': graph} END,
                coalesce(list.properties, MAP {})), file, line
            FROM reified LEFT JOIN (SELECT subject, map(list(key ORDER BY key), list(value ORDER BY key)) AS properties
                FROM text GROUP BY subject) AS list ON statement = list.subject
            WHERE NOT wrong
                AND NOT coalesce(lower(list.properties['negated']) IN ('true', '1'), false)
            ORDER BY seq""")

    def _nodes(self) -> None:
        """Nodes: whatever has a name, a type, a property or an edge; of ontologies, their classes and individuals."""
        self._do("""
            CREATE TEMP TABLE annotation AS
            SELECT fact.* FROM fact
            ANTI JOIN schema_subject ON fact.subject = schema_subject.subject
            ANTI JOIN reified ON fact.subject = reified.statement
            ANTI JOIN plain ON fact.seq = plain.seq
            WHERE role IN ('annotation', 'other') AND (is_literal OR role = 'annotation' OR of_ontology)
                AND (is_literal OR NOT starts_with(object, '_:'))""")
        self._do(
            """
            INSERT INTO node
            WITH typed AS (
                SELECT subject AS id, file, line, seq, object AS label, of_ontology FROM fact
                ANTI JOIN schema_subject ON fact.subject = schema_subject.subject
                ANTI JOIN reified ON fact.subject = reified.statement
                WHERE role = 'type' AND NOT starts_with(object, '_:')),
            shown AS (
                SELECT id, file, line, seq FROM typed
                    WHERE NOT of_ontology OR label IN ('owl:Class', 'rdfs:Class', 'owl:NamedIndividual')
                UNION ALL SELECT subject, file, line, seq FROM annotation WHERE NOT of_ontology
                UNION ALL SELECT subject, file, line, seq FROM plain WHERE NOT of_ontology
                UNION ALL SELECT object, file, line, seq FROM plain WHERE NOT of_ontology
                UNION ALL SELECT unnest([head, tail]), file, line, seq FROM reified
                    WHERE NOT wrong),
            listed AS (SELECT id, min(file) AS file, min(line) AS line, min(seq) AS seq FROM shown GROUP BY id),
            labelled AS (
                SELECT id, list(label ORDER BY label) AS labels
                FROM (SELECT DISTINCT id, regexp_replace(label, '^(owl|rdfs?|skos):', '') AS label FROM typed)
                GROUP BY id),
            other AS (
                SELECT DISTINCT unnest([subject, object]) AS id FROM fact
                WHERE NOT is_literal AND role NOT IN ('type', 'annotation')),
            each AS (
                SELECT subject, key, object, min(seq) AS seq
                FROM annotation WHERE object <> '' GROUP BY subject, key, object
                UNION ALL SELECT id, ?, 'true', 0 FROM listed SEMI JOIN other USING (id)
                ANTI JOIN (SELECT head AS id FROM edge UNION ALL SELECT tail FROM edge) USING (id)),
            text AS (
                SELECT subject AS id, key, string_agg(object, '|' ORDER BY seq) AS value
                FROM each GROUP BY subject, key),
            described AS (
                SELECT id, map(list(key ORDER BY key), list(value ORDER BY key)) AS properties FROM text GROUP BY id)
            SELECT id, coalesce(labels, []), coalesce(properties, MAP {}), file, line
            FROM listed LEFT JOIN labelled USING (id) LEFT JOIN described USING (id) ORDER BY seq, id""",
            STATED_OTHERWISE,
        )
