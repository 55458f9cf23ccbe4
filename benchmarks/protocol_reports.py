"""What `kgcheck protocol report` finds in the methods of the PLOS papers, by rules alone.

.venv/bin/python -m benchmarks.protocol_reports [--data ../shared/data] [--labels FILE] [--wrong]

Counts over all papers, then precision and recall on those that were read by hand: what they name, by number of the
sentence, stands in protocol_reports.labels; protocol_reports_later.labels has later sentences. `= NAME` begins a paper
(journal.NAME.xml), perhaps with the sentences that were read, as `61-90`. Then a line a sentence of its methods: the
number, `-` where it is no step, and what it names after P (settings), T (software, `name@version`), D (accessions) and
S (statistics), parted by `;`.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.ground_score import wilson
from kgcheck.literature.jats import read_jats
from kgcheck.literature.papers import WholePaper
from kgcheck.protocols.protocol import ReportStep
from kgcheck.protocols.reports.papers import experimental_report, method_sections
from kgcheck.protocols.reports.steps import step_of
from kgcheck.protocols.reports.tools_and_data import data_set_ids

READ = 60
"""Sentences of the methods of each paper that were read by hand: the first."""

CLASSES = {
    "P": "settings",
    "T": "software",
    "V": "versions of the software that is right",
    "D": "data sets",
    "S": "statistics",
}


class Label(NamedTuple):
    """What a sentence is and names, by hand."""

    step: bool
    names: dict[str, list[str]]


def papers_in(data: Path) -> Iterator[tuple[str, WholePaper]]:
    """The PLOS papers by the names of their files."""
    for path in sorted((data / "fulltext" / "plos").glob("*.xml")):
        for _, paper in read_jats(path):
            if isinstance(paper, WholePaper):
                yield path.stem.removeprefix("journal."), paper


class Labels(NamedTuple):
    """The labels of a paper, by number of the sentence, and which sentences were read."""

    first: int
    last: int
    sentences: dict[int, Label]


def read_labels(path: Path) -> dict[str, Labels]:
    """Labels by paper."""
    found: dict[str, Labels] = {}
    own: dict[int, Label] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            name, _, read = line[2:].strip().partition(" ")
            first, _, last = (read or f"1-{READ}").partition("-")
            own = {}
            found[name] = Labels(int(first), int(last), own)
        elif line[:1].isdigit():
            head, *parts = re.split(r"\s(?=[PTDS]\s)", line)
            number, _, mark = head.partition(" ")
            names = {p[0]: [n.strip() for n in p[1:].split(";")] for p in parts}
            own[int(number)] = Label(step=mark.strip() != "-", names=names)
    return found


def counts(data: Path) -> str:
    """A table of what was found in all papers."""
    total: Counter[str] = Counter()
    for _, paper in papers_in(data):
        report = experimental_report(paper)
        steps = [step for section in report.sections for step in section.steps]
        total["papers"] += 1
        total["papers with steps"] += bool(steps)
        total["sections"] += len(report.sections)
        total["sentences of methods"] += sum(len(sentences) for _, sentences, _ in method_sections(paper))
        total["steps"] += len(steps)
        total["steps that are dry"] += sum(step.dry for step in steps)
        total["settings"] += sum(len(step.parameters) for step in steps)
        total["software, each once a paper"] += len({t.name for step in steps for t in step.tools})
        total["of them with a version"] += len({t.name for step in steps for t in step.tools if t.version})
        total["statistics, each once a paper"] += len({name for step in steps for name in step.statistics})
        total["accessions in steps, each once a paper"] += len({d.id for step in steps for d in step.data_sets})
        total["accessions anywhere, each once a paper"] += len(
            {d.id for s in paper.sections for p in s.paragraphs for d in data_set_ids(p.text)}
        )
        total["sentences of results beside a section"] += sum(len(section.results) for section in report.sections)
    return _table(("what", "count"), [(name, f"{count:,}") for name, count in total.items()])


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


class ReportScores:
    """Counts of what is right, wrong and missing, by class."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.wanted: Counter[str] = Counter()
        self.faults: dict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, wanted: list[str], found: list[str], where: str) -> None:
        """Match what was found with what was wanted, each once."""
        left = list(wanted)
        for one in found:
            match = next((w for w in left if _same(kind, w, one)), None)
            if match is None:
                self.faults[kind].append(f"{where}: WRONG {one}")
                continue
            left.remove(match)
            self.right[kind] += 1
            if kind == "T":
                self._version(match, one, where)
        self.faults[kind] += [f"{where}: missing {w}" for w in left]
        self.found[kind] += len(found)
        self.wanted[kind] += len(wanted)

    def _version(self, wanted: str, found: str, where: str) -> None:
        want, have = wanted.partition("@")[2], found.partition("@")[2]
        self.wanted["V"] += bool(want)
        self.found["V"] += bool(have)
        self.right["V"] += bool(have) and want == have
        if want != have:
            self.faults["V"].append(f"{where}: wanted {wanted}, found {found}")

    def row(self, kind: str, name: str) -> tuple[str, ...]:
        """A row of the table."""
        right, found, wanted = self.right[kind], self.found[kind], self.wanted[kind]
        return (
            name,
            str(wanted),
            str(right),
            str(found - right),
            str(wanted - right),
            wilson(right, found),
            wilson(right, wanted),
        )


def _same(kind: str, one: str, other: str) -> bool:
    if kind == "T":
        one, other = one.partition("@")[0], other.partition("@")[0]
    if kind != "P":
        return one.casefold() == other.casefold()
    return _numbers(one) == _numbers(other) if re.search(r"\d", one + other) else one in other or other in one


def _numbers(text: str) -> list[str]:
    return [n.replace(",", "") for n in re.findall(r"\d+(?:[.,]\d+)*", text)]


def scores(data: Path, labels: dict[str, Labels]) -> ReportScores:
    """How the rules do on the papers that were read by hand."""
    papers = dict(papers_in(data))
    made = ReportScores()
    for name, wanted in labels.items():
        sentences = [one for _, own, _ in method_sections(papers[name]) for one in own]
        for number, (text, citations) in enumerate(sentences[wanted.first - 1 : wanted.last], wanted.first):
            label = wanted.sentences.get(number, Label(step=False, names={}))
            step = step_of(text, number, without=citations)
            where = f"{name} {number}"
            made.add("step", ["step"] * label.step, ["step"] * (step is not None), where)
            for kind, found in _named(step).items():
                made.add(kind, label.names.get(kind, []), found, where)
    return made


def _named(step: ReportStep | None) -> dict[str, list[str]]:
    if step is None:
        return {kind: [] for kind in "PTDS"}
    return {
        "P": [p.value for p in step.parameters],
        "T": [f"{t.name}@{t.version}" for t in step.tools],
        "D": [d.id for d in step.data_sets],
        "S": list(step.statistics),
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--labels", type=Path, default=Path(__file__).with_name("protocol_reports.labels"))
    parser.add_argument("--wrong", action="store_true", help="also list what is wrong and what is missing")
    chosen = parser.parse_args()
    sys.stdout.write(counts(chosen.data))
    made = scores(chosen.data, read_labels(chosen.labels))
    head = ("class", "by hand", "right", "WRONG", "missed", "precision", "recall")
    rows = [made.row(kind, name) for kind, name in ({"step": "steps"} | CLASSES).items()]
    sys.stdout.write("\n" + _table(head, rows))
    if chosen.wrong:
        for kind, faults in made.faults.items():
            sys.stdout.write(f"\n{kind}\n" + "".join(f"  {fault}\n" for fault in faults))


if __name__ == "__main__":
    main()
