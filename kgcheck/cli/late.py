"""Groups of commands that are imported when they are called."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LateGroup(click.Group):
    """Commands by name, imported late: `kgcheck --help` must not wait for a database driver."""

    def __init__(self, *, late: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self._late = late

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of use."""
        return list(self._late)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in self._late:
            return None
        command: click.Command = importlib.import_module(self._late[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        if self._late:
            with formatter.section("Commands"):
                formatter.write_dl([(name, text) for name, (_, text) in self._late.items()])
