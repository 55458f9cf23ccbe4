"""A protocol as a page and as Markdown."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kgcheck.protocols.protocol import (
    StepParameter,
    StepTool,
    StudyDataSet,
    StudyFact,
    StudyProtocol,
    StudyStep,
    read_protocol,
)
from kgcheck.protocols.rendering import protocol_page, write
from tests.support.protocols import edge_task, fact, passage, protocol, step

HOSTILE = "<script>alert(1)</script> | [x](javascript:alert(1)) \x1b[31m"
QUOTE = f"Genes were kept {'and kept again ' * 40}{HOSTILE}".strip()


def made(*steps: StudyStep, **more: Any) -> StudyProtocol:
    """A hostile protocol."""
    first = step(1, f"Take GSE1 {HOSTILE}.", data_sets=("GSE1",), passages=("Q1",))
    second = step(
        2,
        "Test them.",
        parameters=(StepParameter(name="FDR", value="< 0.05", passage="Q1"),),
        tools=(StepTool(name="limma", version="3.1"), StepTool(name=HOSTILE)),
        facts=("F1", "F2"),
    )
    facts = (fact(1, edge_task("A", "B")), StudyFact(id="F2", task=edge_task("B", "A"), stated=HOSTILE))
    passages = (passage(1, QUOTE, title=HOSTILE, url="javascript:alert(1)"),)
    data_sets = more.pop("data_sets", (StudyDataSet(id="GSE1", repository="GEO"),))
    title = f"Which genes {HOSTILE}?"
    found = protocol(*(steps or (first, second)), facts=facts, passages=passages, data_sets=data_sets, title=title)
    return found.model_copy(update={"notes": (HOSTILE,)})


def test_what_a_step_rests_on_is_in_the_protocol() -> None:
    for steps, wrong in (((step(1, facts=("F9",)),), "F9"), ((step(1), step(1)), "twice")):
        with pytest.raises(ValidationError, match=wrong):
            made(*steps)
    with pytest.raises(ValidationError, match="twice"):
        made(data_sets=(StudyDataSet(id="GSE1"), StudyDataSet(id="GSE1")))
    with pytest.raises(ValidationError, match=r"S2\.1"):
        made(StudyStep(id="S2.1", text="Take it."))


def test_all_forms_are_written_and_the_first_can_be_read_back(tmp_path: Path) -> None:
    write(made(), tmp_path)

    assert sorted(p.name for p in tmp_path.iterdir()) == ["protocol.html", "protocol.json", "protocol.md"]
    assert read_protocol(tmp_path / "protocol.json") == made()


def test_pages_show_hostile_text_and_quote_it_whole() -> None:
    html, text = protocol_page(made(), "html"), protocol_page(made(), "markdown")

    for shown in (html, text):
        assert "\x1b" not in shown
    assert "<script" not in html.replace("&lt;script", "")
    assert 'href="javascript' not in html
    assert "](javascript" not in text
    assert html.count("and kept again") == text.count("and kept again") == 40
    assert "never looked at" in html
    assert "never looked at" in text


def test_a_step_names_what_it_rests_on_by_links_that_lead_somewhere() -> None:
    html = protocol_page(made(), "html")

    for id_ in ("F1", "F2", "Q1", "S1.1", "S1.2"):
        assert f'href="#{id_}"' in html
        assert f'id="{id_}"' in html
    assert 'href="#data-GSE1"' in html
    assert 'id="data-GSE1"' in html
