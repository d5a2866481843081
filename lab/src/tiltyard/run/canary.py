"""The canary: a fixed piece of work before and after each block.

It measures the host and nothing of what is compared, so a block may be judged by it: when it
takes longer or shorter than is usual in this run, something has changed that no counter tells (a
neighbour on the same hardware, a clock that was lowered). It computes for some tenths of a second
(the engine's own loop, without I/O), and writes 16 MiB over a file in the study folder and waits
until they are on the device. Without a study on directories, computing is all.

It is run where the trials of a block take some ten times as long; shorter blocks are judged by
telemetry alone, and so is the first one, until it is known how long its trials take.
"""

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final, Literal

from pydantic import JsonValue

from tiltyard.executors.agent import Trial
from tiltyard.executors.engine import Job
from tiltyard.run.journal import CanaryRun
from tiltyard.run.record import Reason
from tiltyard.run.stream import read_stream
from tiltyard.wire import SampleEvent

if TYPE_CHECKING:
    # It knows every kind of system: who only analyses has no use for them.
    from tiltyard.run.context import Context

_LIMIT_S = 60.0
_WORTH_S = 10.0
"""Trials of a block take so long together, or there is no canary beside it."""
_FEWEST = 5
"""Fewer canaries before a block tell nothing of what is usual."""
_SIGMAS = 4.0
_SIGMA_OF_MAD = 1.4826
_DISK_FACTOR = 3.0
_COMPUTE: Final[dict[str, JsonValue]] = {
    "backend": "null",
    "file": "16M",
    "block": "4k",
    "operations": 30_000_000,
    "timing": "pass",
}
_WRITE: Final[dict[str, JsonValue]] = {
    "file": "16M",
    "block": "1M",
    "phases": ["rewrite"],
    "include_fsync": True,
    "timing": "pass",
}


def run_canary(context: "Context", block: int, when: Literal["before", "after"]) -> None:
    """Run it, and write down how long it took.

    Does nothing for a plan without gates, with a limit of 0 for the canary, with all systems on
    other hosts, or with trials that are too short for one. A canary that fails is no reason to
    stop a study: its time is then not available.

    Raises:
        InterruptedRunError: if a signal came.
    """
    gates = context.plan.gates
    if gates is None or not gates.canary or context.plan.is_elsewhere:
        return
    if _block_s(context) < _WORTH_S:
        return
    cpu_s = _time_s(context, "random", _COMPUTE)
    disk_s = None
    if any(workload.target == "directory" for workload in context.plan.workloads):
        disk_s = _time_s(context, "stream", {**_WRITE, "access": "direct"})
        if disk_s is None:
            disk_s = _time_s(context, "stream", _WRITE)
    context.interrupt.check()
    context.journal.append(CanaryRun(block=block, when=when, cpu_s=cpu_s, disk_s=disk_s))


def _block_s(context: "Context") -> float:
    """How long the trials of a block take together, as far as it is known."""
    plan, times = context.plan, context.history.times_of_workload
    spent = ((times.get(one.spec.name), one.trials) for one in plan.workloads)
    return len(plan.systems) * sum(own.median_s * trials for own, trials in spent if own)


def _time_s(context: "Context", workload: str, parameters: dict[str, JsonValue]) -> float | None:
    """Time of the timed regions of one job in the study's scratch folder."""
    job = Job(
        workload=workload,
        parameters=parameters,
        target=Path(context.folder.work).resolve(),
        conditions=context.conditions,
    )
    with TemporaryFile() as keep:
        trial = Trial(context.agent(), job.message(), keep, limit_s=_LIMIT_S)
        with context.interrupt.stops(trial.stop):
            for _ in trial.lines():
                pass
        keep.seek(0)
        stream = read_stream(keep.read())
    if stream.outcome[0] != "done":
        return None
    regions_s = [event.data.elapsed_s for event in stream.events if isinstance(event, SampleEvent)]
    return max(regions_s, default=0.0) or None


def check_canary(runs: Sequence[CanaryRun], block: int, limit: float) -> Iterator[Reason]:
    """A control chart on the log time: those of one block against all that came before it.

    The chart's centre is the median, its limit four standard deviations by the median absolute
    deviation, which a few disturbed canaries do not move (Rousseeuw and Croux 1993), but at least
    ``limit``. Disks that others use as well vary more, also in ways that MAD does not show: theirs
    is at least three times that.

    Args:
        runs: all canaries so far, in order.
        block: the one that is judged.
        limit: smallest deviation that counts, as a share.
    """
    own = [run for run in runs if run.block == block]
    earlier = runs[: runs.index(own[0])] if own else ()
    for what, floor, time_s in (
        ("computing", limit, attrgetter("cpu_s")),
        ("writing", _DISK_FACTOR * limit, attrgetter("disk_s")),
    ):
        known = [math.log(seconds) for run in earlier if (seconds := time_s(run))]
        if len(known) < _FEWEST:
            continue
        centre = median(known)
        spread = _SIGMA_OF_MAD * median(abs(value - centre) for value in known)
        allowed = max(math.log1p(floor), _SIGMAS * spread)
        for run in own:
            seconds = time_s(run)
            if seconds and abs(math.log(seconds) - centre) > allowed:
                yield _reason(run, what, math.log(seconds) - centre, allowed)


def _reason(run: CanaryRun, what: str, off: float, allowed: float) -> Reason:
    """In words, as shares."""
    value, limit = math.expm1(abs(off)), math.expm1(allowed)
    direction = "longer" if off > 0 else "shorter"
    return Reason(
        gate="canary",
        system=None,
        workload=None,
        value=value,
        limit=limit,
        text=f"the canary's {what} {run.when} the block took {100 * value:.1f} % {direction} than "
        f"usual in this run (limit {100 * limit:.1f} %)",
    )
