"""What disturbs a block: telemetry beyond the limits of the plan, never a result.

They cannot see what was measured: all that they get of a trial is its :class:`Evidence`, which
:func:`evidence_of` copies out of the record, and in which there is no value of a workload. A trial
that failed is failed, not disturbed; a signal that the host does not have disturbs nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import Final

from tiltyard.host.place import HERE
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.history import History
from tiltyard.run.record import Reason, TrialRecord
from tiltyard.run.reference_run import check_reference
from tiltyard.study.model import NoiseLimits
from tiltyard.units import count_of, format_size

TICKS_S: Final = 0.03
"""CPU time is counted in ticks of 10 ms (USER_HZ, proc(5)): up to three of them may be chance."""
LEAST_BYTES: Final = 2**20
LEAST_RATE: Final = 2**20
"""Less than this of others' traffic, in bytes and bytes per second, is every host's log."""
CLOCK_STEP_S: Final = 1e-3

USUAL: Final = 2.0
"""Where limits adapt, so many times what others did before the first block is what the host is
like: a replacement block would be no quieter."""

Found = tuple[str, float, float, str]
"""Gate, value, limit, and what was seen in words."""


@dataclass(frozen=True)
class Evidence:
    """All that the noise limits may know of a trial on one of its hosts."""

    key: TrialKey
    elapsed_s: float
    """Wall time over which ``foreign_s`` and ``steal_s`` were counted."""
    foreign_s: float | None
    """CPU time of processes that are neither ours nor the kernel's."""
    steal_s: float | None
    telemetry: Telemetry
    """Its ``cpus`` are those on which both were counted; none: all."""


def evidence_of(record: TrialRecord) -> Iterator[Evidence]:
    """What the limits may know of a trial, for each host of it; nothing of one that failed."""
    if record.outcome != "done" or record.end is None:
        return
    telemetry = record.telemetry or Telemetry(elapsed_s=record.elapsed_s)
    yield Evidence(
        key=record.key,
        elapsed_s=record.watched_s,
        foreign_s=record.foreign_s,
        steal_s=record.steal_s,
        telemetry=telemetry,
    )
    for other in telemetry.others:
        yield Evidence(
            key=record.key,
            elapsed_s=other.elapsed_s,
            foreign_s=other.external_s,
            steal_s=other.external_steal_s,
            telemetry=other,
        )


def check_block(
    history: History, plan: Plan, block: int, records: Sequence[TrialRecord]
) -> tuple[Reason, ...]:
    """What disturbs a block; empty if nothing does, and for plans without noise limits.

    Args:
        history: the journal so far, for reference runs and quotas that are always used up.
        plan: has the limits.
        block: its number.
        records: the trials of the block.
    """
    if plan.noise_limits is None:
        return ()
    evidence = [found for record in records for found in evidence_of(record)]
    earlier = (
        seen
        for event in history.finished.values()
        if event.outcome == "done" and event.telemetry
        for seen in (event.telemetry, *event.telemetry.others)
    )
    reasons = (
        *check_evidence(evidence, plan.noise_limits, earlier),
        *check_reference(history.reference_runs, block, plan.noise_limits.reference_run),
    )
    return tuple(
        reason.model_copy(update={"usual": True})
        if not reason.host and reason.value <= history.usual.get(reason.signal, 0.0) * USUAL
        else reason
        for reason in reasons
    )


def level_of(telemetry: Telemetry) -> dict[str, float]:
    """What others did while nothing was measured: signal → share, where the host tells."""
    taken = {"foreign_cpu": telemetry.external_s, "steal": telemetry.external_steal_s}
    waits_s = telemetry.foreign_waits_s or {}
    taken["pressure"] = max(waits_s.values(), default=None)
    return {
        signal: spent_s / telemetry.elapsed_s
        for signal, spent_s in taken.items()
        if spent_s is not None and spent_s > TICKS_S
    }


def told_level(shares: Mapping[str, float], noise_limits: NoiseLimits) -> str:
    """What a person is told of a host that is busy before the first block; empty if it is not."""
    words = {
        "foreign_cpu": "other processes use {} of a CPU",
        "steal": "the hypervisor takes {}",
        "pressure": "tasks of others wait in {} of the time",
    }
    beyond = [
        words[signal].format(_percent(share))
        for signal, share in shares.items()
        if share > getattr(noise_limits, signal)
    ]
    if not beyond:
        return ""
    return (
        f"this host is busy: {'; '.join(beyond)}. Blocks with more than {USUAL:g} times that are "
        'replaced, as far as spares go; the others count, and verdicts are marked "under load"'
    )


