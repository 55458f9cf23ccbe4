"""Options that several commands share."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from kgcheck.choices import BRAINS, CHECK_THRESHOLDS, DEFAULT_STORE, FORMATS, VERIFIERS, day, row_limit
from kgcheck.cli.output import note
from kgcheck.errors import KgcheckError, UsageError
from kgcheck.ledger.place import checked_place
from kgcheck.redact import is_secret_path

if TYPE_CHECKING:
    from pydantic import BaseModel

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class FilePath(click.Path):
    """A path; an address, which may hold a password, is none, and no file is made under its name."""

    def __init__(self, **how: Any) -> None:
        super().__init__(path_type=Path, **how)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        if "://" in text or (is_secret_path(text) and not os.path.exists(text)):
            self.fail("this is an address, and a path is wanted", param, ctx)
        return super().convert(value, param, ctx)


class RowLimit(click.ParamType[str]):
    """A number of rows, or a share of them."""

    name = "N|N%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return row_limit(str(value))
        except UsageError as error:
            self.fail(error.in_one_line, param, ctx)


class Configured(click.Option):
    """An option that kgcheck.toml fills in where neither the command line nor the environment does."""

    def __init__(self, *names: Any, field: str, setting: str = "", **how: Any) -> None:
        super().__init__(*names, **how)
        self._field = field
        self._setting = setting

    def consume_value(self, ctx: click.Context, opts: Any) -> tuple[Any, click.core.ParameterSource]:
        value, source = super().consume_value(ctx, opts)
        if source is click.core.ParameterSource.DEFAULT and (found := self._configured()):
            note(f"--{self._field} {found[0]} (kgcheck.toml)")
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
        """What kgcheck.toml has, and where that is."""
        from kgcheck.curation.project_file import configured

        return None if self._setting and os.environ.get(self._setting) else configured(self._field)


def options_of(model: "type[BaseModel]") -> Decorator:
    """An option for each field of a model, as ``click`` names its parameters; one of a tuple may be given many times.

    A tuple of ``names`` is ``--name``. Values of enumerations are choices; other values are checked by the model.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, field in reversed(model.model_fields.items()):
            multiple = field.default == ()
            kinds = list(_parts(field.annotation))
            choices = next((list(kind) for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)), None)
            option = (name.removesuffix("s") if multiple else name).replace("_", "-")
            function = click.option(
                f"--{option}",
                name,
                multiple=multiple,
                type=click.Choice([str(choice) for choice in choices]) if choices and len(choices) < 10 else str,
                metavar="DATE" if date in kinds else None,
                help=f"{(field.description or '')[:1].upper()}{(field.description or '')[1:]}.",
            )(function)
        return function

    return add


def _parts(annotation: Any) -> Iterator[Any]:
    """A type and those that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def given(name: str) -> bool:
    """Whether an option of the command under way stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def store_option() -> Decorator:
    """``--store``; None where neither the command line nor the environment names one."""

    def named(context: click.Context, option: click.Parameter, value: str) -> str | None:
        by_default = context.get_parameter_source("store") is click.core.ParameterSource.DEFAULT
        return None if by_default else value

    return click.option(
        "--store",
        cls=Configured,
        field="store",
        envvar="KGCHECK_STORE",
        default=DEFAULT_STORE,
        show_default=True,
        callback=named,
        help="A path (embedded), or bolt:// or neo4j:// "
        "(Neo4j; credentials in KGCHECK_NEO4J_USER and KGCHECK_NEO4J_PASSWORD).",
    )


def profile_option() -> Decorator:
    """``--profile``."""
    return click.option(
        "--profile",
        cls=Configured,
        field="profile",
        default="ckg",
        show_default=True,
        help="Kind of graph: a name (kgcheck profile list), or the path of a folder, as ./mine.",
    )


def reference_option() -> Decorator:
    """``--reference``."""
    return click.option(
        "--reference",
        cls=Configured,
        field="reference",
        envvar="KGCHECK_REFERENCE",
        type=FilePath(),
        help="Snapshot made by kgcheck reference build. Without one, only structure can be checked.",
    )


def graph_date_option() -> Decorator:
    """``--graph-date``."""

    def checked(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
        try:
            return day(value) if value else value
        except UsageError as error:
            raise click.BadParameter(error.in_one_line) from None

    return click.option(
        "--graph-date",
        metavar="DATE",
        callback=checked,
        help="Of when the graph is: a source that is older cannot refute what it does not know. "
        "[default: what the manifest of the import directory says of each file]",
    )


class LedgerName(click.ParamType[str]):
    """A path, or the address of a PostgreSQL database without credentials."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return checked_place(str(value))


def ledger_option() -> Decorator:
    """``--ledger``; None where the command line names none, and the settings do."""
    return click.option(
        "--ledger",
        cls=Configured,
        field="ledger",
        setting="KGCHECK_LEDGER",
        type=LedgerName(),
        help="SQLite file with the runs, or postgresql://HOST/DATABASE (credentials in KGCHECK_LEDGER_USER and "
        "KGCHECK_LEDGER_PASSWORD) [default: KGCHECK_LEDGER, or .kgcheck/ledger.sqlite]",
    )


def brain_options() -> Decorator:
    """``--brain``, ``--tokens`` and ``--money``."""
    brain = click.option(
        "--brain",
        type=click.Choice(BRAINS),
        default="rules",
        show_default=True,
        help="Fixed rules, or a language model (KGCHECK_LLM_MODEL, ..._BASE_URL, ..._API_KEY).",
    )

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        return brain(spending_options()(function))

    return add


def spending_options() -> Decorator:
    """``--tokens`` and ``--money``, for each item."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option(
            "--money",
            type=click.FloatRange(min=0, min_open=True),
            help="Most money that a model may cost, for each item; needs prices.",
        )(function)
        return click.option("--tokens", type=click.IntRange(min=1), help="Most tokens that a model may take an item.")(
            function
        )

    return add


