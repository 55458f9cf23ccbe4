"""The values that everything else speaks in."""

from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kgcheck.checks.lists import JOINED_SQL, items_of, joined
from kgcheck.model import (
    Change,
    ChangeKind,
    CheckTask,
    CheckType,
    Evidence,
    Finding,
    Gap,
    Outcome,
    Reason,
    Ref,
    Verdict,
)
from kgcheck.quoting import literal
from tests.support.facts import attribute, existence, potential, ref, triple

P53, MDM2 = "Protein P04637", "Protein Q00987"


@pytest.mark.parametrize("identifier", ["", "P0\n4637", "P0\t4637", "P04637\x00", "\x1f", "P" * 513])
def test_ref_refuses_what_is_no_identifier(identifier: str) -> None:
    with pytest.raises(ValidationError):
        Ref(label="Protein", id=identifier)


def test_values_are_frozen_and_refuse_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(ref(P53), "id", "Q00987")  # noqa: B010
    with pytest.raises(ValidationError, match="Extra inputs"):
        Ref.model_validate({"label": "Protein", "id": "P04637", "name": "TP53"})


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (existence(P53), "Protein P04637"),
        (attribute(P53, "name", "TP53"), "Protein P04637.name"),
        (triple(P53, "ACTS_ON", MDM2), "P04637 ACTS_ON Q00987"),
        (potential(P53, "ACTS_ON", MDM2), "P04637 ACTS_ON Q00987"),
        (CheckTask(type=CheckType.STRUCTURE, subject=ref(P53), rule="orphan_node"), "orphan_node: Protein P04637"),
        (
            CheckTask(
                type=CheckType.STRUCTURE, subject=ref(P53), relation="ACTS_ON", object=ref(P53), rule="self_loop"
            ),
            "self_loop: P04637 ACTS_ON P04637",
        ),
    ],
)
def test_task_reads_as_what_it_checks(task: CheckTask, text: str) -> None:
    assert str(task) == text


def test_fingerprint_names_the_task_whatever_the_value() -> None:
    assert attribute(P53, "name", "TP53").fingerprint == attribute(P53, "name", None).fingerprint
    # A change of this number makes every finding of every ledger a new one.
    assert existence(P53).fingerprint == "a95699869ef011f6"


def test_fingerprint_tells_tasks_apart() -> None:
    tasks = [
        existence(P53),
        existence("Amino_acid_sequence P04637"),
        existence(MDM2),
        attribute(P53, "name", "TP53"),
        attribute(P53, "taxid", "TP53"),
        triple(P53, "ACTS_ON", MDM2),
        triple(MDM2, "ACTS_ON", P53),
        triple(P53, "CURATED_INTERACTS_WITH", MDM2),
        potential(P53, "ACTS_ON", MDM2),
        triple("Protein a", "ACTS_ON", "Protein b c"),
        triple("Protein a b", "ACTS_ON", "Protein c"),
    ]

    assert len({task.fingerprint for task in tasks}) == len(tasks)


def test_confidence_is_a_share() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValidationError):
            Verdict(outcome=Outcome.SUPPORTED, reason=Reason.CONFIRMED, confidence=wrong)


def test_finding_as_a_row() -> None:
    at = datetime(2026, 9, 2, tzinfo=UTC)
    stated: dict[str, Any] = {
        "source": "uniprot",
        "release": "2026_03",
        "record": "B4DFC2",
        "stance": "contradicts",
        "world": "closed",
    }
    stated |= {"tier": "owner", "reason": "id_merged", "replacements": ("P21802",)}
    found = Verdict(
        outcome=Outcome.REFUTED,
        reason=Reason.ID_MERGED,
        confidence=0.99,
        evidence=(Evidence.model_validate(stated | {"retrieved_at": at}),),
        missing=(Gap("x", Reason.NOT_COVERED),),
    )
    task, change = existence("Protein B4DFC2"), Change(kind=ChangeKind.REPOINT, to="P21802", because="accession merged")
    finding = Finding(run="r1", fingerprint=task.fingerprint, task=task, verdict=found, change=change)

    row = finding.as_row()

    assert row["subject"] == {"label": "Protein", "id": "B4DFC2"}
    assert (row["type"], row["outcome"], row["reason"]) == ("existence", "refuted", "id_merged")
    assert (row["object"], row["relation"], row["missing"]) == (None, None, ["x (not covered)"])
    more = {"url": "", "about": "fact", "candidates": [], "weight": "", "replacements": ["P21802"], "value": None}
    assert row["evidence"][0] | {"value": None} == stated | more | {"retrieved_at": "2026-09-02T00:00:00Z"}
    assert row["proposed_change"]["to"] == "P21802"
    assert Finding.model_validate_json(finding.model_dump_json()) == finding


# lists as text


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        (["TP53"], "TP53"),
        (["TP53", "P53"], "TP53; P53"),
        (["a; b", "c"], r"a\; b; c"),
        (["a;b"], r"a\;b"),
        (["a\\", "b"], r"a\\; b"),
        (["", "b"], "; b"),
        (["a", ""], "a; "),
    ],
)
def test_list_as_text(items: list[str], text: str) -> None:
    assert joined(items) == text
    assert items_of(text) == items


def test_text_that_nobody_escaped_is_read_as_it_stands() -> None:
    assert items_of(r"C:\x;y; z") == [r"C:\x;y", "z"]
    assert items_of(None) == []


@given(st.lists(st.text(alphabet=st.sampled_from(list("ab;\\ \n\x00\"'")) | st.characters())))
def test_list_as_text_loses_nothing(items: list[str]) -> None:
    assert items_of(joined(items)) == (items if items != [""] else [])


@pytest.mark.parametrize("items", [["TP53", "a; b", "c\\", "\\;"], ["it's"], []])
def test_duckdb_joins_a_list_alike(items: list[str]) -> None:
    listed = f"[{', '.join(literal(i) for i in items)}]::VARCHAR[]"

    with duckdb.connect() as db:
        assert db.execute(f"SELECT {JOINED_SQL.format(items=listed)}").fetchall() == [(joined(items),)]
