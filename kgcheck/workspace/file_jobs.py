"""Check the manuscripts and protocols of a folder, as jobs of kgcheck.toml do."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kgcheck.curation.jobs import EXAMPLES, JobWork
from kgcheck.curation.project import GroundJob, ProtocolsJob
from kgcheck.curation.thresholds import Severity, worst
from kgcheck.errors import InputError, InputMissing, UnknownName
from kgcheck.grounding.ground import FAILING, Grounded, not_looked_notes, open_grounder
from kgcheck.grounding.manuscripts.reading import read_manuscript
from kgcheck.grounding.remarks import LIMITED, Remarked, SentenceState
from kgcheck.grounding.rendering import place_of, rendered
from kgcheck.grounding.revising import text_digest
from kgcheck.inputs import refuse_outside
from kgcheck.options import GroundLimits, TextOptions
from kgcheck.outputs import write_text
from kgcheck.plurals import how_many
from kgcheck.protocols.checking.remarks import StudyRemark, StudyState
from kgcheck.protocols.protocol import read_protocol
from kgcheck.protocols.rendering import rendered_checks
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
        for path in _files_of(folder, job.files, _MARK):
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
            more += [f"{name}: {line}" for line in grounder.partly_looked(found)]
            for remarked in _failing(found, limits):
                remark, repair = remarked.remark.value, remarked.repair.to if remarked.repair else ""
                # By its words, which it has wherever its sentence stands.
                words = (remark, remarked.stated, str(remarked.task or ""), found.text_of(remarked))
                key = f"{name} {remark} {text_digest(chr(0).join(words))[:12]}"
                text = f"{name}, {place_of(found, remarked)}: {remarked.words}"
                wrong[key] = _example(remarked.finding, remarked.state.value, remark, text, repair)
                counts[remark] += 1
            for form in job.forms if out else ():
                report = Path(out or "") / f"{name}{_MARK}{'md' if form == 'markdown' else form}"
                write_text(report, rendered(found, form))
                reports.append(str(report))
    not_looked = not_looked_notes(grounder.not_looked.items())
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


def check_folder(
    workspace: Workspace,
    folder: Path,
    job: ProtocolsJob,
    *,
    bibliography: Path | None,
    out: Path | None,
    before: Iterable[str],
) -> JobWork:
    """Check all protocols of a folder: which steps fell, and which of them are new."""
    readable, refused = [], []
    for path in _files_of(folder, [job.files]):
        try:
            refuse_outside(folder, path)
            read_protocol(path)
            readable.append(path)
        except InputError as error:
            refused.append(error.message)
    found, notes = workspace.check_protocols(readable, bibliography=bibliography)
    names = {str(path): path.relative_to(folder).as_posix() for path in readable}
    fallen = {
        f"{names[checked.name]} {f.step}": [r for r in checked.remarks if r.step == f.step]
        for checked in found
        for f in checked.fallen
    }
    new = sorted(set(fallen) - set(before))
    examples = [
        _example(r.finding, r.state.value, r.remark.value, f"{name}: {r.note}", r.repair)
        for name in new[:EXAMPLES]
        for r in fallen[name]
        if r.state is StudyState.FALLEN and r.remark is not StudyRemark.FOLLOWS_FALLEN
    ]
    if out:
        write_text(out, rendered_checks(found, "json"))
    severities = [Severity.of(checked.exit_code(job.fail_on)) for checked in found]
    shown = f": {', '.join(list(fallen)[:EXAMPLES])}" if fallen else ""
    return JobWork(
        worst((*severities, Severity.WARN if refused else Severity.OK)),
        f"{how_many(len(found), 'protocol')}, {how_many(len(fallen), 'step')} fell{shown}",
        new=len(new),
        examples=tuple(examples),
        reports=(str(out),) if out else (),
        notes=(*refused, *notes),
        figures={"protocols": len(found), "fallen": sorted(fallen), "refused": refused},
    )


def _files_of(folder: Path, patterns: Iterable[str], report: str = "") -> list[Path]:
    """The files of a folder that fit, each once; nothing in a hidden folder, and no report of the job itself."""
    if not folder.is_dir():
        raise InputMissing(f"there is no folder {folder}", "correct the folder of the job")
    wanted = tuple(patterns)
    found = {path.relative_to(folder) for pattern in wanted for path in folder.glob(pattern) if path.is_file()}
    shown = [p for p in sorted(found) if not any(part.startswith(".") for part in p.parts)]
    files = [folder / path for path in shown if not (report and report in path.name)]
    if not files:
        raise InputMissing(f"no file of {folder} is {' or '.join(wanted)}", "correct files or folder of the job")
    return files


def _failing(found: Grounded, limits: GroundLimits) -> list[Remarked]:
    states = FAILING[limits.fail_on] or {SentenceState.CONTRADICTED}
    over = {name for name, most in limits.most.items() if found.counted(name) > most}
    return [r for r in found.remarks if r.state in states or r.remark.value in over or r.state.value in over]


def _example(finding: str, outcome: str, reason: str, text: str, proposal: str) -> dict[str, str]:
    """A remark, as messages show findings."""
    shown = {"finding": finding[:8], "outcome": outcome, "reason": reason}
    return shown | {"what": text, "names": "", "proposal": proposal}
