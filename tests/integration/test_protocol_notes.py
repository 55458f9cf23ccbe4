"""Protocol commands that ask a model: the parameter that its endpoint refuses is noted once, even if the work fails."""

import json
from itertools import count
from pathlib import Path

import pytest

from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, ProgramError
from kgcheck.literature.corpus import Corpus
from tests.support.audits import Said
from tests.support.chat_server import Asked, Fail, Move, Say, refusing, with_model
from tests.support.jats import article
from tests.support.protocols import protocol, step

NOTE = "takes no temperature: it was left out"
BODY = """<sec><title>Materials and Methods</title><sec><title>Sequencing of zinc cells</title>
<p>Zinc cells were grown at 37°C for 3 h. Reads were downloaded from GEO (GSE123456).</p></sec>
<sec><title>Statistical analysis</title><p>Differences were tested with Welch's t-test in R.</p></sec></sec>"""
OBJECTIVE = 'title = "Zinc cells"\nobjective = "Sequence zinc cells."\nabout = ["zinc"]\n'
COMMANDS = {
    "design": ("objective.toml", "--out", "made", "--papers", "one.xml"),
    "run": ("protocol.json", "--out", "made"),
    "score": ("protocol.json",),
    "search": ("objective.toml", "--out", "made", "--literature", "index", "--offline"),
}
BOUND = {"text": "Sequence zinc cells.", "rests_on": ["O"]}
PURPOSES = ("RNA-seq", "growth", "blood", "patients", "data set")
ANSWERS: dict[str | None, object] = {
    "WrittenHeadings": {"sections": [{"heading": "Sequencing", "reason": BOUND, "sources": ["R1.1"]}]},
    "WrittenOutline": {"parts": [{"section": 1, "points": [BOUND]}]},
    "DesignReview": {"approved": True},
    "ProgramAnswer": {"program": "import no_such_module"},
    "SectionAnswer": {"rationale": "It is brief.", "added": [], "wrong": [], "misplaced": []},
    "WholeAnswer": {"rationale": "It is brief.", "detail": 0.4, "structure": 0.6},
    "QueriesAnswer": {"queries": [{"purpose": p, "groups": [["zinc", "zinc cells"], [p]]} for p in PURPOSES]},
}


def answer(asked: Asked) -> Move:
    question = json.loads(str(asked.messages[1]["content"]))
    if asked.form == "WrittenDetails":
        found = question["passages"][0]
        return Say(json.dumps({"steps": [{"sentences": [{"text": found["quote"], "rests_on": [found["id"]]}]}]}))
    if asked.form in ANSWERS:
        return Say(json.dumps(ANSWERS[asked.form]))
    judged = [{"number": record["number"], "reason": "So.", "degree": 4} for record in question["records"]]
    return Say(json.dumps({"judged": judged}))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGCHECK_LLM_TEMPERATURE", "0")
    Path("one.xml").write_text(article(body=BODY), encoding="utf-8")
    Path("objective.toml").write_text(OBJECTIVE, encoding="utf-8")
    study = protocol(step(1, "Count them.", makes="counts"), step(2, "Sum them up.", makes="sums"))
    Path("protocol.json").write_text(study.model_dump_json(), encoding="utf-8")
    with Corpus(Path("index"), create=True) as corpus:
        corpus.add([Path("one.xml")])
        corpus.build(None)


def run(command: str, later: Move | None = None) -> Said:
    """Run a command; the endpoint takes no temperature, and from its second answer on may say another thing."""
    answered = count()

    def play(asked: Asked) -> Move:
        return later if next(answered) and later else answer(asked)

    refusal = Fail(400, "This is not supported", "unsupported_parameter", param="temperature")
    script = refusing("temperature", refusal, play)
    return with_model(script, "protocol", command, *COMMANDS[command], cwd=Path.cwd())[0]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("later", [None, Fail(401, "no", "invalid_api_key")])
def test_what_the_endpoint_refuses_is_noted_once_also_where_a_later_answer_fails(
    command: str, later: Move | None
) -> None:
    said = run(command, later)

    assert said.err.count(NOTE) == 1
    # No program of the answers can be run.
    done = EXIT_FINDINGS if command == "run" else EXIT_CLEAN
    assert (said.code, "refused the key" in said.err) == ((EXIT_USAGE, True) if later else (done, False))


def test_it_is_noted_of_a_step_whose_program_cannot_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_sandbox(*_: object, **__: object) -> None:
        raise ProgramError("there is no sandbox", "install one")

    monkeypatch.setattr("kgcheck.protocols.programs.steps.run_program", no_sandbox)
    monkeypatch.setitem(ANSWERS, "ProgramAnswer", {"program": "print(1)"})

    said = run("run")
    assert said.err.count(NOTE) == 1
    assert said.out.count("there is no sandbox") == 2
