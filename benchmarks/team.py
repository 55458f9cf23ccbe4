"""``python -m benchmarks.team``: how many verdicts of the team in a nightly job are borne out by what was kept from it.

The job is the one that ``kgcheck init`` writes. Of its snapshot half of the proteins are taken out, in what UniProt,
STRING and GOA say of them; services on loopback speak from the whole of it. Made-up edges of these proteins are put
into the graph, too. Whether a verdict of the team is right is looked up in the whole snapshot by plain SQL: an edge
that is supported must be there, one that is refuted must not; what the team leaves undecided is silent. In the second
night UniProt has a newer release, in which some of those links are gone.
"""

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckType
from tests.support import ROOT
from tests.support.loopback import Loopback
from tests.support.services import Json, StringServer, UniProtServer, entry

SHARED = ROOT.parent / "shared" / "data"
DEMO = ROOT / "loaders" / "ckg" / "demo"
HELD = "md5({id}) < '8'"
"""Proteins that are kept from the snapshot of the audit."""
PROTEIN = "regexp_full_match({id}, '([OPQ][0-9][A-Z0-9]{{3}}[0-9]|[A-NR-Z][0-9]([A-Z][A-Z0-9]{{2}}[0-9]){{1,2}})')"
MADE_UP = {"Biological_process_associated_with": "go_annotation", "string_protein_acts_on_protein": "association"}
"""Files that made-up edges are put into, with the links that would bear them out."""

Pairs = dict[str, set[tuple[str, str]]]


