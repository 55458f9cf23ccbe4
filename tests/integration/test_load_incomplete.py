"""Loads that leave rows out: how many may stay out, which are counted apart, and what each way of loading ends with."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgcheck.cli.main import cli
from kgcheck.curation.project import read_project
from kgcheck.curation.thresholds import Severity
from kgcheck.graph.open import open_store
from kgcheck.loading.load import FileCount, load_directory
from kgcheck.loading.quarantine import incomplete
from kgcheck.options import LoadOptions
from kgcheck.settings import Settings
from kgcheck.workspace.jobs import run_job
from tests.integration.import_directory import (
    ACTS_ON,
    CKG,
    DISEASES,
    GENES,
    PARENTS,
    PROTEINS,
    ImportDirectory,
    read_quarantine,
)

EVERYTHING = f"none of 2 rows of {PARENTS} could be loaded"


def kgcheck(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_HOME", str(tmp_path / "home"))


@pytest.fixture
def directory(tmp_path: Path) -> ImportDirectory:
    """Forty genes and two diseases, without an edge."""
    made = ImportDirectory(tmp_path / "import")
    made.write(GENES, *(made.row(GENES, ID=f"G{n}") for n in range(40)))
    made.write(DISEASES, *(made.row(DISEASES, ID=f"DOID:{n}") for n in (1, 2)))
    return made


def write_parents(directory: ImportDirectory, *edges: tuple[str, str]) -> None:
    directory.write(PARENTS, *(directory.row(PARENTS, start=a, end=b) for a, b in edges))


def counted(read: int, loaded: int, file: str = "edges.tsv", **quarantined: int) -> FileCount:
    return FileCount(file=file, target="A", read=read, loaded=loaded, changed=0, unchanged=0, quarantined=quarantined)


@pytest.mark.parametrize(
    ("counts", "limit", "why"),
    [
        ((counted(2, 0, unknown_head=2),), "", "none of 2 rows of edges.tsv could be loaded; 2 of 2 rows"),
        ((counted(100, 90, bad_id=10),), "", ""),
        ((counted(100, 89, bad_id=11),), "", "11 of 100 rows cannot be loaded, more than a tenth"),
        ((counted(100, 89, bad_id=10, foreign_head=1),), "", ""),
        ((counted(100, 1, foreign_head=49, foreign_tail=50),), "", ""),
        ((counted(9, 0, foreign_tail=9), counted(100, 100, "nodes.tsv")), "", "none of 9 rows of edges.tsv could be"),
        ((counted(9, 0, foreign_tail=9), counted(100, 100, "nodes.tsv")), "0", ""),
        ((counted(0, 0), counted(7, 0, "nodes.tsv")), "", ""),
        ((counted(100, 89, bad_id=11),), "11", ""),
        ((counted(100, 89, bad_id=11),), "10", "11 of 100 rows cannot be loaded, and --max-quarantined allows 10"),
        ((counted(1000, 877, bad_id=123),), "12.3%", ""),
        ((counted(1000, 877, bad_id=123),), "12.2%", "123 of 1,000 rows cannot be loaded, and"),
        ((counted(3, 0, bad_id=3),), "100%", ""),
        ((counted(3, 2, bad_id=1),), "0%", "1 of 3 rows cannot be loaded, and"),
    ],
)  # fmt: skip
def test_how_many_rows_may_stay_out(counts: tuple[FileCount, ...], limit: str, why: str) -> None:
    assert incomplete(counts, limit).startswith(why) if why else incomplete(counts, limit) == ""


@pytest.mark.slow
def test_rows_of_a_namespace_that_the_profile_does_not_load_are_counted_apart(
    directory: ImportDirectory, store: str, tmp_path: Path
) -> None:
    """Lost are the label's own ids, missing, misspelt or in another case, and those that another label has."""
    lost = ("DOID:9", "DOID:x", "doid:9", "Disease:DOID:9", "9", "ICD10 A9", "A9", ":9", "1:2", "BTO:9")
    apart = ("ICD10:A1", "ICD10:A2", "MONDO:1")
    write_parents(directory, ("DOID:1", "DOID:2"), *(("DOID:1", one) for one in (*lost, *apart)), ("ICD10:B", "DOID:9"))
    directory.write(PROTEINS, directory.row(PROTEINS, ID="P04637"))
    directory.write(
        ACTS_ON, *(directory.row(ACTS_ON, start="P04637", end=one) for one in ("P04637", "UniProtKB:P38398", "P1"))
    )

    for _ in range(2):
        with open_store(store, CKG, Settings(), create=True) as opened:
            quarantine, options = tmp_path / "q.jsonl", LoadOptions(max_quarantined="10")
            summary = load_directory(directory.folder, opened, Settings(), quarantine=quarantine, options=options)

        # The second load reads nothing again, and says the same.
        assert summary.causes == {"unknown_tail": len(lost) + 2, "foreign_tail": 3, "foreign_head": 1}
        assert (summary.foreign, summary.namespaces) == (4, {"ICD10": 3, "MONDO": 1})
        assert summary.incomplete == "12 of 61 rows cannot be loaded, and --max-quarantined allows 10"
        rows = [row for row in read_quarantine(summary) if row["reason"].startswith("foreign")]
        assert [row["detail"] for row in rows] == [f"no Disease {one}" for one in (*apart, "ICD10:B")]


