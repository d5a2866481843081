"""The rules of judging and the conditions of measuring, in sentences."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from tiltyard.analysis.model import TrialLine
from tiltyard.analysis.quantity import COVARIATE_WORDS
from tiltyard.analysis.statements.numbers import percent_text
from tiltyard.plan.model import Design, Plan, PlannedWorkload
from tiltyard.plan.program import is_open
from tiltyard.run.record import RunRecord
from tiltyard.study.model import Clock
from tiltyard.study.program import PROGRAM
from tiltyard.units import agreeing, count_of, format_size
from tiltyard.wire import Access


def design_sentence(
    plan: Plan, family: int, headlines: int, level: float, effects: int = 0, cpu_times: int = 0
) -> str:
    """Order, looks, interval, correction.

    Args:
        plan: the rules.
        family: comparisons that are corrected by the false discovery rate.
        headlines: comparisons of workloads' indices.
        level: chance of any false claim among those.
        effects: of factors, a family of their own; 0 where there is one factor.
        cpu_times: comparisons of the CPU time of programs, a family of their own.
    """
    design = plan.design
    return (
        "Randomised complete blocks: in each block every system runs every workload, in a "
        f"new random order (seed {plan.seed}).{_trials(plan)} "
        f"Systems are compared within blocks on the log ratio{_by_session(design)}; the "
        "estimate is that of Hodges and Lehmann, the intervals are exact signed-rank intervals, "
        "simultaneous "
        f"{_looks(design)} (error rate {100 * design.alpha:.2g} % for one comparison)."
        f"{_by_t(design)} A comparison that is decided stops. "
        f"{_grid(design, family)}the {headlines} of the workloads as a whole by Holm at "
        f"{100 * level:g} %, with simultaneous intervals{_effects(effects)}"
        f"{_cpu_times(cpu_times, level)}. Systems that "
        f"differ by less than {100 * design.equivalent_within:g} % count as equivalent "
        "(equivalence margin), each "
        f"comparison separately.{_adjusted(design)}"
    )


def _adjusted(design: Design) -> str:
    """Which analysis was named as that of the verdicts, where there are two."""
    if not design.adjust_for:
        return ""
    names = " and ".join(COVARIATE_WORDS[name] for name in design.adjust_for)
    effects = "" if design.verdict == "unadjusted" else "; effects of factors are not adjusted"
    other = "adjusted" if design.verdict == "unadjusted" else "unadjusted"
    return (
        f" Declared as the verdict before the first trial: {design.verdict}{effects}. The {other} "
        "one of "
        "workloads as wholes is shown beside it. Differences are adjusted by a regression "
        "through the "
        f"origin on those of {names}, as far as the host reports them, at each look."
    )


def _by_session(design: Design) -> str:
    """What is replicated, where it is not the block."""
    return ", the mean of each session being one value" if design.unit == "session" else ""


def _grid(design: Design, family: int) -> str:
    """How cells are corrected; workloads of one cell have no such comparisons."""
    if not family:
        return "Corrected are "
    return (
        f"The {count_of(family, 'comparison')} of the grid {agreeing(family, 'is', 'are')} "
        "corrected together by "
        f"Benjamini–Hochberg at {100 * design.false_discovery_rate:g} %, intervals of differences "
        "for having been selected (false coverage rate); "
    )


def _trials(plan: Plan) -> str:
    """Which workloads have several trials in a turn."""
    several = [w.spec for w in plan.workloads if (w.spec.trials or 1) > 1]
    if not several:
        return ""
    names = ", ".join(f"{spec.trials} of {spec.name}" for spec in several)
    return f" Trials in one turn ({names}) are averaged, and count as one value."


def _effects(effects: int) -> str:
    if not effects:
        return ""
    return (
        f"; the {count_of(effects, 'effect')} of factors {agreeing(effects, 'is', 'are')} a "
        "family corrected like the grid"
    )


def _cpu_times(cpu_times: int, level: float) -> str:
    if not cpu_times:
        return ""
    return (
        f"; the {count_of(cpu_times, 'comparison')} of CPU time {agreeing(cpu_times, 'is', 'are')} "
        f"a family by {agreeing(cpu_times, 'itself', 'themselves')}, by Holm at {100 * level:g} %, "
        "and the study does not go on for their sake"
    )


def _by_t(design: Design) -> str:
    """What a look by t rests on, where there is one."""
    first = design.looks[0]
    if first.t is None:
        return ""
    return (
        f" The first look, after {count_of(first.blocks, 'block')}, is a t-test (critical value "
        f"{first.t:.3f}) "
        "and rests on a model: that the noise is normal."
    )


def _looks(design: Design) -> str:
    numbers = [str(look.blocks) for look in design.looks]
    strict = ", whatever the noise level" if design.strict else ""
    if len(numbers) == 1:
        return f"at the one look, after {design.amount(design.looks[0].blocks)}{strict}"
    return (
        f"over the looks after {', '.join(numbers[:-1])} and "
        f"{count_of(numbers[-1], 'block')}{strict}"
    )


def noise_limits_sentence(plan: Plan, run: RunRecord) -> str:
    """The noise limits by which a block counts as disturbed; empty for plans without any.

    Args:
        plan: of the study.
        run: of which the reference runs matter, and what others did before the first block.
    """
    allowed, reference_runs = plan.noise_limits, run.reference_runs
    if allowed is None:
        return ""
    too_short = bool(allowed.reference_run) and not reference_runs and not plan.is_remote
    fixed_work = (
        f"a fixed piece of work before or after it is off by more than "
        f"{_share(allowed.reference_run)}; "
        if allowed.reference_run and reference_runs
        else ""
    )
    short = " Blocks were too short for a fixed piece of work beside them." if too_short else ""
    limits = (
        f"other processes use more than {_share(allowed.foreign_cpu)} of a core or move more than "
        f"{_share(allowed.foreign_io)} of our bytes on the device; others wait for CPU, disk or "
        f"memory for more than {_share(allowed.pressure)} of the time; the hypervisor takes more "
        f"than {_share(allowed.steal)}; the CPU frequency is off that of the block by more than "
        f"{_share(allowed.frequency)}; a temperature changes by more than "
        f"{allowed.temperature_k:g} K; {fixed_work}anything is swapped or throttled for heat; "
        "some trials use a quota of CPU time up; a clock jumps, or the kernel reports errors"
    )
    fate = _FATES["keep" if run.amended.keep else allowed.disturbed]
    return (
        f"A block is disturbed, and {fate}, when the telemetry, as far as it is recorded on "
        f"{plan.where}, shows that {limits}.{short}{_usual(run)}"
    )


_FATES: Final = {
    "replace": "a replacement block counts instead",
    "keep": "it counts as well",
    "adapt": "a replacement block counts instead, of one in five; further ones count as well",
}


def _usual(run: RunRecord) -> str:
    """What the limits were adapted to, and what a person has changed of them."""
    parts = []
    if run.usual:
        shares = ", ".join(f"{_SHARES[gate]} {_percent(own)}" for gate, own in run.usual.items())
        parts.append(f" Before the first block: {shares}; up to twice that no block was replaced.")
    if run.amended.keep:
        parts.append(" That they count was asked for after the run had begun.")
    return "".join(parts)


_SHARES: Final = {
    "foreign_cpu": "CPU time of other processes",
    "steal": "taken by the hypervisor",
    "pressure": "others waiting",
}


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _share(fraction: float) -> str:
    return f"{100 * fraction:g} %"


def conditions_sentence(plan: Plan, run: RunRecord, lines: tuple[TrialLine, ...]) -> str:
    """Pinning, node, isolation, keeping awake, access, floor of the instrument, others' CPU time.

    What was asked for stands beside what was granted.
    """
    found = (*_asked(plan, run), *_conditions(run, lines, plan.clock))
    return " ".join(found) or "No trial is done yet."


def numa_refused(plan: Plan, run: RunRecord) -> bool:
    """Whether the memory of a node was asked for, and some trial did not get it."""
    granted = {trial.hello.conditions.numa for trial in run.trials if trial.hello}
    return plan.conditions.numa is not None and bool(granted - {plan.conditions.numa})


def _asked(plan: Plan, run: RunRecord) -> Iterator[str]:
    """What the study asks for beyond pinning, and what became of it."""
    conditions = plan.conditions
    if (isolation := run.isolation) is not None:
        cpus = ", ".join(map(str, conditions.cpus))
        refused = "" if isolation.granted else "not "
        yield f"Isolation of CPU {cpus} was asked for and {refused}granted: {isolation.text}."
    if conditions.numa is not None and run.trials:
        fate = "not granted in all trials" if numa_refused(plan, run) else "granted"
        yield f"CPUs and memory of NUMA node {conditions.numa} were asked for and {fate}."
    granted = [trial.hello.conditions for trial in run.trials if trial.hello]
    pinned = {tuple(one.cpus) for one in granted} - {()}
    if conditions.cpus and any(cpus != conditions.cpus[: len(cpus)] for cpus in pinned):
        yield f"Pinning to CPU {', '.join(map(str, conditions.cpus))} was asked for."
    for workload in plan.workloads:
        if number := _executions_set(workload, run):
            each = count_of(number, "execution")
            yield f"{workload.display}: {each} in each trial, as was found in the first block."
        own = [trial.alternated for trial in run.by_workload.get(workload.spec.name, ())]
        if any(own):
            where = "each block" if all(own) else f"{sum(own)} of {count_of(len(own), 'trial')}"
            yield (
                f"{workload.display}: executions alternate between the systems in {where}, one "
                "each in an order drawn for each round."
            )
    if conditions.keep_awake and granted and not any(one.awake for one in granted):
        yield "Idle spinners were asked for, but there was no other CPU to keep awake."


def _executions_set(workload: PlannedWorkload, run: RunRecord) -> int | None:
    """The executions of each trial that the study left open, and the run has set."""
    if not workload.program or not is_open(workload.program):
        return None
    trials = (trial.hello for trial in run.by_workload.get(workload.spec.name, ()))
    effective = next((hello.effective for hello in trials if hello), None)
    if effective is None or is_open(effective):
        return None
    number = effective.get("executions")
    return number if isinstance(number, int) else None


def _conditions(run: RunRecord, lines: tuple[TrialLine, ...], clock: Clock) -> Iterator[str]:
    hellos = [trial.hello for trial in run.trials if trial.hello]
    ends = [trial.end for trial in run.trials if trial.end and trial.outcome == "done"]
    programs = [hello for hello in hellos if hello.workload == PROGRAM]
    threads = [hello for hello in hellos if hello.workload != PROGRAM]
    for cpus, verb in (
        ({tuple(hello.conditions.cpus) for hello in threads}, "Measuring threads were pinned to"),
        ({tuple(hello.conditions.cpus) for hello in programs}, "Programs had the use of"),
        ({tuple(hello.conditions.awake) for hello in hellos}, "Idle spinners kept awake"),
    ):
        pinned = sorted(cpus - {()})
        if pinned:
            yield f"{verb} CPU {' or '.join(', '.join(map(str, group)) for group in pinned)}."
    if threads and not any(hello.conditions.cpus for hello in threads):
        yield "Measuring threads were not pinned."
    declared = sorted({end.access.declared for end in ends if end.access})
    if declared:
        yield f"Access: {', '.join(declared)}, verified by counters in each trial."
    yield from _out_of_cache([end.access for end in ends if end.access])
    if ends:
        read = np.median([end.floor.clock_ns for end in ends])
        operation = np.median([end.floor.operation_ns for end in ends])
        unit = "ns" if clock == "time" else "instructions"
        yield (
            f"The instrument itself costs {read:.3g} {unit} for reading the clock and "
            f"{operation:.3g} {unit} for an operation that does nothing."
        )
    if clock == "instructions":
        yield (
            "The clock counted instructions of the guest, its kernel's and the engine's: other "
            "activity on this host is not in them."
        )
        return
    shares = [line.foreign_share for line in lines if line.foreign_share is not None]
    if shares:
        yield (
            f"Other processes used {percent_text(float(np.median(shares)))} of a core in the "
            "typical "
            f"trial, {percent_text(max(shares))} in the worst."
        )


def _out_of_cache(found: Sequence[Access]) -> Iterator[str]:
    """How much of what was read can have been hits, and what bounded the cache."""
    delivered = [access.delivered for access in found if access.delivered is not None]
    limits = [access.memory_limit_bytes for access in found if access.memory_limit_bytes]
    if delivered and limits:
        yield (
            f"Out of cache, the device delivered at least {100 * min(delivered):.3g} % of the "
            "bytes of each read test, with a page cache of no more than "
            f"{format_size(max(limits))}."
        )
