"""Every relation, in both directions, by every phrase and noun of the lexicon, in every form of question."""

import pytest

from kgcheck.errors import NotUnderstood
from kgcheck.profile.lexicon import load_lexicon
from kgcheck.profile.schema import load_schema
from kgcheck.questions.answer import Questions
from kgcheck.questions.plan import Anchor
from tests.support.audits import MemoryStore
from tests.support.phrasings import FRAMES, Asked, asked, asked_by_noun

IDS = {
    "Protein": "P00001",
    "Gene": "HGNCX1",
    "Disease": "DOID:2",
    "Tissue": "BTO:0000001",
    "Biological_process": "GO:0000001",
    "Molecular_function": "GO:0000002",
    "Cellular_component": "GO:0000003",
    "Pathway": "R-HSA-1",
    "Protein_structure": "1ABC",
    "Amino_acid_sequence": "P00001",
    "Modified_protein": "P00001_S3-p",
    "Modification": "MOD:00046",
}
LEAST = 0.98
"""Share of questions that has to be understood: some are no English, as a phrase is put in whatever its number is."""


@pytest.fixture(scope="module")
def questions() -> Questions:
    return Questions(MemoryStore({label: [{"id": id_}] for label, id_ in IDS.items()}, {}))


def is_right(questions: Questions, made: Asked) -> bool:
    try:
        plan, *_ = questions.plans(made.text)
    except NotUnderstood:
        return False
    steps = plan.target.steps
    if len(steps) != 1 or plan.count != made.number or plan.target.without or plan.rank:
        return False
    return steps[0].pattern == made.pattern and steps[0].direction == made.direction and isinstance(steps[0].to, Anchor)


def check(questions: Questions, made: list[Asked]) -> None:
    wrong = [m.text for m in made if not is_right(questions, m)]

    assert len(wrong) <= (1 - LEAST) * len(made), (len(wrong), len(made), wrong[:20])


def test_every_phrase_of_every_relation_in_some_frames(questions: Questions) -> None:
    schema = load_schema()
    made = list(asked(schema, load_lexicon(schema), IDS))

    assert {str(m.pattern) for m in made} == {str(p) for p in schema.relations if p.type != "HAS_SEQUENCE"}
    assert len(made) > 8 * len(FRAMES) * len(schema.relations)
    check(questions, made[::51])


@pytest.mark.slow
def test_every_noun_of_every_label(questions: Questions) -> None:
    schema = load_schema()
    check(questions, list(asked_by_noun(schema, load_lexicon(schema), IDS)))


@pytest.mark.nightly
@pytest.mark.slow
def test_every_phrase_in_every_frame(questions: Questions) -> None:
    schema = load_schema()
    check(questions, list(asked(schema, load_lexicon(schema), IDS, seed=1)))
