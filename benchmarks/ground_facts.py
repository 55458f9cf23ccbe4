"""Facts of the real graph that its sources confirm, as sentences: true, denied, or with another partner.

Names are taken that can mean one thing only: symbols with a digit that no other protein has as a synonym, and names of
diseases, tissues, pathways and terms that no other node has.
"""

import csv
import random
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import duckdb

WORDS = tomllib.loads(Path(__file__).with_name("ground_words.toml").read_text(encoding="utf-8"))

SYMBOL = re.compile(r"[A-Z][A-Z0-9-]{2,7}")

_KNOWN = {
    "disease": ("databases/Protein_Disease_associated_with_integrated.tsv", "ontologies/Disease.tsv", "diseases"),
    "tissue": ("databases/Protein_Tissue_associated_with_integrated.tsv", "ontologies/Tissue.tsv", "tissues"),
    "pathway": ("databases/reactome_protein_annotated_to_pathway.tsv", "databases/reactome_Pathway.tsv", "reactome"),
    "process": ("databases/Biological_process_associated_with.tsv", "ontologies/Biological_process.tsv", "goa"),
    "function": ("databases/Molecular_function_associated_with.tsv", "ontologies/Molecular_function.tsv", "goa"),
    "component": ("databases/Cellular_component_associated_with.tsv", "ontologies/Cellular_component.tsv", "goa"),
}
"""Edges, the nodes that they lead to, and the source that confirms them."""

_CLEAR = {
    "disease": re.compile(r"(?!disease|.*\bof\b)[a-z][a-z' -]{7,45}"),
    "tissue": re.compile(r"[a-z]{4,}(?: [a-z]{3,}){0,2}"),
    "pathway": re.compile(r"[A-Z][A-Za-z]+(?: [A-Za-z-]+){1,5}"),
    "process": re.compile(r"[a-z]{4,}(?: [a-z-]+){1,3}"),
    "function": re.compile(r"[a-z][a-z-]*(?: [a-z-]+){0,3} (?:activity|binding)"),
    "component": re.compile(r"[a-z]{5,}(?: [a-z]{4,}){0,2}"),
}
"""Names that read as a part of a sentence."""

_GENERAL = frozenset({"protein binding", "binding", "cell culture", "catalytic activity", "other", "whole body"})


class Statement(NamedTuple):
    """A sentence without its full stop, what it states, and from what it was made."""

    text: str
    relation: str
    names: dict[str, str]
    phrasing: int

    @property
    def edges(self) -> list[str]:
        """Its edges, for people: heads with the one tail."""
        return [f"{self.names[n]} {self.relation} {self.names['b']}" for n in ("a", "c") if n in self.names]


