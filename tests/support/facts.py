"""Facts in the words of a test: collected by release, built into a snapshot, asked one by one.

facts = Facts()
facts.release("uniprot").link("HAS_STRUCTURE", "P04637", "1TUP").covers("HAS_STRUCTURE", "P04637")
snapshot = facts.build(tmp_path)
verdict_on(snapshot, triple("Protein P04637", "HAS_STRUCTURE", "Protein_structure 1TUP"))
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import SnapshotSource
from kgcheck.model import CheckTask, CheckType, Ref, Verdict
from kgcheck.profile.catalogue import PARENT
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.facts import COLUMNS
from kgcheck.settings import Settings

DATE = "2026-01-01"
"""Of a release that names no other."""

SCHEMA: Schema = load_schema()
SETTINGS = Settings(duckdb_threads=1, duckdb_memory_limit="1GB")

Row = dict[str, str]


class Release:
    """The rows of one release of one source."""

    def __init__(self, source: str, name: str, date: str, *, complete: bool, url: str) -> None:
        self.rows: dict[str, list[Row]] = {table: [] for table in COLUMNS}
        self._key = {"source": source, "release": name}
        self._add("releases", released=date, name=f"{source} for tests", licence="CC0 1.0", url_template=url)
        self.rows["releases"][0]["coverage"] = "complete" if complete else "listed"

    def entity(
        self,
        identifier: str,
        label: str = "",
        state: str = "current",
        *,
        name: str = "",
        now: Sequence[str] = (),
        candidates: Sequence[str] = (),
        detail: str = "",
        record: str = "",
    ) -> Self:
        """An identifier of a label and its state; ``now`` is what replaces it."""
        namespace = (SCHEMA.label(label).authority.namespace or "") if label else ""
        lists = {"successors": "|".join(now), "candidates": "|".join(candidates)}
        return self._add(
            "entity", id=identifier, namespace=namespace, state=state, name=name, detail=detail, record=record, **lists
        )

    def entities(self, label: str, *identifiers: str) -> Self:
        """Current identifiers of a label."""
        for identifier in identifiers:
            self.entity(identifier, label)
        return self

    def value(self, identifier: str, attribute: str, value: str, status: str = "current", record: str = "") -> Self:
        """An attribute value."""
        return self._add("value", id=identifier, attribute=attribute, value=value, status=status, record=record)

    def link(
        self,
        relation: str,
        head: str,
        tail: str,
        score: float | None = None,
        *,
        negated: bool = False,
        record: str = "",
    ) -> Self:
        """An edge that the release states, or denies: written as the source calls it."""
        stated = {"score": "" if score is None else repr(score), "negated": str(negated).lower(), "record": record}
        for named in self._named(relation, tail):
            self._add("link", relation=named, head=head, tail=tail, **stated)
        return self

    def covers(self, relation: str, *identifiers: str) -> Self:
        """Subjects of which the release lists every edge of a relation."""
        relation, *channel = relation.split(" ")
        for identifier in identifiers:
            for named in self._named(relation):
                self._add("covered", relation=" ".join([named, *channel]), id=identifier)
        return self

    def _named(self, relation: str, tail: str | None = None) -> list[str]:
        """What the source calls the links that stand for the edges of a relation, to one tail or to any.

        A word that is no relation of the graph is the source's own; so is what it states and no check looks at.
        """
        patterns = [p for p in SCHEMA.relations if p.type == relation]
        fit = [p for p in patterns if tail is None or SCHEMA.label(p.tail).matches(tail)] or patterns
        named = {c.link for p in fit for c in p.checks if c.source == self._key["source"]}
        if any(p.hierarchy for p in patterns):
            named.add(PARENT)
        return sorted(named) or [relation]

    def _add(self, table: str, **row: str) -> Self:
        self.rows[table].append(self._key | row)
        return self


class Facts:
    """Releases that make a facts folder and a snapshot."""

    def __init__(self) -> None:
        self._releases: list[Release] = []

    def __repr__(self) -> str:
        """The rows, so that a failing case can be read."""
        rows = [
            (table, *filter(None, row.values())) for r in self._releases for table in r.rows for row in r.rows[table]
        ]
        return "\n".join([f"<{type(self).__name__}", *(f"  {' '.join(row)}" for row in rows), ">"])

    def release(
        self, source: str, name: str = "", date: str = DATE, *, complete: bool = False, url: str = ""
    ) -> Release:
        """A new release to add rows to, by default named by its date."""
        added = Release(source, name or f"of {date}", date, complete=complete, url=url)
        self._releases.append(added)
        return added

    def write(self, folder: Path) -> Path:
        """Write the folder in the format of loaders/ckg/demo/reference."""
        folder.mkdir(parents=True, exist_ok=True)
        for table, columns in COLUMNS.items():
            with (folder / f"{table}.tsv").open("w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, columns, delimiter="\t", lineterminator="\n")
                writer.writeheader()
                writer.writerows(row for release in self._releases for row in release.rows[table])
        return folder

    def build(self, folder: Path) -> Path:
        """Write the folder and build a snapshot of it."""
        snapshot = folder / "reference.duckdb"
        build_snapshot(self.write(folder / "facts"), snapshot, SCHEMA, SETTINGS)
        return snapshot


def ref(text: str) -> Ref:
    """A node from its label and id: ``Protein P04637``."""
    label, _, identifier = text.partition(" ")
    return Ref(label=label, id=identifier)


def existence(node: str) -> CheckTask:
    """The task whether a node's id is current."""
    return CheckTask(type=CheckType.EXISTENCE, subject=ref(node))


