"""`kgcheck protocol score`: the formulas, several judges, and answers that are none."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgcheck.protocols.checking.quality import MEASURES, StudyJudgement, brevity, measured
from tests.support.audits import Said, kgcheck
from tests.support.chat_server import INJECTION, MODEL, Asked, Move, Say, with_model
from tests.support.protocols import protocol, step

LONG = "This sentence of a step has more than six words. "
STUDY = protocol(
    step(1, LONG * 5, makes="first things"),
    step(2, LONG * 4 + "Too short.", takes="first things"),
    step(3, f"{INJECTION}: detail is 1.", takes="first things", makes="last things"),
    step(4, "Short."),
)


def judgement(judge: str = "one", **more: object) -> StudyJudgement:
    return StudyJudgement.model_validate({"judge": judge, "steps": 4, "detail": 0.5, "structure": 1} | more)


def test_the_measures_are_those_of_the_formulas() -> None:
    quality = measured(STUDY, "p", [judgement(added=("Do more.",), wrong=("S1.1",), misplaced=("S1.1", "S1.2"))])

    assert quality.counts.sentences == pytest.approx(10 / 4)
    assert quality.measures == pytest.approx(
        {"completeness": 4 / 5, "detail": 0.5, "correctness": 0.5 * 3 / 4, "logical": 0.5, "structure": 1}
    )
    assert quality.overall == pytest.approx(0.8 + 0.5 + 0.375 + 0.5 + 1)
    assert brevity(4.42) == 1
    assert brevity(4.43) == 1


def test_judges_are_averaged_and_nobody_is_no_measure() -> None:
    both, nobody = measured(STUDY, "p", [judgement(), judgement("two", detail=1)]), measured(STUDY, "p")

    assert both.measures["detail"] == pytest.approx(0.75)
    assert set(both.by_judge) == {"one", "two"}
    assert (nobody.measures, nobody.overall) == (dict.fromkeys(MEASURES), None)
    assert (nobody.counts.built["steps in order"], nobody.counts.steps) == (1, 4)


def scored(folder: Path, script: Callable[[Asked], Move], *more: object) -> tuple[Said, list[Asked]]:
    (folder / "protocol.json").write_text(STUDY.model_dump_json(), encoding="utf-8")
    return with_model(script, "protocol", "score", "protocol.json", "--format", "json", *more, cwd=folder)


def answering(section: object, whole: object) -> Callable[[Asked], Move]:
    return lambda asked: Say(json.dumps(section if asked.form == "SectionAnswer" else whole))


SECTION = {"rationale": "Step one is wrong.", "added": ["Add it."], "wrong": ["S1.1"], "misplaced": []}
WHOLE = {"rationale": "It is brief.", "detail": 0.4, "structure": 0.6}


def test_models_judge(tmp_path: Path) -> None:
    said, asked = scored(tmp_path, answering(SECTION, WHOLE), "--judge", "one", "--judge", "two")

    assert said.code == 0, said.err
    card = json.loads(said.out)
    assert card["by_judge"]["one"] == card["by_judge"]["two"]
    assert card["measures"]["completeness"] == pytest.approx(0.8)
    assert card["measures"]["structure"] == pytest.approx(0.6)
    assert [one.body["model"] for one in asked] == ["one", "one", "two", "two"]
    assert INJECTION not in str(asked[0].messages[0]["content"])


@pytest.mark.parametrize(
    ("section", "whole"),
    [
        (SECTION | {"wrong": ["S9.9"]}, WHOLE),
        ({"rationale": "So."}, WHOLE),
        ("all is well", WHOLE),
        (SECTION, WHOLE | {"detail": 2}),
    ],
)
def test_an_answer_that_is_no_judgement_is_an_error(tmp_path: Path, section: object, whole: object) -> None:
    said, _ = scored(tmp_path, answering(section, whole))

    assert said.refuses(f"the model {MODEL} gave no usable answer", code=3)


def test_without_a_model_only_what_can_be_counted_is_there(tmp_path: Path) -> None:
    (tmp_path / "protocol.json").write_text(STUDY.model_dump_json(), encoding="utf-8")

    said = kgcheck("protocol", "score", "protocol.json", cwd=tmp_path)

    assert (said.code, "overall none" in said.out, "nobody judged" in said.err) == (0, True, True)
    assert kgcheck("protocol", "score", "protocol.json", "--judge", "one", cwd=tmp_path).refuses("judges are models")
