"""One verdict logic, one interval, one direction: over whole findings, ours and printed ones."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from support.publications import PUBLISHED, STUDIES
from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.stats.estimators import PairedBlocks
from tiltyard.stats.family import DIFFERENT, FamilyRules, judge_family
from tiltyard.stats.looks import LOOKS
from tiltyard.stats.multiple import benjamini_hochberg
from tiltyard.stats.sequential import Spending
from tiltyard_published.read import read_publication

EXACT = 1e-12


def compared(findings: Findings) -> Iterator[tuple[str, Comparison]]:
    """Every comparison that is printed anywhere, with what it is of."""
    for workload in findings.workloads:
        latencies = workload.latencies.cells if workload.latencies else ()
        for cell in (*workload.cells, *latencies):
            for pair in cell.comparisons:
                yield f"{workload.name} {cell.label} {cell.at_label}", pair
        for index in (workload.index, *workload.by_metric):
            for pair in (*index.comparisons, *(s.comparison for s in index.standings)):
                if pair is not None:
                    yield f"{workload.name} {index.label} over all", pair


def ours(seed: int, baseline: str) -> Findings:
    """Three systems, one of them hardly faster, in noise in which cells are lucky now and then."""
    effects = {"xfs": 1.02, "btrfs": 1.012}
    systems = ("ext4", "xfs", "btrfs")
    workloads = ("postmark", "iozone")
    return analyse(
        *synthetic_study(
            systems, workloads, 14, effects=effects, seed=seed, noise=0.02, baseline=baseline
        )
    )


@pytest.fixture(scope="module", params=[*STUDIES, "xfs", "ext4"])
def findings(request: pytest.FixtureRequest) -> Findings:
    if request.param in STUDIES:
        return analyse_collection(read_publication(PUBLISHED / request.param).collection)
    return ours(5, request.param)


def test_no_interval_contradicts_its_verdict(findings: Findings) -> None:
    margin = np.log1p(findings.design.equivalent_within)
    for what, pair in compared(findings):
        if pair.low is None or pair.high is None:
            assert pair.verdict in ("undecided", "invalid"), (what, pair.sentence)
            continue
        low, high = np.log([pair.low, pair.high])
        excludes = low >= -EXACT if pair.ratio > 1 else high <= EXACT
        inside = -margin <= low <= high <= margin
        expected = {
            "undecided": low <= EXACT and high >= -EXACT and not inside,
            "equivalent": inside,
            "faster": excludes and not inside,
            "slower": excludes and not inside,
        }
        assert expected[pair.verdict], (what, pair.sentence)


def test_the_same_numbers_have_one_verdict_one_interval_and_one_direction(
    findings: Findings,
) -> None:
    orders = defaultdict(set)
    verdicts = defaultdict(set)
    for what, pair in compared(findings):
        orders[frozenset((pair.system, pair.against))].add(pair.system)
        if pair.ratio is not None:
            key = what, frozenset((pair.system, pair.against)), round(pair.ratio, 12)
            verdicts[key].add((pair.verdict, pair.low, pair.high, pair.level, pair.sentence))
    assert all(len(found) == 1 for found in verdicts.values())
    for systems, first in orders.items():
        assert len(first) == 1, (systems, "is compared in both directions")
        if findings.baseline in systems:
            assert first != {findings.baseline}


def test_a_workload_with_one_cell_has_one_verdict(findings: Findings) -> None:
    for workload in findings.workloads:
        if len(workload.cells) == 1:
            assert workload.cells[0].comparisons == workload.index.comparisons


def test_what_is_equivalent_and_differs_says_by_how_much(findings: Findings) -> None:
    for what, pair in compared(findings):
        if pair.verdict == "equivalent" and not pair.low <= 1 <= pair.high:  # type: ignore[operator]
            assert "a difference of" in pair.sentence, what


def test_an_interval_that_the_family_does_not_let_claim_reaches_to_zero_and_only_grows() -> None:
    """One comparison of 40 is lucky: by itself it would be claimed, among so many it is not."""
    rng = np.random.default_rng(4)
    differences = rng.normal(0, 0.02, (40, 10))
    differences[0] = np.abs(differences[0]) + 0.001
    spending = Spending("standard", False, LOOKS["standard"])
    rules = FamilyRules(0.0, benjamini_hochberg, 0.05, False, False, 1.0)
    alone = judge_family(PairedBlocks(spending, differences[:1]), rules)
    among = judge_family(PairedBlocks(spending, differences), rules)
    # Alone it stops at the first look; its interval there excludes zero.
    assert alone.outcome[0] == DIFFERENT
    assert among.outcome[0] != DIFFERENT
    plain = spending.evidence(1, differences[:1])
    assert plain.low[0] > 0
    assert (among.low[0], among.high[0]) == (0.0, plain.high[0])
    assert np.all((among.low <= 0) & (among.high >= 0) | (among.outcome == DIFFERENT))
