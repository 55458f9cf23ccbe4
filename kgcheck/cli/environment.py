"""What the commands start from: the environment and the profile, with one clear message where they say nonsense."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kgcheck.errors import ConfigurationError, UnknownName
from kgcheck.profile.folder import is_path, profile_names
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.settings import Settings

if TYPE_CHECKING:
    from kgcheck.reference.live import LiveReference


def read_settings(**given: Any) -> Settings:
    """Settings from the environment.

    Args:
        given: Fields that a command sets itself.

    Returns:
        The settings.

    Raises:
        ConfigurationError: A variable has a value that its setting cannot take.
    """
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = [f"KGCHECK_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors()]
        raise ConfigurationError(f"the environment is wrong: {'; '.join(wrong)}", "correct it, or unset it") from None


def read_schema(profile: str) -> Schema:
    """The schema of a profile.

    Args:
        profile: The name of one that kgcheck has, or the path of a folder.

    Returns:
        The schema.

    Raises:
        UnknownName: There is no profile of that name.
        ConfigurationError: There is no profile in that folder, or it is wrong.
    """
    if not is_path(profile) and profile not in profile_names():
        hint = f"a folder of yours is named by a path: --profile ./{profile}" if Path(profile).is_dir() else ""
        raise UnknownName("profile", profile, profile_names(), hint)
    return load_schema(profile)


@contextmanager
def live_sources(schema: Schema, settings: Settings, *, wanted: bool) -> Iterator["LiveReference | None"]:
    """UniProt and STRING, if they are to be asked.

    Args:
        schema: Profile.
        settings: Addresses and limits.
        wanted: Whether they are.

    Yields:
        What asks them, or None.
    """
    if not wanted:
        yield None
        return
    from kgcheck.providers.http import Http
    from kgcheck.providers.stringdb import StringDb
    from kgcheck.providers.uniprot import UniProt
    from kgcheck.reference.live import LiveReference

    with (
        Http(settings) as http,
        LiveReference(http, UniProt(http, settings), StringDb(http, settings), schema) as live,
    ):
        yield live


def reading_settings(*, offline: bool) -> Settings:
    """Settings for a command that may ask services."""
    return read_settings(offline=True) if offline else read_settings()
