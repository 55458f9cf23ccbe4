"""Scripts that fit an insight: by the words and statistics that both have, or by a model that names some of them.

Descriptions by a model count where every name that they rest on stands in the code.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, Field

from kgcheck.bench.insights import Domain, Insight
from kgcheck.errors import UnknownName
from kgcheck.literature.lexical import content_words, relevances, stems
from kgcheck.llm.forms import messages_of
from kgcheck.model import Value
from kgcheck.protocols.programs.scripts import ScriptDescription, ScriptSource, split_names
from kgcheck.protocols.reports.tools_and_data import statistics_in

if TYPE_CHECKING:
    from kgcheck.llm.budget import Meter
    from kgcheck.llm.client import ChatClient

A = TypeVar("A", bound=BaseModel)

LEAST_SHARE, NEAR_BEST, MOST_MATCHES = 0.08, 0.9, 3
"""Relevance of a script to an insight from which on they may belong together, its least ratio to the best, and the most
scripts of an insight. Chosen on the half of the pairs of ``benchmarks/code_pairs.py``."""

_K1, _B = 1.5, 1.0
"""Parameters of BM25 for scripts, of which the long ones say no more than the short; chosen there, too."""

_MOST_CODE = 20_000  # characters of a script that a model reads


class ScriptMatch(Value):
    """A script that fits an insight, and the words that both have."""

    insight: str
    path: str
    score: float = 1.0
    shared: tuple[str, ...] = ()
    by: str = "rules"


class TruePair(Value):
    """An insight and the scripts that it was made with."""

    insight: str
    scripts: tuple[str, ...] = Field(min_length=1)


class DescribedScript(BaseModel):
    """The form of an answer."""

    summary: str = Field(min_length=1, max_length=1_000)
    names: list[str] = Field(max_length=50)


class MatchedScripts(BaseModel):
    """The form of an answer."""

    scripts: list[str] = Field(max_length=20)


class CodeModel:
    """A model that describes scripts and matches them to insights."""

    def __init__(self, domain: Domain, client: "ChatClient", meter: "Meter", refused: list[str]) -> None:
        self.domain, self.client, self.meter, self.refused = domain, client, meter, refused

    def answer(self, task: str, question: Mapping[str, Any], form: type[A]) -> A:
        """Answer a task of the domain."""
        return self.client.answer(messages_of(self.domain.prompt(task), question), form, meter=self.meter)[0]

    def describe(self, source: ScriptSource, found: ScriptDescription) -> ScriptDescription:
        """Describe a script; what names something that its code lacks is refused whole, and the rules' stands."""
        question = {"path": source.path, "code": source.code[:_MOST_CODE]}
        answer = self.answer("describe_script", question, DescribedScript)
        if lacking := [name for name in answer.names if name not in source.code]:
            self.refused.append(f"{source.path}: the model's description names {lacking[0][:80]!r}, which it lacks")
            return found
        return found.model_copy(update={"summary": answer.summary, "by": self.client.model})

    def match(self, insight: Insight, scripts: Sequence[ScriptDescription]) -> list[ScriptMatch]:
        """Match scripts to an insight; an answer that names what is no script is refused whole."""
        listed = [
            {"path": s.path, "summary": s.summary, "calls": s.calls[:40], "statistics": s.statistics, "reads": s.reads}
            for s in scripts
        ]
        about = insight.model_dump(include={"summary", "techniques", "grounding"})
        answer = self.answer("match_scripts", {"insight": about, "scripts": listed}, MatchedScripts)
        if unknown := set(answer.scripts) - {s.path for s in scripts}:
            self.refused.append(f"{insight.id}: the model names {min(unknown)[:80]!r}, which is no script")
            return []
        by = self.client.model
        return [ScriptMatch(insight=insight.id, path=path, by=by) for path in dict.fromkeys(answer.scripts)]


def rank_scripts(insight: Insight, scripts: Sequence[ScriptDescription]) -> list[ScriptMatch]:
    """Rank all scripts by their relevance to an insight."""
    texts = dict.fromkeys([insight.summary, insight.grounding, *insight.techniques])
    statistics = (name for text in texts for name in statistics_in(text))
    wanted = split_names(" ".join([*texts, *statistics]))
    words = [script.words for script in scripts]
    own, theirs = stems(content_words(wanted)), [stems(content_words(text)) for text in words]
    common = Counter(stem for found in theirs for stem in found & own)
    ranked = [
        ScriptMatch(
            insight=insight.id,
            path=script.path,
            score=round(score, 3),
            shared=tuple(sorted(found & own, key=lambda stem: (common[stem], stem)))[:8],
        )
        for script, score, found in zip(scripts, relevances(wanted, words, _K1, _B), theirs, strict=True)
    ]
    return sorted(ranked, key=lambda match: (-match.score, match.path))


def match_scripts(insight: Insight, scripts: Sequence[ScriptDescription]) -> list[ScriptMatch]:
    """Match scripts to an insight by rules: those about as relevant as the best one, if that says anything.

    A ready analysis fits where the insight says what it is for.
    """
    text = f"{insight.summary} {insight.grounding}".casefold()
    wanted = {s.path for s in scripts if s.language != "analysis" or any(w.casefold() in text for w in s.names)}
    ranked = [match for match in rank_scripts(insight, scripts) if match.path in wanted]
    least = max(LEAST_SHARE, NEAR_BEST * ranked[0].score) if ranked else 0
    return [match for match in ranked[:MOST_MATCHES] if match.score >= least]


def pair_rows(
    pairs: Sequence[TruePair],
    insights: Sequence[Insight],
    scripts: Sequence[ScriptDescription],
    matches: Mapping[str, Sequence[ScriptMatch]],
) -> list[dict[str, Any]]:
    """Measure matches by true pairs: recall among the first, of those matched, and insights by wrong files."""
    known, paths = {one.id: one for one in insights}, {script.path for script in scripts}
    for pair in pairs:
        if pair.insight not in known:
            raise UnknownName("insight", pair.insight, known)
        if unknown := set(pair.scripts) - paths:
            raise UnknownName("script", min(unknown), paths)
    ranked = {pair.insight: [match.path for match in rank_scripts(known[pair.insight], scripts)] for pair in pairs}
    found = [[match.path for match in matches[pair.insight]] for pair in pairs]
    truth = [{*pair.scripts} for pair in pairs]
    wrong = [len({*own} - true) for own, true in zip(found, truth, strict=True)]
    first = [sum(bool(t & {*ranked[p.insight][:n]}) for p, t in zip(pairs, truth, strict=True)) for n in (1, 3)]
    counts = [
        ("a true script is ranked first, by rules", first[0], len(pairs)),
        ("a true script is among the first three, by rules", first[1], len(pairs)),
        ("true scripts matched", sum(len({*o} & t) for o, t in zip(found, truth, strict=True)), sum(map(len, truth))),
        *((f"insights with {n} wrong files", wrong.count(n), len(pairs)) for n in sorted({*wrong})),
    ]
    return [{"measure": name, "count": n, "of": of, "share": round(n / of, 3) if of else 0.0} for name, n, of in counts]
