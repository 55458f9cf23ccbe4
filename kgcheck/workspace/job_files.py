"""Selection of the files of its folder that a job checks."""

from collections.abc import Iterable
from pathlib import Path

from kgcheck.errors import InputMissing


def files_of_job(folder: Path, patterns: Iterable[str], report: str = "") -> list[Path]:
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
