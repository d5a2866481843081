"""How often does the whole analysis claim a difference between equal systems?"""

import numpy as np
import pytest
from scipy.stats import binom

from support.contrasts import design_of
from support.synthetic import Shape, card, synthetic_study
from tiltyard.analysis.contrast import Contrast
from tiltyard.analysis.decision import decision
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.judging import judge
from tiltyard.analysis.model import Findings
from tiltyard.analysis.quantity import Quantity
from tiltyard.stats.multiple import benjamini_hochberg, holm

CLAIMS = {"faster", "slower"}
SMALL = {
    "small": Shape(
        metrics=(card("write", "write", "B/s"), card("read", "read", "B/s")),
        typical={"write": 1e9, "read": 4e9},
        grid=("record",),
        points=({"record": 4096}, {"record": 65536}),
    )
}


def at_most(count: int, trials: int, rate: float) -> bool:
    """Whether so many events are credible if their true rate is at most ``rate``."""
    return bool(binom.sf(count - 1, trials, rate) > 0.001)


def run_to_its_end(seed: int) -> Findings:
    """An A/A study of three systems that stops when its decision says so."""
    plan, run = synthetic_study(
        ("a", "b", "c"), ("small",), blocks=20, seed=seed, noise=0.03, shapes=SMALL
    )
    for look in plan.design.looks:
        so_far = tuple(trial for trial in run.trials if trial.key.block <= look.blocks)
        findings = analyse(plan, run.model_copy(update={"trials": so_far}))
        if decision(findings).done:
            break
    return findings


def test_whole_studies_of_equal_systems_claim_differences_no_more_often_than_allowed():
    studies = 200
    in_cells = in_index = 0
    for seed in range(studies):
        (workload,) = run_to_its_end(seed).workloads
        tables = (*workload.cells, *workload.by_metric)
        in_cells += any(found.verdict in CLAIMS for t in tables for found in t.comparisons)
        in_index += any(found.verdict in CLAIMS for found in workload.index.comparisons)
    assert at_most(in_cells, studies, 0.05)
    assert at_most(in_index, studies, 0.05)


def null_quantity(rng: np.random.Generator, blocks: int, shared: float) -> list[Quantity]:
    """Twelve cells of three equal systems; ``shared`` of the variance is common to all cells."""
    common = rng.normal(0, np.sqrt(shared), (1, blocks, 3))
    own = rng.normal(0, np.sqrt(1 - shared), (12, blocks, 3))
    attempted = np.ones((blocks, 3), dtype=np.bool_)
    values = 0.03 * (common + own)
    return [Quantity("cell", "B/s", "higher", 1, cell, attempted) for cell in values]


def mean_of(cells: list[Quantity]) -> Quantity:
    values = np.mean([cell.log_values for cell in cells], axis=0)
    return Quantity("index", "B/s", "higher", len(cells), values, cells[0].attempted)


def misses_zero(one: Contrast) -> bool:
    return one.interval is not None and not one.interval.low <= 0 <= one.interval.high


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("blocks", [7, 10])
def test_index_covers_however_the_cells_are_correlated(shared, blocks):
    studies = 700
    rng = np.random.default_rng(21)
    design = design_of("fixed", blocks)
    claimed, missing = 0, []
    for _ in range(studies):
        index = mean_of(null_quantity(rng, blocks, shared))
        (found,) = judge([index], ["a", "b", "c"], design, holm, 0.05)
        claimed += any(one.verdict in CLAIMS for one in found.contrasts)
        missing += [one.verdict for one in found.contrasts if misses_zero(one)]
    assert at_most(claimed, studies, 0.05)
    # Three pairs of one study share systems, so they count as fewer than three.
    assert 0 < len(missing) / (3 * studies) < design.alpha + 0.018
    assert "undecided" not in missing


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_benjamini_hochberg_keeps_false_claims_rare_among_true_ones(shared):
    """Half of the cells differ by 10 % between a and the others; the other half do not."""
    rng = np.random.default_rng(22)
    design = design_of()
    shares, found_true, all_true = [], 0, 0
    for _ in range(250):
        cells = null_quantity(rng, 20, shared)
        for cell in cells[:6]:
            cell.log_values[:, 0] += np.log(1.1)
        false = true = 0
        for place, judged in enumerate(
            judge(cells, ["a", "b", "c"], design, benjamini_hochberg, 0.05)
        ):
            for one in judged.contrasts:
                differs = place < 6 and one.against == "a"
                claimed = one.verdict in CLAIMS
                false += claimed and not differs
                true += claimed and differs
                all_true += differs
        found_true += true
        shares.append(false / max(1, false + true))
    assert np.mean(shares) <= 0.05 + 3 * np.std(shares) / np.sqrt(len(shares))
    assert found_true / all_true > 0.95


def test_uncorrected_claims_would_be_wrong_far_more_often():
    """The test above can fail: each cell judged as if it were alone gives false claims."""
    rng = np.random.default_rng(23)
    claimed = 0
    for _ in range(100):
        cells = null_quantity(rng, 20, 0.0)
        alone = [judge([cell], ["a", "b"], design_of(), holm, 0.05)[0] for cell in cells]
        claimed += any(one.verdict in CLAIMS for own in alone for one in own.contrasts)
    assert claimed > 25
