"""The whole calibration: its parts in order, and what they state together."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard import __version__
from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import write_whole
from tiltyard.frozen import flaw
from tiltyard.host import calibrations
from tiltyard.host.place import Place
from tiltyard.run.observer import Observer
from tiltyard.units import format_duration
from tiltyard_calibrate.bench import Bench, Fate, SubjectBench
from tiltyard_calibrate.examine import overhead_of
from tiltyard_calibrate.ladders import ladders_of
from tiltyard_calibrate.model import Asked, Calibration, Overhead, Simulated
from tiltyard_calibrate.studies import COMPARISONS_EACH, overhead_part
from tiltyard_calibrate.subjects import Subject, place_of

_OVERHEADS: Final = {"64k": ("reads of 64 KiB", 0.01), "4k": ("reads of 4 KiB", 0.03)}
"""Block → in words, and the share of it that the engine may spend."""
_SIMULATED: Final = Path(__file__).with_name("error-rates.json")
"""Written by ``make error-rates``, together with docs/error-rates.md."""


@dataclass(frozen=True)
class Wanted:
    """What a person asks for."""

    subjects: tuple[Subject, ...]
    kinds: tuple[str, ...]
    """Kinds of systems to calibrate on; empty: the usual ones."""
    comparisons: int
    """Of a system with itself, on each subject."""
    delayed: int
    """With each known delay."""
    minutes: float | None
    """After which no further round is begun."""
    disturbed: Fate
    """What becomes of a block that something disturbs."""
    address: Address = THIS_HOST
    """Of the host that is calibrated."""

    @property
    def at(self) -> Place:
        """That host."""
        return Place(self.address)

    @property
    def rounds(self) -> int:
        """Each yields :data:`COMPARISONS_EACH` comparisons."""
        return -(-self.comparisons // COMPARISONS_EACH)


def calibrate(
    root: Path,
    wanted: Wanted,
    engine: Engine,
    observer: Observer,
) -> Calibration:
    """Calibrate a host, or go on with it; finished parts are only read.

    Args:
        root: The folder of the calibration.
        wanted: What to calibrate.
        engine: Measures.
        observer: Sees what goes on.

    Raises:
        UsageError: if the folder holds another calibration.
        InterruptedRunError: after Ctrl-C; the same call goes on.
        HostLacksError: if the host cannot run a workload, or is not reached.
    """
    _require_same(root, wanted)
    bench = Bench(root, engine, observer, wanted.disturbed, wanted.at)
    placed = [(one, place_of(one, wanted.kinds, wanted.address)) for one in wanted.subjects]
    benches = [SubjectBench(bench, subject, place) for subject, place in placed if place]
    if not benches:
        raise UsageError(f"none of the workloads runs on {' or '.join(wanted.kinds)}")
    remarks = [
        f"{subject.name} was left out: it does not run on {' or '.join(wanted.kinds)}."
        for subject, place in placed
        if place is None
    ]
    overheads = _overheads(bench, benches, remarks)
    _rounds(benches, wanted, remarks)
    ladders = ladders_of(bench, wanted.kinds, wanted.address)
    return Calibration(
        date=bench.last_started,
        tiltyard=__version__,
        engine=engine.describe().engine,
        machine=calibrations.machine(wanted.at),
        kernel=calibrations.kernel(wanted.at),
        host=bench.hosts[0],
        comparisons=wanted.comparisons,
        keeps_disturbed=wanted.disturbed == "keep",
        clock=bench.clock,
        overheads=overheads,
        subjects=tuple(one.findings() for one in benches),
        ladders=ladders,
        simulated=Simulated.of_json(_SIMULATED.read_bytes()),
        remarks=tuple(remarks),
    )


def _require_same(root: Path, wanted: Wanted) -> None:
    """A folder holds one calibration of one host.

    Raises:
        UsageError: if it was begun with other words, or on another host or kernel.
    """
    asked = Asked(
        machine=calibrations.machine(wanted.at),
        kernel=calibrations.kernel(wanted.at),
        systems=wanted.kinds,
        workloads=tuple(subject.name for subject in wanted.subjects),
        keeps_disturbed=wanted.disturbed == "keep",
    )
    path = root / "asked.json"
    if not path.exists():
        write_whole(path, asked.model_dump_json(indent=1).encode())
        return
    try:
        before = Asked.of_json(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path}: {flaw(error)}. Fix: remove {root}") from error
    if before != asked:
        raise UsageError(
            f"{root}: another calibration is in this folder (asked.json tells which). "
            "Choose another one with --folder, or remove it"
        )


def _overheads(
    bench: Bench, benches: list[SubjectBench], remarks: list[str]
) -> tuple[Overhead, ...]:
    """What reading the clock for each operation costs, where there is a storage subject."""
    place = next((one.place for one in benches if one.subject.target == "directory"), None)
    if place is None:
        remarks.append("The cost of timing each operation was not measured: it needs storage.")
        return ()
    outcome = bench.carry_out(overhead_part(place, list(_OVERHEADS), bench.disturbed))
    return tuple(
        overhead_of(
            what,
            outcome.times_ns(f"pass-{size}"),
            outcome.times_ns(f"operation-{size}"),
            bench.clock.operation_ns,
            share,
        )
        for size, (what, share) in _OVERHEADS.items()
    )


def _rounds(benches: list[SubjectBench], wanted: Wanted, remarks: list[str]) -> None:
    """Round after round, each over all subjects, until all are done or the time is used up."""
    began = time.monotonic()
    longest_s = 0.0
    for number in range(1, wanted.rounds + 1):
        round_began = time.monotonic()
        if wanted.minutes and round_began - began + longest_s > 60 * wanted.minutes:
            remarks.append(
                f"{(number - 1) * COMPARISONS_EACH} of {wanted.rounds * COMPARISONS_EACH} "
                f"comparisons fitted in {format_duration(60 * wanted.minutes)}."
            )
            return
        for bench in benches:
            bench.round(number, delays=(number - 1) * COMPARISONS_EACH < wanted.delayed)
        longest_s = max(longest_s, time.monotonic() - round_began)
