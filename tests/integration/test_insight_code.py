"""``kgcheck bench code``: scripts described, matched to insights, run in the sandbox, and their numbers compared."""

import json
from os.path import normpath
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.bench.insights import Insight
from kgcheck.errors import InputFormat, ProgramError
from kgcheck.grounding.results import Results
from kgcheck.protocols.programs import plots
from kgcheck.protocols.programs.reproduction import _folder_of, _of_lines, compare
from kgcheck.protocols.programs.sandbox import Language, best_guard
from kgcheck.protocols.programs.scripts import ScriptSource, describe, file_uses
from kgcheck.protocols.programs.workflows import CodeWorkflow
from tests.support.attacks import SECRET, Canaries
from tests.support.audits import Said, kgcheck
from tests.support.chat_server import Asked, Move, Say, Script, chat_server

try:
    best_guard()
except ProgramError as missing:
    pytest.skip(missing.message, allow_module_level=True)

CLEAN = '''"""Leave out samples without a value."""
import csv, os
from helpers import whole
FOLDER = "../data"
with open(os.path.join(FOLDER, "expression.csv")) as source, open("../results/clean.csv", "w") as target:
    csv.writer(target).writerows(row for row in csv.reader(source) if whole(row))
'''
COMPARE = '''"""Compare IL6 between treated mice and controls."""
import csv, statistics
import matplotlib.pyplot as plt
rows = list(csv.DictReader(open("../results/clean.csv")))
for arm in ("treated", "control"):
    values = [float(row["IL6"]) for row in rows if row["arm"] == arm]
    print(f"IL6 of {arm} mice: mean {statistics.mean(values):.2f} mg")
plt.bar(["treated", "control"], [len(rows), len(rows) * 2])
plt.title("mice that died")
plt.savefig("../figures/il6.png")
'''
CELLS = """# Clusters of macrophages in single cells
import scanpy
print(scanpy.read_h5ad("cells.h5ad"))
"""
CORRELATION = """# Rank correlation of TNF and IL6 over samples
d <- read.csv(file.path("..", "results", "clean.csv"))
cat("Spearman correlation of TNF and IL6:", cor(d$IL6, d$TNF, method = "spearman"), "\\n")
"""
DATA = (
    "sample,group,ENSG01.3,ENSG02\ns1,treated,4.0,1\ns2,treated,5.0,2\n"
    "s3,control,2.0,3\ns4,control,,4\ns5,control,1.0,5\n"
)
TEXT = "IL6 was higher in treated mice (mean 4.50 mg) than in control mice (mean 1.60 mg)."


def repository(folder: Path, *, licence: bool = True, **scripts: str) -> Path:
    made = folder / "repo"
    for name, text in {
        "scripts/helpers.py": "def whole(row):\n    return all(row)\n",
        "scripts/clean.py": CLEAN,
        "scripts/compare.py": COMPARE,
        "data/expression.csv": DATA,
        **({"LICENSE": "MIT\n"} if licence else {}),
        **{name.replace("__", "/").replace("_dot_", "."): text for name, text in scripts.items()},
    }.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (folder / "names.tsv").write_text("ENSG01\tIL6\nENSG02\tTNF\n")
    return made


def run(folder: Path, *more: object, text: str = TEXT, repo: Path | None = None) -> Said:
    insight = {"id": "i1", "paper": "p", "summary": text, "grounding": text}
    (folder / "insights.jsonl").write_text(json.dumps(insight) + "\n")
    repo = repo or folder / "repo"
    fixed = ("--insights", "insights.jsonl", "--out", "out", "--seconds", "20", "--format", "json")
    return kgcheck("bench", "code", repo, *fixed, *more, cwd=folder)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def workflow(folder: Path) -> CodeWorkflow:
    return CodeWorkflow.model_validate_json((folder / "out/i1/workflow.json").read_text())


EDITS = ("--names", "names.tsv", "--rename", "group=arm")


