"""The reference run: a fixed piece of work before and after each block, on each host of the study.

It measures the host and nothing of what is compared, so a block may be judged by it: when it
takes longer or shorter than is usual in this run, something has changed that no counter tells (a
neighbour on the same hardware, a clock that was lowered). It computes for some tenths of a second
(the engine's own loop, without I/O), and writes 16 MiB over a file in the study folder and waits
until they are on the device. Without a study on directories, computing is all. On another host the
file is in the user's home.

It is run where the trials of a block take some ten times as long; shorter blocks are judged by
telemetry alone, and so is the first one, until it is known how long its trials take.
"""

import contextlib
import io
import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from pydantic import JsonValue

from tiltyard.errors import InterruptedRunError, TiltyardError
from tiltyard.executors.engine import Job
from tiltyard.executors.runner import Runner, Trial
from tiltyard.host.op import MakeDirectory
from tiltyard.host.place import Place
from tiltyard.host.steps import Steps
from tiltyard.run.journal import ReferenceRun
from tiltyard.run.record import Reason
from tiltyard.run.stream import stream_of
from tiltyard.systems.other_host import engine_command
from tiltyard.wire import SampleEvent

if TYPE_CHECKING:
    # It knows every kind of system: who only analyses has no use for them.
    from tiltyard.run.context import Context

_LIMIT_S = 60.0
_WORTH_S = 10.0
"""Trials of a block take so long together for each host, or there is no reference run beside it."""
_FEWEST = 5
"""Fewer reference runs before a block tell nothing of what is usual."""
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


def run_reference(
    context: "Context", hosts: Sequence[Place], block: int, when: Literal["before", "after"]
) -> None:
    """Run it on each host, and write down how long it took.

    Does nothing for a plan without noise limits, with a limit of 0 for it, or with trials that are
    too short for one. A reference run that fails is no reason to stop a study: its time is then not
    available.

    Args:
        context: of the run.
        hosts: those that have a part in what is measured.
        block: its number.
        when: before or after its trials.

    Raises:
        InterruptedRunError: if a signal came.
    """
    noise_limits = context.plan.noise_limits
    if (
        noise_limits is None
        or not noise_limits.reference_run
        or _block_s(context) < _WORTH_S * len(hosts)
    ):
        return
    for host in hosts:
        cpu_s, disk_s = _there(context, host) if host.is_remote else _here(context)
        context.interrupt.check()
        name = str(host) if host.is_remote else ""
        context.journal.append(
            ReferenceRun(block=block, when=when, cpu_s=cpu_s, disk_s=disk_s, host=name)
        )


def _block_s(context: "Context") -> float:
    """How long the trials of a block take together, as far as it is known."""
    plan, times = context.plan, context.history.times_of_workload
    spent = ((times.get(one.spec.name), one.trials) for one in plan.workloads)
    return len(plan.systems) * sum(own.median_s * trials for own, trials in spent if own)


def _here(context: "Context") -> tuple[float | None, float | None]:
    """Times of computing and of writing on this host."""
    return _times_s(context, context.runner(), Path(context.folder.work).resolve())


def _there(context: "Context", host: Place) -> tuple[float | None, float | None]:
    """The same of another host, in a directory of its own."""
    steps = Steps(context.ledger, context.interrupt.check, place=host)
    try:
        steps.begin()
        directory = host.home / context.ledger.name("reference_run")
        steps.take([MakeDirectory(path=directory, private=True)])
        engine = engine_command(host, host.host.engine)
        with contextlib.closing(context.runners.another(engine, is_far=True)) as runner:
            return _times_s(context, runner, directory)
    except InterruptedRunError:
        raise
    except (TiltyardError, OSError):
        return None, None
    finally:
        with contextlib.suppress(TiltyardError, OSError):
            steps.undo()


def _times_s(context: "Context", runner: Runner, target: Path) -> tuple[float | None, float | None]:
    """Times of computing, and of writing where trials work in directories."""
    cpu_s = _time_s(context, runner, target, "random", _COMPUTE)
    disk_s = None
    if any(workload.target == "directory" for workload in context.plan.workloads):
        disk_s = _time_s(context, runner, target, "stream", {**_WRITE, "access": "direct"})
        if disk_s is None:
            disk_s = _time_s(context, runner, target, "stream", _WRITE)
    return cpu_s, disk_s


def _time_s(
    context: "Context",
    runner: Runner,
    target: Path,
    workload: str,
    parameters: dict[str, JsonValue],
) -> float | None:
    """Time of the timed regions of one job."""
    conditions = context.conditions
    if runner.is_far:
        # Those that others are kept off there are not for who only logs in.
        conditions = conditions.model_copy(update={"cpus": ()})
    job = Job(workload=workload, parameters=parameters, target=target, conditions=conditions)
    trial = Trial(runner, job.message(), keep := io.BytesIO(), limit_s=_LIMIT_S)
    with context.interrupt.stops(trial.stop):
        for _ in trial.lines():
            pass
    stream = stream_of(keep.getvalue())
    if stream.outcome[0] != "done":
        return None
    regions_s = [event.data.elapsed_s for event in stream.events if isinstance(event, SampleEvent)]
    return max(regions_s, default=0.0) or None


def check_reference(runs: Sequence[ReferenceRun], block: int, limit: float) -> Iterator[Reason]:
    """A control chart on the log time, for each host: those of one block against all before it.

    The chart's centre is the median, its limit four standard deviations by the median absolute
    deviation, which a few disturbed ones do not move (Rousseeuw and Croux 1993), but at least
    ``limit``. Disks that others use as well vary more, also in ways that MAD does not show: theirs
    is at least three times that.

    Args:
        runs: all reference runs so far, in order.
        block: the one that is judged.
        limit: smallest deviation that counts, as a share.
    """
    for host in dict.fromkeys(run.host for run in runs if run.block == block):
        yield from _beyond([run for run in runs if run.host == host], block, limit)


def _beyond(runs: Sequence[ReferenceRun], block: int, limit: float) -> Iterator[Reason]:
    """The same for one host."""
    own = [run for run in runs if run.block == block]
    earlier = runs[: runs.index(own[0])]
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


def _reason(run: ReferenceRun, what: str, off: float, allowed: float) -> Reason:
    """In words, as shares."""
    value, limit = math.expm1(abs(off)), math.expm1(allowed)
    direction = "longer" if off > 0 else "shorter"
    where = f" on {run.host}" if run.host else ""
    return Reason(
        signal="reference_run",
        system=None,
        workload=None,
        host=run.host,
        value=value,
        limit=limit,
        text=f"the reference run's {what}{where} {run.when} the block took {100 * value:.1f} % "
        f"{direction} than usual in this run (limit {100 * limit:.1f} %)",
    )
