"""A study of tuned and untuned systems: each is in its turn as it shall be, and never else."""

import shutil
from pathlib import Path

from support.hosts import needs_root
from support.places import tuning_facts
from support.runs import Watcher, directory_system, go_on, place, plan_of
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import sysctls
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec

KEY = "vm.admin_reserve_kbytes"
"""Harmless: how often counters are folded, in seconds."""


def system(name: str, tmp_path: Path, **settings: object) -> SystemSpec:
    made = directory_system(name, tmp_path / "disk" / name)
    return made.model_copy(update={"settings": {**made.settings, **settings}})


PRIORITIES = """
question = "Which?"
[factors.tuning]
first = { priority = { nice = 3 } }
last  = { priority = { nice = 9 } }
[[workload]]
use = "program"
command = ["sh", "-c", "echo nice = $(nice)"]
[workload.metrics]
nice = { regex = 'nice = ([0-9]+)', unit = "count", better = "lower" }
"""


@needs_root
def test_a_program_has_the_priority_of_its_system(
    tmp_path: Path, engine: Engine, state: Path
) -> None:
    folder = StudyFolder(tmp_path / "study")
    folder.root.mkdir()
    folder.study.write_text(PRIORITIES)
    whole = planned(folder, engine, trust=True)
    plan = whole.model_copy(update={"blocks": whole.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    run_study(folder, plan, engine, go_on, Watcher())
    found = {
        trial.key.system: [sample.value for sample in trial.samples if sample.metric == "nice"]
        for trial in read_run(folder, plan).trials
    }
    assert found == {"first": [3.0], "last": [9.0]}
    shutil.rmtree(state / "trusted", ignore_errors=True)


@needs_root
def test_tuned_and_untuned_turns_take_each_other_s_place(tmp_path: Path, engine: Engine) -> None:
    before = sysctls.read(KEY)
    systems = (
        system("plain", tmp_path),
        system("tuned", tmp_path, tuning=["mine.toml"]),
        system("lacking", tmp_path, tuning=["lacking.toml"]),
    )
    folder = place(tmp_path / "study", plan := plan_of(systems, blocks=3))
    (folder.root / "mine.toml").write_text(f'about = "x"\n[sysctl]\n{KEY} = 7\n')
    (folder.root / "lacking.toml").write_text('about = "x"\n[sysctl]\nvm.no_such_thing = 1\n')
    watcher = Watcher()
    assert run_study(folder, plan, engine, go_on, watcher) == "all planned blocks are done: 3"
    told = "lacking: tuning vm.no_such_thing: skipped: this kernel has no vm.no_such_thing"
    assert told in watcher.told
    record = read_run(folder, plan)
    assert [trial.outcome for trial in record.trials] == ["done"] * 9
    facts = {(each.block, each.system): tuning_facts(each.facts) for each in record.prepared}
    for block in (1, 2, 3):
        assert facts[block, "plain"] == {}
        # Put back after each turn: what it was, it is again when the next one begins.
        assert facts[block, "tuned"] == {
            "tuning": "mine.toml: 1 set, 0 as they were, 0 skipped",
            f"tuning {KEY}": f"7 (was {before})",
        }
        assert facts[block, "lacking"]["tuning"].endswith("0 set, 0 as they were, 1 skipped")
    assert sysctls.read(KEY) == before
