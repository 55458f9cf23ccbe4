"""kgcheck.toml: the stores, references, papers, ledger and jobs of a project, as checked values."""

import re
from datetime import timedelta
from string import Formatter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from kgcheck.choices import (
    BRAINS,
    FORMATS,
    GROUND_FORMS,
    STUDY_STATES,
)
from kgcheck.curation.schedule import Schedule, time_zone
from kgcheck.curation.thresholds import Threshold
from kgcheck.inputs import plain_pattern
from kgcheck.ledger.place import checked_place
from kgcheck.model import Value
from kgcheck.options import AuditScope, ClaimOptions, GroundLimits, LoadOptions, checked_by, one_of

_DURATION = re.compile(r"(\d+) ?(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_PLACEHOLDERS = ("job", "date", "time", "run")


def duration(text: str) -> timedelta:
    """A duration: a whole number and s, m, h or d.

    >>> duration("90s")
    datetime.timedelta(seconds=90)
    """
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no duration: a number and s, m, h or d, such as 90s, 5m, 2h or 1d")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def _is_duration(text: str) -> str:
    duration(text)
    return text


def _pattern(text: str) -> str:
    """A path with places for the job, its date, its time and its run, and with no others."""
    try:
        fields = [(name, spec, turn) for _, name, spec, turn in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise ValueError(f"{text!r} is no path: {error}") from None
    for name, spec, turn in fields:
        if name not in _PLACEHOLDERS or spec or turn:
            known = ", ".join(f"{{{place}}}" for place in _PLACEHOLDERS)
            raise ValueError(f"{{{name}}} is no place in a path: {known} are")
    return text


def _zone(name: str) -> str:
    time_zone(name)
    return name


Duration = Annotated[str, AfterValidator(_is_duration), Field(examples=["90s", "5m", "2h", "1d"])]
Zone = Annotated[str, AfterValidator(_zone), Field(examples=["Europe/Berlin"])]
PathPattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]
Place = Annotated[str, Field(min_length=1)]
FilePattern = Annotated[str, AfterValidator(plain_pattern)]
ReportForm = Annotated[str, *one_of("form", FORMATS)]
Occasion = Literal["new", "warn", "error", "unavailable", "failed", "always"]


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", text):
        raise ValueError("a name has letters, digits, and _ . - within, and at most 64 of them")
    return text


_NAME = Annotated[str, AfterValidator(_name)]


class StoreEntry(Value):
    """A graph."""

    place: Place = Field(description="a path, or bolt:// or neo4j:// (credentials come from the environment)")
    profile: str | None = Field(default=None, description="kind of graph; that of the file unless set")


class ReferenceEntry(Value):
    """A reference snapshot."""

    snapshot: Place = Field(description="the DuckDB file, made by kgcheck reference build or by a refresh job")
    files: str | None = Field(default=None, description="folder with the files of the providers, for a refresh job")
    releases: dict[str, str] = Field(default={}, description="release by source, for files that do not state it")


class LiteratureEntry(Value):
    """A literature index."""

    index: Place = Field(description="its folder, made by kgcheck corpus add")


class NotificationEntry(Value):
    """Receiver of messages, and the occasions for them."""

    address_env: str = Field(description="the environment variable with the address, as apprise writes it")
    when: tuple[Occasion, ...] = Field(
        default=("new", "warn", "error", "unavailable", "failed"), description="any of these is reason enough"
    )
    template: str | None = Field(default=None, description="a file in the language of jinja2, for the text")

    @field_validator("address_env")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        # Not shown: who writes the address itself here has written a secret.
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError("this is no name of an environment variable; the address itself stands there, not here")
        return name


class DefaultEntry(Value):
    """Defaults of commands and jobs that name nothing else."""

    store: str | None = Field(default=None, description="a name under [stores]; the only one unless set")
    reference: str | None = Field(default=None, description="a name under [references]; the only one unless set")
    literature: str | None = Field(default=None, description="a name under [literature]; none unless set")


class RetryRule(Value):
    """Rule for retries after a failure."""

    times: int = Field(default=0, ge=0, le=100, description="how often it is tried again")
    wait: Duration = Field(default="1m", description="before the first time; each next wait is twice as long")
    longest: Duration = Field(default="1h", description="no wait is longer")
    on: Literal["unavailable", "any"] = Field(
        default="unavailable", description="only where something was away or in use, or after any failure"
    )


class Retention(Value):
    """Retention of the runs of a job in the ledger. Decisions, and the newest run, always stay."""

    runs: int | None = Field(default=None, ge=1, description="so many of the newest")
    age: Duration | None = Field(default=None, description="those that are no older")


class ReportEntry(Value):
    """A report to write."""

    format: ReportForm
    path: PathPattern = Field(description="may hold {job}, {date}, {time} and {run}")
    limit: int | None = Field(default=None, ge=0, description="at most so many findings")


class JobBase(Value):
    """Settings of jobs of every kind."""

    about: str = Field(default="", description="what it is for")
    store: str | None = Field(default=None, description="a name under [stores]; the default one unless set")
    schedule: str | None = Field(
        default=None,
        description="minute, hour, day, month, day of the week, as in cron; or @daily and the like",
        examples=["30 2 * * mon-fri"],
    )
    time_zone: Zone | None = Field(default=None, description="of the schedule; that of the file unless set")
    catch_up: bool = Field(default=True, description="a run that was missed is made up for, once")
    retry: RetryRule = RetryRule()
    keep: Retention = Retention()
    notify: tuple[str, ...] = Field(default=(), description="names under [notifications]")

    @field_validator("schedule")
    @classmethod
    def _comes(cls, cron: str | None, info: ValidationInfo) -> str | None:
        if cron is not None and info.context and info.context.get("schedules"):
            Schedule(cron)
        return cron


class LoadJob(JobBase, LoadOptions):
    """Loads an import directory into a store."""

    kind: Literal["load"]
    directory: Place = Field(description="the import directory: databases/ and ontologies/")
    quarantine: PathPattern | None = Field(default=None, description="JSON lines file for rows that cannot be loaded")


class Checking(JobBase, AuditScope):
    """Settings of jobs that audit."""

    reference: str | None = Field(default=None, description="a name under [references]; the default one unless set")
    literature: str | None = Field(default=None, description="a name under [literature]; the default one unless set")
    live: bool = Field(default=False, description="ask UniProt and STRING, too")
    only_new: bool = Field(default=False, description="thresholds count only what is new or reopened")
    thresholds: tuple[Threshold, ...] = Field(
        default=(Threshold(error_if="> 0"),), description="when it warns and when it fails"
    )
    reports: tuple[ReportEntry, ...] = Field(default=(), description="what to write of each run")


class AuditJob(Checking):
    """Audits a store."""

    kind: Literal["audit"]


class RefreshJob(Checking):
    """Makes a new snapshot, compares it with the one before, and audits what changed."""

    kind: Literal["refresh"]
    fetch: bool = Field(default=True, description="download the files of the providers first")
    sources: tuple[str, ...] = Field(default=(), description="only the files of these sources; all where none is named")


class BatchJob(JobBase, ClaimOptions):
    """Answers questions, checks items or verifies claims, and measures how well."""

    kind: Literal["batch"]
    task: Literal["kgqa", "kgcheck", "scv"]
    file: Place = Field(description="the questions, items or claims")
    out: PathPattern = Field(description="folder for the results; may hold {job}, {date}, {time} and {run}")
    reference: str | None = Field(default=None, description="a name under [references]; the default one unless set")
    literature: str | None = Field(default=None, description="a name under [literature]; none unless set")
    brain: Annotated[str, *one_of("brain", BRAINS)] = "rules"
    live: bool = Field(default=False, description="ask UniProt and STRING, too")


class CheckingFiles(JobBase):
    """Settings of jobs that check the files of a folder."""

    folder: Place = Field(description="where the files are")
    after: tuple[str, ...] = Field(default=(), description="names of jobs; it runs when one of them has ended")
    reference: str | None = Field(default=None, description="a name under [references]; the default one unless set")
    literature: str | None = Field(default=None, description="a name under [literature]; the default one unless set")
    bibliography: Place | None = Field(default=None, description="a bibliography snapshot, for references and papers")
    live: bool = Field(default=False, description="ask services for references, papers and data sets, too")


class ProtocolsJob(CheckingFiles):
    """Checks the protocols of a folder, by a schedule or after other jobs."""

    kind: Literal["protocols"]
    files: FilePattern = Field(default="**/protocol.json", description="which files of the folder are protocols")
    fail_on: Annotated[str, *one_of("state", STUDY_STATES)] = Field(
        default="fallen", description="least state of a remark that is an error"
    )
    out: PathPattern | None = Field(default=None, description="JSON file with all remarks; see reports")


class GroundJob(CheckingFiles, GroundLimits):
    """Grounds the manuscripts of a folder, by a schedule or after other jobs."""

    kind: Literal["ground"]
    files: tuple[FilePattern, ...] = Field(
        min_length=1,
        description="which files of the folder are manuscripts",
        examples=[["paper.md", "drafts/**/*.tex"]],
    )
    results: Place | None = Field(default=None, description="JSON file with the canonical results of all of them")
    out: PathPattern | None = Field(default=None, description="folder of a report for each manuscript; see reports")
    forms: tuple[Annotated[str, *one_of("form", GROUND_FORMS)], ...] = Field(
        default=("json", "html"), description="of the reports in that folder"
    )


Job = Annotated[LoadJob | AuditJob | RefreshJob | BatchJob | ProtocolsJob | GroundJob, Field(discriminator="kind")]


class JobFile(Value):
    """A project of kgcheck. Relative paths are relative to the file; secrets stand in the environment."""

    profile: str = Field(default="ckg", description="kind of graph: a name, or the path of a folder, as ./mine")
    ledger: Annotated[Place, checked_by(checked_place)] | None = Field(
        default=None,
        description="a file, or postgresql://HOST/DATABASE; that of KGCHECK_LEDGER or the one in the home unless set",
    )
    time_zone: Zone = Field(default="UTC", description="of the schedules")
    stores: dict[_NAME, StoreEntry] = Field(default={}, description="graphs, by name")
    references: dict[_NAME, ReferenceEntry] = Field(default={}, description="reference snapshots, by name")
    literature: dict[_NAME, LiteratureEntry] = Field(default={}, description="literature indexes, by name")
    defaults: DefaultEntry = Field(default=DefaultEntry(), description="what is taken where nothing else is named")
    notifications: dict[_NAME, NotificationEntry] = Field(default={}, description="where messages go, by name")
    jobs: dict[_NAME, Job] = Field(default={}, description="by name")


def json_schema() -> dict[str, Any]:
    """The JSON schema of kgcheck.toml, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **JobFile.model_json_schema()}