def test_a_workflow_runs_with_its_edits_listed_and_each_number_is_compared(tmp_path: Path) -> None:
    repository(tmp_path)
    done = run(tmp_path, *EDITS, "--run")

    made = workflow(tmp_path)
    assert [step.scripts for step in made.steps] == [("scripts/clean.py",), ("scripts/compare.py",)]
    assert {(e.kind, e.before, e.after) for e in made.edits if e.kind in ("ids", "columns")} == {
        ("columns", "group", "arm"), ("ids", "2 ids in 2 cells, as ENSG01.3", "IL6"),
    }  # fmt: skip
    found = [(row["stated"], row["state"], row["found"]) for row in json.loads(done.out)]
    assert (done.code, found) == (1, [("4.50 mg", "equal", "4.50 mg"), ("1.60 mg", "differs", "1.50 mg")])
    figures = json.loads((tmp_path / "out/i1/02_compare/figures.json").read_text())
    assert figures == {"mice that died": {"treated": 4, "control": 8}}
    assert (tmp_path / "repo/data/expression.csv").read_text() == DATA
    # The tolerance is the one that was stated.
    done = run(tmp_path, *EDITS, "--run", "--tolerance", "0.1")
    assert (done.code, [row["state"] for row in json.loads(done.out)]) == (0, ["equal", "equal"])


def test_a_number_that_stands_in_the_code_was_not_computed(tmp_path: Path) -> None:
    repository(tmp_path, scripts__compare_dot_py="# IL6 of treated mice\nprint('IL6 of treated mice: mean 4.50 mg')\n")
    done = run(tmp_path, "--run")

    assert {row["state"] for row in json.loads(done.out)} == {"not produced"}


ELSEWHERE = """# IL6 of treated mice
import os
os.chdir("/home/somebody/project")
with open("/home/somebody/project/mice.csv") as file:
    print(f"IL6 of treated mice: mean {sum(map(float, file)) / 2:.2f} mg")
"""
TWICE = """# IL6 of treated mice
values = [float(line) for name in ("mice.csv", "csvs/mice.csv") for line in open(name)]
print(f"IL6 of treated mice: mean {sum(values) / len(values):.2f} mg")
"""


@pytest.mark.parametrize("code", [ELSEWHERE, TWICE])
def test_paths_of_another_machine_are_edited_and_given_data_takes_their_place(tmp_path: Path, code: str) -> None:
    repository(tmp_path, scripts__compare_dot_py=code)
    (tmp_path / "mine.csv").write_text("4\n5\n")
    done = run(tmp_path, "--run", "--data", "mice.csv=mine.csv")

    edits = [(e.kind, e.line, e.before, e.after) for e in workflow(tmp_path).edits]
    assert code == TWICE or edits == [
        ("path", 4, "repository/scripts/mice.csv", "mine.csv"),
        ("path", 3, '"/home/somebody/project"', "'.'"),
        ("path", 4, '"/home/somebody/project/mice.csv"', "'mice.csv'"),
    ]
    assert json.loads(done.out)[0]["state"] == "equal", done.err


def test_scripts_that_cannot_run_end_with_a_line_each_and_agree_with_nothing(tmp_path: Path) -> None:
    clean = CLEAN.replace("import csv, os", "import csv, os, scanpy")
    repository(tmp_path, scripts__cells_dot_py=CELLS, scripts__clean_dot_py=clean)
    cells = run(tmp_path, "--run", text="Macrophages of single cells had 7 clusters and 40% of reads.")
    needs = run(tmp_path, *EDITS, "--run")

    assert cells.code == 3
    assert "01_cells.py: ModuleNotFoundError: No module named 'scanpy'" in cells.err
    assert "scripts/cells.py names cells.h5ad: no data file" in cells.err
    assert "02_compare.py: not run: it needs clean.csv, which no step left" in needs.err
    assert {row["state"] for done in (cells, needs) for row in json.loads(done.out)} == {"not produced"}


def test_a_repository_without_a_licence_is_described_and_not_run(tmp_path: Path) -> None:
    repository(tmp_path, licence=False)
    described, refused = run(tmp_path), run(tmp_path, "--run")

    assert described.code == 0
    assert [row["path"] for row in json.loads(described.out)] == ["scripts/compare.py"]
    assert refused.code == 2
    assert "no licence" in refused.err
    assert not (tmp_path / "out/i1/02_compare").exists()


