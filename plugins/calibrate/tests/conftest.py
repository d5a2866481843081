"""One small calibration on the real engine, without root; all tests of it read its folder."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.runs import Watcher
from tiltyard.executors.engine import Engine
from tiltyard.run import settle
from tiltyard_calibrate import calibrate as whole
from tiltyard_calibrate import studies
from tiltyard_calibrate.calibrate import Wanted, calibrate
from tiltyard_calibrate.model import Calibration
from tiltyard_calibrate.subjects import SUBJECTS

READS = replace(
    SUBJECTS[0], parameters={**SUBJECTS[0].parameters, "file": "256k", "operations": 2000}
)
WANTED = Wanted(
    subjects=(READS, SUBJECTS[-1]),
    kinds=("directory",),
    comparisons=1,
    delayed=1,
    minutes=None,
    disturbed="keep",
)
"""Reads on a directory; the network has no kind of system to run on, and is left out."""


@dataclass(frozen=True)
class Done:
    """A calibration and where it is."""

    folder: Path
    state: Path
    found: Calibration


@pytest.fixture(scope="package")
def small() -> Iterator[None]:
    """One comparison a round, and few blocks for the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "COMPARISONS_EACH", 1)
        patch.setattr(whole, "COMPARISONS_EACH", 1)
        patch.setattr(studies, "_OVERHEAD_BLOCKS", 7)
        patch.setattr(studies, "_SENSITIVITY_BLOCKS", 7)
        patch.setattr(settle, "_LIMIT_S", 0.0)
        yield


@pytest.fixture(scope="package")
def done(small: None) -> Iterator[Done]:
    """In memory, because a disk's mood is not tested; with a state directory of its own."""
    at = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(dir=at) as name, pytest.MonkeyPatch.context() as patch:
        state = Path(name, "state")
        patch.setenv("TILTYARD_STATE", str(state))
        folder = Path(name, "calibration")
        yield Done(folder, state, calibrate(folder, WANTED, Engine.find(), Watcher()))
