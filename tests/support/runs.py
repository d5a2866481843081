"""Tiny studies on the real engine, in folders of their own.

Called as ``python -m support.runs FOLDER`` it carries on the study in a folder, as the command
line would: the process that tests kill.
"""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from support.patience import wait_until
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.plan.model import Block, Design, Look, Plan, PlannedWorkload, TrialKey, Turn
from tiltyard.plan.store import write_plan
from tiltyard.run import settle
from tiltyard.run.journal import TrialFinished, TrialStarted, read_journal
from tiltyard.run.observer import Decision, Outlook
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import ConditionsSpec, NoiseLimits, SystemSpec, WorkloadSpec


@dataclass(frozen=True)
class Verdict:
    """What a look answers here."""

    done: bool
    reason: str
    going_on: frozenset[tuple[str, str]] = frozenset()
    """(system, workload) that later blocks still run."""


def go_on(record: RunRecord) -> Verdict:
    """Never decided, about anything."""
    everything = frozenset((trial.key.system, trial.key.workload) for trial in record.trials)
    return Verdict(False, f"{len(record.trials)} trials decide nothing", everything)


@dataclass
class Watcher:
    """An observer that keeps what it is told."""

    told: list[str] = field(default_factory=list)
    outlooks: list[Outlook] = field(default_factory=list)
    records: list[TrialRecord] = field(default_factory=list)

    def started(self, plan: Plan, outlook: Outlook) -> None:
        self.outlooks.append(outlook)

    def note(self, text: str) -> None:
        self.told.append(text)

    def block_started(self, block: int, of: int) -> None:
        self.told.append(f"block {block}/{of}")

    def preparing(self, system: str) -> None:
        self.told.append(f"preparing {system}")

    def trial_started(self, key: TrialKey, slot: int, outlook: Outlook) -> None:
        self.outlooks.append(outlook)

    def progress(self, fraction: float, what: str) -> None:
        assert 0 <= fraction <= 1

    def trial_finished(self, record: TrialRecord, outlook: Outlook) -> None:
        self.records.append(record)
        self.outlooks.append(outlook)

    def looked(self, blocks: int, decision: Decision) -> None:
        self.told.append(f"looked after {blocks}: {decision.reason}")


SMOKE = WorkloadSpec(
    name="iozone", use="iozone", parameters={"file": "128k", "record": "32k", "tests": ["write"]}
)

NOISE_LIMITS = NoiseLimits(
    disturbed="replace",
    foreign_cpu=0.03,
    foreign_io=0.02,
    pressure=0.02,
    steal=0.01,
    frequency=0.01,
    temperature_k=5.0,
    reference_run=0.03,
)
"""The limits that a study has by default."""


def directory_system(name: str, directory: Path) -> SystemSpec:
    """A system of kind ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    settings = {"directory": str(directory)}
    return SystemSpec(name=name, levels={"directory": name}, kind="directory", settings=settings)


def image_system(filesystem: str, image: str, **settings: object) -> SystemSpec:
    """A system of kind ``loop-image``."""
    return SystemSpec.model_validate(
        {
            "name": filesystem,
            "levels": {"filesystem": filesystem},
            "kind": "loop-image",
            "settings": {"filesystem": filesystem, "backing": {"image": image}, **settings},
        }
    )


def plan_of(
    systems: tuple[SystemSpec, ...],
    *,
    workloads: tuple[WorkloadSpec, ...] = (SMOKE,),
    blocks: int = 2,
    looks: tuple[int, ...] | None = None,
    budget_s: float | None = None,
    spares: int = 0,
    noise_limits: NoiseLimits | None = None,
) -> Plan:
    """A plan whose order simply turns round from block to block.

    Without noise_limits nothing that others do on this machine can disturb a block.
    """
    names = [system.name for system in systems]
    turns = [
        [Turn(system=name, workloads=tuple(w.name for w in workloads)) for name in order]
        for order in (names[number % len(names) :] + names[: number % len(names)]
                      for number in range(blocks + spares))
    ]  # fmt: skip
    drawn = tuple(
        Block(number=number, turns=tuple(order)) for number, order in enumerate(turns, start=1)
    )
    return Plan(
        format=1,
        tiltyard="0",
        engine="0",
        created="2026-01-01T00:00:00+00:00",
        study_sha256="0" * 64,
        question="Which?",
        decide=None,
        seed=1,
        systems=systems,
        baseline=names[0],
        workloads=tuple(
            PlannedWorkload(
                spec=spec, about="", lineage="", timing="", effective={}, hash="", metrics=(),
                grid=(),
            )
            for spec in workloads
        ),
        design=Design(
            profile="fixed",
            strict=False,
            looks=tuple(Look(blocks=count, c=0) for count in looks or (blocks,)),
            alpha=0.05,
            equivalent_within=0.02,
            false_discovery_rate=0.05,
        ),
        conditions=ConditionsSpec(cpus=(), unpinned=False, keep_awake=False),
        budget_s=budget_s,
        blocks=drawn[:blocks],
        spares=drawn[blocks:],
        noise_limits=noise_limits,
    )  # fmt: skip


def place(root: Path, plan: Plan) -> StudyFolder:
    """A study folder with a plan in it."""
    root.mkdir(parents=True, exist_ok=True)
    folder = StudyFolder(root)
    write_whole(folder.plan, plan.model_dump_json().encode())
    return folder


def one_block(folder: StudyFolder) -> tuple[Plan, RunRecord]:
    """Carry out the first block of the study that is in a folder; all of its trials are done."""
    engine = Engine.find()
    plan = planned(folder, engine, trust=True)
    plan = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    run_study(folder, plan, engine, go_on, Watcher())
    record = read_run(folder, plan)
    failed = {(one.key.workload, one.key.system): one.reason for one in record.trials if one.reason}
    assert not failed
    return plan, record


@dataclass(frozen=True)
class Recording:
    """What a run left in its folder, to be put back as a kill at any moment would have left it."""

    folder: StudyFolder
    lines: list[bytes]
    """Of the journal."""
    trials: dict[str, bytes]

    @classmethod
    def of(cls, folder: StudyFolder) -> "Recording":
        """What is there now."""
        lines = folder.journal.read_bytes().splitlines(keepends=True)
        return cls(folder, lines, {path.name: path.read_bytes() for path in _files(folder)})

    def killed_after(self, lines: int) -> None:
        """Put the folder back to the moment after so many lines of the journal."""
        self.folder.journal.write_bytes(b"".join(self.lines[:lines]))
        events = (entry.event for entry in read_journal(self.folder.journal))
        finished = {event.key.file_name for event in events if isinstance(event, TrialFinished)}
        for path in _files(self.folder):
            path.unlink()
        for name in finished:
            (self.folder.trials / name).write_bytes(self.trials[name])


def _files(folder: StudyFolder) -> list[Path]:
    return list(folder.trials.iterdir())


def wait_for_trial(folder: StudyFolder, workload: str) -> None:
    """Until the engine is at work on it, in a run of another process."""
    wait_until(
        lambda: any(
            isinstance(entry.event, TrialStarted) and entry.event.key.workload == workload
            for entry in read_journal(folder.journal)
        ),
        f"{workload} does not begin",
    )
    time.sleep(0.2)


def main() -> None:
    """Carry on the study in the folder that is named, without waiting for a calm host."""
    settle._LIMIT_S = 0.1
    folder = StudyFolder(Path(sys.argv[1]))
    plan = Plan.model_validate_json(folder.plan.read_bytes())
    run_study(folder, plan, Engine.find(), go_on, Watcher())


if __name__ == "__main__":
    main()
