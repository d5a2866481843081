"""What a study would do and what would go wrong, before anything runs."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard.frozen import Frozen
from tiltyard.host.facts import host_facts
from tiltyard.plan.model import Plan
from tiltyard.plan.prospect import prospects
from tiltyard.plan.store import read_plan
from tiltyard.run.binaries import twins
from tiltyard.run.boot import boots
from tiltyard.run.differences import differences, told
from tiltyard.run.dry_run import dry_run
from tiltyard.run.host_record import host_record
from tiltyard.run.read import read_run
from tiltyard.run.rehearsal import lacking, rehearse
from tiltyard.run.trust import UntrustedInputs
from tiltyard.study.model import SystemSpec
from tiltyard.systems.kind import Problem
from tiltyard.systems.planned import PlannedPart


class BroughtItem(Frozen):
    """Something that the study brings and that would be executed."""

    key: str
    what: str
    owners: tuple[str, ...]
    """Systems and workloads."""


class Outline(Frozen):
    """What a study would do, from its plan alone."""

    question: str
    scaled: str
    """What was made smaller, in words; empty: nothing."""
    systems: tuple[str, ...]
    workloads: tuple[str, ...]
    titles: dict[str, str]
    """Workload → what people read."""
    looks: tuple[int, ...]
    """Blocks at each look."""
    trials_per_block: int
    sessions: int
    boots: dict[str, int]
    """Host → how often it is booted at most."""
    disk_bytes: int
    """Room for images; files of workloads in directories of a person are not among it."""
    written_bytes: int | None
    """Up to the last look, as the trials of a pilot or of the run so far wrote; ``None``: none of
    them says it."""
    limits: tuple[str, ...]
    """What so many blocks cannot decide."""
    twins: tuple[str, ...]
    """Files that are compared with each other and are equal, a sentence each pair."""
    brings: tuple[BroughtItem, ...]
    trusted: bool
    """Whether there is nothing to trust, or a person has trusted all of it."""


class SystemProblem(Frozen):
    """What would go wrong with a system."""

    system: str
    severity: Literal["error", "warning"]
    text: str
    fix: str
    """The one command or change for it; empty: none is known."""


class Checked(Outline):
    """The outline, and what was found."""

    restored: tuple[str, ...] = ()
    """What an earlier run had left changed, and was put back."""
    differences: tuple[str, ...] = ()
    """Between the systems when they were up, in words."""
    problems: tuple[SystemProblem, ...] = ()
    dry_run: tuple[PlannedPart, ...] = ()
    """With `--dry-run`: the commands, none of which was executed."""

    @property
    def is_lacking(self) -> bool:
        """Whether a system cannot come up."""
        errors = any(problem.severity == "error" for problem in self.problems)
        return errors or any(part.refused for part in self.dry_run)


def asked(plan: Plan, bringing: UntrustedInputs) -> list[SystemSpec]:
    """The systems of a plan that are asked and brought up: those that bring nothing."""
    return [system for system in plan.systems if system.name not in bringing.by_system]


def outline(plan: Plan, bringing: UntrustedInputs, folder: StudyFolder) -> Outline:
    """What a plan says of itself; nothing on the host is changed."""
    parts = dry_run(folder, asked(plan, bringing), plan.placement, plan.most_clients)
    disk_bytes = sum(part.disk_bytes for part in parts)
    written_bytes = _written_bytes(plan, folder)
    return Outline(
        question=plan.question,
        scaled=plan.scaled.sentence if plan.scaled else "",
        systems=tuple(system.name for system in plan.systems),
        workloads=tuple(workload.spec.name for workload in plan.workloads),
        titles=plan.titles,
        looks=tuple(look.blocks for look in plan.design.looks),
        trials_per_block=sum(1 for _ in plan.trials_of(plan.blocks[0])),
        sessions=plan.design.sessions,
        boots=boots(plan),
        disk_bytes=disk_bytes,
        written_bytes=None if written_bytes is None else disk_bytes + written_bytes,
        limits=tuple(prospects(plan)),
        twins=tuple(twins(plan, (folder.study_root / plan.paths_from).resolve())),
        brings=tuple(
            BroughtItem(key=item.key, what=item.what, owners=tuple(owners))
            for item, owners in bringing.items.items()
        ),
        trusted=bringing.is_trusted,
    )


def told_only(
    begun: Outline, plan: Plan, folder: StudyFolder, systems: Sequence[SystemSpec]
) -> Checked:
    """The outline with the commands that a run would execute; none of them is."""
    parts = dry_run(folder, systems, plan.placement, plan.most_clients)
    return Checked(**dict(begun), dry_run=tuple(parts))


def rehearsed(
    begun: Outline,
    plan: Plan,
    folder: StudyFolder,
    systems: Sequence[SystemSpec],
    *,
    bring_up: bool,
) -> Checked:
    """The outline with what the systems say of themselves.

    Args:
        begun: the outline.
        plan: of the study.
        folder: where it is rehearsed.
        systems: those that may be asked.
        bring_up: bring each up once and take it down; without it nothing on the host is touched.

    Raises:
        InterruptedRunError: after Ctrl-C; nothing is left up.
        RefusedError: if the study is being run.
    """
    refresh = any(workload.trials > 1 for workload in plan.workloads)
    found = rehearse(folder, systems, bring_up=bring_up, refresh=refresh, placement=plan.placement)
    here = host_facts(host_record(folder.root, plan.engine))
    lacks = {system.name: lacking(plan.conditions, system) for system in systems}
    problems = tuple(
        SystemProblem(system=system, severity=one.severity, text=one.text, fix=one.remedy or "")
        for system, problems in found.problems.items()
        for one in (
            *lacks.get(system, ()),
            *problems,
            *_skipped(found.facts.get(system, {}), problems),
        )
    )
    return Checked(
        **dict(begun),
        restored=found.recovered,
        differences=tuple(told(differences(found.facts, plan.systems, here))),
        problems=problems,
    )


def _skipped(facts: Mapping[str, str], problems: Sequence[Problem]) -> Iterator[Problem]:
    """What was skipped of a profile's settings of devices, which are there when a system is up."""
    known = {problem.text for problem in problems}
    for name, value in facts.items():
        text = f"{name}: {value}"
        if name.startswith("tuning ") and "skipped: " in value and text not in known:
            yield Problem("warning", text)


def _written_bytes(plan: Plan, folder: StudyFolder) -> int | None:
    """What reaches disks in the trials of all blocks, from those of a pilot or of the run."""
    for source in (folder, folder.pilot):
        written: dict[str, list[int]] = {}
        # Trials of a study that was changed since tell nothing of this one.
        with contextlib.suppress(UsageError):
            for trial in read_run(source, read_plan(source)).trials:
                if trial.end and trial.end.usage.device:
                    moved = trial.end.usage.device.written_bytes
                    written.setdefault(trial.key.workload, []).append(moved)
        if all(workload.spec.name in written for workload in plan.workloads):
            means = {name: sum(values) / len(values) for name, values in written.items()}
            trials = (key for block in plan.blocks for key in plan.trials_of(block))
            return round(sum(means[key.workload] for key in trials))
    return None
