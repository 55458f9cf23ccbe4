"""``kgcheck trust``: let a kgcheck.toml that is found by itself name the servers that get passwords."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath
from kgcheck.cli.output import note, result


@click.command("trust")
@click.argument("path", required=False, type=FilePath())
@click.option("--list", "listed", is_flag=True, help="List the files that are trusted.")
@click.option("--revoke", "revoked", is_flag=True, help="Trust the file no more.")
def command(path: Path | None, listed: bool, revoked: bool) -> None:
    """Trust the addresses of the kgcheck.toml at PATH, or of the nearest one from here upwards.

    A file that kgcheck finds by itself may come with a folder of somebody else. Passwords go to the servers that it
    names, and messages to where it says, only after this; other addresses in it have to be trusted again. A file that
    --config or KGCHECK_CONFIG names is trusted by that.
    """
    from kgcheck.curation.project import read_project
    from kgcheck.curation.project_file import NAME, find_file, is_trusted, revoke, trust, trusted
    from kgcheck.errors import InputMissing, KgcheckError, UsageError

    if listed and (path or revoked):
        raise UsageError("--list takes no PATH and no --revoke", "leave them out")
    if listed:
        for one in trusted():
            file = Path(one.path)
            try:
                state = "trusted" if is_trusted(file, read_project(file, whole=False).addresses) else "changed since"
            except KgcheckError as error:
                state = "gone" if isinstance(error, InputMissing) else "cannot be read"
            result(f"{one.path}: {state}, {one.at}")
        return
    if path and path.is_dir():
        path /= NAME
    if path is None:
        found = find_file()
        path = found.path if found else None
    if path is None:
        raise InputMissing(f"there is no {NAME} in this folder or above", "kgcheck init writes one")
    if revoked:
        revoke(path)
        note(f"{path} is not trusted any more")
        return
    addresses = read_project(path, whole=False).addresses
    if not addresses:
        note(f"{path} names no address: there is nothing to trust")
        return
    trust(path, addresses)
    for key, address in addresses.items():
        result(f"{key} = {address}")
    note(f"{path} is trusted with these addresses, until they change")