def test_r_scripts_run_too(tmp_path: Path) -> None:
    repository(tmp_path, scripts__correlation_dot_R=CORRELATION)
    text = "TNF and IL6 had a Spearman correlation of -0.80 over samples."
    done = run(tmp_path, *EDITS, "--run", text=text)

    if "no Rscript" in done.err:
        pytest.skip("this machine has no R")
    assert [(row["stated"], row["state"]) for row in json.loads(done.out)] == [("-0.80", "equal")], done.err


def test_files_that_are_no_scripts_are_refused_each_with_its_reason(tmp_path: Path) -> None:
    repo = repository(tmp_path, a_dot_ipynb="{no json", b_dot_ipynb='{"cells": 3}', c_dot_py="print 'two'\n")
    (repo / "large.py").write_bytes(b"#" * (50 << 20))
    (repo / "binary.py").write_bytes(b"\x7fELF\x00\xff\xfe")
    (repo / "null.R").write_bytes(b"x <- 1\x00")
    (repo / "link.py").symlink_to("/etc/passwd")
    cells = [
        {"cell_type": "markdown", "source": ["# IL6 of treated mice"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!rm -rf /\n", "x = 1"]},
    ]
    (repo / "good.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    done = run(tmp_path)

    for reason in (
        "a.ipynb: is no notebook", "b.ipynb: is no notebook", "large.py: ", "binary.py: is no text",
        "null.R: is a binary file", "links or too many: 1 file", "c.py: SyntaxError",
    ):  # fmt: skip
        assert reason in done.err, done.err
    described = {row["path"]: row for row in lines(tmp_path / "out/scripts.jsonl")}
    assert described["good.ipynb"]["summary"] == "IL6 of treated mice"
    assert not described["good.ipynb"].get("problem")
    assert "large.py" not in described
    assert "protocol run --analysis enrichment" in described


HOSTILE = """# IL6 was higher in treated mice
import os, socket, time
def attempt(what):
    try:
        print(what())
    except BaseException as error:
        print(type(error).__name__)
attempt(lambda: open("{SECRET}").read())
attempt(lambda: open("{OUT}", "w").write("x"))
attempt(lambda: os.system("touch {OUT}"))
attempt(lambda: socket.create_connection(("127.0.0.1", int("{URL}".split(":")[2].split("/")[0]))))
attempt(lambda: [value for name, value in os.environ.items() if "KEY" in name])
attempt(lambda: os.listdir("/root"))
"""


def test_a_hostile_script_reads_writes_and_reaches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_LLM_API_KEY", SECRET)
    canary_folder = tmp_path / "canaries"
    canary_folder.mkdir()
    with Canaries(canary_folder) as canaries:
        repository(tmp_path, scripts__compare_dot_py=canaries.aim(HOSTILE))
        done = run(tmp_path, "--run")
        record = lines(tmp_path / "out/i1/runs.jsonl")[-1]

        assert record["exit"] == 0, record
        assert len(record["stdout"].splitlines()) == 6
        assert canaries.harm(json.dumps(record) + done.out + done.err) == []
    assert "[]" in record["stdout"]


def by_model(script: Script, folder: Path, *more: object) -> Said:
    with chat_server(script) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("KGCHECK_LLM_BASE_URL", server.url)
        environment.setenv("KGCHECK_LLM_MODEL", "scripted")
        return run(folder, "--brain", "llm", *more)


def model(**answers: dict[str, Any]) -> Script:
    usual: dict[str, Any] = {
        "DescribedScript": {"summary": "It compares IL6.", "names": []},
        "MatchedScripts": {"scripts": ["scripts/compare.py"]},
        "ProposedWorkflow": {
            "steps": [{"scripts": ["scripts/compare.py"], "program": "print('IL6 of treated mice:', 2.25 * 2, 'mg')"}]
        },
    } | answers

    def answer(asked: Asked) -> Move:
        return Say(json.dumps(usual[asked.form or ""]))

    return answer


def test_code_of_a_model_is_run_only_after_it_lay_there(tmp_path: Path) -> None:
    repository(tmp_path)
    first = by_model(model(), tmp_path, "--run")
    assert first.code == 3
    assert "not run before it was read" in first.err
    assert not (tmp_path / "out/i1/01_step").exists()

    # What a person has changed is what runs.
    step = tmp_path / "out/i1/01_step.py"
    step.write_text(step.read_text().replace("2.25", "2.3"))
    second = run(tmp_path, "--run")
    first_row = json.loads(second.out)[0]
    assert (first_row["stated"], first_row["state"], first_row["found"]) == ("4.50 mg", "differs", "4.6 mg")


@pytest.mark.parametrize(
    ("data", "file"),
    [
        ("{secret}", ""),
        ("{home}/out/../secret.txt", ""),
        ("{home}/out/i1/data/link", ""),
        ("", "../../secret.txt"),
        ("", "{secret}"),
    ],
)
def test_a_workflow_that_was_forged_takes_no_other_file(tmp_path: Path, data: str, file: str) -> None:
    repository(tmp_path)
    by_model(model(), tmp_path)
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    (tmp_path / "out/i1/data").mkdir()
    (tmp_path / "out/i1/data/link").symlink_to(secret)
    place = tmp_path / "out/i1/workflow.json"
    forged = json.loads(place.read_text())
    wanted = data.format(secret=secret, home=tmp_path)
    forged["steps"][0] |= {"data": {"repository/x.txt": wanted}} if data else {"file": file.format(secret=secret)}
    place.write_text(json.dumps(forged))
    (tmp_path / "out/i1/01_step.py").write_text("print(open('x.txt').read())")

    assert run(tmp_path, "--run").refuses(f"{Path('out/i1/workflow.json')} takes ")
    assert not (tmp_path / "out/i1/runs.jsonl").exists()


@given(st.one_of(st.text(max_size=12), st.sampled_from((".", "..", "/etc", "../out", "a/../../b", "a\n", ""))))
def test_an_insight_names_a_folder_within_the_results_or_none(name: str) -> None:
    out = Path("/results/out")
    try:
        found = _folder_of(out, name)
    except InputFormat:
        return
    assert Path(normpath(found)).parent == out


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"MatchedScripts": {"scripts": ["scripts/compare.py", "made_up.py"]}}, "'made_up.py', which is no script"),
        ({"DescribedScript": {"summary": "x", "names": ["no_such_function"]}}, "'no_such_function', which it lacks"),
        ({"ProposedWorkflow": {"steps": [{"scripts": ["scripts/clean.py"], "program": "1"}]}}, "no script of the"),
        ({"ProposedWorkflow": {"steps": [{"scripts": ["scripts/compare.py"], "program": "a b"}]}}, "SyntaxError"),
    ],
)  # fmt: skip
def test_what_a_model_made_up_is_refused_whole(tmp_path: Path, answers: dict[str, Any], reason: str) -> None:
    repository(tmp_path)
    done = by_model(model(**answers), tmp_path)

    assert reason in done.err
    described = {row["path"]: row for row in lines(tmp_path / "out/scripts.jsonl")}
    if "DescribedScript" in answers:
        assert described["scripts/clean.py"]["summary"] == "Leave out samples without a value."
    if "MatchedScripts" in answers:
        assert lines(tmp_path / "out/matches.jsonl") == []
    if "ProposedWorkflow" in answers:
        assert workflow(tmp_path).steps == ()