def attribute(node: str, name: str, value: str | None) -> CheckTask:
    """The task whether a value is the current one."""
    return CheckTask(type=CheckType.ATTRIBUTE, subject=ref(node), attribute=name, value=value)


def triple(head: str, relation: str, tail: str) -> CheckTask:
    """The task whether an edge of the graph is right."""
    return CheckTask(type=CheckType.TRIPLE, subject=ref(head), relation=relation, object=ref(tail))


def potential(head: str, relation: str, tail: str) -> CheckTask:
    """The task whether an edge is rightly not in the graph."""
    return CheckTask(type=CheckType.POTENTIAL, subject=ref(head), relation=relation, object=ref(tail))


def verdicts_on(
    snapshot: Path | None, tasks: Iterable[CheckTask], dates: Mapping[str, str] | None = None
) -> list[Verdict]:
    """The verdicts on tasks, each looked up by itself, for a graph of these dates."""
    with SnapshotSource(snapshot, SCHEMA, SETTINGS, dates=dates) as source:
        return [verdict(task.type, *source.observe(task)) for task in tasks]


def verdicts_together(snapshot: Path | None, tasks: Sequence[CheckTask]) -> list[Verdict]:
    """The verdicts on tasks, those of one kind looked up together: that takes a fraction of the time."""
    with SnapshotSource(snapshot, SCHEMA, SETTINGS) as source:
        return [verdict(task.type, *found) for task, found in zip(tasks, source.observe_all(tasks), strict=True)]


def verdict_on(snapshot: Path | None, task: CheckTask) -> Verdict:
    """The verdict on one task."""
    return verdicts_on(snapshot, [task])[0]


PROTEIN_NAME = 'say "p53", it\'s NULL'


