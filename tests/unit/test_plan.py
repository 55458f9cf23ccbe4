"""The plan of an audit: which units the options ask for."""

from typing import Any

import pytest
from pydantic import ValidationError

from kgcheck.audit.plan import Unit, in_working_order, make_plan
from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.store import Counts
from kgcheck.model import CheckType
from kgcheck.options import ALL_TYPES, AuditOptions
from kgcheck.profile.schema import Schema, load_schema

ACTS_ON = "Protein ACTS_ON Protein"
TRANSLATED = "Gene TRANSLATED_INTO Protein"
COUNTS = Counts(nodes={"Protein": 3, "Gene": 2, "Tissue": 0}, edges={ACTS_ON: 5, TRANSLATED: 2})


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema()


def plan(schema: Schema, *types: CheckType, counts: Counts = COUNTS, **options: object) -> list[str]:
    asked = AuditOptions.model_validate({"types": types or ALL_TYPES, **options})
    return [f"{u.type.value} {u.target}" for u in make_plan(asked, schema, counts)]


EXISTENCE, ATTRIBUTE, TRIPLE = CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE


@pytest.mark.parametrize(
    ("types", "options", "wanted"),
    [
        ((EXISTENCE,), {}, ["existence Protein", "existence Gene"]),
        ((TRIPLE,), {}, [f"triple {ACTS_ON}", f"triple {TRANSLATED}"]),
        (
            (CheckType.STRUCTURE,),
            {},
            [f"structure {of}" for of in ("Protein", "Gene", ACTS_ON, TRANSLATED, "whole graph")],
        ),
        # Potential edges need both ends and no edge.
        (
            (CheckType.POTENTIAL,),
            {"counts": Counts(nodes=COUNTS.nodes)},
            [f"potential {of}" for of in (ACTS_ON, "Protein CURATED_INTERACTS_WITH Protein", TRANSLATED)],
        ),
        # Types come in the order asked for.
        (
            (TRIPLE, EXISTENCE),
            {},
            [f"triple {ACTS_ON}", f"triple {TRANSLATED}", "existence Protein", "existence Gene"],
        ),
        # A label chooses nodes and the edges that end at them, a relation edges only; both apply.
        ((ATTRIBUTE,), {"labels": ("Gene",)}, ["attribute Gene.name"]),
        ((EXISTENCE, TRIPLE), {"labels": ("Gene",)}, ["existence Gene", f"triple {TRANSLATED}"]),
        ((TRIPLE,), {"labels": ("Protein",)}, [f"triple {ACTS_ON}", f"triple {TRANSLATED}"]),
        ((TRIPLE,), {"labels": ("Gene",), "relations": ("ACTS_ON", "TRANSLATED_INTO")}, [f"triple {TRANSLATED}"]),
        (
            (),
            {"relations": ("ACTS_ON",)},
            [
                f"attribute {ACTS_ON}.score",
                *(f"{kind} {ACTS_ON}" for kind in ("triple", "potential", "structure")),
                "structure whole graph",
            ],
        ),
    ],
)
def test_units_are_those_that_the_options_ask_for(
    schema: Schema, types: tuple[CheckType, ...], options: dict[str, Any], wanted: list[str]
) -> None:
    assert plan(schema, *types, **options) == wanted


def test_attributes_are_those_that_have_a_check(schema: Schema) -> None:
    assert set(plan(schema, ATTRIBUTE)) == {
        "attribute Gene.name",
        *(f"attribute Protein.{a}" for a in ("accession", "name", "taxid", "description", "synonyms")),
        f"attribute {ACTS_ON}.score",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"types": ("existence",), "relations": ("ACTS_ON",)},
        {"types": ("triple",), "labels": ("Tissue",)},
        {"types": ("structure",), "labels": ("Tissue",)},
        {"types": ("triple",), "labels": ("Gene",), "relations": ("ACTS_ON",)},
    ],
)
def test_filters_that_leave_nothing_are_refused(schema: Schema, options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="nothing to check") as caught:
        make_plan(AuditOptions.model_validate(options), schema, COUNTS)

    assert "--relation applies to edges" in caught.value.hint


def test_empty_store_is_told(schema: Schema) -> None:
    with pytest.raises(UsageError, match="the store is empty") as caught:
        make_plan(AuditOptions(), schema, Counts())

    assert "kgcheck load" in caught.value.hint


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"labels": ("Protien",)}, "there is no label 'Protien'", "did you mean Protein"),
        ({"relations": ("acts_on",)}, "there is no relation 'acts_on'", "did you mean ACTS_ON"),
        ({"labels": ("Protein` DETACH DELETE n //",)}, "there is no label", ""),
        ({"relations": ("ACTS_ON]->() DELETE r //",)}, "there is no relation", ""),
    ],
)
def test_unknown_names_are_refused(schema: Schema, options: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(UnknownName, match=message.split("(")[0]) as caught:
        make_plan(AuditOptions.model_validate(options), schema, COUNTS)

    assert hint in caught.value.hint


def test_pieces_of_all_units_have_their_own_names(schema: Schema) -> None:
    units = make_plan(AuditOptions(), schema, COUNTS)
    names = [u.piece(n, last=last) for u in units for n, last in ((0, False), (1, False), (2, True))]

    assert len(set(names)) == len(names)
    assert Unit(type=CheckType.STRUCTURE).piece(0, last=True) == "structure whole graph #last"


def test_triples_are_worked_off_by_their_edges_and_nothing_else_moves(schema: Schema) -> None:
    units = make_plan(AuditOptions(), schema, COUNTS)
    worked = in_working_order(units, COUNTS.edges)

    assert [str(u.target) for u in worked if u.type is CheckType.TRIPLE] == [TRANSLATED, ACTS_ON]
    assert [u for u in worked if u.type is not CheckType.TRIPLE] == [u for u in units if u.type is not CheckType.TRIPLE]
    assert [u.type for u in worked] == [u.type for u in units]


@pytest.mark.parametrize("wrong", [{"sample": 0}, {"sample": -1}, {"piece_tasks": 0}, {"unknown": 1}])
def test_options_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        AuditOptions.model_validate(wrong)
