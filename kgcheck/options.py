"""Option models (audit, check, load, batch, ...) shared by command line, Python, HTTP and jobs.

The description of a field is its help text, wherever it is shown.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    NonNegativeInt,
    StrictBool,
    ValidationError,
    field_validator,
)

from kgcheck.choices import GROUND_STATES, JUDGES, PROTOCOLS, SCOPES, SYSTEMS, VERIFIERS, chosen, day, row_limit
from kgcheck.errors import KgcheckError, UsageError
from kgcheck.model import CheckType, Value
from kgcheck.rules import rules_named

M = TypeVar("M", bound=BaseModel)

PIECE_TASKS = 100_000

ALL_TYPES = tuple(kind for kind in CheckType if kind is not CheckType.EVIDENCE)
"""Types that `all` stands for: the papers that edges cite are read where somebody asks for it."""


def _is_number(value: Any) -> Any:
    """Refuse JSON's true and "1", which are no numbers, though Python takes them for such."""
    if isinstance(value, (bool, str)):
        raise ValueError("this is no number")
    return value


def checked_by(check: Callable[[str], str]) -> AfterValidator:
    """A check that raises errors of kgcheck, as pydantic wants it."""

    def checked(text: str) -> str:
        try:
            return check(text)
        except KgcheckError as error:
            raise ValueError(error.in_one_line) from error

    return AfterValidator(checked)


def one_of(kind: str, known: tuple[str, ...]) -> Any:
    """Metadata of a field that takes one of a few names."""
    return checked_by(lambda name: chosen(kind, name, known)), Field(json_schema_extra={"enum": list(known)})


Whole = Annotated[int, BeforeValidator(_is_number)]
"""A whole number of whoever asks."""

Number = Annotated[float, BeforeValidator(_is_number)]
"""A number of whoever asks."""

_DAY = r"^\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$"

Day = Annotated[
    str, Field(max_length=10, json_schema_extra={"pattern": _DAY, "examples": ["2024-06"]}), checked_by(day)
]
"""A date, as exact as it is known: 2024, 2024-06 or 2024-06-30."""

RowLimit = Annotated[
    str, BeforeValidator(lambda given: str(given) if type(given) is int else given), checked_by(row_limit)
]
"""A number of rows, or a share of them, as 5%."""

Word = Annotated[str, Field(min_length=1, max_length=512)]


def _rule_or_group(name: str) -> str:
    rules_named([name])
    return name


RuleName = Annotated[str, Field(min_length=1, max_length=40), checked_by(_rule_or_group)]

VerifierName = Annotated[
    str,
    *one_of("verifier", VERIFIERS),
    Field(description="trained needs no key; llm asks the endpoint of KGCHECK_LLM_BASE_URL and KGCHECK_LLM_MODEL"),
]


JudgeName = Annotated[str, *one_of("verifier", JUDGES)]


class VerifierOptions(Value):
    """Judges of the papers about an edge."""

    verifiers: tuple[JudgeName, ...] = Field(
        default=(),
        max_length=len(JUDGES),
        description="who judges papers: trained (unless set), inference (the model of KGCHECK_INFERENCE) or llm (that"
        " of KGCHECK_LLM_MODEL); several must agree",
    )

    @field_validator("verifiers")
    @classmethod
    def _once_each(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in JUDGES if name in names)


class JudgeOptions(VerifierOptions):
    """The same, and when they decide."""

    trust: Number | None = Field(
        default=None,
        ge=0.5,
        le=0.999,
        description="least precision, by its lower bound, at which a judge decides; below it, or unmeasured (kgcheck"
        " bench judge), it informs; unless set, 0.8, and 0.9 for llm",
    )


class Spending(Value):
    """The most that a language model may take for one item."""

    tokens: Whole | None = Field(default=None, ge=1, description="most tokens that a model may take an item")
    money: Number | None = Field(
        default=None, gt=0, description="most money that a model may cost, for each item; needs prices"
    )

    @property
    def spending(self) -> "Spending":
        return Spending(tokens=self.tokens, money=self.money)