def world() -> Facts:
    """Releases of every source, for tables of what each says."""
    facts = Facts()
    ids = facts.release("uniprot", "ids", complete=True, url="https://example.org/{record}/entry")
    ids.entities("Protein", "P04637", "P22303", "P10001", "P10002", "P10003", "P10004", "P10005", "P21802")
    ids.entity("B4DFC2", "Protein", "merged", now=["P21802"]).entity("P00001", "", "demerged", candidates=["Q1", "Q2"])
    ids.entity("I8FBX0", "Protein", "deleted", detail="Not part of a reference proteome")
    ids.value("P04637", "sequence", "MEEPQSDPSV").value("P04637", "length", "10").value(
        "P04637", "entry_name", "P53_HUMAN"
    )
    ids.value("P10003", "gene_name", " ").value("P04637", "gene_name", "TP53").value(
        "P04637", "gene_name", "P53", "synonym"
    )
    ids.value("P10001", "gene_name", "H4C1").value("P10001", "gene_name", "H4C2").value("P10002", "gene_name", "a; b")
    ids.value("P04637", "protein_name", PROTEIN_NAME).value("P04637", "protein_name", "Tumor suppressor p53", "former")
    entries = facts.release("uniprot", "entries")
    entries.link("HAS_STRUCTURE", "P04637", "1TUP").covers("HAS_STRUCTURE", "P04637")
    entries.link("HAS_SEQUENCE", "P04637", "P04637").covers("HAS_SEQUENCE", "P04637", "P22303")
    entries.link("ASSOCIATED_WITH", "P10001", "GO:0000011").link(
        "ASSOCIATED_WITH", "P10001", "GO:0000012", negated=True
    )
    entries.link("ASSOCIATED_WITH", "P10001", "GO:0000013", negated=True).covers("ASSOCIATED_WITH", "P10001")
    entries.link("ASSOCIATED_WITH", "P10001", "GO:0000013")
    entries.link("CURATED_INTERACTS_WITH", "P10001", "P10002").covers("CURATED_INTERACTS_WITH", "P10001")
    entries.link("ANNOTATED_IN_PATHWAY", "P10002", "R-HSA-2")
    entries.link("HAS_MODIFIED_SITE", "P04637", "P04637_S6-p").covers("HAS_MODIFIED_SITE", "P04637")
    entries.link("HAS_MODIFICATION", "P04637_S6-p", "MOD:00046").covers("HAS_MODIFICATION", "P04637_S6-p")
    entries.link("TRANSLATED_INTO", "TP53", "P04637").covers("TRANSLATED_INTO", "P04637", "P10001")
    goa = facts.release("goa").link("ASSOCIATED_WITH", "P10001", "GO:0000012", record="PMID:1")
    goa.link("ASSOCIATED_WITH", "P10002", "GO:0000010").covers("ASSOCIATED_WITH", "P10002")
    goa.link("ASSOCIATED_WITH", "P10002", "GO:0000015", negated=True)
    goa.link("ASSOCIATED_WITH", "P10004", "GO:0000011", record="PMID:13").covers("ASSOCIATED_WITH", "P10004")
    goa.link("ASSOCIATED_WITH", "P10004", "GO:0000012", record="PMID:13|SGD_REF:1")
    goa.link("ASSOCIATED_WITH", "P10004", "GO:0000012", record="PMID:14")
    goa.link("ASSOCIATED_WITH", "P10004", "GO:0000013", record="PMID:13", negated=True)
    facts.release("pubmed").entity("PMID:13", state="withdrawn", detail="retracted publication", record="13")
    hgnc = facts.release("hgnc", complete=True, url="https://example.org/#!/{record}")
    hgnc.entity("TP53", "Gene", name="tumor protein p53", record="HGNC:11998").entities("Gene", "OGA", "UBA1")
    hgnc.entity("MGEA5", "Gene", "previous", now=["OGA"]).entity("A1S9T", "Gene", "withdrawn", now=["UBA1"])
    hgnc.entity("A12M1", "Gene", "withdrawn").entity("P53", "Gene", "alias", now=["TP53"])
    hgnc.entity("AIP1", "Gene", "alias", candidates=["MAGI2", "WDR1"]).entity("OGA", "Gene", "alias", now=["TP53"])
    hgnc.value("TP53", "name", "tumor protein p53").link("TRANSLATED_INTO", "OGA", "P10002")
    disease = facts.release("do", complete=True).entities("Disease", "DOID:4", "DOID:14", "DOID:140", "DOID:7")
    disease.entity("DOID:40", "Disease", "secondary", now=["DOID:14"]).entity("DOID:9", "Disease", "obsolete", name="x")
    disease.entity("DOID:8", "", "obsolete", now=["DOID:7"]).value("DOID:7", "name", "X").value(
        "DOID:4", "name", "disease"
    )
    disease.link("HAS_PARENT", "DOID:14", "DOID:4").link("HAS_PARENT", "DOID:140", "DOID:14")
    facts.release("do", "old", "2015-05-14").entities("Disease", "DOID:6", "DOID:4").value(
        "DOID:4", "name", "Disease term"
    )
    go = facts.release("go", complete=True).entities("Biological_process", *(f"GO:000001{n}" for n in range(6)))
    go.entities("Cellular_component", "GO:0000020").link("HAS_PARENT", "GO:0000011", "GO:0000010")
    go.link("HAS_PARENT", "GO:0000015", "GO:0000014")
    go.entity("GO:0000030", "Cellular_component", "secondary", now=["GO:0000020"])
    go.entity("GO:0000031", "Biological_process", "obsolete", now=["GO:0000020"])
    facts.release("bto", complete=True).entities("Tissue", "BTO:0000142").entity("BTO:0005288", "Tissue", "obsolete")
    mod = facts.release("psimod", complete=True).entities("Modification", "MOD:00046", "MOD:00047", "MOD:00696")
    mod.entity("MOD:00415", "Modification", "obsolete", now=["MOD:00696"]).link("HAS_PARENT", "MOD:00046", "MOD:00696")
    way = facts.release("reactome", complete=True).entities("Pathway", "R-HSA-1", "R-HSA-2", "R-HSA-3")
    way.entity("R-HSA-9", "Pathway", "retired").value("R-HSA-1", "name", "Apoptosis")
    way.link("HAS_PARENT", "R-HSA-2", "R-HSA-1").link("ANNOTATED_IN_PATHWAY", "P10001", "R-HSA-2")
    pdb = facts.release("pdb", complete=True).entities("Protein_structure", "1TUP", "4HHB", "2YDQ")
    pdb.entity("1HHB", "Protein_structure", "superseded", now=["4HHB"])
    string = facts.release("string", complete=True).covers("ACTS_ON", "P10001", "P10002", "P10003", "P10004", "P21802")
    string.link("ACTS_ON", "P10002", "P10001", 0.7).link("ACTS_ON", "P10001", "P10002", 0.7)
    string.link("ACTS_ON", "P10003", "P10001", 0.4).link("ACTS_ON", "P10002", "P10003", 0.399)
    string.link("ACTS_ON", "P21802", "P10001", 0.9)
    facts.release("diseases").link("ASSOCIATED_WITH", "P10001", "DOID:140", 3.0).link(
        "ASSOCIATED_WITH", "P10002", "DOID:40"
    )
    facts.release("tissues").link("ASSOCIATED_WITH", "P10001", "BTO:0000142").covers(
        "ASSOCIATED_WITH", "P10001", "P10002"
    )
    facts.release("signor").link("IS_SUBSTRATE_OF", "P04637_S6-p", "P10001")
    return facts