@pytest.mark.slow
def test_the_command_ends_with_3(directory: ImportDirectory, tmp_path: Path) -> None:
    write_parents(directory, ("DOID:7", "DOID:8"), ("MONDO:8", "DOID:7"))
    arguments = ("load", directory.folder, "--offline", tmp_path / "files")
    said = kgcheck(*arguments)
    assert said.exit_code == 3
    assert "2 rows cannot be loaded (1 foreign_head, 1 unknown_head): see " in said.stderr
    assert "1 of them end in namespaces that the profile does not load: MONDO\n" in said.stderr
    assert f"incomplete: {EVERYTHING}\n" in said.stderr
    assert "neo4j-admin" in said.stdout
    assert kgcheck(*arguments, "--max-quarantined", "1").exit_code == 0


@pytest.mark.slow
def test_a_job_that_loads_too_little_is_not_clean(directory: ImportDirectory, tmp_path: Path) -> None:
    """The job hands its limit on to the workspace, and that to the process that loads."""
    write_parents(directory, ("DOID:7", "DOID:8"), ("DOID:8", "DOID:7"))
    toml = tmp_path / "kgcheck.toml"
    job = '[stores.main]\nplace = "graph.lbdb"\n\n[jobs.fill]\nkind = "load"\ndirectory = "import"\n'

    toml.write_text(job)
    _, done = run_job(read_project(toml), "fill")
    assert (done.severity, done.severity.exit_code) == (Severity.UNAVAILABLE, 3)
    assert f"incomplete: {EVERYTHING}" in done.message

    toml.write_text(f'{job}max_quarantined = "5%"\n')
    _, done = run_job(read_project(toml), "fill")
    assert (done.severity, done.figures["causes"]) == (Severity.WARN, {"unknown_head": 2})


@pytest.mark.parametrize("limit", ["-1", "101%", "5 %", "\u0661", "1e3", "", "%", "1_0", "0x1", "nan%", "inf"])
def test_a_limit_is_a_number_or_a_share(tmp_path: Path, limit: str) -> None:
    said = kgcheck("load", tmp_path, "--max-quarantined", limit)
    assert (said.exit_code, "write it as 250 or as 2.5%" in said.stderr) == (2, True)


def test_a_thousand_columns_and_files_are_named_in_a_few_lines(directory: ImportDirectory, tmp_path: Path) -> None:
    columns = [f"{n}{'x' * 100}" for n in range(10_000)]
    directory.raw(GENES, ("\t".join([directory.header(GENES), *columns]) + "\n").encode())

    said = kgcheck("load", directory.folder, "--offline", tmp_path / "files")

    lines = [line for line in said.stderr.splitlines() if "not in the profile" in line]
    assert len(lines) == 21
    assert lines[-1] == "and 9,980 more columns that are not in the profile: --format json has them all"
    assert max(map(len, lines)) < 160

    many = [counted(1, 0, f"{n}.tsv", bad_id=1) for n in range(1_000)]
    assert "none of 1 row of 4.tsv, of 995 more files nothing could be loaded" in incomplete(many)