class TotalSpending(Value):
    """The most that a language model may take for all items together."""

    total_tokens: Whole | None = Field(
        default=None,
        ge=1,
        description="most tokens that a model may take for all of this run; what is left stays open",
    )
    total_money: Number | None = Field(
        default=None,
        gt=0,
        description="most money that a model may cost, for all of this run; what is left stays open",
    )

    @property
    def total(self) -> Spending:
        return Spending(tokens=self.total_tokens, money=self.total_money)


class LoadOptions(Value):
    """Options of loading an import directory."""

    prune: StrictBool = Field(default=False, description="take away what no file of the directory states any more")
    full: StrictBool = Field(
        default=False, description="compare every row with the store, also of files that have not changed"
    )
    dry_run: StrictBool = Field(default=False, description="say what would change, and write nothing")
    max_quarantined: RowLimit | None = Field(
        default=None,
        description="rows that may stay out, as 250, or their share, as 5%; with more, the load is incomplete; those of"
        " namespaces that the profile does not load are no part of it; unless set, a tenth of all rows, and not all"
        " rows of a file",
    )


class TeamBudget(Value):
    """The most that the agent team may take in an audit."""

    team_budget: Whole = Field(
        default=0,
        ge=0,
        description="hand so many findings, undecided and doubtful ones, the worst first, to the agent team, which asks"
        " UniProt and STRING; what it decided in the audit before is looked up again beside them",
    )
    team_calls: Whole | None = Field(
        default=None, gt=0, description="hand it no more after so many calls of services for all findings"
    )
    team_seconds: Number | None = Field(default=None, gt=0, description="the same after so many seconds")
    team_money: Number | None = Field(
        default=None, gt=0, description="the same after so much money for a model; needs prices"
    )


class AuditScope(TeamBudget, JudgeOptions, TotalSpending):
    """Scope of an audit: all that the person who asks may choose. Empty filters mean everything."""

    types: tuple[CheckType, ...] = Field(
        default=ALL_TYPES, description="what to check; all but evidence where none is named, or all is"
    )
    labels: tuple[Word, ...] = Field(default=(), description="only nodes of this label, and edges that end at it")
    relations: tuple[Word, ...] = Field(default=(), description="only edges of this relation")
    ids: tuple[Word, ...] = Field(default=(), description="only tasks about the node with this id")
    sample: Whole | None = Field(
        default=None, gt=0, description="check only so many tasks, drawn at random; structure is always whole"
    )
    seed: Whole = Field(default=0, description="draws another sample")
    threshold: Number | None = Field(
        default=None,
        ge=0,
        le=1,
        description="least score of a potential edge, where the source gives scores; unless set, that of the check, 0.4"
        " for STRING",
    )
    keep_all: StrictBool = Field(default=False, description="keep a finding also for what is supported or unavailable")
    graph_date: Day | None = Field(
        default=None,
        description="of when the graph is: a source that is older cannot refute what it does not know; unless set, what"
        " the manifest of the import directory says of each file",
    )
    without_rules: tuple[RuleName, ...] = Field(
        default=(), description="leave out this structure rule, or the rules of this group: kgcheck rules lists them"
    )
    unfold: StrictBool = Field(
        default=False,
        description="keep each hit of structure rules that many nodes or edges break, not one for all",
    )

    @field_validator("types", mode="before")
    @classmethod
    def _all_unless_named(cls, types: Any) -> Any:
        if isinstance(types, str) or not hasattr(types, "__iter__"):
            return types
        named = tuple(dict.fromkeys(types))
        if not named or "all" in named:
            return ALL_TYPES + tuple(kind for kind in named if kind == CheckType.EVIDENCE)
        return named

    @property
    def scope(self) -> "AuditScope":
        """The fields that this class itself declares, without those of its subclasses."""
        return AuditScope(**{name: getattr(self, name) for name in AuditScope.model_fields})

    def wants_label(self, name: str) -> bool:
        return not self.relations and (not self.labels or name in self.labels)

    def wants_edges(self, head: str, relation: str, tail: str) -> bool:
        if self.relations and relation not in self.relations:
            return False
        return not self.labels or head in self.labels or tail in self.labels


