"""The protocols of a folder checked as the work of a job: which steps fell, and which of them are new."""

from collections.abc import Iterable
from pathlib import Path

from kgcheck.curation.config import ProtocolsJob
from kgcheck.curation.jobs import EXAMPLES, JobWork
from kgcheck.curation.thresholds import Severity, worst
from kgcheck.errors import InputError
from kgcheck.inputs import refuse_outside
from kgcheck.outputs import write_text
from kgcheck.plurals import how_many
from kgcheck.protocols.checking.check import CheckedProtocol
from kgcheck.protocols.checking.remarks import StudyRemark, StudyState
from kgcheck.protocols.protocol import read_protocol
from kgcheck.protocols.rendering import rendered_checks
from kgcheck.workspace.job_files import files_of_job
from kgcheck.workspace.workspace import Workspace


def check_folder(
    workspace: Workspace,
    folder: Path,
    job: ProtocolsJob,
    *,
    bibliography: Path | None,
    out: Path | None,
    before: Iterable[str],
) -> JobWork:
    """Check all protocols of a folder."""
    readable, refused = [], []
    for path in files_of_job(folder, [job.files]):
        try:
            refuse_outside(folder, path)
            read_protocol(path)
            readable.append(path)
        except InputError as error:
            refused.append(error.message)
    found, notes = workspace.check_protocols(readable, bibliography=bibliography)
    names = {str(path): path.relative_to(folder).as_posix() for path in readable}
    fallen = {f"{names[checked.name]} {f.step}": (checked, f.step) for checked in found for f in checked.fallen}
    new = sorted(set(fallen) - set(before))
    if out:
        write_text(out, rendered_checks(found, "json"))
    severities = [Severity.of(checked.exit_code(job.fail_on)) for checked in found]
    shown = f": {', '.join(list(fallen)[:EXAMPLES])}" if fallen else ""
    return JobWork(
        worst((*severities, Severity.WARN if refused else Severity.OK)),
        f"{how_many(len(found), 'protocol')}, {how_many(len(fallen), 'step')} fell{shown}",
        new=len(new),
        examples=tuple(row for name in new[:EXAMPLES] for row in _examples(name, *fallen[name])),
        reports=(str(out),) if out else (),
        notes=(*refused, *notes),
        figures={"protocols": len(found), "fallen": sorted(fallen), "refused": refused},
    )


def _examples(name: str, checked: CheckedProtocol, step: str) -> list[dict[str, str]]:
    """Reason why a step fell, as messages show findings."""
    return [
        {
            "finding": remark.finding[:8],
            "outcome": remark.state.value,
            "reason": remark.remark.value,
            "what": f"{name}: {remark.note}",
            "names": "",
            "proposal": remark.repair,
        }
        for remark in checked.remarks
        if remark.step == step and remark.state is StudyState.FALLEN and remark.remark is not StudyRemark.FOLLOWS_FALLEN
    ]
