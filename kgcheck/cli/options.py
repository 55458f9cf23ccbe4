"""Click options and parameter types shared by commands: workspace parts, formats, limits."""

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.choices import BRAINS, CHECK_THRESHOLDS, DEFAULT_PROFILE, DEFAULT_STORE, FORMATS, PINS_FILE
from kgcheck.cli.output import note
from kgcheck.curation.project_file import configured
from kgcheck.errors import KgcheckError, UsageError
from kgcheck.ledger.place import checked_place
from kgcheck.redact import is_secret_path

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from kgcheck.workspace import Workspace

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_MOST_CHOICES = 10
"""Names that a help text can list; others are checked by their model."""


class FilePath(click.Path):
    """A path; an address, which may hold a password, is none, and no file is made under its name."""

    def __init__(self, **how: Any) -> None:
        super().__init__(path_type=Path, **how)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        if "://" in text or (is_secret_path(text) and not os.path.exists(text)):
            self.fail("this is an address, and a path is wanted", param, ctx)
        return super().convert(value, param, ctx)


class Configured(click.Option):
    """An option that kgcheck.toml fills in where neither the command line nor the environment does."""

    def __init__(self, *names: Any, field: str, setting: str = "", **how: Any) -> None:
        super().__init__(*names, **how)
        self._field = field
        self._setting = setting

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, click.core.ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        if source is click.core.ParameterSource.DEFAULT and (found := self._configured()):
            note(f"--{self._field.replace('_', '-')} {found[0]} (kgcheck.toml)")
            return found[0], click.core.ParameterSource.DEFAULT_MAP
        return value, source

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        with suppress(KgcheckError):
            # Help is needed most where the file is wrong, or not trusted yet.
            if found := self._configured():
                extra["default"] = f"{found[0]}, as {found[1]} has it"
        return extra

    def _configured(self) -> tuple[str, str] | None:
        return None if self._setting and os.environ.get(self._setting) else configured(self._field)


def given(name: str) -> bool:
    """Tell whether an option of the command under way stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


class LedgerName(click.ParamType[str]):
    """A path, or the address of a PostgreSQL database without credentials."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return checked_place(str(value))


_ENDINGS = {
    ".csv": "csv",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".markdown": "markdown",
    ".md": "markdown",
    ".sarif": "sarif",
    ".xml": "junit",
}


class FormByEnding(click.Option):
    """``--format``; where none is named, what the ending of ``--out`` stands for."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        out = ctx.params.get("out")
        # click has a value of its own for what was not given.
        suffix = out.suffix if isinstance(out, Path) else ""
        form = _ENDINGS.get(suffix.lower())
        if form is None:
            return super().get_default(ctx, call)
        if form not in self.type.choices:  # type: ignore[attr-defined]
            raise click.BadParameter(f"{out} ends in {suffix}, and none is written: name a form", ctx, self)
        return form


def format_options(forms: Sequence[str] = FORMATS, *, folder: bool = False) -> Decorator:
    """``--format`` and ``--out``: a file, or also a folder for every form."""
    every = "; a folder gets every form" if folder else ""

    out = click.option(
        "--out",
        type=FilePath(dir_okay=folder),
        is_eager=True,
        help=f"Write to this file, not to stdout; without --format, its ending names the form{every}.",
    )
    form = click.option(
        "--format",
        "format_",
        cls=FormByEnding,
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="Form of the result.",
    )
    return lambda function: form(out(function))


def out_folder_option(text: str) -> Decorator:
    """``--out``, a folder, which has to be named."""
    return click.option("--out", required=True, type=FilePath(file_okay=False), help=text)


def table_or_json_option() -> Decorator:
    """``--format`` of what is no run."""
    return click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)


def shown_limit_option() -> Decorator:
    """``--limit`` of a run's table."""
    return click.option(
        "--limit", type=click.IntRange(min=0), help="Show at most so many findings; the ledger keeps all."
    )


def columns_option() -> Decorator:
    """``--column``, given as a mapping of names of columns to what they are taken for."""

    def read(_: click.Context, __: click.Parameter, stated: tuple[str, ...]) -> dict[str, str]:
        from kgcheck.forms.columns import COLUMNS

        found: dict[str, str] = {}
        for text in stated:
            role, sign, name = text.partition("=")
            if not sign or not name or role not in COLUMNS or role in found.values() or name in found:
                raise UsageError(
                    f"--column {text!r} is not ROLE=NAME, each of both once", f"a role is one of {', '.join(COLUMNS)}"
                )
            found[name] = role
        return found

    return click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=NAME",
        callback=read,
        help="Take the column NAME of a table for subject, predicate, object, id, category or name; may be repeated.",
    )