def test_matches_are_measured_on_true_pairs(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "pairs.jsonl").write_text('{"insight": "i1", "scripts": ["scripts/compare.py", "scripts/clean.py"]}\n')
    done = run(tmp_path, "--pairs", "pairs.jsonl")
    found = {row["measure"]: (row["count"], row["of"]) for row in json.loads(done.out)}

    assert found["a true script is ranked first, by rules"] == (1, 1)
    assert found["true scripts matched"] == (1, 2)
    assert found["insights with 0 wrong files"] == (1, 1)

    (tmp_path / "pairs.jsonl").write_text('{"insight": "i1", "scripts": ["scripts/lost.py"]}\n')
    assert "lost.py" in run(tmp_path, "--pairs", "pairs.jsonl").err


def insight(text: str) -> Insight:
    return Insight(id="i", paper="p", summary=text, grounding=text)


def compared(text: str, *printed: str) -> list[str]:
    from kgcheck import clock

    found = Results("w", "", clock.now(), canonical=True, found=[*_of_lines(printed, "a.py, stdout, line", "a.py")])
    return [row.state for row in compare(insight(text), found, 0.0)]


@pytest.mark.parametrize(
    ("text", "printed", "states"),
    [
        ("TP53 and MDM2 correlated (r = 0.83).", ["TP53 MDM2 correlation r = 0.8312"], ["equal"]),
        ("TP53 and MDM2 correlated (r = 0.83).", ["TP53 MDM2 correlation r = -0.8312"], ["differs"]),
        ("TP53 and MDM2 correlated (r = 0.83).", ["TP53 MDM2 correlation p = 0.83"], ["not produced"]),
        ("TP53 and MDM2 correlated (r = 0.83).", ["BRCA1 fold change = 0.83"], ["not produced"]),
        ("TP53 and MDM2 correlated (r = 0.83).", [], ["not produced"]),
        ("TNF of treated mice was 4.5.", ["IL6 of treated mice: 4.5", "IL6 of controls: 2.5"], ["not produced"]),
        ("TP53 fell by 12% in mice.", ["TP53 in mice: -12%"], ["equal"]),
        ("TP53 rose by 12% in mice.", ["TP53 in mice: -12%"], ["differs"]),
        ("TP53 was mutated in 12 mg.", ["TP53 mutated 12 %"], ["not produced"]),
        ("TP53 was lost (p < 0.001).", ["TP53 lost, p = 0.00012334575440397442"], ["equal"]),
        ("TP53 was lost (p < 0.001).", ["TP53 lost, p = 0.2"], ["differs"]),
    ],
)  # fmt: skip
def test_a_number_is_equal_only_to_what_is_named_as_it_is(text: str, printed: list[str], states: list[str]) -> None:
    assert compared(text, *printed) == states


