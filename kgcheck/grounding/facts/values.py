"""Ids that a manuscript writes beside names: "APOE (P02649)" states what the name of P02649 is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kgcheck.graph.store import GraphStore
from kgcheck.grounding.facts.named import NamedThing
from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.remarks import Check, Remark, Remarked, SentenceState
from kgcheck.model import CheckTask, CheckType, Ref

_BETWEEN = re.compile(r"\s*[(\[]\s*(?:[A-Z][A-Za-z]{1,9}\s?(?:KB|ID|id|accession|entry)?\s?[:#]?\s?)?")


def value_remarks(
    manuscript: Manuscript, things: Mapping[int, Sequence[NamedThing]], graph: GraphStore
) -> list[Remarked]:
    """Whether ids in brackets after names are those of the names."""
    return [
        remark
        for sentence in manuscript.sentences
        for name, id_ in pairwise(things[sentence.number])
        for remark in _compared(sentence, name, id_, graph)
    ]


def _compared(sentence: Sentence, name: NamedThing, id_: NamedThing, graph: GraphStore) -> Iterator[Remarked]:
    is_beside = _BETWEEN.fullmatch(sentence.text[name.end : id_.start]) and sentence.text[id_.end : id_.end + 1] in ")]"
    if not is_beside or not name.sure or not any(map(str.isdigit, id_.text)):
        return
    for label in id_.ids.keys() & name.ids.keys():
        spec = graph.schema.label(label)
        if id_.ids[label] != (id_.text,) or spec.key in spec.names or id_.text in (name.text, ""):
            continue
        called = next(iter(graph.nodes(spec, [id_.text]).values()), {}).get("name")
        agrees = id_.text in name.ids[label]
        if not agrees and (not called or len(name.ids[label]) != 1):
            continue
        yield Remarked(
            remark=Remark.VALUE_VERIFIED if agrees else Remark.VALUE_DIFFERS,
            check=Check.GRAPH,
            state=SentenceState.VERIFIED if agrees else SentenceState.CONTRADICTED,
            sentence=sentence.number,
            start=name.start,
            end=id_.end,
            note=f"{id_.text} is {name.text if agrees else called}" + ("" if agrees else f", not {name.text}"),
            stated=f"{id_.text} is {name.text}",
            found="" if agrees else f"{name.text} is {name.ids[label][0]}",
            task=CheckTask(
                type=CheckType.ATTRIBUTE,
                subject=Ref(label=label, id=id_.text),
                attribute="name",
                value=str(called) if called else None,
            ),
        )
