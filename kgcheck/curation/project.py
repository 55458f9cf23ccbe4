"""Project: read and validate kgcheck.toml, its stores, references, jobs and notifications."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, TypeGuard, TypeVar

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator

from kgcheck.choices import BRAINS, DEFAULT_PROFILE, FORMATS, GROUND_FORMS, PINS_FILE, STUDY_STATES, THRESHOLDS
from kgcheck.curation.project_file import NAME
from kgcheck.curation.schedule import Schedule, time_zone
from kgcheck.curation.thresholds import Threshold
from kgcheck.curation.trust import check_trusted
from kgcheck.errors import InputError, InputMissing, UnknownName, nearest
from kgcheck.inputs import plain_pattern
from kgcheck.ledger.place import checked_place
from kgcheck.model import Value
from kgcheck.options import AuditScope, ClaimOptions, GroundLimits, ItemOptions, LoadOptions, checked_by, one_of
from kgcheck.outputs import make_folder, write_text
from kgcheck.profile.toml_files import Mistake, WrongFile, mistakes_of, read_tables
from kgcheck.redact import carries_credentials, redact

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_PLACEHOLDERS = ("job", "date", "time", "run")


def duration(text: str) -> timedelta:
    """A duration: a whole number and s, m, h or d.

    >>> duration("90s")
    datetime.timedelta(seconds=90)
    """
    found = re.fullmatch(r"(\d+) ?(s|m|h|d)", text.strip())
    if not found:
        raise ValueError(f"{text!r} is no duration: a number and s, m, h or d, such as 90s, 5m, 2h or 1d")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def _pattern(text: str) -> str:
    try:
        fields = [(name, spec, turn) for _, name, spec, turn in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise ValueError(f"{text!r} is no path: {error}") from None
    for name, spec, turn in fields:
        if name not in _PLACEHOLDERS or spec or turn:
            known = ", ".join(f"{{{place}}}" for place in _PLACEHOLDERS)
            raise ValueError(f"{{{name}}} is no place in a path: {known} are")
    return text


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", text):
        raise ValueError("a name has letters, digits, and _ . - within, and at most 64 of them")
    return text


def _tried(check: Callable[[str], object]) -> AfterValidator:
    """A validator of texts that another function reads, or refuses."""
    return AfterValidator(lambda text: (check(text), text)[1])


_NAME = Annotated[str, AfterValidator(_name)]
Duration = Annotated[str, _tried(duration), Field(examples=["90s", "5m", "2h", "1d"])]
Zone = Annotated[str, _tried(time_zone), Field(examples=["Europe/Berlin"])]
PathPattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]
Place = Annotated[str, Field(min_length=1)]
FilePattern = Annotated[str, AfterValidator(plain_pattern)]


class StoreEntry(Value):
    """A graph."""

    place: Place = Field(description="a path, or bolt:// or neo4j:// (credentials come from the environment)")
    profile: str | None = Field(default=None, description="kind of graph; that of the file unless set")


class ReferenceEntry(Value):
    """A reference snapshot."""

    snapshot: Place = Field(description="the DuckDB file, made by kgcheck reference build or by a job")
    files: str | None = Field(
        default=None, description="folder with the files of the providers, for a job that refreshes or builds"
    )
    releases: dict[str, str] = Field(default={}, description="release by source, for files that do not state it")


class LiteratureEntry(Value):
    """A literature index."""

    index: Place = Field(description="its folder, made by kgcheck corpus add")


class NotificationEntry(Value):
    """Receiver of messages, and the occasions for them."""

    address_env: str = Field(description="the environment variable with the address, as apprise writes it")
    when: tuple[Literal["new", "warn", "error", "unavailable", "failed", "always"], ...] = Field(
        default=("new", "warn", "error", "unavailable", "failed"), description="any of these is reason enough"
    )

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


class AuditEntry(Value):
    """Settings of audits that no job names: the pins that are held, and when they fail."""

    pins: Place | None = Field(default=None, description="file of pins, made by kgcheck pin")
    fail_on: Annotated[str, *one_of("threshold", THRESHOLDS)] | None = Field(
        default=None, description="least outcome that fails; never: only the thresholds"
    )
    thresholds: tuple[Threshold, ...] = Field(default=(), description="when it warns and when it fails, too")


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

    format: Annotated[str, *one_of("form", FORMATS)]
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


class Referring(JobBase):
    """Settings of jobs that have a reference and papers."""

    reference: str | None = Field(default=None, description="a name under [references]; the default one unless set")
    literature: str | None = Field(default=None, description="a name under [literature]; the default one unless set")
    live: bool = Field(default=False, description="ask UniProt and STRING, too")


class Checking(Referring, AuditScope):
    """Settings of jobs that audit."""

    only_new: bool = Field(default=False, description="thresholds count only what is new or reopened")
    brain: Annotated[str, *one_of("brain", BRAINS)] | None = Field(
        default=None,
        description="decides the steps of the agent team; unless set, llm where KGCHECK_LLM_MODEL names a model, else"
        " rules",
    )
    thresholds: tuple[Threshold, ...] = Field(
        default=(Threshold(error_if="> 0"),), description="when it warns and when it fails"
    )
    reports: tuple[ReportEntry, ...] = Field(default=(), description="what to write of each run")


class AuditJob(Checking):
    """Audits a store; loads it, and gathers papers on it, before."""

    kind: Literal["audit"]
    load: Place | None = Field(default=None, description="import directory that is loaded into the store first")
    build: bool = Field(
        default=False,
        description="build that directory, and the snapshot, from the files of the reference, where these are there",
    )
    papers: int | None = Field(
        default=None,
        gt=0,
        description="most abstracts that are added to the papers of the job before: kgcheck corpus for-graph",
    )


class RefreshJob(Checking):
    """Makes a new snapshot, compares it with the one before, and audits what changed."""

    kind: Literal["refresh"]
    fetch: bool = Field(default=True, description="download the files of the providers first")
    sources: tuple[str, ...] = Field(default=(), description="only the files of these sources; all where none is named")


class BatchJob(Referring, ClaimOptions, ItemOptions):
    """Answers questions, checks items or verifies claims, and measures how well."""

    kind: Literal["batch"]
    task: Literal["kgqa", "kgcheck", "scv"]
    file: Place = Field(description="the questions, items or claims")
    out: PathPattern = Field(description="folder for the results; may hold {job}, {date}, {time} and {run}")
    literature: str | None = Field(default=None, description="a name under [literature]; none unless set")
    brain: Annotated[str, *one_of("brain", BRAINS)] = "rules"


class CheckingFiles(Referring):
    """Settings of jobs that check the files of a folder."""

    folder: Place = Field(description="where the files are")
    after: tuple[str, ...] = Field(default=(), description="names of jobs; it runs when one of them has ended")
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


AnyJob = LoadJob | AuditJob | RefreshJob | BatchJob | ProtocolsJob | GroundJob


class JobFile(Value):
    """A project of kgcheck. Relative paths are relative to the file; secrets stand in the environment."""

    profile: str = Field(
        default=DEFAULT_PROFILE, description="kind of graph: a name, or the path of a folder, as ./mine"
    )
    ledger: Annotated[Place, checked_by(checked_place)] | None = Field(
        default=None,
        description="a file, or postgresql://HOST/DATABASE; that of KGCHECK_LEDGER or the one in the home unless set",
    )
    time_zone: Zone = Field(default="UTC", description="of the schedules")
    stores: dict[_NAME, StoreEntry] = Field(default={}, description="graphs, by name")
    references: dict[_NAME, ReferenceEntry] = Field(default={}, description="reference snapshots, by name")
    literature: dict[_NAME, LiteratureEntry] = Field(default={}, description="literature indexes, by name")
    defaults: DefaultEntry = Field(default=DefaultEntry(), description="what is taken where nothing else is named")
    audit: AuditEntry = Field(default=AuditEntry(), description="audits that no job names")
    notifications: dict[_NAME, NotificationEntry] = Field(default={}, description="where messages go, by name")
    jobs: dict[_NAME, Annotated[AnyJob, Field(discriminator="kind")]] = Field(default={}, description="by name")


def json_schema() -> dict[str, Any]:
    """The JSON schema of kgcheck.toml, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **JobFile.model_json_schema()}