def main() -> None:
    """Run two nights, and print what became of the team's verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", choices=("demo", "ckg_import"), default="demo")
    parser.add_argument("--snapshot", type=Path, help="whole snapshot [default: built]")
    parser.add_argument("--made-up", type=int, default=40, help="made-up edges of each kind")
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="keep the project here")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        folder = asked.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        measure(asked.graph, asked.snapshot, folder, asked.made_up, asked.budget)


def measure(graph: str, whole: Path | None, folder: Path, made_up: int, budget: int) -> None:
    """Make a project, run its job for two nights and compare."""
    project = folder / "project"
    _kgcheck("init", project)
    settings = project / "kgcheck.toml"
    settings.write_text(settings.read_text().replace("team_budget = 50", f"team_budget = {budget}"))
    shutil.copytree(DEMO / "import" if graph == "demo" else SHARED / "ckg_import", project / "import")
    if whole is None:
        whole = folder / "whole.duckdb"
        _kgcheck("reference", "build", DEMO / "reference" if graph == "demo" else SHARED, "--out", whole)
    snapshot = project / "reference.duckdb"
    shutil.copy(whole, snapshot)
    links = _links(whole)
    _hold_back(snapshot)
    false = _make_up(project / "import" / "databases", links, made_up)
    table = Table("night", "checked by the team", "right", "silent", "WRONG", "made-up supported", box=None)
    with _services(project / "import" / "databases" / "Protein.tsv", links) as (uniprot, environment):
        for night in (1, 2):
            if night == 2:
                _next_release(uniprot, links)
            said = _kgcheck("job", "run", "nightly", "--config", settings, environment=environment, allowed=(0, 1))
            Console(width=160).print(said, markup=False, highlight=False)
            table.add_row(str(night), *_judged(project / ".kgcheck" / "ledger.sqlite", links, false))
    Console(width=160).print(table)


def _kgcheck(*words: object, environment: Mapping[str, str] = {}, allowed: tuple[int, ...] = (0,)) -> str:
    command = [sys.executable, "-m", "kgcheck", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})  # noqa: S603
    if done.returncode not in allowed:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def _links(whole: Path) -> Pairs:
    """Links of UniProt, STRING and GOA that stand in the whole snapshot, by relation, each both ways round."""
    found: Pairs = defaultdict(set)
    with duckdb.connect(str(whole), read_only=True) as db:
        rows = db.execute(
            """
            SELECT relation, head_now, tail_now FROM link
            WHERE source IN ('uniprot', 'string', 'goa') AND NOT negated AND coalesce(score, 1) >= 0.4
            """
        ).fetchall()
    for relation, head, tail in rows:
        found[relation] |= {(head, tail), (tail, head)}
    return found


def _hold_back(snapshot: Path) -> None:
    """Take what UniProt, STRING and GOA say of half of the proteins out of a snapshot."""
    of_protein = {
        column: f"({PROTEIN.format(id=column)} AND {HELD.format(id=column)})" for column in ("id", "head", "tail")
    }
    with duckdb.connect(str(snapshot)) as db:
        tables = {name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        for table in tables & {"entity", "value", "covered", "link"}:
            held = " OR ".join(of_protein[c] for c in (("head", "tail") if table == "link" else ("id",)))
            db.execute(f"DELETE FROM {table} WHERE source IN ('uniprot', 'string', 'goa') AND ({held})")


def _make_up(databases: Path, links: Pairs, count: int) -> set[tuple[str, str]]:
    """Edges that no source has, at the end of files of the import directory."""
    made: set[tuple[str, str]] = set()
    for name, relation in MADE_UP.items():
        path = databases / f"{name}.tsv"
        path.chmod(0o644)
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        stated, draw = {(r["START_ID"], r["END_ID"]) for r in rows}, random.Random(name)  # noqa: S311
        heads, tails = (sorted({r[end] for r in rows}) for end in ("START_ID", "END_ID"))
        more: list[dict[str, str]] = []
        while len(more) < count:
            head, tail = draw.choice(heads), draw.choice(tails)
            known = stated | links[relation] | made
            if head != tail and {(head, tail), (tail, head)}.isdisjoint(known) and _is_held(head):
                made.add((head, tail))
                more.append({**draw.choice(rows), "START_ID": head, "END_ID": tail})
        with path.open("a", newline="") as file:
            csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n").writerows(more)
    return made


def _is_held(protein: str) -> bool:
    with duckdb.connect() as db:
        return bool(db.execute(f"SELECT {HELD.format(id='$id')}", {"id": protein}).fetchone()[0])  # type: ignore[index]


@contextmanager
def _services(proteins: Path, links: Pairs) -> Iterator[tuple[UniProtServer, dict[str, str]]]:
    """UniProt and STRING on loopback, with every protein of the graph, and the links of the whole snapshot."""
    with proteins.open(newline="") as file:
        ids = [row["ID"] for row in csv.DictReader(file, delimiter="\t")]
    with Loopback() as one, Loopback() as other, tempfile.TemporaryDirectory() as cache:
        uniprot, string = UniProtServer(one, SHARED / "api"), StringServer(other, SHARED / "api")
        uniprot.add(*_entries(ids, links))
        known = {protein for pair in links["association"] for protein in pair}
        string.knows(**{protein: f"9606.{protein}" for protein in ids if protein in known})
        for head, tail in sorted(links["association"]):
            if head < tail:
                string.link(f"9606.{head}", f"9606.{tail}", 0.9)
        yield (
            uniprot,
            {
                "KGCHECK_UNIPROT_URL": one.url,
                "KGCHECK_STRING_URL": other.url,
                "KGCHECK_STRING_CALLS_PER_S": "1000",
                "KGCHECK_UNIPROT_CALLS_PER_S": "1000",
                "KGCHECK_CACHE_DIR": cache,
                # The second night comes at once.
                "KGCHECK_RELEASE_HOURS": "0.001",
            },
        )


def _entries(ids: list[str], links: Pairs) -> Iterator[Json]:
    of: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for database, relation in (("GO", "go_annotation"), ("PDB", "structure"), ("Reactome", "pathway")):
        for head, tail in sorted(links[relation]):
            of[head][database].append(tail)
    for protein in ids:
        listed = [
            {"database": database, "id": other, "properties": [{"key": "GoEvidenceType", "value": "IDA:UniProtKB"}]}
            for database, others in of[protein].items()
            for other in others
        ]
        interactions = [
            {"interactantOne": {"uniProtKBAccession": protein}, "interactantTwo": {"uniProtKBAccession": other}}
            for head, other in sorted(links["interaction"])
            if head == protein
        ]
        comments = [{"commentType": "INTERACTION", "interactions": interactions}] if interactions else []
        yield entry(protein, uniProtKBCrossReferences=listed, comments=comments)


def _next_release(uniprot: UniProtServer, links: Pairs) -> None:
    """Let UniProt have a newer release, in which some proteins have no links any more."""
    gone = {protein for protein in uniprot.entries if protein[-1] in "37"}
    for relation in links.keys() - {"association"}:
        links[relation] = {pair for pair in links[relation] if gone.isdisjoint(pair)}
    uniprot.release = "2026_04"
    uniprot.add(*_entries(list(uniprot.entries), links))


def _judged(ledger: Path, links: Pairs, false: set[tuple[str, str]]) -> list[str]:
    """Counts of the verdicts of the newest audit's team on edges."""
    everything = set().union(*links.values())
    counts, wrong = Counter[str](), 0
    with Ledger(ledger, create=False) as opened:
        for one, finding in opened.team_findings(opened.run("latest")):
            task = finding.task
            if task.object is None or task.object.id == task.subject.id or task.type is not CheckType.TRIPLE:
                # Of sequences, which have the id of their protein, the services here have one for each.
                continue
            pair = (task.subject.id, task.object.id)
            is_there = pair in everything
            if one.result not in ("supported", "refuted"):
                counts["silent"] += 1
            else:
                is_right = is_there == (one.result == "supported")
                counts["right" if is_right else "WRONG"] += 1
                if not is_right:
                    Console(width=160, stderr=True).print(json.dumps([one.result, str(task)]), markup=False)
            wrong += one.result == "supported" and pair in false
    return [str(counts.total()), *(str(counts[name]) for name in ("right", "silent", "WRONG")), str(wrong)]


if __name__ == "__main__":
    main()