def fail_on_option(
    thresholds: tuple[str, ...] = CHECK_THRESHOLDS, default: str = "refuted", *, configured: bool = False
) -> Decorator:
    """``--fail-on``; kgcheck.toml fills in that of audits."""
    filled: dict[str, Any] = {"cls": Configured, "field": "fail_on"} if configured else {}
    new = "; new: only what is new, or has come back since it was decided" if "new" in thresholds else ""
    return click.option(
        "--fail-on",
        **filled,
        type=click.Choice(thresholds),
        default=default,
        show_default=True,
        help=f"Least outcome that makes the exit code 1{new}.",
    )


_LITERATURE = ("--literature", "--index")
"""One thing under both names: commands about papers call it the index, those about a graph its literature."""


def literature_option(
    text: str = "Also ask the papers of this index, made by kgcheck corpus add, about edges.",
    *,
    configured: bool = True,
) -> Decorator:
    """``--literature``; kgcheck.toml fills it in where it is of use to every brain."""
    filled: dict[str, Any] = {"cls": Configured, "field": "literature"} if configured else {}
    return click.option(*_LITERATURE, "literature", **filled, type=FilePath(file_okay=False), help=text)


def index_option(*, required: bool = True) -> Decorator:
    """``--index``, a literature index."""
    return click.option(
        *reversed(_LITERATURE),
        "literature",
        cls=Configured,
        field="literature",
        envvar="KGCHECK_INDEX",
        required=required,
        type=FilePath(file_okay=False),
        help="Folder of a literature index, made by kgcheck corpus add.",
    )


def live_option(text: str = "Ask UniProt and STRING, too; what they say comes before the snapshot.") -> Decorator:
    """``--live``."""
    return click.option("--live", is_flag=True, help=text)


PARTS: dict[str, Decorator] = {
    "store": click.option(
        "--store",
        cls=Configured,
        field="store",
        envvar="KGCHECK_STORE",
        default=DEFAULT_STORE,
        show_default=True,
        # None where neither the command line nor the environment names a store.
        callback=lambda context, option, value: (
            None if context.get_parameter_source("store") is click.core.ParameterSource.DEFAULT else value
        ),
        help="A path (embedded), bolt:// or neo4j:// (Neo4j; credentials in KGCHECK_NEO4J_USER and "
        "KGCHECK_NEO4J_PASSWORD), or files:PATH,PATH (files of a graph, read where they lie).",
    ),
    "reference": click.option(
        "--reference",
        cls=Configured,
        field="reference",
        envvar="KGCHECK_REFERENCE",
        type=FilePath(),
        help="Snapshot made by kgcheck reference build. Without one, only structure can be checked.",
    ),
    "ledger": click.option(
        "--ledger",
        cls=Configured,
        field="ledger",
        setting="KGCHECK_LEDGER",
        type=LedgerName(),
        help="SQLite file with the runs, or postgresql://HOST/DATABASE (credentials in KGCHECK_LEDGER_USER and "
        "KGCHECK_LEDGER_PASSWORD) [default: KGCHECK_LEDGER, or .kgcheck/ledger.sqlite]",
    ),
    "literature": literature_option(),
    "pins": click.option(
        "--pins",
        cls=Configured,
        field="pins",
        type=FilePath(dir_okay=False),
        help="File of pins, made by kgcheck pin, that the graph must keep "
        f"[default: {PINS_FILE} in the working directory or beside the graph].",
    ),
    "profile": click.option(
        "--profile",
        cls=Configured,
        field="profile",
        default=DEFAULT_PROFILE,
        show_default=True,
        help="Kind of graph: a name (kgcheck profile list), or the path of a folder, as ./mine.",
    ),
    "live": live_option(),
    "offline": click.option(
        "--offline", is_flag=True, help="With --live: open no connection, use only answers that were kept."
    ),
    "brain": click.option(
        "--brain",
        type=click.Choice(BRAINS),
        default="rules",
        show_default=True,
        help="Fixed rules, or a language model (KGCHECK_LLM_MODEL, ..._BASE_URL, ..._API_KEY).",
    ),
    "with_retired": click.option("--with-retired", is_flag=True, help="Read what patches retired as if it were not."),
}
"""The options that name the parts of a workspace."""


def part_options(*names: str, **own: Decorator | str) -> Decorator:
    """Options that name parts of a workspace, as the parameter ``parts`` of a command; some fixed, or with a form."""
    fixed = {name: value for name, value in own.items() if isinstance(value, str)}
    formed = {name: option for name, option in own.items() if not isinstance(option, str)}
    options = {name: PARTS[name] for name in names} | formed

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(**values: Any) -> Any:
            return function(parts=fixed | {name: values.pop(name) for name in options}, **values)

        return _with(options.values(), called)

    return add


