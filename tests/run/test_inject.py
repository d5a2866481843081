"""Known delays: from the setting of a system to the calls of its trials."""

from pathlib import Path

from support.runs import Watcher, directory_system, go_on, place, plan_of
from tiltyard.executors.engine import Engine
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import WorkloadSpec

DELAY_NS = 1_000_000
READS = 40
RANDOM = WorkloadSpec(
    name="random",
    use="random",
    parameters={"file": "64k", "block": "4k", "operations": READS, "access": "in-cache"},
)


def test_a_system_is_slowed_by_what_its_settings_say(tmp_path: Path, engine: Engine) -> None:
    plain = directory_system("plain", tmp_path / "disk")
    settings = {**plain.settings, "inject_ns": DELAY_NS, "inject_into": ["read"]}
    slowed = plain.model_copy(update={"name": "slowed", "settings": settings})
    plan = plan_of((plain, slowed), workloads=(RANDOM,), blocks=1)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    trials = {trial.key.system: trial for trial in read_run(folder, plan).trials}
    for trial in trials.values():
        assert trial.end is not None
        assert trial.hello is not None
    assert trials["plain"].hello.conditions.inject is None
    assert "InjectedDelays" not in trials["plain"].end.counters
    assert trials["slowed"].hello.conditions.inject.delay_ns == DELAY_NS
    assert trials["slowed"].end.counters["InjectedDelays"] >= READS
    assert trials["slowed"].samples[0].elapsed_s >= 0.9 * READS * DELAY_NS / 1e9