def check_evidence(
    block: Sequence[Evidence], noise_limits: NoiseLimits, earlier: Iterable[Telemetry] = ()
) -> Iterator[Reason]:
    """The reasons that the trials of one block give, trial by trial.

    Args:
        block: what is known of them.
        noise_limits: the limits.
        earlier: of the trials before.
    """
    usual, bound = _usual_frequencies(block), _bound_by_quota(block, earlier)
    coolest_c = _coolest_c(block)
    # Trials may run on several hosts, each with a clock of its own.
    firsts = {trial.telemetry.host: trial for trial in reversed(block)}
    for trial in block:
        where = f"{trial.telemetry.host or HERE}: " if len(firsts) > 1 else ""
        for signal, value, limit, seen in (
            *_processor_time(trial, noise_limits),
            *_waits(trial, noise_limits),
            *_disk(trial, noise_limits),
            *_frequency(trial, noise_limits, usual.get((trial.telemetry.host, trial.key.workload))),
            *_heat(trial, noise_limits, coolest_c),
            *_events(trial),
            *_quota(trial, bound),
            *_clock(trial, firsts[trial.telemetry.host]),
        ):
            key = trial.key
            yield Reason(
                signal=signal,
                system=key.system,
                workload=key.workload,
                host=trial.telemetry.host,
                value=value,
                limit=limit,
                text=f"{where}{seen} while {key.workload} ran on {key.system}",
            )


def _processor_time(trial: Evidence, noise_limits: NoiseLimits) -> Iterator[Found]:
    """CPU time of others, in this host and in others on the same hardware.

    What they do on CPUs that do not measure is no limit's matter, where it can be told apart: it
    explains next to nothing of the noise, and what is on the measuring ones most of it.
    """
    cpus = trial.telemetry.cpus
    # A share is of one CPU, also where several measure.
    place = f"of CPU {cpus[0]}" if len(cpus) == 1 else "of a core"
    for signal, spent_s, limit, who in (
        ("foreign_cpu", trial.foreign_s or 0.0, noise_limits.foreign_cpu, "other processes used"),
        ("steal", trial.steal_s or 0.0, noise_limits.steal, "the hypervisor took"),
    ):
        share = spent_s / trial.elapsed_s if trial.elapsed_s > 0 else 0.0
        if share > limit and spent_s > TICKS_S:
            yield signal, share, limit, f"{who} {_percent(share)} {place} (limit {_percent(limit)})"


def _waits(trial: Evidence, noise_limits: NoiseLimits) -> Iterator[Found]:
    """Tasks in control groups of others that waited; worst resource only."""
    waits_s = trial.telemetry.foreign_waits_s
    if not waits_s:
        return
    resource, waited_s = max(waits_s.items(), key=lambda wait: wait[1])
    share = waited_s / trial.telemetry.elapsed_s
    if share > noise_limits.pressure and waited_s > TICKS_S:
        what = {"cpu": "a CPU", "io": "a disk", "memory": "memory"}[resource]
        yield (
            "pressure",
            share,
            noise_limits.pressure,
            f"tasks of others waited for {what} in {_percent(share)} of the time "
            f"(limit {_percent(noise_limits.pressure)})",
        )


def _disk(trial: Evidence, noise_limits: NoiseLimits) -> Iterator[Found]:
    """Bytes of others on the disk under test; value and limit are bytes."""
    telemetry = trial.telemetry
    foreign, own = telemetry.foreign_bytes, telemetry.own_bytes
    if foreign is None or own is None:
        return
    limit = max(noise_limits.foreign_io * own, LEAST_BYTES, LEAST_RATE * telemetry.elapsed_s)
    if foreign > limit:
        seen = f"others moved {format_size(foreign)} on the disk beside {format_size(own)} of ours"
        yield "foreign_io", float(foreign), limit, f"{seen} (limit {format_size(int(limit))})"


