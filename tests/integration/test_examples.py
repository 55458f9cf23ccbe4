"""Every notebook in examples/ runs, offline, and none keeps an output."""

import os
from pathlib import Path

import pytest

from tests.support import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))

_STRICT = "import warnings\nwarnings.simplefilter('error')"


def test_there_are_notebooks_and_the_readme_names_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert NOTEBOOKS
    assert [path.name for path in NOTEBOOKS if f"examples/{path.name}" not in readme] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_warns_of_nothing(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not above: to import them takes a second or two of every worker that only collects.
    import nbformat
    from nbclient import NotebookClient

    # The kernel is a process of its own: what it needs of this one is in the environment. Its libraries warn at import.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in cells] == [[] for _ in cells]
    assert [cell.execution_count for cell in cells] == [None for _ in cells]
    strict, lenient = (
        nbformat.from_dict({"cell_type": "code", "id": name, "metadata": {}, "outputs": [], "source": source})
        for name, source in (("strict", _STRICT), ("lenient", "warnings.resetwarnings()"))
    )
    # The kernel warns, too, when it ends.
    notebook.cells = [strict, *notebook.cells, lenient]

    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()

    streams = [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    assert streams == []
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) - 2
