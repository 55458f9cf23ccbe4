"""``python -m benchmarks.forms``: graphs in their owners' forms, each beside what is known to be wrong in it.

The graphs and their truths (``truth.json``: must_report, may_report, must_not_refute) are foreign/forms of the shared
data, or of another folder laid out alike. A graph is audited as a stranger would, from its files and without a profile.
With ``--edges``, a generated graph in KGX form of so many edges is audited instead.
"""

import argparse
import json
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from kgcheck import Workspace
from kgcheck.errors import KgcheckError
from kgcheck.forms.curies import contraction
from kgcheck.forms.store import FileStore
from kgcheck.model import Finding, Outcome, Reason
from kgcheck.settings import Settings

SHARED = Path(__file__).parents[2] / "shared/data/foreign/forms"


CONTRACTED = contraction(())


class Result(NamedTuple):
    """What came of one graph."""

    name: str
    counted: str
    seconds: float
    found: int
    known: int
    wrong: list[str]
    missed: list[str]
    findings: int
    refuted: int


def texts_of(finding: Finding) -> str:
    """All that a finding says."""
    task, evidence = finding.task, finding.verdict.evidence
    ids = [task.subject.id, task.relation or "", task.object.id if task.object else "", task.attribute or ""]
    return "\x1f".join([*ids, task.subject.label, task.value or "", *(e.value or "" for e in evidence)])


def parts_of(subject: str) -> list[str]:
    """The ids of what a truth is about: both ends of an edge, or the whole."""
    if " -[" in subject and "]-> " in subject:
        head, _, rest = subject.partition(" -[")
        ends = [head.rpartition(": ")[2] if ".json" in head else head, rest.partition("]-> ")[2]]
        # Of RDF, findings have CURIEs.
        return list(map(CONTRACTED, ends))
    return [subject]