_HINT = "kgcheck init --schema writes a JSON schema with every key, for your editor"
_SECRET_KEY = re.compile(
    r"password|passwd|secret|token$|api_?key|^key$|credential|^(url|webhook|address)$", re.IGNORECASE
)

_OUTPUT = re.compile(
    r"ledger|stores\..+\.place|references\..+\.(snapshot|files)|jobs\..+\.(load|quarantine|out|reports\.\[\d+\]\.path)"
)
"""Keys of what jobs write to."""

E = TypeVar("E")


class Project:
    """kgcheck.toml, read: its values, with paths that hold from any folder."""

    def __init__(self, path: Path, values: JobFile, *, is_named: bool = True) -> None:
        self.path = path
        self.folder = path.absolute().parent
        self.values = values
        self.is_named = is_named

    def job(self, name: str) -> AnyJob:
        if name not in self.values.jobs:
            raise UnknownName("job", name, self.values.jobs, "" if self.values.jobs else f"{self.path} names none yet")
        return self.values.jobs[name]

    @property
    def ledger(self) -> str | None:
        """The ledger, where the file names one: a path, or an address."""
        return self.output(self.values.ledger) if self.values.ledger else None

    @property
    def pins(self) -> str | None:
        named = self.values.audit.pins or (PINS_FILE if (self.folder / PINS_FILE).is_file() else None)
        return self.place(named) if named else None

    def store_of(self, job: JobBase | None = None) -> StoreEntry | None:
        found = self.store_entry(job)
        if found is None:
            return None
        profile = found.profile or self.values.profile
        return StoreEntry(place=self.place(found.place), profile=self._profile(profile))

    def store_entry(self, job: JobBase | None = None) -> StoreEntry | None:
        """The store of a job, or the default one, as the file has it."""
        return _named(self.values.stores, job.store if job else None, self.values.defaults.store)

    def reference_of(self, job: Referring | None = None) -> ReferenceEntry | None:
        found = _named(self.values.references, job.reference if job else None, self.values.defaults.reference)
        if found is None:
            return None
        files = self.place(found.files) if found.files else None
        return found.model_copy(update={"snapshot": self.place(found.snapshot), "files": files})

    def literature_of(self, job: Referring | None = None) -> str | None:
        name = (job.literature if job else None) or self.values.defaults.literature
        return self.place(self.values.literature[name].index) if name else None

    def following(self, name: str) -> list[str]:
        return [
            other for other, job in self.values.jobs.items() if isinstance(job, CheckingFiles) and name in job.after
        ]

    def schedule_of(self, name: str) -> Schedule | None:
        job = self.job(name)
        return Schedule(job.schedule, job.time_zone or self.values.time_zone) if job.schedule else None

    @property
    def addresses(self) -> dict[str, str]:
        """Servers, variables with addresses of messages, and outputs elsewhere, by key: what must be trusted."""
        return {
            key: text
            for key, text in sorted(_texts(self.values.model_dump(mode="json")))
            if ("://" in text and not key.endswith(".about"))
            or key.endswith(".address_env")
            or (_OUTPUT.fullmatch(key) and self._is_outside(text))
        }

    def check_trusted(self) -> None:
        """Refuse the addresses of a file that nobody named and nobody trusts."""
        if not self.is_named:
            check_trusted(self.path, self.addresses)

    def place(self, text: str) -> str:
        """A path that holds from any folder; an address as it is, of a file that is trusted."""
        if "://" not in text:
            return str(self.folder / text)
        self.check_trusted()
        return text

    def output(self, text: str, filled: str = "") -> str:
        """A place to write to, its pattern filled: one of a file that is not trusted lies in the file's own folder."""
        found = self.place(filled or text)
        if not self.is_named and self._is_outside(found):
            known = self.addresses
            is_known = str(self.folder / text) in (str(self.folder / place) for place in known.values())
            check_trusted(self.path, known if is_known else known | {"output": found})
        return found

    def check_outputs(self, job: AnyJob) -> None:
        """Refuse a job of a file that is not trusted and that would write elsewhere."""
        patterns = [getattr(job, name, None) for name in ("quarantine", "out")]
        patterns += [report.path for report in job.reports] if isinstance(job, Checking) else []
        if loads(job) and (store := self.store_entry(job)):
            patterns.append(store.place)
        if makes_reference(job) and (reference := self.reference_of(job)):
            patterns += [reference.snapshot, reference.files if isinstance(job, RefreshJob) else job.load]
        for pattern in filter(None, patterns):
            self.output(pattern)

    def _is_outside(self, text: str) -> bool:
        real, folder = os.path.realpath(self.folder / text), os.path.realpath(self.folder)
        return "://" not in text and not Path(real).is_relative_to(folder)

    @property
    def profile(self) -> str:
        return self._profile(self.values.profile)

    @property
    def default_profile(self) -> str | None:
        found = self.store_entry()
        if found is None or not (found.profile or "profile" in self.values.model_fields_set):
            return None
        return self._profile(found.profile or self.values.profile)

    def _profile(self, name: str) -> str:
        return str(self.folder / name) if "/" in name or name.startswith(".") else name


