"""``kgcheck init``: a kgcheck.toml with comments, or its JSON schema."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath
from kgcheck.cli.output import json_result, note


@click.command("init")
@click.argument("folder", type=FilePath(file_okay=False), default=Path())
@click.option("--schema", is_flag=True, help="Print the JSON schema of kgcheck.toml for editors, and write nothing.")
def command(folder: Path, schema: bool) -> None:
    """Write a kgcheck.toml with comments into FOLDER, and its JSON schema for editors into FOLDER/.kgcheck.

    What is there is never overwritten.
    """
    from kgcheck.curation.project import json_schema, write_project

    if schema:
        json_result(json_schema())
        return
    path = write_project(folder)
    note(f"wrote {path}: put your stores and jobs into it, then kgcheck job list")
