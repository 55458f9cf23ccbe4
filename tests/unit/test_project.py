"""kgcheck.toml: how it is found, what it means, and that every mistake is found at once."""

import json
import os
import tomllib
from pathlib import Path

import jsonschema
import pytest

from kgcheck.choices import FORMATS
from kgcheck.curation.project import (
    AuditJob,
    JobFile,
    Project,
    json_schema,
    read_project,
    write_project,
)
from kgcheck.curation.project_file import FoundFile, find_file
from kgcheck.errors import ConfigurationError, InputError, InputMissing, UnknownName
from kgcheck.profile.toml_files import WrongFile

SMALL = """
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
files = "sources"
"""


def project(folder: Path, text: str) -> Project:
    path = folder / "kgcheck.toml"
    path.write_text(text, encoding="utf-8")
    return read_project(path)


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(WrongFile) as caught:
        project(folder, text)
    return [str(mistake) for mistake in caught.value.mistakes]


def test_all_that_init_comments_out_is_right_too(tmp_path: Path) -> None:
    write_project(tmp_path)
    lines = (tmp_path / "kgcheck.toml").read_text().splitlines()
    # Comments that are TOML: a key, or a table.
    text = "\n".join(
        line.removeprefix("# ") if line.startswith(("# [", "# ")) and ("= " in line or "# [" in line) else line
        for line in lines
    )

    whole = project(tmp_path, text)

    assert set(whole.values.jobs) == {"nightly", "import", "references", "questions", "paper"}
    assert {job.kind for job in whole.values.jobs.values()} == {"audit", "load", "refresh", "batch", "ground"}
    assert whole.values.notifications["curators"].when == ("new", "error", "failed")
    nightly = whole.job("nightly")
    assert isinstance(nightly, AuditJob)
    assert nightly.retry.times == 3
    assert len(nightly.thresholds) == 2


def test_the_schema_for_editors_is_that_of_the_models(tmp_path: Path) -> None:
    path = write_project(tmp_path)
    schema = json.loads((tmp_path / ".kgcheck" / "kgcheck.schema.json").read_text())

    assert schema == json_schema()
    assert path.read_text().startswith("#:schema .kgcheck/kgcheck.schema.json\n")
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    checker.validate(tomllib.loads(path.read_text()))
    wrong = {"jobs": {"a": {"kind": "audit", "typs": ["triple"]}}}
    assert not checker.is_valid(wrong)
    assert set(schema["properties"]) == set(JobFile.model_fields)


def test_every_mistake_comes_at_once_with_its_key(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        """
        ledgr = "x"
        time_zone = "Europe/Berln"
        [stores.main]
        place = "graph.lbdb"
        [jobs.nightly]
        kind = "audit"
        store = "mian"
        typs = ["triple"]
        types = ["triples"]
        schedule = "0 0 30 2 *"
        notify = ["team"]
        retry = { times = -1, wait = "5 minutes" }
        [[jobs.nightly.thresholds]]
        warn_if = "> 1%%"
        wran_if = "> 1"
        [[jobs.nightly.thresholds]]
        reason = "id_deleted"
        [[jobs.nightly.reports]]
        format = "pdf"
        path = "r-{job.__class__}.html"
        [jobs.x]
        kind = "adit"
        [jobs.y]
        directory = "import"
        [jobs."a b"]
        kind = "load"
        """,
    )

    assert sorted(found) == sorted(
        [
            "jobs.nightly.store: 'mian' is not under [stores]; did you mean 'main'?",
            "jobs.nightly.notify: 'team' is not under [notifications]",
            "time_zone: there is no time zone 'Europe/Berln'; did you mean Europe/Berlin?",
            "ledgr: there is no such key; did you mean ledger?",
            "jobs.nightly.typs: there is no such key; did you mean types?",
            "jobs.nightly.types[1]: input should be 'existence', 'attribute', 'triple', 'potential', 'structure' or"
            " 'evidence'",
            "jobs.nightly.schedule: '0 0 30 2 *' is no schedule: Bad day-of-month",
            "jobs.nightly.retry.times: input should be greater than or equal to 0",
            "jobs.nightly.retry.wait: '5 minutes' is no duration: a number and s, m, h or d, such as 90s, 5m, 2h or 1d",
            "jobs.nightly.thresholds[1].warn_if: '> 1%%' is no threshold:"
            ' a sign and a number, such as "> 10" or "> 1%"',
            "jobs.nightly.thresholds[1].wran_if: there is no such key; did you mean warn_if?",
            "jobs.nightly.thresholds[2]: a threshold needs warn_if or error_if",
            f"jobs.nightly.reports[1].format: there is no form 'pdf'; known: {', '.join(sorted(FORMATS))}",
            "jobs.nightly.reports[1].path: {job.__class__} is no place in a path: {job}, {date}, {time}, {run} are",
            "jobs.x: there is no such kind: 'load', 'audit', 'refresh', 'batch', 'protocols', 'ground' are",
            "jobs.y: the key kind is missing",
            "jobs.a b: a name has letters, digits, and _ . - within, and at most 64 of them",
            "jobs.a b.directory: this key is missing",
        ]
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('[stores.main]\nplace = "bolt://neo4j:hunter2x@host"', "stores.main.place"),
        ('[stores.main]\nplace = "neo4j:hunter2x@host"', "stores.main.place"),
        ('ledger = "postgresql://me:hunter2x@host/db"', "ledger"),
        ('[notifications.n]\naddress_env = "slack://hunter2x/b/c"', "notifications.n.address_env"),
        ('[notifications.n]\naddress_env = "N"\nurl = "slack://hunter2x/b/c"', "notifications.n.url"),
        ('[jobs.j]\nkind = "load"\ndirectory = "d"\npassword = "hunter2x"', "jobs.j.password"),
        ('[jobs.j]\nkind = "audit"\nlabels = ["https://h/?api_key=hunter2x"]', "jobs.j.labels.[1]"),
    ],
)
def test_a_secret_is_refused_and_not_shown(tmp_path: Path, text: str, where: str) -> None:
    found = mistakes(tmp_path, text)

    assert any(mistake.startswith(f"{where}: ") for mistake in found), found
    assert "hunter2x" not in "".join(found)


