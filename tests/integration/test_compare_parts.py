"""What became of findings where a run looks at a part, or is cut off: nothing is fixed that nobody looked at."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from kgcheck.audit.run import Audit
from kgcheck.curation.compare import diff_of
from kgcheck.errors import UsageError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions
from tests.integration.test_compare import expected_state, graph, two_worlds
from tests.integration.test_resume import BrittleLedger, CutOff
from tests.support.audits import audited, of_run
from tests.support.facts import SCHEMA, SETTINGS
from tests.support.snapshots import PROTEINS

TYPES = st.lists(st.sampled_from(list(CheckType)), min_size=1, unique=True).map(tuple)
PARTS = st.one_of(
    st.builds(lambda n, seed: {"sample": n, "seed": seed}, st.integers(1, 6), st.integers(0, 3)),
    st.builds(lambda types, n: {"types": types, "sample": n}, TYPES, st.integers(1, 4)),
    st.just({"labels": ("Protein",)}),
    TYPES.map(lambda types: {"types": types}),
    st.builds(lambda ids: {"ids": tuple(ids)}, st.lists(st.sampled_from(PROTEINS), min_size=1, max_size=2)),
)


def of_a_part(folder: Path, pair: Any, part: dict[str, Any], *, cut: int | None) -> Counter[str]:
    """The states after two runs of a part, the later one cut off and resumed where wanted, as the words say."""
    if "ids" in part:
        # One that a graph does not have would be refused.
        common = [i for i in part["ids"] if all(i in nodes["Protein"] for nodes, _, _ in pair)]
        part = {"ids": tuple(common)} if common else {"labels": ("Protein",)}
    snapshots = [facts.build(folder / str(n)) if facts else None for n, (_, _, facts) in enumerate(pair)]
    stores = [graph(nodes, edges) for nodes, edges, _ in pair]
    ledger, whole_ledger = folder / "ledger.sqlite", folder / "whole.sqlite"
    whole = audited(stores[0], whole_ledger, snapshots[0])
    before = audited(stores[0], ledger, snapshots[0], **part)
    if cut is None:
        after = audited(stores[1], ledger, snapshots[1], **part)
    else:
        with BrittleLedger(ledger, cut) as brittle, suppress(CutOff):
            Audit(stores[1], snapshots[1], brittle, SETTINGS).start(AuditOptions(**part, piece_tasks=1))
        with Ledger(ledger) as opened:
            if not opened.run("latest").finished:
                # Nobody compared yet, so that nothing is known of what was not found.
                assert not {ComparisonState.FIXED, ComparisonState.GONE} & set(+diff_of(opened, before.run).counts)
                Audit(stores[1], snapshots[1], opened, SETTINGS).resume(opened.cut_off())
            after = of_run(opened, opened.run("latest"))
    looked = {
        of: {f.fingerprint: f.verdict.outcome for f in found}
        for of, found in (
            ("part", audited(stores[1], folder / "part.sqlite", snapshots[1], **part, keep_all=True).findings),
            ("whole", audited(stores[1], folder / "all.sqlite", snapshots[1], keep_all=True).findings),
        )
    }
    left_out = looked["whole"].keys() - looked["part"].keys()
    now_ = {f.fingerprint: f for f in after.findings}
    nodes, edges, _ = pair[1]

    def expected(one: Any) -> str:
        state = expected_state(one, now_, looked["part"], nodes, edges, source.observe)
        return "unchecked" if state == "fixed" and one.fingerprint in left_out else state

    with SnapshotSource(snapshots[1], SCHEMA, SETTINGS) as source:
        wanted = {f.fingerprint: expected(f) for f in before.findings}
    wanted |= {f: "new" for f in now_ if f not in wanted}
    with Ledger(ledger) as opened:
        diff = diff_of(opened)
        assert (diff.before, diff.after) == (before.run, after.run)
        found = {one.fingerprint: str(one.state) for one in diff.findings()}
    about = {f.fingerprint: f"{f.task.type.value} {f.task}" for f in (*before.findings, *after.findings)}
    assert {about[f]: state for f, state in found.items()} == {about[f]: state for f, state in wanted.items()}

    # Beside a run that looked at everything, a part tells of what it found, and of nothing else.
    last = audited(stores[1], whole_ledger, snapshots[1], **part)
    with Ledger(whole_ledger) as opened:
        if diff_of(opened).before:
            # The part is the whole: the same question once more.
            return Counter(wanted.values())
        beside = {one.fingerprint: str(one.state) for one in diff_of(opened, whole.run, last.run).findings()}
    again = {f.fingerprint: f for f in last.findings}
    old = {f.fingerprint: basis_of(f) for f in whole.findings}
    assert beside == {f: "unchecked" for f in old if f not in again} | {
        f: "new" if f not in old else "still" if basis_of(one) == old[f] else "changed" for f, one in again.items()
    }
    return Counter(wanted.values())


@pytest.mark.slow
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(two_worlds(), PARTS, st.none() | st.integers(0, 2))
def test_a_part_tells_nothing_of_what_it_left_out_in_many_worlds(
    tmp_path_factory: pytest.TempPathFactory, pair: Any, part: dict[str, Any], cut: int | None
) -> None:
    try:
        of_a_part(tmp_path_factory.mktemp("parts"), pair, part, cut=cut)
    except UsageError as error:
        if not error.message.startswith("nothing to check"):
            raise
        reject()
