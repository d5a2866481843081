"""Run times: sums over the trials of a block, their mean and deviation, blocks that count only."""

from statistics import mean, stdev

import pytest

from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.run_times import ALL, run_times
from tiltyard.plan.model import TrialKey
from tiltyard.report.styles import STYLES

SYSTEMS = ("ext4", "xfs")


def test_each_workload_has_its_time_and_all_of_them_the_sum() -> None:
    plan, record = synthetic_study(SYSTEMS, ("postmark", "iozone"), blocks=10)
    took = [
        trial.model_copy(update={"elapsed_s": 2.0 + place % 7 + (trial.key.system == "xfs")})
        for place, trial in enumerate(record.trials)
    ]
    record = record.model_copy(update={"trials": tuple(took)})
    cells = {cell.label: cell for cell in run_times(analyse(plan, record))}
    assert list(cells) == ["postmark", "iozone", ALL]
    for system in SYSTEMS:
        blocks = range(1, 11)
        both = [
            [t.elapsed_s for t in took if (t.key.system, t.key.block) == (system, block)]
            for block in blocks
        ]
        (found,) = (own for own in cells[ALL].summaries if own.system == system)
        assert found.blocks == tuple(blocks)
        assert found.mean == pytest.approx(mean(map(sum, both)))
        assert found.sd == pytest.approx(stdev(map(sum, both)))
        (own,) = (own for own in cells["postmark"].summaries if own.system == system)
        alone = [
            t.elapsed_s for t in took if (t.key.system, t.key.workload) == (system, "postmark")
        ]
        assert own.values == pytest.approx(alone)


def test_a_block_with_a_failed_trial_is_left_out() -> None:
    key = TrialKey(block=3, system="xfs", workload="postmark")
    plan, record = synthetic_study(SYSTEMS, ("postmark",), blocks=8, failed=(key,))
    (cell,) = run_times(analyse(plan, record))
    assert {s.system: 3 in s.blocks for s in cell.summaries} == {"ext4": True, "xfs": False}


def test_an_article_of_a_live_study_has_the_table() -> None:
    findings = analyse(*synthetic_study(SYSTEMS, ("postmark",), blocks=10))
    (style,) = (style for style in STYLES if style.name == "article")
    (table,) = (one for one in style.compose(findings).tables() if one.id == "run-times")
    assert [row[0].text for row in table.rows] == list(SYSTEMS)
    assert all(row[1].value and row[1].beneath for row in table.rows)
    bare = findings.model_copy(update={"trials": ()})
    assert "run-times" not in {one.id for one in style.compose(bare).tables()}