def loads(job: AnyJob) -> bool:
    """Tell whether a job writes to its store."""
    return isinstance(job, LoadJob) or (isinstance(job, AuditJob) and job.load is not None)


def makes_reference(job: AnyJob) -> TypeGuard[RefreshJob | AuditJob]:
    """Tell whether a job may make its reference anew."""
    return isinstance(job, RefreshJob) or (isinstance(job, AuditJob) and job.build)


def _named(entries: Mapping[str, E], named: str | None, default: str | None) -> E | None:
    name = named or default or (next(iter(entries)) if len(entries) == 1 else None)
    return entries[name] if name else None


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _texts(one, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for number, one in enumerate(value, 1):
            yield from _texts(one, f"{key}.[{number}]")


def read_project(path: Path, *, whole: bool = True, is_named: bool = True) -> Project:
    """Read kgcheck.toml, with every mistake at once; one that was only found is not trusted with its addresses."""
    try:
        tables = read_tables(path)
    except FileNotFoundError:
        raise InputMissing(f"there is no file {path}", "kgcheck init writes one") from None
    mistakes = [
        Mistake(where=place, what="this looks like a secret: put it into the environment (docs/howto_jobs.md)")
        for place, value in _texts(tables)
        if _is_secret(place.rpartition(".")[2], value)
    ]
    mistakes += _unknown_names(tables)
    try:
        values = JobFile.model_validate(tables, context={"schedules": whole})
    except ValidationError as error:
        raise WrongFile(path, [*mistakes, *mistakes_of(error, tables, _known_keys)], _HINT) from None
    project = Project(path, values, is_named=is_named)
    mistakes += [] if mistakes else _unfit(project)
    if mistakes:
        raise WrongFile(path, mistakes, _HINT)
    return project


def _known_keys(place: tuple[int | str, ...]) -> list[str]:
    """The keys that a table of the file may have."""
    schema = JobFile.model_json_schema()
    node = schema
    for step in place:
        if "discriminator" in node:
            node = {"$ref": node["discriminator"]["mapping"].get(step, "")}
        elif isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step) or node.get("additionalProperties") or {}
        node = schema["$defs"].get(str(node.get("$ref", "")).rpartition("/")[2], node)
    return list(node.get("properties", ()))