def total_options() -> Decorator:
    """``--total-tokens`` and ``--total-money``, for all items of a run together."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option(
            "--total-money",
            type=click.FloatRange(min=0, min_open=True),
            help="Most money that a model may cost, for all items of this run; those that are left stay open.",
        )(function)
        return click.option(
            "--total-tokens",
            type=click.IntRange(min=1),
            help="Most tokens that a model may take for all items of this run; those that are left stay open.",
        )(function)

    return add


_ENDINGS = {
    ".csv": "csv",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".markdown": "markdown",
    ".md": "markdown",
    ".parquet": "parquet",
    ".prom": "prometheus",
    ".sarif": "sarif",
    ".xml": "junit",
}


class FormByEnding(click.Option):
    """``--format``; where none is named, what the ending of ``--output`` stands for."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        output = ctx.params.get("output")
        # click has a value of its own for what was not given.
        suffix = output.suffix if isinstance(output, Path) else ""
        form = _ENDINGS.get(suffix.lower())
        if form is None:
            return super().get_default(ctx, call)
        if form not in self.type.choices:  # type: ignore[attr-defined]
            raise click.BadParameter(f"{output} ends in {suffix}, and none is written: name a form", ctx, self)
        return form


def format_options(forms: Sequence[str] = FORMATS) -> Decorator:
    """``--format`` and ``--output``."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option(
            "--output",
            type=FilePath(dir_okay=False),
            is_eager=True,
            help="Write to this file, not to stdout; without --format, its ending names the form.",
        )(function)
        return click.option(
            "--format",
            "format_",
            cls=FormByEnding,
            type=click.Choice(forms),
            default=forms[0],
            show_default=True,
            help="Form of the result.",
        )(function)

    return add


def table_or_json_option() -> Decorator:
    """``--format`` of what is no run."""
    return click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)


def fail_on_option(thresholds: tuple[str, ...] = CHECK_THRESHOLDS, default: str = "refuted") -> Decorator:
    """``--fail-on``."""
    new = "; new: only what is new, or has come back since it was decided" if "new" in thresholds else ""
    return click.option(
        "--fail-on",
        type=click.Choice(thresholds),
        default=default,
        show_default=True,
        help=f"Least outcome that makes the exit code 1{new}.",
    )


def verifier_option() -> Decorator:
    """``--verifier``."""
    return click.option(
        "--verifier",
        type=click.Choice(VERIFIERS),
        default="trained",
        show_default=True,
        help="trained needs no key; llm asks the endpoint of KGCHECK_LLM_BASE_URL and KGCHECK_LLM_MODEL.",
    )


def inference_option() -> Decorator:
    """``--inference``."""
    return click.option(
        "--inference",
        type=FilePath(file_okay=False),
        help="Folder of a model of inference that helps trained [default: KGCHECK_INFERENCE].",
    )


LITERATURE = ("--literature", "--index")
"""One thing under both names: commands about papers call it the index, those about a graph its literature."""


def literature_option(*, configured: bool = True) -> Decorator:
    """``--literature``; kgcheck.toml fills it in where it is of use to every brain."""
    how: dict[str, Any] = {"cls": Configured, "field": "literature"} if configured else {}
    return click.option(
        *LITERATURE,
        "index",
        **how,
        type=FilePath(file_okay=False),
        help="Also ask the papers of this index, made by kgcheck corpus add, about edges.",
    )


def offline_option() -> Decorator:
    """``--offline``."""
    return click.option(
        "--offline", is_flag=True, help="With --live: open no connection, use only answers that were kept."
    )


def workers_option(what: str) -> Decorator:
    """How many of a batch are done at the same time."""
    return click.option(
        "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help=f"{what} at the same time."
    )


def limit_option() -> Decorator:
    """``--limit``."""
    return click.option(
        "--limit", type=click.IntRange(min=0), help="Show at most so many findings; the ledger keeps all."
    )


def index_option(*, required: bool = False) -> Decorator:
    """``--index``, a literature index."""
    return click.option(
        *reversed(LITERATURE),
        "index",
        cls=Configured,
        field="literature",
        envvar="KGCHECK_INDEX",
        required=required,
        type=FilePath(file_okay=False),
        help="Folder of a literature index, made by kgcheck corpus add.",
    )


def manuscript_options() -> Decorator:
    """FILE and what it is held against."""
    options: list[Decorator] = [
        click.argument("file", type=FilePath(dir_okay=False)),
        store_option(),
        reference_option(),
        click.option(
            *LITERATURE, "literature", type=FilePath(file_okay=False), help="Literature index whose papers are asked."
        ),
        click.option(
            "--bibliography", type=FilePath(dir_okay=False), help="Made by kgcheck reference build --kind bibliography."
        ),
        click.option("--results", type=FilePath(dir_okay=False), help="JSON file with the canonical results."),
        click.option("--live", is_flag=True, help="Look references up at Crossref, PubMed and OpenAlex, too."),
        click.option(
            "--offline", is_flag=True, help="With --live: open no connection, use only answers that were kept."
        ),
        ledger_option(),
        profile_option(),
    ]

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return add