def held(folder: Path, work: Path) -> Result:
    """Audit one graph, and hold its findings against its truth."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    files = folder / "files"
    if truth["recognise_as"].startswith("each file by itself"):
        # One graph in several forms: the one that its truth counts.
        files = next(iter(sorted(files.glob("*.obo"))))
    begun = time.perf_counter()
    said: list[str] = []
    findings: list[Finding] = []
    counted = ""
    try:
        ledger = work / f"{folder.name}.sqlite"
        with Workspace(store=f"files:{files}", ledger=ledger, settings=Settings(home=work)) as workspace:
            said += workspace.recognised()
            graph = cast(FileStore, workspace.graph)
            counts = graph.counts()
            counted = f"{counts.total_nodes:,} / {counts.total_edges:,}"
            rejected = graph.files.tables.db.execute("FROM quarantine").fetchall()
            said += [f"{file}:{line} {' '.join(map(str, rest))}" for file, line, *rest in rejected]
            findings = list(workspace.audit(unfold=True).findings)
    except KgcheckError as error:
        said.append(f"{error.message}; {error.hint}")
        counted = f"refused: {error.message[:90]}"
    seconds = time.perf_counter() - begun
    if counted.startswith("refused"):
        truth["must_report"] = []
    pool = [*map(texts_of, findings), *said]
    missed = [
        m for m in truth["must_report"] if not any(all(p in text for p in parts_of(m["subject"])) for text in pool)
    ]
    known = {part for kind in ("must_report", "may_report") for m in truth[kind] for part in parts_of(m["subject"])}
    refuted = [f for f in findings if f.verdict.outcome is Outcome.REFUTED]
    # A truth lists the first 400 of a kind, and may say "66 genes" of many: of these, the reason is known.
    listed = Counter(m["kind"] for m in truth["must_report"])
    many = {kind for kind, n in truth.get("totals", {}).items() if n > listed[kind]} | {
        k for k, n in listed.items() if n == 1
    }
    reasons = {
        f.verdict.reason
        for f in refuted
        if is_known(f, {p for m in truth["must_report"] if m["kind"] in many for p in parts_of(m["subject"])})
    }
    reasons |= {Reason(kind) for kind in many if kind == "dangling_edge"}
    wrong = [f for f in refuted if not is_known(f, known) and f.verdict.reason not in reasons]
    return Result(
        folder.name,
        f"{counted} of {truth['nodes']:,} / {truth['edges']:,}",
        seconds,
        len(truth["must_report"]) - len(missed),
        len(truth["must_report"]),
        [str(f.task) + ": " + (f.task.value or "") for f in wrong],
        [f"{m['kind']} {m['subject']}" for m in missed],
        len(findings),
        len(refuted),
    )


def is_known(finding: Finding, known: set[str]) -> bool:
    """Tell whether a truth names what a finding is about."""
    text = texts_of(finding)
    return any(part in text for part in known)


CATEGORIES = {"Gene": "HGNC:{}", "Disease": "MONDO:{:07}", "ChemicalEntity": "CHEBI:{}", "Pathway": "REACT:R-HSA-{}",
              "Protein": "UniProtKB:P{:05}", "BiologicalProcess": "GO:{:07}", "Cell": "CL:{:07}"}  # fmt: skip
PREDICATES = ("related_to", "interacts_with", "affects", "part_of", "has_phenotype", "treats")


def generated(folder: Path, edges: int) -> list[Path]:
    """Write a graph in KGX form, a fifth as many nodes as edges, all drawn."""
    draw, kinds = random.Random(1), list(CATEGORIES.items())  # noqa: S311
    ids: list[str] = []
    paths = [folder / "nodes.tsv", folder / "edges.tsv"]
    with paths[0].open("w", encoding="utf-8") as out:
        out.write("id\tcategory\tname\tdescription\tprovided_by\n")
        for number in range(edges // 5):
            category, form = kinds[number % len(kinds)]
            ids.append(form.format(number + 1))
            out.write(f"{ids[-1]}\tbiolink:NamedThing|biolink:{category}\tname {number}\tx {number}\tinfores:x\n")
    with paths[1].open("w", encoding="utf-8") as out:
        out.write("id\tsubject\tpredicate\tobject\tprimary_knowledge_source\tpublications\n")
        for number in range(edges):
            head, tail, predicate = draw.choice(ids), draw.choice(ids), draw.choice(PREDICATES)
            out.write(f"e{number}\t{head}\tbiolink:{predicate}\t{tail}\tinfores:y\tPMID:{number}\n")
    return paths


def audit_generated(edges: int) -> None:
    """Print seconds and memory of an audit of a generated graph."""
    with TemporaryDirectory() as work:
        paths = generated(Path(work), edges)
        begun, used = time.perf_counter(), time.process_time()
        named = f"files:{','.join(map(str, paths))}"
        with Workspace(store=named, ledger=Path(work) / "a.sqlite", settings=Settings(home=Path(work))) as workspace:
            found = sum(tally.count for tally in workspace.audit().tallies)
        seconds, of_cpu = time.perf_counter() - begun, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"{edges:,} edges: {seconds:.1f} s, {of_cpu:.1f} s of CPU, {peak:,.0f} MiB, {found:,} hits\n")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--show", type=int, default=5, help="so many that were missed or wrong, by graph")
    parser.add_argument("--edges", type=int)
    options = parser.parse_args()
    if options.edges:
        audit_generated(options.edges)
        return
    if not options.folder.is_dir():
        sys.exit(f"there is no folder {options.folder}")
    totals: Counter[str] = Counter()
    sys.stdout.write(
        "| graph | nodes / edges | s | must report: found | findings | refuted | refuted, not in the truth |\n"
    )
    sys.stdout.write("| --- | --- | --- | --- | --- | --- | --- |\n")
    notes: list[str] = []
    for truth in sorted(options.folder.glob("*/truth.json")):
        if options.only and truth.parent.name not in options.only:
            continue
        with TemporaryDirectory() as work:
            r = held(truth.parent, Path(work))
        totals.update(found=r.found, known=r.known, refuted=r.refuted, wrong=len(r.wrong))
        sys.stdout.write(
            f"| {r.name} | {r.counted} | {r.seconds:.1f} | {r.found} of {r.known} | {r.findings:,} | {r.refuted:,}"
            f" | {len(r.wrong):,} |\n"
        )
        notes += [f"{r.name}: missed {text}" for text in r.missed[: options.show]]
        notes += [f"{r.name}: not in the truth: {text[:200]}" for text in r.wrong[: options.show]]
    outside = f"{totals['wrong']:,} of {totals['refuted']:,} refuted are not in a truth"
    sys.stdout.write(f"\nfound {totals['found']:,} of {totals['known']:,}; {outside}\n")
    sys.stdout.write("\n".join(notes) + "\n")


if __name__ == "__main__":
    main()
