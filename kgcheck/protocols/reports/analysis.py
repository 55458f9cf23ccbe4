"""Referability of a report for an objective: 1 to 5 a section, with a suggestion that gives reasons.

Relevance is BM25 of the section for the words of the objective, as a share of what they have of themselves, or the
cosine where there is a model; detail is counted. How both make the number stands in ``referability.toml``.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from kgcheck.literature.embed import Embedder
from kgcheck.literature.lexical import Lexical, content_words, stems
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.protocols.protocol import Objective
from kgcheck.protocols.report import ExperimentalReport, ReportSection
from kgcheck.protocols.reports.experimental import report_text
from kgcheck.resources import resource_dir

_SHOWN = 5


class ReferabilityRules(Value):
    """The file ``referability.toml``."""

    full_relevance: float
    full_cosine: float
    full_detail: float
    parameter: float
    tool: float
    version: float
    statistic: float
    data_set: float
    relevance: float
    unrelated: float
    most_unrelated: int
    wet_share: float


@cache
def referability_rules() -> ReferabilityRules:
    """Read the rules of referability."""
    return read_value(resource_dir("corpus") / "protocols" / "referability.toml", ReferabilityRules)


def analyse_all(
    reports: Sequence[ExperimentalReport], objective: Objective, embedder: Embedder | None = None
) -> tuple[ExperimentalReport, ...]:
    """Reports with the referability of their sections; by words, how rare a word is among all of them counts."""
    sections = [section for report in reports for section in report.sections]
    relevances = iter(_relevances([report_text(s) for s in sections], objective.text, embedder))
    wanted = content_words(objective.text)
    return tuple(
        report.model_copy(
            update={
                "sections": tuple(
                    section.model_copy(update=_judged(section, report, objective, next(relevances), wanted))
                    for section in report.sections
                )
            }
        )
        for report in reports
    )


def _relevances(texts: Sequence[str], objective: str, embedder: Embedder | None) -> list[float]:
    """Compute the relevance of texts to an objective, from 0 to 1."""
    rules = referability_rules()
    if not texts:
        return []
    if embedder is not None:
        first, *vectors = embedder.encode([objective, *texts])
        return [min(1.0, max(0.0, float(v @ first)) / rules.full_cosine) for v in vectors]
    own, *scores = Lexical.of([objective, *texts]).scores(objective).tolist()
    return [min(1.0, score / own / rules.full_relevance) if own else 0.0 for score in scores]


class _Detail(NamedTuple):
    """Detail of a section, for somebody who would do it again."""

    points: float
    has: tuple[str, ...]
    lacks: tuple[str, ...]


def _detail(section: ReportSection) -> _Detail:
    rules = referability_rules()
    parameters = [p for s in section.steps for p in s.parameters]
    tools = {t.name: t.version for s in section.steps for t in s.tools}
    for tool in (t for s in section.steps for t in s.tools if t.version):
        tools[tool.name] = tool.version
    statistics = list(dict.fromkeys(name for s in section.steps for name in s.statistics))
    data_sets = list(dict.fromkeys(d.id for s in section.steps for d in s.data_sets))
    versions = [name for name, version in tools.items() if version]
    points = (
        len(parameters) * rules.parameter
        + len(tools) * rules.tool
        + len(versions) * rules.version
        + len(statistics) * rules.statistic
        + len(data_sets) * rules.data_set
    )
    named = [f"{name} {version}".strip() for name, version in tools.items()]
    has = (
        _some(
            "settings", [f"{p.name} {'' if p.comparator == '=' else p.comparator + ' '}{p.value}" for p in parameters]
        ),
        _some("software", named),
        _some("statistics", statistics),
        _some("data sets", data_sets),
    )
    lacks = (
        "" if parameters else "settings",
        _some("versions of", [name for name, version in tools.items() if not version]),
    )
    return _Detail(
        points / len(section.steps) if section.steps else 0.0, tuple(filter(None, has)), tuple(filter(None, lacks))
    )


def _some(noun: str, names: Sequence[str]) -> str:
    """A kind with the first few of its names; empty where there is none."""
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{noun} {', '.join(names[:_SHOWN])}{more}"


def _judged(
    section: ReportSection, report: ExperimentalReport, objective: Objective, relevance: float, wanted: tuple[str, ...]
) -> dict[str, int | str]:
    """The number and the suggestion of a section."""
    rules = referability_rules()
    detail = _detail(section)
    found = stems(content_words(report_text(section)))
    shared = [word for word in wanted if stems((word,)) <= found]
    score = rules.relevance * relevance + (1 - rules.relevance) * min(1.0, detail.points / rules.full_detail)
    value = 1 + round(4 * score)
    reasons = [
        f"it shares {_some('the words', shared)} with the objective"
        if shared
        else "it shares no word with the objective"
    ]
    if detail.has:
        reasons.append(f"it gives {'; '.join(detail.has)}")
    if detail.lacks:
        reasons.append(f"it lacks {'; '.join(detail.lacks)}")
    if relevance < rules.unrelated or not shared:
        value = min(value, rules.most_unrelated)
    wet = sum(not step.dry for step in section.steps)
    if section.steps and wet / len(section.steps) > rules.wet_share:
        value = max(1, value - 1)
        reasons.append(f"{wet} of its {len(section.steps)} steps are not done by computing")
    if report.species and objective.species not in report.species:
        reasons.append(f"it is of {', '.join(report.species)} and not of {objective.species}")
    if report.retracted:
        return {"referability": 1, "suggestion": "Leave it out: the paper is retracted."}
    advice = "Take it over" if value >= 4 else "Take from it what fits" if value == 3 else "Leave it out"
    return {"referability": value, "suggestion": f"{advice}: {'; '.join(reasons)}."}