class AuditOptions(AuditScope):
    """The same with what the workspace brings, as the ledger keeps it of a run."""

    live: bool = Field(default=False, description="ask services, too")
    brain: str = Field(default="rules", description="what decides the steps of the agent team: rules or llm")
    literature: str | None = Field(default=None, description="folder of the index whose papers are asked about edges")
    pins: str | None = Field(default=None, description="file of pins, which are held against the graph")
    piece_tasks: int = Field(default=PIECE_TASKS, gt=0, description="tasks that are judged and written together")


class CheckLimits(JudgeOptions):
    """Options of one check."""

    graph_date: Day | None = Field(
        default=None, description="of when the graph is: a source that is older cannot refute what it does not know"
    )
    turns: Whole = Field(default=30, gt=0, description="most turns of all agents together")
    seconds: Number = Field(default=60.0, gt=0, description="most seconds that a check may take")

    @property
    def limits(self) -> dict[str, Any]:
        """The fields of this class by name, as `Workspace.check` takes them."""
        return {name: getattr(self, name) for name in CheckLimits.model_fields}


class OutsideCheckLimits(CheckLimits):
    """The same for who asks a service."""

    turns: Whole = Field(default=30, ge=1, le=200, description="most turns of all agents together")
    seconds: Number = Field(default=60.0, ge=0.1, le=300, description="most seconds that a check may take")


class CheckOptions(CheckLimits, Spending):
    """Options of one check, also by a language model."""

    leader: StrictBool = Field(
        default=False,
        description="let a model plan and conclude, too: two calls more, and its conclusion stands beside the verdict",
    )


class WorkerOptions(Spending):
    """Options of work on many items."""

    workers: Whole = Field(default=1, ge=1, le=64, description="items at the same time")


class BatchOptions(WorkerOptions):
    """Options of a batch of items."""

    repeat: Whole = Field(
        default=1,
        ge=1,
        le=100,
        description="do the whole batch so many times, each in a folder of its own, and give the mean of each measure"
        " and its standard deviation",
    )
    protocol: Annotated[str, *one_of("protocol", PROTOCOLS)] = Field(
        default="kgcheck",
        description="biokgbench: put it to a model as BioKGBench did: questions with its tools and a demonstration,"
        " checks with a demonstration of each type of task, claims with the 50 best passages in one prompt",
    )

    @property
    def published(self) -> bool:
        return self.protocol == "biokgbench"


class SetOptions(WorkerOptions, TotalSpending):
    """Options of running a set of questions."""

    by: Annotated[str, *one_of("system", SYSTEMS)] = Field(
        default="graph", description="who answers: graph (ask, by rules or by a model with tools), or the model alone"
    )
    domain: Word = Field(default="biology", description="field whose prompts are taken: a name, or a folder as ./mine")
    repeat: Whole = Field(default=1, ge=1, le=20, description="run it so many times, to tell the spread")
    agent: str | None = Field(
        default=None,
        min_length=1,
        description="command of an agent that answers instead, each question in a sandbox of its own, with the"
        " configured model as its only door",
    )
    agent_files: tuple[Path, ...] = Field(default=(), description="file or folder of the agent, which it may read")
    agent_memory_mib: Whole = Field(default=8192, ge=64, description="memory of the agent, in MiB")
    data: Path | None = Field(
        default=None,
        description="folder with the data of the questions, for the agent; unless set, that of the set",
        json_schema_extra={"file_okay": False},
    )
    calls: Whole = Field(default=100, ge=1, description="most calls of the model by the agent, an item")
    seconds: Number = Field(default=600, gt=0, description="most seconds of the agent, an item")
    unsandboxed: StrictBool = Field(
        default=False,
        description="run the agent with all your rights, its environment alone made anew: it can read your files, your"
        " keys and the right answers",
    )


class ItemOptions(BatchOptions, VerifierOptions):
    """Options of a batch of items to check."""


class MeasureOptions(WorkerOptions, VerifierOptions, TotalSpending):
    """Options of measuring judges on labelled evidence."""


Paraphrases = Annotated[
    StrictBool,
    Field(
        description="papers count, too, whose quotes do not name all that the claim does, where they say it in other"
        " words: more is found, and more of it is wrong"
    ),
]


