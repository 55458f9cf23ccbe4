"""Render protocols as Markdown, HTML and RO-Crate 1.1; tables and SARIF of checks and scores.

In the research object steps are schema.org's HowToStep, facts Claims, quotes Quotations of ScholarlyArticles, software
SoftwareApplication. Source: the RO-Crate 1.1 specification, https://w3id.org/ro/crate/1.1.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kgcheck import __version__
from kgcheck.outputs import write_text
from kgcheck.plurals import how_many
from kgcheck.protocols.checking.check import CheckedProtocol
from kgcheck.protocols.checking.remarks import CheckRules, StudyRemarked, StudyState
from kgcheck.protocols.protocol import ExperimentalReport, ReportStep, StudyProtocol, StudyStep
from kgcheck.report.documents import is_web, page
from kgcheck.report.safe_console import RowTable, cell
from kgcheck.report.sarif import remarks_sarif, sarif_text
from kgcheck.visible import as_json, visible

if TYPE_CHECKING:
    from kgcheck.protocols.checking.quality import StudyQuality

SPECIFICATION = "https://w3id.org/ro/crate/1.1"

_FILES = {
    "protocol.json": ("application/json", "The protocol, typed"),
    "protocol.md": ("text/markdown", "The protocol, to read"),
    "protocol.html": ("text/html", "The protocol, as a page that stands alone"),
}

Entity = dict[str, Any]


def _entities(protocol: StudyProtocol) -> Iterator[Entity]:
    objective = protocol.objective
    yield _entity("ro-crate-metadata.json", "CreativeWork", conformsTo={"@id": SPECIFICATION}, about={"@id": "./"})
    yield _entity(
        "./",
        "Dataset",
        name=objective.title,
        description=objective.objective,
        datePublished=protocol.made_at.date().isoformat(),
        license={"@id": "#licence"},
        hasPart=_links(_FILES),
        mainEntity={"@id": "#protocol"},
        mentions=_links(_id_of_data_set(d.id, d.url) for d in protocol.data_sets),
    )
    words_of_others = "Words that are quoted keep the licences of their papers, facts those of their sources."
    yield _entity("#licence", "CreativeWork", name="No licence is stated", description=words_of_others)
    for name, (form, about) in _FILES.items():
        yield _entity(name, "File", name=about, encodingFormat=form)
    made_by = f"The protocol was made by {protocol.made_by}."
    yield _entity("#maker", "SoftwareApplication", name="kgcheck", softwareVersion=__version__, description=made_by)
    yield _entity(
        "#protocol",
        "HowTo",
        name=objective.title,
        description=" ".join((objective.objective, *objective.conditions, *objective.requirements)),
        creator={"@id": "#maker"},
        dateCreated=protocol.made_at.isoformat(),
        step=_links(f"#{section.id}" for section in protocol.sections),
    )
    for position, section in enumerate(protocol.sections, 1):
        yield _entity(
            f"#{section.id}",
            "HowToSection",
            name=section.heading,
            position=position,
            description=section.rationale or section.summary or section.heading,
            itemListElement=_links(f"#{step.id}" for step in section.steps),
        )
        for place, step in enumerate(section.steps, 1):
            yield from _step(protocol, step, place)
    for fact in protocol.facts:
        yield _entity(
            f"#{fact.id}",
            "Claim",
            name=str(fact.task),
            text=fact.stated,
            creativeWorkStatus=fact.outcome.value if fact.outcome else "never looked at",
            identifier=fact.task.fingerprint,
            description=fact.record_named or "no source was looked at",
        )
    for passage in protocol.passages:
        paper = passage.url if is_web(passage.url) else f"#paper-{quote(passage.paper, safe='')}"
        yield _entity(f"#{passage.id}", "Quotation", text=passage.quote, isPartOf={"@id": paper})
        yield _entity(
            paper,
            "ScholarlyArticle",
            name=passage.title or passage.paper,
            identifier=passage.paper,
            datePublished=str(passage.year or ""),
            creativeWorkStatus="retracted" if passage.retracted else "",
        )
    for data_set in protocol.data_sets:
        yield _entity(
            _id_of_data_set(data_set.id, data_set.url),
            "Dataset",
            name=data_set.title or data_set.id,
            identifier=data_set.id,
            description=f"In its repository {data_set.repository}: {data_set.state.replace('_', ' ')}",
        )


def _step(protocol: StudyProtocol, step: StudyStep, position: int) -> Iterator[Entity]:
    urls = {data_set.id: data_set.url for data_set in protocol.data_sets}
    tools = [f"#tool-{quote(tool.written, safe='')}" for tool in step.tools]
    yield _entity(
        f"#{step.id}",
        "HowToStep",
        name=step.id,
        position=position,
        text=step.text,
        isBasedOn=_links(f"#{id_}" for id_ in (*step.facts, *step.passages)),
        mentions=_links((*tools, *(_id_of_data_set(id_, urls[id_]) for id_ in step.data_sets))),
    )
    for id_, tool in zip(tools, step.tools, strict=True):
        yield _entity(id_, "SoftwareApplication", name=tool.name, softwareVersion=tool.version)


def _entity(id_: str, kind: str, **properties: Any) -> Entity:
    """An entity; a property without a value is left out."""
    return {"@id": id_, "@type": kind} | {name: value for name, value in properties.items() if value}


def _id_of_data_set(accession: str, url: str) -> str:
    return url if is_web(url) else f"#data-{quote(accession, safe='')}"


def _links(ids: Iterable[str]) -> Entity | list[Entity]:
    """Name entities by their ids: one stands alone, as the specification wants it."""
    links = [{"@id": id_} for id_ in dict.fromkeys(ids)]
    return links[0] if len(links) == 1 else links


def protocol_page(protocol: StudyProtocol, form: str) -> str:
    """A protocol to read."""
    return page(
        "protocol",
        form,
        own="protocol",
        protocol=protocol,
        used=protocol.steps_by_ground(),
        details=lambda s: [*_details(s)],
    )


def _details(step: StudyStep) -> Iterator[tuple[str, str]]:
    """List the details of a step besides its text, in words."""
    lists = {
        "Takes": [i.name for i in step.inputs],
        "Makes": [i.name for i in step.outputs],
        "Parameters": [f"{p.name}: {p.value}" for p in step.parameters],
        "Tools": [f"{t.name} {t.version or '(no version named)'}" for t in step.tools],
        "Statistics": [*step.statistics],
        "Data sets": [*step.data_sets],
        "Control": [step.control] if step.control else [],
        "Ready analysis": [step.analysis] if step.analysis else [],
        "Why": [step.rationale] if step.rationale else [],
    }
    return ((name, "; ".join(values)) for name, values in lists.items() if values)


def write(protocol: StudyProtocol, folder: Path) -> None:
    """Write a protocol: ``protocol.json``, ``protocol.md``, ``protocol.html`` and ``ro-crate-metadata.json``."""
    graph = {entity["@id"]: entity for entity in _entities(protocol)}
    crate = {"@context": f"{SPECIFICATION}/context", "@graph": [*graph.values()]}
    write_text(folder / "protocol.json", protocol.model_dump_json(indent=2) + "\n")
    write_text(folder / "protocol.md", protocol_page(protocol, "markdown"))
    write_text(folder / "protocol.html", protocol_page(protocol, "html"))
    write_text(folder / "ro-crate-metadata.json", as_json(crate, indent=1) + "\n")


_LEVELS = {
    StudyState.FALLEN: ("fail", "error"),
    StudyState.WRONG: ("fail", "error"),
    StudyState.LACKING: ("fail", "warning"),
    StudyState.OPEN: ("open", "none"),
}
_MARKS = {StudyState.FALLEN: "red", StudyState.WRONG: "red", StudyState.LACKING: "yellow"}


def rendered_checks(found: Sequence[CheckedProtocol], form: str, exit_code: int = 0) -> str:
    """Render the results of protocol checks as text."""
    if form == "json":
        return as_json({"protocols": [checked.as_row() for checked in found]}, indent=2) + "\n"
    if form == "sarif":
        return as_json(_sarif(found, exit_code), indent=1) + "\n"
    words = CheckRules.shipped().remarks
    return page("protocol_check", form, protocols=found, words=words, summary=summary, state_of=_state)


def summary(checked: CheckedProtocol) -> str:
    """Count the steps and remarks of a protocol in one line."""
    counts = ", ".join(f"{checked.counts[state]:,} {state.value}" for state in StudyState if checked.counts[state])
    return f"{checked.name}: {how_many(checked.steps, 'step')}; remarks: {counts or 'none'}"


def checks_table(found: Sequence[CheckedProtocol]) -> RenderableType:
    """Steps that fell and every remark that somebody should look at, of each protocol, for the terminal."""
    return Group(*map(_checked_table, found))


def _checked_table(checked: CheckedProtocol) -> RenderableType:
    rows = [
        (
            remark.step or "protocol",
            cell(_state(remark), _MARKS.get(remark.state, "")),
            f"{CheckRules.shipped().remarks[remark.remark].means}: {remark.note}",
            remark.repair,
        )
        for remark in checked.alarms
    ]
    table = RowTable(("step", "state", "what", "to do"), rows, keys=("step", "state"))
    lines = [summary(checked)]
    for fell in checked.fallen:
        used = f"; what comes of it is used by {', '.join(fell.downstream)}" if fell.downstream else ""
        lines.append(f"{fell.step} fell: {', '.join(fell.because)}{used}")
    return Group(*(Text(visible(line)) for line in lines), *((table,) if rows else ()))


def quality_table(quality: "StudyQuality") -> RenderableType:
    """The measures of a protocol by judge, and what is counted, for the terminal; what is not there is a dash."""
    judges = (*map(visible, quality.by_judge), "average")
    rows = [
        (name, *(f"{one[name]:.3f}" for one in quality.by_judge.values()), "-" if value is None else f"{value:.3f}")
        for name, value in quality.measures.items()
    ]
    table = RowTable(("measure", *judges), rows, keys=("measure",), numbers=judges)
    counts = quality.counts
    lines = [
        f"overall {'none' if quality.overall is None else f'{quality.overall:.3f}'}",
        f"{how_many(counts.steps, 'step')} of {counts.sentences:.2f} sentences; brevity penalty {counts.brevity:.3f}",
        *(f"{name}: {share:.2f}" for name, share in counts.built.items()),
    ]
    return Group(table, *map(Text, lines))


def _state(remark: StudyRemarked) -> str:
    return "could not look" if remark.unavailable else remark.state.value


def _sarif(found: Sequence[CheckedProtocol], exit_code: int) -> dict[str, Any]:
    """SARIF 2.1.0: a rule is a remark, a result stands at a step."""
    words = CheckRules.shipped().remarks
    rules: dict[str, str] = {}
    results: list[dict[str, Any]] = []
    failures = []
    for checked in found:
        for remark in checked.alarms:
            if remark.unavailable:
                failures.append(f"{checked.name}: {remark.note}")
                continue
            rules[remark.remark.value] = words[remark.remark].means
            kind, level = _LEVELS[remark.state]
            text = f"{words[remark.remark].means}. {remark.note}. {remark.repair}".rstrip(". ")
            place: dict[str, Any] = {
                "physicalLocation": {"artifactLocation": {"uri": quote(checked.name)}},
                "logicalLocations": [{"name": remark.step or "protocol", "kind": "member"}],
            }
            results.append(
                {
                    "ruleId": remark.remark.value,
                    "kind": kind,
                    "level": level,
                    "message": {"text": sarif_text(f"{text}.")},
                    "locations": [place],
                    "properties": {
                        "state": remark.state.value,
                        "about": visible(remark.about),
                        "restsOn": visible(remark.rests_on),
                        "finding": remark.finding,
                    },
                }
            )
        failures += [f"{checked.name}: {what}: {why}" for what, why in checked.not_looked.items()]
    return remarks_sarif(rules, results, failures, exit_code)


def reports_table(reports: Sequence[ExperimentalReport]) -> RenderableType:
    """Each paper with its sections and steps."""
    return Group(*(part for report in reports for part in _report_parts(report)))


def _report_parts(report: ExperimentalReport) -> Iterator[RenderableType]:
    marks = (
        "RETRACTED" if report.retracted else "",
        report.paper,
        report.title,
        f"({report.year})" if report.year else "",
        f"[{', '.join(report.species)}]" if report.species else "",
        f"- {report.note}" if report.note else "",
    )
    yield cell(" ".join(filter(None, marks)), "bold")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "", "step", "in the paper's words", "names"):
        table.add_column(name, overflow="fold")
    for section in report.sections:
        value = "" if section.referability is None else f"{section.referability}/5"
        table.add_row(value, "", cell(section.heading, "bold"), cell(section.suggestion, "dim"))
        for step, words in zip(section.steps, section.outline, strict=False):
            kind = "dry" if step.dry else ""
            table.add_row(str(step.number), kind, cell(words), cell(step.text), cell(details(step)))
        for text in section.results:
            table.add_row("", "", cell("result"), cell(text, "dim"))
    yield table


def details(step: ReportStep) -> str:
    """The settings, software, statistics and data sets that a step of a report names."""
    kinds = {
        "settings": [f"{p.name} {p.written}" for p in step.parameters],
        "software": [t.written for t in step.tools],
        "statistics": step.statistics,
        "data": list(dict.fromkeys(d.id for d in step.data_sets)),
    }
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)
