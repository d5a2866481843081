"""One part of a calibration, carried out as the real study that it is, and read back as arrays."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from tiltyard.analysis.quantity import collect
from tiltyard.analysis.workload import quantities_of
from tiltyard.app.freeze import frozen, place_study
from tiltyard.app.run import run_whole
from tiltyard.calibration.studies import Part
from tiltyard.errors import HostLacksError, TrialsFailedError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.observer import Observer
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.stats.types import FloatArray
from tiltyard.units import count_of

FEWEST_BLOCKS: Final = 7
"""That an interval needs: the first look of the standard rules."""


@dataclass(frozen=True)
class Outcome:
    """A part that was carried out."""

    plan: Plan
    run: RunRecord

    @property
    def spoiled(self) -> int:
        """Blocks that something disturbed."""
        return len(self.run.spoiled)

    def log_values(self, workload: str) -> FloatArray:
        """The headline of a workload, shape (blocks, systems): nan where there is no value.

        Systems are in the order of the study. Blocks that were replaced are left out.
        """
        measured = collect(self.plan, self.run, self.plan.workload(workload))
        quantities = quantities_of(measured)
        if quantities is None:
            failed = next((t.reason for t in self.run.trials if t.reason), "no trial was made")
            raise TrialsFailedError(f"{workload}: not one trial was done: {failed}")
        kept = np.array([number not in self._replaced for number in measured.blocks])
        values: FloatArray = quantities.index.log_values[kept]
        return values

    @property
    def _replaced(self) -> frozenset[int]:
        """Numbers of the blocks that do not count."""
        gates = self.plan.gates
        return frozenset(self.run.spoiled if gates and gates.spoiled == "replace" else ())

    def require_calm(self) -> None:
        """Make sure that enough blocks count.

        Raises:
            HostLacksError: if the host was too busy for them.
        """
        begun = {trial.key.block for trial in self.run.trials}
        counted = len(begun - self._replaced)
        if counted < FEWEST_BLOCKS:
            reason = next((one.text for own in self.run.spoiled.values() for one in own), "")
            raise HostLacksError(
                f"{self.plan.where} is too busy to be calibrated: {len(self._replaced)} of "
                f"{count_of(len(begun), 'block')} were disturbed ({reason}). Stop what else runs "
                "and remove the folder, or "
                "count such blocks: --keep-spoiled"
            )

    def times_ns(self, workload: str) -> FloatArray:
        """Time of an operation, shape (blocks, systems), of a workload whose headline is a rate."""
        headline = {m.name for m in self.plan.workload(workload).metrics if m.role == "headline"}
        units = {s.unit for t in self.run.trials for s in t.samples if s.metric in headline}
        assert units == {"1/s"}, f"{workload} is not measured in operations per second"
        times: FloatArray = 1e9 * np.exp(-self.log_values(workload))
        return times


def carry_out(root: Path, part: Part, engine: Engine, observer: Observer) -> Outcome:
    """Carry a part out, or go on with it; a finished one is only read.

    Args:
        root: The folder of the calibration; the part has its own folder in it.
        part: The study.
        engine: Measures.
        observer: Sees what goes on.

    Raises:
        UsageError: if another study is in the folder.
        InterruptedRunError: after Ctrl-C; everything finished is kept.
        HostLacksError: if this host cannot run it, or is too busy.
    """
    folder = StudyFolder(root / part.name)
    place_study(folder, part.text.encode())
    for name in part.directories:
        (folder.root / name).mkdir(exist_ok=True)
    if not folder.plan.exists():
        write_plan(folder, frozen(folder.study, engine, None))
    plan = read_plan(folder)
    run_whole(folder, plan, engine, observer, "all blocks are done")
    outcome = Outcome(plan, read_run(folder, plan))
    outcome.require_calm()
    return outcome
