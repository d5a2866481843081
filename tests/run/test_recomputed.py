"""Values computed anew: what every workload really sends agrees, and what was changed does not."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.chained import chained, unchained
from support.runs import Watcher, directory_system, go_on, place, plan_of
from support.said import said_in
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.store import read_plan
from tiltyard.run.read import read_run
from tiltyard.run.recomputed import first_contradiction
from tiltyard.run.runner import run_study
from tiltyard.run.stream import kept
from tiltyard.study.model import SystemSpec, WorkloadSpec
from tiltyard.wire import Latency, Sample

ENGINE = Engine.find().describe()
RATE = Sample("m", 200.0, "1/s", "higher", operations=100, bytes=6400, elapsed_s=0.5)
HISTOGRAM = Latency(
    count=100, min=1, max=9, mean=5.5, p50=5, p90=9, p99=9, buckets=[(5, 60), (9, 40)]
)


@pytest.mark.parametrize("target", ["directory", "far"])
def test_what_every_workload_sends_agrees(tmp_path: Path, engine: Engine, target: str) -> None:
    """A value that contradicts its sample would have failed the trial."""
    system = directory_system("a", tmp_path / "a")
    if target == "far":
        system = SystemSpec(name="a", levels={"which": "a"}, kind="loopback", settings={})
    workloads = tuple(
        WorkloadSpec(name=card.name, use=card.name, parameters=card.smoke)
        for card in ENGINE.workloads
        if card.target == target
    )
    plan = plan_of((system,), workloads=workloads, blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    trials = read_run(folder, plan).trials
    assert [(t.key.workload, t.reason) for t in trials if t.outcome != "done"] == []
    assert {trial.key.workload for trial in trials} == {one.name for one in workloads}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, None),
        ({"value": 201.0}, "the value is 201 1/s, and what it is computed from makes 200"),
        ({"operations": 99}, "makes 198"),
        ({"elapsed_s": 0.25}, "makes 400"),
        ({"unit": "B/s"}, "makes 12800"),
        ({"unit": "B/s", "bytes": 100}, None),
        ({"unit": "s", "latency_ns": HISTOGRAM}, "makes 5.5e-09"),
        ({"unit": "s", "latency_ns": HISTOGRAM, "value": 5.5e-9}, None),
        ({"latency_ns": replace(HISTOGRAM, count=99)}, "99 latencies of 100"),
        (
            {"latency_ns": replace(HISTOGRAM, buckets=[(5, 60)])},
            "a histogram of 60 of 100 latencies",
        ),
        ({"unit": "1", "value": 0.3}, None),
    ],
)
def test_what_contradicts(change: dict[str, object], why: str | None) -> None:
    found = first_contradiction([RATE, replace(RATE, **change)], "random")
    place, text = found or (0, "")
    assert (place, bool(text)) == ((0, False) if why is None else (1, True))
    assert (why or "") in text


def test_sums_over_children_are_not_computed_anew_but_single_rates_are() -> None:
    of_children = replace(RATE, unit="B/s", value=1.0)
    assert first_contradiction([of_children], "iozone_throughput") is None
    of_parent = replace(of_children, metric="read_parent")
    assert first_contradiction([of_parent], "iozone_throughput") is not None


def test_a_trial_changed_together_with_its_journal_is_refused(recorded_study: StudyFolder) -> None:
    """And its hash, and the chain: nothing else can tell."""
    plan = read_plan(recorded_study)
    path = sorted(recorded_study.trials.iterdir())[0]
    before = path.read_bytes()
    lines = [json.loads(line) for line in said_in(path).splitlines()]
    number, sample = next((n, e) for n, e in enumerate(lines, 1) if e["type"] == "sample")
    sample["data"]["value"] *= 2
    changed = kept("".join(json.dumps(line) + "\n" for line in lines).encode())
    path.write_bytes(changed)
    journal = b"".join(unchained(recorded_study.journal))
    old, new = (sha256(data).encode() for data in (before, changed))
    assert old in journal
    recorded_study.journal.write_bytes(chained(journal.replace(old, new).splitlines()))
    with pytest.raises(UsageError, match=rf"{path.name}: was changed .* line {number} of"):
        read_run(recorded_study, plan)
