"""The ready studies load with the engine that is here, and end within their budgets."""

import math
from pathlib import Path
from typing import Any

import pytest

from tiltyard.executors.engine import Engine
from tiltyard.study.load import read_study
from tiltyard.study.model import Study, WorkloadSpec
from tiltyard.systems import KINDS

FOLDER = Path(__file__).resolve().parents[2] / "studies"
NETWORK = sorted(path.stem for path in FOLDER.glob("netperf-*.toml"))
FIRST_LOOK_BLOCKS = 7
WITHIN_S = 15 * 60
MESSAGES = [32 << place for place in range(11)] + [65_507]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.find()


def study(name: str, engine: Engine) -> Study:
    path = FOLDER / f"{name}.toml"
    return read_study(path.read_text(), path, engine.describe(), KINDS)


def effective_of(workload: WorkloadSpec, engine: Engine) -> dict[str, Any]:
    """The effective parameters: what the engine makes of those that are typed."""
    return engine.validate(workload.use, workload.parameters).effective


def measured_s(workload: WorkloadSpec, engine: Engine) -> float:
    """Seconds for which one trial measures: each list of parameters is a dimension of the grid."""
    effective = effective_of(workload, engine)
    lists = (levels for levels in effective.values() if isinstance(levels, list) and levels)
    return math.prod(map(len, lists)) * float(effective["seconds"])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_ready_study_is_a_study_whose_parameters_the_engine_takes(
    path: Path, engine: Engine
) -> None:
    found = study(path.stem, engine)
    assert len(found.systems) >= 2
    assert found.precision.budget_s
    assert all(effective_of(workload, engine) for workload in found.workloads)


@pytest.mark.parametrize("name", NETWORK)
def test_the_first_look_of_a_network_study_is_within_its_budget(name: str, engine: Engine) -> None:
    found = study(name, engine)
    assert found.precision.budget_s == WITHIN_S
    trial_s = sum(measured_s(workload, engine) for workload in found.workloads)
    assert FIRST_LOOK_BLOCKS * len(found.systems) * trial_s <= 0.8 * WITHIN_S


def test_the_messages_are_those_that_were_printed(engine: Engine) -> None:
    for workload in study("netperf-throughput", engine).workloads:
        assert effective_of(workload, engine)["message"] == MESSAGES


def test_the_requests_are_those_that_were_printed(engine: Engine) -> None:
    for workload in study("netperf-latency", engine).workloads:
        assert workload.parameters["size"] == [2**place for place in range(11)]


def test_the_printed_order_is_that_of_the_systems(engine: Engine) -> None:
    for name in NETWORK:
        assert [system.name for system in study(name, engine).systems] == [
            "out-of-box",
            "optimized",
        ]
