"""Options of commands that are made of the fields of a model."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from kgcheck.cli.options import flags_of
from kgcheck.curation.findings import FindingFilter, wanted
from kgcheck.errors import UsageError


@click.command()
@flags_of(FindingFilter)
def command(**filters: Any) -> None:
    click.echo(wanted(**filters).model_dump_json(exclude_defaults=True))


def test_a_field_of_several_values_is_an_option_that_may_come_again() -> None:
    shown = CliRunner().invoke(command, ["--state", "new", "--state", "gone", "--label", "Gene"])

    assert shown.output.strip() == '{"states":["new","gone"],"labels":["Gene"]}'


@pytest.mark.parametrize(("name", "value"), [("labels", ["a" * 201]), ("text", "a\x1bb")])
def test_a_value_that_the_model_refuses_is_a_wrong_usage(name: str, value: Any) -> None:
    with pytest.raises(UsageError):
        wanted(**{name: value})
