"""A protocol as a page and as Markdown."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Ref
from kgcheck.protocols.protocol import (
    Objective,
    StepParameter,
    StepTool,
    StudyDataSet,
    StudyFact,
    StudyPassage,
    StudyProtocol,
    StudySection,
    StudyStep,
)
from kgcheck.protocols.rendering import protocol_page, write

HOSTILE = "<script>alert(1)</script> | [x](javascript:alert(1)) \x1b[31m"
QUOTE = f"Genes were kept {'and kept again ' * 40}{HOSTILE}".strip()


def edge(gene: str) -> CheckTask:
    return CheckTask(
        type=CheckType.TRIPLE,
        subject=Ref(label="Gene", id=gene),
        relation="ASSOCIATED_WITH",
        object=Ref(label="Disease", id="DOID:0"),
    )


def protocol(**more: Any) -> StudyProtocol:
    fields: dict[str, Any] = {
        "objective": Objective(title=f"Which genes {HOSTILE}?", objective="Find them."),
        "made_at": datetime(2026, 11, 1, tzinfo=UTC),
        "sections": (
            StudySection(
                id="S1",
                heading="Data",
                steps=(
                    StudyStep(id="S1.1", text=f"Take GSE1 {HOSTILE}.", data_sets=("GSE1",), passages=("Q1",)),
                    StudyStep(
                        id="S1.2",
                        text="Test them.",
                        parameters=(StepParameter(name="FDR", value="< 0.05", passage="Q1"),),
                        tools=(StepTool(name="limma", version="3.1"), StepTool(name=HOSTILE)),
                        facts=("F1", "F2"),
                    ),
                ),
            ),
        ),
        "facts": (
            StudyFact(
                id="F1", task=edge("A"), stated="A goes with it", outcome=Outcome.SUPPORTED, reason=Reason.CONFIRMED
            ),
            StudyFact(id="F2", task=edge("B"), stated=HOSTILE),
        ),
        "passages": (StudyPassage(id="Q1", paper="made-up:1", title=HOSTILE, url="javascript:alert(1)", quote=QUOTE),),
        "data_sets": (StudyDataSet(id="GSE1", repository="GEO"),),
        "notes": (HOSTILE,),
    }
    return StudyProtocol(**fields | more)


def test_what_a_step_rests_on_is_in_the_protocol() -> None:
    alone = StudySection(id="S1", heading="Data", steps=(StudyStep(id="S1.1", text="Take it.", facts=("F9",)),))
    elsewhere = StudySection(id="S1", heading="Data", steps=(StudyStep(id="S2.1", text="Take it."),))

    for sections, wrong in (((alone,), "F9"), ((elsewhere,), r"S2\.1")):
        with pytest.raises(ValidationError, match=wrong):
            protocol(sections=sections)
    with pytest.raises(ValidationError, match="twice"):
        protocol(data_sets=(StudyDataSet(id="GSE1"), StudyDataSet(id="GSE1")))


def test_all_forms_are_written_and_the_first_can_be_read_back(tmp_path: Path) -> None:
    made = protocol()

    write(made, tmp_path)

    assert sorted(p.name for p in tmp_path.iterdir()) == ["protocol.html", "protocol.json", "protocol.md"]
    assert StudyProtocol.model_validate_json((tmp_path / "protocol.json").read_text(encoding="utf-8")) == made


def test_pages_show_hostile_text_and_quote_it_whole() -> None:
    html, text = protocol_page(protocol(), "html"), protocol_page(protocol(), "markdown")

    for shown in (html, text):
        assert "\x1b" not in shown
    assert "<script" not in html.replace("&lt;script", "")
    assert 'href="javascript' not in html
    assert "](javascript" not in text
    assert html.count("and kept again") == text.count("and kept again") == 40
    assert "never looked at" in html
    assert "never looked at" in text


def test_a_step_names_what_it_rests_on_by_links_that_lead_somewhere() -> None:
    html = protocol_page(protocol(), "html")

    for id_ in ("F1", "F2", "Q1", "S1.1", "S1.2"):
        assert f'href="#{id_}"' in html
        assert f'id="{id_}"' in html
    assert 'href="#data-GSE1"' in html
    assert 'id="data-GSE1"' in html
