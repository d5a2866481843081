"""The ready studies load with the engine that is here, and end within their budgets."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tiltyard.app.freeze import frozen
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.run.trust import UntrustedInputs
from tiltyard.study.load import read_study
from tiltyard.study.model import Study, WorkloadSpec
from tiltyard.study.program import PROGRAM, program_of
from tiltyard.systems import KINDS
from tiltyard.workloads.catalogue import catalogue_of
from tiltyard_published.read import read_publication

FOLDER = Path(__file__).resolve().parents[2] / "studies"
PUBLISHED = FOLDER.parent / "published"
OF_SERVERS = ("postgres-durability", "redis-fsync", "web-servers")
WITH_AMOUNTS = sorted(path for path in FOLDER.glob("*.toml") if path.stem != "web-servers")
NETWORK = sorted(path.stem for path in FOLDER.glob("netperf-*.toml"))
FIRST_LOOK_BLOCKS = 7
WITHIN_S = 15 * 60
MESSAGES = [32 << place for place in range(11)] + [65_507]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.find()


def study(name: str, engine: Engine) -> Study:
    path = FOLDER / f"{name}.toml"
    return read_study(path.read_text(), path, catalogue_of(engine), KINDS)


def effective_of(workload: WorkloadSpec, engine: Engine) -> dict[str, Any]:
    """The effective parameters: what the engine makes of those that are typed.

    Programs have values of systems, and are asked for with a plan.
    """
    card = catalogue_of(engine).workload(workload.use)
    if (program := program_of(card, workload.parameters)) is not None:
        return program
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


@pytest.mark.parametrize("fraction", ["1/8", "1/64", "1/4096"])
@pytest.mark.parametrize("path", WITH_AMOUNTS, ids=lambda path: path.stem)
def test_it_is_one_at_any_scale(path: Path, fraction: str, engine: Engine) -> None:
    plan = frozen(path, engine, Fraction(fraction))
    assert plan.scaled is not None
    assert plan.scaled.changes
    assert plan.question.endswith(f"(scaled by {fraction})")
    whole = frozen(path, engine, None)
    assert whole.scaled is None
    assert [system.name for system in plan.systems] == [system.name for system in whole.systems]
    assert plan.study_sha256 == whole.study_sha256


def brought(path: Path, engine: Engine) -> list[str]:
    """Settings of a study file whose values a person would have to trust."""
    plan = frozen(path, engine, None)
    items = UntrustedInputs.of(plan, catalogue_of(engine), StudyFolder(path.parent)).items
    return [item.key for item in items]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_ready_study_brings_only_its_programs(path: Path, engine: Engine) -> None:
    cards = [catalogue_of(engine).workload(w.use) for w in study(path.stem, engine).workloads]
    programs = any(card is not None and card.name == PROGRAM for card in cards)
    assert bool(brought(path, engine)) == programs


@pytest.mark.parametrize("name", OF_SERVERS)
def test_a_study_of_servers_names_server_and_client(name: str, engine: Engine) -> None:
    assert {"service", "command"} <= set(brought(FOLDER / f"{name}.toml", engine))


def test_a_ready_study_that_brings_a_program_would_be_noticed(
    tmp_path: Path, engine: Engine
) -> None:
    text = (FOLDER / "path-lengths.toml").read_text()
    (tmp_path / "vmlinuz").write_bytes(bytes(0x202) + b"HdrS")
    study = tmp_path / "study.toml"
    study.write_text(text.replace('"6.1", "6.12"', '"./vmlinuz", "6.12"'))
    assert brought(study, engine) == ["kernel"]


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


def test_the_grid_is_that_of_the_white_paper(engine: Engine) -> None:
    printed = read_publication(PUBLISHED / "iozone-rhel6").collection
    for workload in printed.workloads:
        found = next(w for w in study("iozone-rhel6", engine).workloads if w.name == workload.name)
        effective = effective_of(found, engine)
        for axis in ("file", "record"):
            assert set(effective[axis]) == {reading.at[axis] for reading in workload.readings}
        # All thirteen are passes of eight tests; those of C streams have no direct I/O.
        assert len(effective["tests"]) == (6 if workload.name == "direct" else 8)


def test_the_records_are_those_of_the_magazine(engine: Engine) -> None:
    _, printed, _ = read_publication(PUBLISHED / "iozone-magazine").collection.workloads
    (workload,) = study("iozone-magazine", engine).workloads
    records = effective_of(workload, engine)["record"]
    assert set(records) == {reading.at["record"] for reading in printed.readings}


def test_the_result_page_has_as_many_workloads(engine: Engine) -> None:
    page = read_publication(PUBLISHED / "linux-3.13").collection
    used = {workload.use for workload in study("linux-3.13", engine).workloads}
    assert used == {workload.use for workload in page.workloads}


def test_the_printed_order_is_that_of_the_systems(engine: Engine) -> None:
    for name in NETWORK:
        assert [system.name for system in study(name, engine).systems] == [
            "out-of-box",
            "optimized",
        ]