def workspace_options(*names: str, progress: bool = True, **own: Decorator | str) -> Decorator:
    """The same, opened: the parameter ``workspace`` of a command, closed when it has ended."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(parts: dict[str, Any], **values: Any) -> Any:
            with open_workspace(parts, progress=progress) as workspace:
                return function(workspace=workspace, **values)

        return part_options(*names, **own)(called)

    return add


def open_workspace(parts: Mapping[str, Any], *, progress: bool = True) -> "Workspace":
    """A workspace of the parts that options name, which shows its progress on stderr."""
    from kgcheck.workspace import Workspace

    if not progress:
        return Workspace(**parts)
    from kgcheck.cli.console import RichProgress

    return Workspace(**parts, progress=RichProgress())


def options_of(model: "type[BaseModel]", parameter: str = "options", **own: Decorator | None) -> Decorator:
    """An option for each field of a model, of which the command gets one parameter; some with a form of their own.

    None leaves a field out.
    """
    from pydantic import ValidationError

    taken = _options(model, **own)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(**values: Any) -> Any:
            fields = {name: values.pop(name) for name in taken}
            try:
                return function(**{parameter: model(**fields)}, **values)
            except ValidationError as error:
                if error.title != model.__name__:
                    raise
                wrong = error.errors()[0]
                name = str(wrong["loc"][0])
                flag = _flag(name, several=len(wrong["loc"]) > 1)
                raise click.BadParameter(wrong["msg"].removeprefix("Value error, "), param_hint=f"'{flag}'") from None

        return _with(taken.values(), called)

    return add


def flags_of(model: "type[BaseModel]", **own: Decorator | None) -> Decorator:
    """An option for each field of a model, of which the command gets the names as they were typed."""
    return lambda function: _with(_options(model, **own).values(), function)


def _options(model: "type[BaseModel]", **own: Decorator | None) -> dict[str, Decorator]:
    options = {name: _option_of(name, field) for name, field in model.model_fields.items()} | own
    return {name: option for name, option in options.items() if option}


def _flag(name: str, *, several: bool) -> str:
    one = name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")
    return f"--{(one if several else name).replace('_', '-')}"


def _option_of(name: str, field: "FieldInfo") -> Decorator:
    """A field as an option: its type and bounds, its description and its default."""
    from pydantic import TypeAdapter

    schema = TypeAdapter[Any](field.annotation or Any).json_schema()
    form = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    several = form.get("type") == "array"
    flag = _flag(name, several=several)
    words = field.description or ""
    text = f"{words[:1].upper()}{words[1:]}{'; may be repeated' if several else ''}."
    if form.get("type") == "boolean":
        return click.option(flag, name, is_flag=True, help=text)
    shown = {} if several or field.default is None else {"default": field.default, "show_default": field.default != ""}
    item = form.get("items", form)
    item = schema.get("$defs", {}).get(str(item.get("$ref")).rpartition("/")[2], item)
    kind = _type_of(item | extra, field)
    if item.get("format") == "date":
        shown["metavar"] = "DATE"
    return click.option(flag, name, type=kind, multiple=several, help=text, **shown)


def _type_of(form: Mapping[str, Any], field: "FieldInfo") -> click.ParamType[Any]:
    """The type of click that takes what a JSON schema takes, within the bounds of a field."""
    bounds = {name: getattr(one, name) for one in field.metadata for name in ("ge", "gt", "le") if hasattr(one, name)}
    least, most = bounds.get("ge", bounds.get("gt")), bounds.get("le")
    limits: dict[str, Any] = {"min": least, "max": most, "min_open": "gt" in bounds}
    match form:
        case {"enum": names} if len(names) < _MOST_CHOICES:
            return click.Choice(names)
        case {"format": "path"}:
            return FilePath(**{name: form[name] for name in ("file_okay", "dir_okay") if name in form})
        case {"type": "integer"}:
            return click.IntRange(**limits) if bounds else click.INT
        case {"type": "number"}:
            return click.FloatRange(**limits) if bounds else click.FLOAT
        case _:
            return click.STRING


def _with(options: Iterable[Decorator], function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed([*options]):
        function = option(function)
    return function


def manuscript_options(*names: str, models: bool = True, **own: Any) -> Decorator:
    """FILE, the workspace that it is held against, and what else it is held against."""
    from kgcheck.options import TextOptions

    file = click.argument("file", type=FilePath(dir_okay=False))
    parts = workspace_options(
        *("store", "reference", "offline", "ledger", "profile", *names),
        literature=literature_option("Literature index whose papers are asked.", configured=False),
        live=live_option("Look references up at Crossref, PubMed and OpenAlex, too."),
        **own,
    )
    without: dict[str, Any] = {} if models else {"tokens": None, "money": None}
    return lambda function: file(parts(options_of(TextOptions, **without)(function)))