class ClaimOptions(BatchOptions, TotalSpending):
    """Options of a batch of claims to verify."""

    verifier: VerifierName = "trained"
    scope: Annotated[str, *one_of("scope", SCOPES)] = Field(
        default="corpus",
        description="what is read for a claim: what a search finds in the corpus (all), in the documents that any claim"
        " names (partial), the documents that it names itself (documents, match), or the passages given with it; each"
        " does all, partial and match, and compares them",
    )
    paraphrases: Paraphrases = False
    top: Whole = Field(default=3, ge=1, le=50, description="papers to read in the corpus")
    limit: Whole | None = Field(default=None, ge=1, description="only the first so many claims")


class VerifyOptions(Spending):
    """Options of verifying a claim or an edge by papers."""

    documents: tuple[Word, ...] = Field(default=(), description="read only this document, by id")
    top: Whole = Field(default=3, ge=1, le=50, description="papers to read where none is named")
    verifier: VerifierName = "trained"
    paraphrases: Paraphrases = False


class GroundLimits(Value):
    """Limits of a manuscript, beyond which it fails."""

    fail_on: Annotated[str, *one_of("state", GROUND_STATES)] = Field(
        default="contradicted", description="least state of a remark that is an error"
    )
    most: Mapping[str, NonNegativeInt] = Field(
        default={},
        description="at most so many of a remark, or sentences in a state, of each",
        examples=[{"number_differs": 0}],
    )
    coverage: float | None = Field(default=None, ge=0, le=1, description="least share of its references that are cited")


class TextOptions(Spending):
    """Options of checking a manuscript: sources beside graph and papers, and the most a model may take."""

    bibliography: Path | None = Field(
        default=None,
        description="made by kgcheck reference build --kind bibliography",
        json_schema_extra={"dir_okay": False},
    )
    results: Path | None = Field(
        default=None, description="JSON file with the canonical results", json_schema_extra={"dir_okay": False}
    )


class CodeOptions(Value):
    """Options of running the code behind insights."""

    only: tuple[str, ...] = Field(default=(), description="take this insight alone, by its id")
    pairs: Path | None = Field(
        default=None,
        description="measure matches by JSON lines of an insight and its true scripts",
        json_schema_extra={"dir_okay": False},
    )
    data: tuple[str, ...] = Field(default=(), description="a data file, as FILE, or NAME=FILE as scripts call it")
    names: Path | None = Field(
        default=None,
        description="table of ids and names: ids in the data become names",
        json_schema_extra={"dir_okay": False},
    )
    renames: tuple[str, ...] = Field(default=(), description="OLD=NEW: a column of the data as scripts call it")
    run: bool = Field(default=False, description="run the workflows in the sandbox, and compare their numbers")
    tolerance: float = Field(
        default=0.0, ge=0, le=1, description="share of a number by which it may be off, beside how it is rounded"
    )
    seconds: float = Field(default=600.0, ge=1, le=86_400, description="most seconds of a script")
    memory: Whole = Field(default=4096, ge=256, description="most memory of a script, in MiB")


class ListeningOptions(Value):
    """Options of listening for requests."""

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: Whole = Field(default=8_000, ge=0, le=65_535, description="0 takes a free one")
    allowed_hosts: tuple[Word, ...] = Field(
        default=(), description="name under which it is reached, say that of a reverse proxy"
    )
    proxies: tuple[Word, ...] = Field(
        default=(),
        description="address or network of a reverse proxy whose X-Forwarded-For and -Proto are believed",
    )
    rate: Whole = Field(default=1_200, ge=1, description="most requests of one user or token in a minute")


class McpListeningOptions(ListeningOptions):
    """The same for language models."""

    port: Whole = Field(default=8_001, ge=0, le=65_535, description="0 takes a free one")


def options_from(model: type[M], fields: Mapping[str, Any]) -> M:
    """A model of options, with one clear error where a field is wrong."""
    try:
        return model(**fields)
    except ValidationError as error:
        cause = error.errors()[0].get("ctx", {}).get("error")
        if isinstance(cause, ValueError) and isinstance(cause.__cause__, KgcheckError):
            raise cause.__cause__ from None
        wrong = [f"{one['loc'][0]}={one['input']!r}: {one['msg']}" for one in error.errors()]
        raise UsageError("; ".join(wrong), "see docs/howto_python.md") from None