@given(st.lists(st.floats(0.01, 0.99).map(lambda n: round(n, 4)), min_size=1, max_size=20))
def test_numbers_under_other_names_never_agree(numbers: list[float]) -> None:
    printed = [
        f"weight of bears in cave {letter}: {n}" for letter, n in zip("abcdefghijklmnopqrstuv", numbers, strict=False)
    ]
    for number in numbers:
        assert compared(f"TP53 and MDM2 correlated in mice (r = {number}).", *printed) == ["not produced"]


def test_files_are_read_or_written_as_a_script_says() -> None:
    code = (
        'import pandas as pd\nD = "in"\nIN = D + "/x.csv"\nd = pd.read_csv(IN); y = pd.read_csv(f"{D}/y.tsv")\n'
        'OUT = os.path.join(D, "o.csv")\nd.to_csv("out/z.csv")\nd.to_csv(OUT)\nopen("w.txt", mode="w")\n'
        'open(os.path.join(D, "v.txt"))  # "no.csv"\nprint("plain words. really")\n'
    )
    assert file_uses(code, "python") == (("/x.csv", "/y.tsv", "v.txt"), ("o.csv", "out/z.csv", "w.txt"))
    r = '# read.csv("no.csv")\nd <- read.csv(here("data", "x.csv")); saveRDS(d, "y.rds"); write.csv(d, "z.csv")\n'
    assert file_uses(r, "r") == (("x.csv",), ("y.rds", "z.csv"))


@given(st.text(max_size=300))
def test_any_text_is_described_or_says_why_not(text: str) -> None:
    for language in ("python", "r"):
        found = describe(ScriptSource("a", language, text))
        assert found.problem or found.text is not None


@pytest.mark.parametrize(
    ("language", "code", "statistics"),
    [
        ("python", "from scipy import stats as s\ns.mannwhitneyu(a, b)\n", "Wilcoxon rank-sum test"),
        ("python", "import statsmodels.api as sm\nsm.OLS(y, x).fit()\n", "linear regression"),
        ("r", "stats::fisher.test(t)\n", "Fisher's exact test"),
        ("r", "lme4::lmer(y ~ x)\n", "mixed model"),
    ],
)
def test_statistics_are_those_that_a_script_calls(language: Language, code: str, statistics: str) -> None:
    assert describe(ScriptSource("a", language, code)).statistics == (statistics,)


TABLE = """# IL6 of treated mice
import csv
with open("levels.csv", "w") as file:
    csv.writer(file).writerows([["", "mouse", "IL6 level"], [1, "treated", 9 / 2], [2, "aged treated", 10 / 4]])
"""