def _unfit(project: Project) -> list[Mistake]:
    values, found = project.values, list[tuple[str, str]]()
    for name, job in values.jobs.items():
        if job.store is None and values.defaults.store is None and len(values.stores) > 1:
            found.append((name, "there are several stores: name one with store"))
        if isinstance(job, Checking) and not job.reference and not values.defaults.reference:
            if len(values.references) > 1:
                found.append((name, "there are several references: name one with reference"))
                continue
        for other in job.after if isinstance(job, CheckingFiles) else ():
            if not isinstance(values.jobs.get(other), Checking | LoadJob):
                found.append((f"{name}.after", f"{other!r} is no load, audit or refresh"))
        if isinstance(job, AuditJob) and job.papers and not project.literature_of(job):
            found.append((f"{name}.papers", "papers are gathered into an index: name it with literature"))
        if makes_reference(job):
            reference = project.reference_of(job)
            if reference is None or not reference.files:
                which = "a refresh" if isinstance(job, RefreshJob) else "build"
                found.append((name, f"{which} needs a reference with files, the folder of what the providers publish"))
            if isinstance(job, AuditJob) and job.load is None:
                found.append((f"{name}.build", "name the directory to build with load"))
    return [Mistake(where=f"jobs.{place}", what=words) for place, words in found]


def _is_secret(key: str, value: str) -> bool:
    in_address = "://" in value and carries_credentials(value)
    return bool(in_address or redact(value) != value or _SECRET_KEY.search(key))


def _unknown_names(tables: Mapping[str, Any]) -> Iterator[Mistake]:
    """Stores, references, papers and notifications that are named and not there."""
    tables_of = {"store": "stores", "reference": "references", "literature": "literature", "notify": "notifications"}
    jobs = tables.get("jobs")
    places = {f"jobs.{name}": job for name, job in jobs.items()} if isinstance(jobs, Mapping) else {}
    for where, place in {"defaults": tables.get("defaults"), **places}.items():
        for key, called in tables_of.items() if isinstance(place, Mapping) else ():
            named, table = place.get(key), tables.get(called)
            known = list(table) if isinstance(table, Mapping) else []
            for name in named if isinstance(named, list) else [named]:
                if isinstance(name, str) and name not in known:
                    near = f"; did you mean {found[0]!r}?" if (found := nearest(name, known)) else ""
                    yield Mistake(where=f"{where}.{key}", what=f"{name!r} is not under [{called}]{near}")


def write_project(folder: Path) -> Path:
    """Write a kgcheck.toml with comments, and beside it what an editor needs."""
    path = folder / NAME
    text = (resources.files("kgcheck.curation") / "templates" / NAME).read_text(encoding="utf-8")
    try:
        make_folder(folder)
        # Never over what is there, whoever writes it meanwhile.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} is there already", "edit it, or name another folder") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", "name another folder") from error
    write_text(folder / ".kgcheck" / "kgcheck.schema.json", json.dumps(json_schema(), indent=2) + "\n")
    return path
