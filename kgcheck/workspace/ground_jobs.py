"""The manuscripts of a folder grounded as the work of a job: what is wrong in them, and what of it is new."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kgcheck.curation.config import GroundJob
from kgcheck.curation.jobs import EXAMPLES, JobWork
from kgcheck.curation.thresholds import Severity, worst
from kgcheck.errors import InputError, UnknownName
from kgcheck.grounding.ground import FAILING, Grounded, open_grounder
from kgcheck.grounding.manuscripts.reading import read_manuscript
from kgcheck.grounding.remarks import LIMITED, Remarked, SentenceState
from kgcheck.grounding.rendering import place_of, rendered
from kgcheck.grounding.revising import text_digest
from kgcheck.inputs import refuse_outside
from kgcheck.options import GroundLimits, TextOptions
from kgcheck.outputs import write_text
from kgcheck.workspace.job_files import files_of_job
from kgcheck.workspace.workspace import Workspace

_MARK = ".ground."
"""In the names of reports, which are no manuscripts."""


def ground_folder(
    workspace: Workspace,
    folder: Path,
    job: GroundJob,
    *,
    bibliography: Path | None,
    results: Path | None,
    out: Path | None,
    before: Iterable[str],
) -> JobWork:
    """Ground all manuscripts of a folder."""
    for name in job.most:
        if name not in LIMITED:
            raise UnknownName("remark or state", name, LIMITED)
    limits = GroundLimits(fail_on=job.fail_on, most=job.most, coverage=job.coverage)
    refused: list[str] = []
    more: list[str] = []
    reports: list[str] = []
    severities: list[Severity] = []
    wrong: dict[str, dict[str, str]] = {}
    counts: Counter[str] = Counter()
    with open_grounder(workspace, TextOptions(bibliography=bibliography, results=results)) as grounder:
        for path in files_of_job(folder, job.files, _MARK):
            name = path.relative_to(folder).as_posix()
            try:
                refuse_outside(folder, path)
                found = grounder.ground(read_manuscript(path))
            except InputError as error:
                refused.append(error.message)
                continue
            code = found.exit_code(limits)
            severities.append(Severity.of(code))
            more += [f"{name}: {line}" for line in found.exceeded(limits)]
            if found.incomplete:
                more.append(f"{name}: something could not be looked at")
            for remarked in _failing(found, limits):
                wrong[_key(found, name, remarked)] = _example(found, name, remarked)
                counts[remarked.remark.value] += 1
            for form in job.forms if out else ():
                report = Path(out or "") / f"{name}{_MARK}{'md' if form == 'markdown' else form}"
                write_text(report, rendered(found, form, code))
                reports.append(str(report))
            not_looked = [f"{what} not looked at: {why}" for what, why in found.not_looked.items()]
    known = set(before)
    new = [key for key in wrong if key not in known]
    text = ", ".join(f"{count:,} {remark}" for remark, count in counts.most_common())
    return JobWork(
        worst((*severities, Severity.WARN if refused else Severity.OK)),
        f"{len(severities):,} manuscripts: {text or 'nothing is wrong'}",
        new=len(new),
        examples=tuple(wrong[key] for key in new[:EXAMPLES]),
        reports=tuple(reports),
        notes=(*refused, *more, *(not_looked if severities else ()), *dict.fromkeys(grounder.notes)),
        figures={"manuscripts": len(severities), "remarks": dict(counts), "alarms": sorted(wrong), "refused": refused},
    )


def _failing(found: Grounded, limits: GroundLimits) -> list[Remarked]:
    """The remarks that count: those in a state that fails, and of kinds that are over a limit."""
    states = FAILING[limits.fail_on] or {SentenceState.CONTRADICTED}
    over = {name for name, most in limits.most.items() if found.counted(name) > most}
    return [r for r in found.remarks if r.state in states or r.remark.value in over or r.state.value in over]


def _key(found: Grounded, name: str, remarked: Remarked) -> str:
    """A remark by its words, which it has wherever its sentence stands."""
    words = (remarked.remark.value, remarked.stated, str(remarked.task or ""), found.text_of(remarked))
    return f"{name} {remarked.remark.value} {text_digest(chr(0).join(words))[:12]}"


def _example(found: Grounded, name: str, remarked: Remarked) -> dict[str, str]:
    """A remark, as messages show findings."""
    return {
        "finding": remarked.finding[:8],
        "outcome": remarked.state.value,
        "reason": remarked.remark.value,
        "what": f"{name}, {place_of(found, remarked)}: {remarked.words}",
        "names": "",
        "proposal": remarked.repair.to if remarked.repair else "",
    }