def test_paths_hold_from_any_folder(tmp_path: Path) -> None:
    made = project(tmp_path, SMALL + '[stores.far]\nplace = "bolt://host:7687"\n')

    assert made.values.stores["far"].place == made.place("bolt://host:7687")
    assert made.place("graph.lbdb") == str(tmp_path / "graph.lbdb")
    reference = made.reference_of()
    assert reference is not None
    assert (reference.snapshot, reference.files) == (str(tmp_path / "reference.duckdb"), str(tmp_path / "sources"))


def test_what_is_named_where_there_are_several(tmp_path: Path) -> None:
    two = SMALL + '[stores.other]\nplace = "o.lbdb"\n[jobs.a]\nkind = "audit"\n'

    assert mistakes(tmp_path, two) == ["jobs.a: there are several stores: name one with store"]
    made = project(tmp_path, two.replace('kind = "audit"', 'kind = "audit"\nstore = "other"'))
    store = made.store_of(made.job("a"))
    assert store is not None
    assert store.place == str(tmp_path / "o.lbdb")
    made = project(tmp_path, '[defaults]\nstore = "other"\n' + two)
    assert made.store_of(made.job("a")) == store


def test_the_nearest_file_upwards_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KGCHECK_CONFIG", raising=False)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    outer = tmp_path / "kgcheck.toml"
    outer.write_text("")
    assert find_file(inner) == FoundFile(outer, is_named=False)
    (tmp_path / "a" / "kgcheck.toml").write_text("")
    assert find_file(inner) == FoundFile(tmp_path / "a" / "kgcheck.toml", is_named=False)
    monkeypatch.setenv("KGCHECK_CONFIG", str(outer))
    assert find_file(inner) == FoundFile(outer, is_named=True)
    monkeypatch.setenv("KGCHECK_CONFIG", "")
    assert find_file(inner) is None
    monkeypatch.setenv("KGCHECK_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(InputMissing, match="KGCHECK_CONFIG names it"):
        find_file(inner)


def test_a_file_of_another_person_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KGCHECK_CONFIG", raising=False)
    path = tmp_path / "kgcheck.toml"
    path.write_text("")
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    if path.stat().st_uid == 0:
        os.chown(path, 1, 1)
        monkeypatch.setattr(os, "getuid", lambda: 2)

    with pytest.raises(ConfigurationError, match="belongs to another person"):
        find_file(tmp_path)
    monkeypatch.setenv("KGCHECK_CONFIG", str(path))
    assert find_file(tmp_path) == FoundFile(path, is_named=True)


def test_what_init_writes_is_right_and_is_never_overwritten(tmp_path: Path) -> None:
    path = write_project(tmp_path)

    made = read_project(path)
    assert isinstance(made.job("nightly"), AuditJob)
    assert made.ledger == str(tmp_path / ".kgcheck/ledger.sqlite")
    before = path.read_text()
    with pytest.raises(InputError, match="is there already"):
        write_project(tmp_path)
    assert path.read_text() == before


def test_a_job_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    made = project(tmp_path, SMALL + '[jobs.nightly]\nkind = "audit"\n')

    with pytest.raises(UnknownName) as caught:
        made.job("nightli")
    assert caught.value.hint == "did you mean nightly?"