class Facts:
    """The confirmed edges by relation.

    Args:
        data: With ckg_import and ckg_sources.
        reference: The snapshot that confirms.
        chosen: The set whose phrasings are used.
    """

    def __init__(self, data: Path, reference: Path, chosen: str) -> None:
        self._phrasings = [n for n, phrasing in enumerate(WORDS["phrasing"]) if phrasing["set"] == chosen]
        self._tails: dict[str, dict[str, set[str]]] = {}
        self._all: dict[str, dict[str, set[str]]] = {}
        with duckdb.connect() as db:
            db.execute(f"ATTACH '{reference}' AS ref (READ_ONLY)").fetchall()
            self._read(db, data / "ckg_import")
        self.previous = _previous_symbols(data / "ckg_sources" / "hgnc_entries_2017.tsv", self._synonyms)

    def _read(self, db: duckdb.DuckDBPyConnection, folder: Path) -> None:
        db.execute(
            f"CREATE TABLE protein AS SELECT ID id, name, synonyms FROM {_tsv(folder / 'databases/Protein.tsv')}"
        )
        proteins = db.execute("SELECT id, name, synonyms FROM protein").fetchall()
        self._synonyms: dict[str, set[str]] = defaultdict(set)
        for _id, name, synonyms in proteins:
            for word in {name, *(synonyms or "").split(",")}:
                self._synonyms[(word or "").upper()].add(name)
        named: dict[str, int] = defaultdict(int)
        for _edges, nodes, _source in _KNOWN.values():
            for (name,) in db.execute(f"SELECT lower(name) FROM {_tsv(folder / nodes)}").fetchall():
                named[name] += 1
        own: dict[str, int] = defaultdict(int)
        for _id, name, _synonyms in proteins:
            own[name] += 1
        self.symbols = {
            n
            for n in own
            if SYMBOL.fullmatch(n or "") and re.search(r"\d", n) and own[n] == 1 == len(self._synonyms[n])
        }
        for relation, (edges, nodes, source) in _KNOWN.items():
            rows = db.execute(
                f"""SELECT DISTINCT p.name, t.name, l.head IS NOT NULL FROM {_tsv(folder / edges)} e
                    JOIN protein p ON p.id = e.START_ID JOIN {_tsv(folder / nodes)} t ON t.ID = e.END_ID
                    LEFT JOIN ref.link l ON l.source = ? AND l.head_now = e.START_ID AND l.tail_now = e.END_ID
                        AND NOT l.negated AND NOT l.retracted ORDER BY ALL""",
                [source],
            ).fetchall()
            clear = _CLEAR[relation]
            keep = [
                (h, t)
                for h, t, confirmed in rows
                if confirmed
                and h in self.symbols
                and clear.fullmatch(t)
                and named[t.lower()] == 1
                and t not in _GENERAL
            ]
            self._take(relation, keep, [(h, t) for h, t, _ in rows])
        pairs = db.execute(
            f"""SELECT DISTINCT a.name, b.name, e.score::DOUBLE >= 0.7 AND l.head IS NOT NULL
                FROM {_tsv(folder / "databases/string_protein_acts_on_protein.tsv")} e
                JOIN protein a ON a.id = e.START_ID JOIN protein b ON b.id = e.END_ID
                LEFT JOIN ref.link l ON l.source = 'string'
                    AND ((l.head_now, l.tail_now) IN ((a.id, b.id), (b.id, a.id))) ORDER BY ALL"""
        ).fetchall()
        others = db.execute(
            """SELECT a.name, b.name, false FROM ref.link l JOIN protein a ON a.id = l.head_now
               JOIN protein b ON b.id = l.tail_now WHERE l.relation IN ('association', 'interaction')"""
        ).fetchall()
        keep = [(h, t) for h, t, good in pairs if good and h != t and {h, t} <= self.symbols]
        self._take("acts_on", keep, [e for h, t, _ in (*pairs, *others) for e in ((h, t), (t, h))])
        encoded = _tsv(folder / "databases/Protein_gene_translated_into.tsv")
        products = db.execute(
            f"""SELECT DISTINCT e.START_ID, e.END_ID FROM {encoded} e
                JOIN ref.link l ON l.source = 'hgnc' AND l.head_now = e.START_ID AND l.tail_now = e.END_ID
                ORDER BY ALL"""
        ).fetchall()
        self._take("gene_product", [(h, t) for h, t in products if h in self.symbols], products)

    def _take(self, relation: str, good: list[tuple[str, str]], every: list[tuple[str, str]]) -> None:
        for place, edges in ((self._tails, good), (self._all, every)):
            place[relation] = defaultdict(set)
            for head, tail in edges:
                place[relation][head].add(tail)

    def statement(self, of: random.Random, heads: set[str] | None = None) -> Statement:
        """A true sentence.

        Args:
            of: What chooses.
            heads: From these alone, if any edge begins there.

        Returns:
            The sentence with its names.
        """
        while True:
            number = of.choice(self._phrasings)
            phrasing = WORDS["phrasing"][number]
            tails = self._tails[phrasing["relation"]]
            head = of.choice(sorted(heads & set(tails) if heads else tails) or [""])
            if not head:
                continue
            tail = of.choice(sorted(tails[head]))
            names = {"a": head, "b": tail}
            if "{c}" in phrasing["true"]:
                also = sorted(h for h in tails if tail in tails[h] and h != head)
                if not also:
                    continue
                names["c"] = of.choice(also)
            return Statement(_filled(phrasing["true"], names), phrasing["relation"], names, number)

    def denied(self, statement: Statement) -> str:
        """The same names, said not to be so."""
        return _filled(WORDS["phrasing"][statement.phrasing]["denied"], statement.names)

    def exchanged(self, of: random.Random, statement: Statement) -> tuple[str, str]:
        """The sentence with another tail, which neither the graph nor its sources link with any of its heads.

        Args:
            of: What chooses.
            statement: The true one.

        Returns:
            The sentence and the other tail.
        """
        heads = [statement.names[n] for n in ("a", "c") if n in statement.names]
        linked = {t for h in heads for t in self._all[statement.relation][h]}
        words = {w for t in linked for w in _words(t)}
        tails = sorted({t for ts in self._tails[statement.relation].values() for t in ts} - linked - set(heads))
        while True:
            other = of.choice(tails)
            # Not what is broader or narrower than a true one, either: such names share a word.
            if not _words(other) & words or statement.relation in ("acts_on", "gene_product"):
                names = {**statement.names, "b": other}
                return _filled(WORDS["phrasing"][statement.phrasing]["true"], names), other


def _filled(pattern: str, names: dict[str, str]) -> str:
    text = pattern.format(**names)
    return text[0].upper() + text[1:]


def _words(name: str) -> set[str]:
    return {w for w in re.findall(r"[a-z]{4,}", name.lower()) if w not in ("cell", "disease", "activity", "regulation")}


def _tsv(path: Path) -> str:
    return f"read_csv('{path}', delim='\t', header=true, all_varchar=true, quote='\"', ignore_errors=true)"


def _previous_symbols(path: Path, synonyms: dict[str, set[str]]) -> dict[str, str]:
    """A withdrawn symbol for each approved one that took its place, where it means nothing else."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    approved = {r["Approved Symbol"] for r in rows if r["Status"] == "Approved"}
    found: dict[str, str] = {}
    for row in rows:
        now = re.search(r"see \[?([A-Za-z0-9-]+)\]?$", row["Approved Name"].strip())
        old = row["Approved Symbol"].removesuffix("~withdrawn")
        if row["Status"] == "Symbol Withdrawn" and now and now[1] in approved and old not in approved:
            clear = SYMBOL.fullmatch(old) and re.search(r"\d", old) and synonyms.get(old, set()) <= {now[1]}
            if clear and len(old) > 3:
                found.setdefault(now[1], old)
    return found
