"""Options of the command line that come of a model, and models of options by keyword."""

from pathlib import Path
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner
from pydantic import Field

from kgcheck.cli.options import options_of
from kgcheck.errors import UnknownName, UsageError
from kgcheck.model import CheckType, Value
from kgcheck.options import AuditScope, ClaimOptions, Day, VerifyOptions, Whole, one_of, options_from


class Options(Value):
    """Every kind of field."""

    labels: tuple[str, ...] = Field(default=(), description="only these")
    types: tuple[CheckType, ...] = ()
    top: Whole = Field(default=3, ge=1, le=50, description="how many")
    share: float | None = Field(default=None, gt=0, description="of all")
    day: Day | None = None
    brain: Annotated[str, *one_of("brain", ("rules", "llm"))] = "rules"
    folder: Path | None = Field(default=None, json_schema_extra={"file_okay": False})
    dry_run: bool = Field(default=False, description="write nothing")


def called(*arguments: str, **own: Any) -> Any:
    """The options that a command gets, or what it says."""
    found = []

    @click.command()
    @options_of(Options, **own)
    def command(options: Options) -> None:
        found.append(options)

    done = CliRunner().invoke(command, arguments)
    return found[0] if found else done.output


def test_each_field_is_an_option_of_its_type() -> None:
    given = ("--label", "Gene", "--label", "Protein", "--type", "triple", "--top", "5", "--share", "0.5")
    assert called(*given, "--day", "2024-06", "--brain", "llm", "--folder", "/x", "--dry-run") == Options(
        labels=("Gene", "Protein"),
        types=(CheckType.TRIPLE,),
        top=5,
        share=0.5,
        day="2024-06",
        brain="llm",
        folder=Path("/x"),
        dry_run=True,
    )
    assert called() == Options()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--top", "51"), "51 is not in the range 1<=x<=50"),
        (("--brain", "no"), "'no' is not one of 'rules', 'llm'"),
        (("--day", "2024-13"), "Invalid value for '--day': '2024-13' is no date"),
        (("--folder", "bolt://host"), "this is an address, and a path is wanted"),
    ],
)
def test_a_wrong_value_is_told_with_its_option(arguments: tuple[str, ...], message: str) -> None:
    assert message in called(*arguments)


def test_help_comes_of_the_descriptions_and_defaults() -> None:
    text = " ".join(called("--help").split())
    assert "--label TEXT Only these; may be repeated." in text
    assert "--top INTEGER RANGE How many. [default: 3; 1<=x<=50]" in text
    assert "--dry-run Write nothing." in text


def test_a_field_may_have_a_form_of_its_own_or_none() -> None:
    own = click.option("--most", "top", type=int, default=7)
    assert called("--most", "9", top=own).top == 9
    assert "No such option" in called("--day", "2024", day=None)


def test_an_empty_choice_of_types_and_all_mean_every_type_but_evidence() -> None:
    every = tuple(kind for kind in CheckType if kind is not CheckType.EVIDENCE)
    assert AuditScope(types=()).types == AuditScope.model_validate({"types": ["all"]}).types == every
    assert AuditScope.model_validate({"types": ["triple", "triple"]}).types == (CheckType.TRIPLE,)


def test_errors_of_options_by_keyword_are_those_of_the_product() -> None:
    assert options_from(VerifyOptions, {"top": 4}).top == 4
    with pytest.raises(UnknownName, match="there is no verifier 'train'"):
        options_from(VerifyOptions, {"verifier": "train"})
    with pytest.raises(UsageError, match="2024-13"):
        options_from(AuditScope, {"graph_date": "2024-13"})
    with pytest.raises(UsageError, match="workers=0"):
        options_from(ClaimOptions, {"workers": 0})
    with pytest.raises(UsageError, match="no_such"):
        options_from(AuditScope, {"no_such": 1})
