"""A protocol as files: JSON, pages to read, and a research object (RO-Crate 1.1) whose root is the folder.

Steps are schema.org's HowToStep, facts Claims, quotes Quotations of ScholarlyArticles, software SoftwareApplication.
Source: the RO-Crate 1.1 specification, https://w3id.org/ro/crate/1.1.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kgcheck import __version__
from kgcheck.outputs import write_text
from kgcheck.protocols.protocol import StudyFact, StudyPassage, StudyProtocol, StudyStep
from kgcheck.report.documents import is_web, page
from kgcheck.visible import as_json

SPECIFICATION = "https://w3id.org/ro/crate/1.1"

_FILES = {
    "protocol.json": ("application/json", "The protocol, typed"),
    "protocol.md": ("text/markdown", "The protocol, to read"),
    "protocol.html": ("text/html", "The protocol, as a page that stands alone"),
}

Entity = dict[str, Any]


def crate(protocol: StudyProtocol) -> str:
    """The metadata file of the folder in which a protocol is written."""
    graph = {entity["@id"]: entity for entity in _entities(protocol)}
    return as_json({"@context": f"{SPECIFICATION}/context", "@graph": [*graph.values()]}, indent=1) + "\n"


def _entities(protocol: StudyProtocol) -> Iterator[Entity]:
    objective = protocol.objective
    yield {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": SPECIFICATION},
        "about": {"@id": "./"},
    }
    yield {
        "@id": "./",
        "@type": "Dataset",
        "name": objective.title,
        "description": objective.objective,
        "datePublished": protocol.made_at.date().isoformat(),
        "license": {"@id": "#licence"},
        **_links("hasPart", _FILES),
        "mainEntity": {"@id": "#protocol"},
        **_links("mentions", (_id_of_data_set(d.id, d.url) for d in protocol.data_sets)),
    }
    yield {
        "@id": "#licence",
        "@type": "CreativeWork",
        "name": "No licence is stated",
        "description": "Words that are quoted keep the licences of their papers, facts those of their sources.",
    }
    for name, (form, about) in _FILES.items():
        yield {"@id": name, "@type": "File", "name": about, "encodingFormat": form}
    yield {
        "@id": "#maker",
        "@type": "SoftwareApplication",
        "name": "kgcheck",
        "softwareVersion": __version__,
        "description": f"The protocol was made by {protocol.made_by}.",
    }
    yield {
        "@id": "#protocol",
        "@type": "HowTo",
        "name": objective.title,
        "description": " ".join((objective.objective, *objective.conditions, *objective.requirements)),
        "creator": {"@id": "#maker"},
        "dateCreated": protocol.made_at.isoformat(),
        **_links("step", (f"#{section.id}" for section in protocol.sections)),
    }
    for position, section in enumerate(protocol.sections, 1):
        yield {
            "@id": f"#{section.id}",
            "@type": "HowToSection",
            "name": section.heading,
            "position": position,
            "description": section.rationale or section.summary or section.heading,
            **_links("itemListElement", (f"#{step.id}" for step in section.steps)),
        }
        for place, step in enumerate(section.steps, 1):
            yield from _step(protocol, step, place)
    for fact in protocol.facts:
        yield _fact(fact)
    for passage in protocol.passages:
        yield from _passage(passage)
    for data_set in protocol.data_sets:
        yield {
            "@id": _id_of_data_set(data_set.id, data_set.url),
            "@type": "Dataset",
            "name": data_set.title or data_set.id,
            "identifier": data_set.id,
            "description": f"In its repository {data_set.repository}: {data_set.state.replace('_', ' ')}",
        }


def _step(protocol: StudyProtocol, step: StudyStep, position: int) -> Iterator[Entity]:
    urls = {data_set.id: data_set.url for data_set in protocol.data_sets}
    tools = [f"#tool-{quote(f'{tool.name} {tool.version}'.strip(), safe='')}" for tool in step.tools]
    yield {
        "@id": f"#{step.id}",
        "@type": "HowToStep",
        "name": step.id,
        "position": position,
        "text": step.text,
        **_links("isBasedOn", (f"#{id_}" for id_ in (*step.facts, *step.passages))),
        **_links("mentions", (*tools, *(_id_of_data_set(id_, urls[id_]) for id_ in step.data_sets))),
    }
    for id_, tool in zip(tools, step.tools, strict=True):
        version = {"softwareVersion": tool.version} if tool.version else {}
        yield {"@id": id_, "@type": "SoftwareApplication", "name": tool.name, **version}


def _fact(fact: StudyFact) -> Entity:
    return {
        "@id": f"#{fact.id}",
        "@type": "Claim",
        "name": str(fact.task),
        "text": fact.stated,
        "creativeWorkStatus": fact.outcome.value if fact.outcome else "never looked at",
        "identifier": fact.task.fingerprint,
        "description": " ".join(filter(None, (fact.source, fact.release, fact.record))) or "no source was looked at",
    }


def _passage(passage: StudyPassage) -> Iterator[Entity]:
    paper = passage.url if is_web(passage.url) else f"#paper-{quote(passage.paper, safe='')}"
    yield {"@id": f"#{passage.id}", "@type": "Quotation", "text": passage.quote, "isPartOf": {"@id": paper}}
    yield {
        "@id": paper,
        "@type": "ScholarlyArticle",
        "name": passage.title or passage.paper,
        "identifier": passage.paper,
        **({"datePublished": str(passage.year)} if passage.year else {}),
        **({"creativeWorkStatus": "retracted"} if passage.retracted else {}),
    }


def _id_of_data_set(accession: str, url: str) -> str:
    return url if is_web(url) else f"#data-{quote(accession, safe='')}"


def _links(name: str, ids: Iterable[str]) -> Entity:
    """A property that names entities: one stands alone, as the specification wants it, and of none there is none."""
    links = [{"@id": id_} for id_ in dict.fromkeys(ids)]
    return {name: links[0] if len(links) == 1 else links} if links else {}


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
    write_text(folder / "protocol.json", protocol.model_dump_json(indent=2) + "\n")
    write_text(folder / "protocol.md", protocol_page(protocol, "markdown"))
    write_text(folder / "protocol.html", protocol_page(protocol, "html"))
    write_text(folder / "ro-crate-metadata.json", crate(protocol))