ROWS = {
    "The IL6 level of treated mice was 4.5.": "equal",
    "The IL6 level of aged treated mice was 2.5.": "equal",
    # Another row's number, one that no row has, and the number of a row.
    "The IL6 level of treated mice was 2.5.": "differs",
    "The IL6 level of treated mice was 7.7.": "differs",
    "The TNF level of treated mice was 4.5.": "not produced",
    "The IL6 level of aged treated mice was 4.5.": "differs",
}


def test_a_row_of_a_table_is_another_one_as_soon_as_one_word_of_it_is(tmp_path: Path) -> None:
    repository(tmp_path, scripts__compare_dot_py=TABLE)
    insights = [{"id": f"i{n}", "paper": "p", "summary": text, "grounding": text} for n, text in enumerate(ROWS)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(insight)}\n" for insight in insights))
    done = run(tmp_path, "--run", "--insights", "rows.jsonl")

    assert {insights[int(row["insight"][1:])]["summary"]: row["state"] for row in json.loads(done.out)} == ROWS


def test_what_a_script_changes_in_place_is_what_the_next_one_reads(tmp_path: Path) -> None:
    first = '# Leave out mice without IL6\nopen("notes.txt", "a").write("5\\n")\nopen("step.txt", "w").write("")\n'
    second = (
        '# IL6 of treated mice\nimport os\nfile = open("step.txt")\n'
        'print("IL6 of treated mice: mean", sum(map(float, open("notes.txt"))) / 2, "mg")\n'
    )
    repo = repository(tmp_path, scripts__clean_dot_py=first, scripts__compare_dot_py=second)
    (repo / "scripts/notes.txt").write_text("4\n")
    done = run(tmp_path, "--run", text="IL6 of treated mice was 4.5 mg.")

    assert [row["state"] for row in json.loads(done.out)] == ["equal"], done.err
    assert (repo / "scripts/notes.txt").read_text() == "4\n"


def test_scripts_that_read_each_others_files_say_so(tmp_path: Path) -> None:
    one = '# IL6 of treated mice\nopen("a.txt").read()\nopen("b.txt", "w")\n'
    two = '# Another\nopen("b.txt").read()\nopen("a.txt", "w")\n'
    repository(tmp_path, scripts__compare_dot_py=one, scripts__clean_dot_py=two)

    assert "each reads what another one writes" in run(tmp_path).err


def test_what_was_given_wrong_is_said_with_what_to_do(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    (tmp_path / "one.txt").write_text("ENSG01\n")
    (tmp_path / "numbers.txt").write_text("4\tIL6\n")
    for wrong, reason in (
        (("--data", "lost.csv"), "there is no file lost.csv"),
        (("--rename", "group"), "write --rename OLD=NEW"),
        (("--only", "i9"), "i9"),
        (("--names", "one.txt"), "no table of ids and names"),
        (("--names", "numbers.txt"), "cannot be told from data"),
    ):
        done = run(tmp_path, *wrong)
        assert done.code == 2
        assert reason in done.err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no script that could be read" in run(tmp_path, repo=empty).err

    (repo / "old").mkdir()
    (repo / "old/expression.csv").write_text(DATA)
    (tmp_path / "expression.csv").write_text(DATA)
    assert "may mean several files" in run(tmp_path, "--data", "expression.csv").err


def test_what_is_plotted_is_recorded_by_its_labels_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "_figures", [])
    table = pd.DataFrame({"arm": ["treated", "control"], "mean": [4.5, 1.5]})
    plots.Recorder("bar")(["treated", "control"], [np.float64(4.5), float("nan")])
    plots.Recorder("set_title")("IL6 by arm")
    plots.Recorder("barplot")(x="arm", y="mean", data=table, title="means")
    plots.Recorder("plot")(table.set_index("arm")["mean"], kind="bar")
    # A cloud of points, rows whose mean is plotted, places of ticks: none is a number of the figure.
    plots.Recorder("plot")([1.0] * 100)
    plots.Recorder("barplot")(x="arm", y="mean", data=pd.concat([table, table]))
    plots.Recorder("xticks")(["a", "b"], [1, 2])

    assert plots._figures == [
        ("IL6 by arm", {"treated": 4.5}),
        ("means", {"treated mean": 4.5, "control mean": 1.5}),
        ("", {"treated": 4.5, "control": 1.5}),
    ]
