"""LateGroup: click group that imports commands only when called; ``--quiet``, renamed commands."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.output import be_quiet, note

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

RENAMED = {"jobs": "job", "verified": "explain", "output": "out"}
"""Commands and options that had another name in the last release: it works until the next, with a warning."""


def current_name(name: str) -> str:
    """The name of today of a command or an option, without its dashes."""
    if new := RENAMED.get(name):
        note(f"warning: {name!r} is called {new!r} now, and the next release will not know {name!r}")
    return new or name


_QUIET = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, option, value: be_quiet(context) if value else None,
    help="Write only errors to stderr, and no notes and no progress.",
)


def with_quiet(command: click.Command) -> click.Command:
    """A command, or each one of a group, with ``--quiet``."""
    for one in command.commands.values() if isinstance(command, click.Group) else ():
        with_quiet(one)
    if _QUIET not in command.params:
        command.params.append(_QUIET)
    return command


class LateGroup(click.Group):
    """Commands by section and name, imported late: `kgcheck --help` must not wait for a database driver."""

    def __init__(self, *, late: Mapping[str, Mapping[str, tuple[str, str]]], **settings: Any) -> None:
        """Name the commands of each section, each with its module of ``kgcheck.cli`` and its help."""
        super().__init__(**settings)
        self._late = late
        self._all = {name: command for section in late.values() for name, command in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._all)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._all:
            return None
        module = importlib.import_module(f"kgcheck.cli.{self._all[cmd_name][0]}")
        return with_quiet(getattr(module, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The same, with a suggestion for a name that is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(
                error.command_name, possibilities=self.list_commands(ctx), ctx=ctx
            ) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Commands and options that begin so, without importing any command."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text) for name, (_, text) in self._all.items() if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections with their commands, without importing any."""
        for title, commands in self._late.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])