def _frequency(trial: Evidence, noise_limits: NoiseLimits, usual: float | None) -> Iterator[Found]:
    """Mean CPU frequency, off the median of the block's trials of the same workload."""
    own = trial.telemetry.frequency
    if own is None or not usual:
        return
    off = own / usual - 1
    if abs(off) > noise_limits.frequency:
        seen = f"the CPUs' mean frequency was {100 * off:+.1f} % off the median of its block"
        yield (
            "frequency",
            abs(off),
            noise_limits.frequency,
            f"{seen} (limit {_percent(noise_limits.frequency)})",
        )


def _heat(
    trial: Evidence, noise_limits: NoiseLimits, coolest_c: dict[tuple[str, str], float]
) -> Iterator[Found]:
    """How much warmer a sensor was than at the coolest moment of the block."""
    warmer = {
        sensor: reading - coolest_c[trial.telemetry.host, sensor]
        for sensor, reading in trial.telemetry.temperatures_c.items()
    }
    sensor, above_k = max(warmer.items(), key=lambda each: each[1], default=("", 0.0))
    if above_k > noise_limits.temperature_k:
        seen = f"{sensor} was {above_k:.1f} K warmer than at another trial of the block"
        limit = f"(limit {noise_limits.temperature_k:g} K)"
        yield "temperature_k", above_k, noise_limits.temperature_k, f"{seen} {limit}"


def _events(trial: Evidence) -> Iterator[Found]:
    """What may not happen at all."""
    telemetry = trial.telemetry
    if swapped := telemetry.swapped_pages:
        yield (
            "swap",
            float(swapped),
            0.0,
            f"{count_of(swapped, 'page')} swapped in or out (limit 0)",
        )
    if times := telemetry.throttled:
        yield (
            "throttled",
            float(times),
            0.0,
            f"CPUs throttled for heat {count_of(times, 'time')} (limit 0)",
        )
    if errors := telemetry.kernel_errors:
        seen = f'the kernel reported errors, the first "{errors[0]}" (limit 0),'
        yield "kernel", float(len(errors)), 0.0, seen


def _quota(trial: Evidence, bound: set[str]) -> Iterator[Found]:
    """A quota of CPU time was used up, on a host where some trials keep within it."""
    periods = trial.telemetry.quota_throttled
    if periods and trial.telemetry.host not in bound:
        seen = f"a quota of CPU time was used up {count_of(periods, 'time')} (limit 0)"
        yield "quota", float(periods), 0.0, seen


def _bound_by_quota(block: Sequence[Evidence], earlier: Iterable[Telemetry]) -> set[str]:
    """Hosts on which all trials so far have used a quota up: it is a part of what is measured.

    No replacement would be without it, and it makes no difference between trials.
    """
    hosts = {trial.telemetry.host for trial in block if trial.telemetry.quota_throttled}
    if not hosts:
        return hosts
    every = chain(earlier, (trial.telemetry for trial in block))
    return hosts - {seen.host for seen in every if not seen.quota_throttled}


def _clock(trial: Evidence, first: Evidence) -> Iterator[Found]:
    """The time of day was set, or the kernel went over to another clock."""
    step_s = trial.telemetry.clock_step_s
    if abs(step_s) > CLOCK_STEP_S:
        seen = f"the time of day was set by {1000 * step_s:+.1f} ms (limit 1 ms)"
        yield "clock", abs(step_s), CLOCK_STEP_S, seen
    sources = {*trial.telemetry.clock_sources, *first.telemetry.clock_sources}
    if len(sources) > 1:
        seen = f"the kernel changed its clock: {', '.join(sorted(sources))} (limit: no change)"
        yield "clock", float(len(sources)), 1.0, seen


def _usual_frequencies(block: Sequence[Evidence]) -> dict[tuple[str, str], float]:
    """(host, workload) → median frequency: what computes more may well run at another one."""
    known: dict[tuple[str, str], list[float]] = {}
    for trial in block:
        if (found := trial.telemetry.frequency) is not None:
            known.setdefault((trial.telemetry.host, trial.key.workload), []).append(found)
    return {which: median(found) for which, found in known.items()}


def _coolest_c(block: Sequence[Evidence]) -> dict[tuple[str, str], float]:
    """(host, sensor) → its lowest reading in a block."""
    coolest: dict[tuple[str, str], float] = {}
    for trial in block:
        for sensor, reading in trial.telemetry.temperatures_c.items():
            which = (trial.telemetry.host, sensor)
            coolest[which] = min(reading, coolest.get(which, reading))
    return coolest


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
