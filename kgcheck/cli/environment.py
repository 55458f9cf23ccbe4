"""Settings for the commands: what the environment says, and one clear message where it says nonsense."""

from typing import Any

from pydantic import ValidationError

from kgcheck.errors import ConfigurationError
from kgcheck.settings import Settings


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
