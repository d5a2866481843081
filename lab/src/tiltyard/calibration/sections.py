"""Everything that a calibration examined, as the tables that page and document print alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tiltyard.calibration.model import Calibration, Delay, Ladder, SubjectFindings
from tiltyard.calibration.words import mark, ns, percent, shares
from tiltyard.units import format_duration

WORTH_TIMING: Final = 200
"""Readings of the clock that an operation should last to be timed by itself (method 5.1)."""


@dataclass(frozen=True)
class Table:
    """Figures with their heads; the first column is a name, all others are figures or words."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """One matter that was examined."""

    title: str
    text: str
    """What was done, and by which measure it is judged."""
    table: Table | None = None


def sections(found: Calibration) -> Iterator[Section]:
    """Everything that was examined, in the order in which a reader needs it."""
    yield _same(found)
    if any(subject.delays for subject in found.subjects):
        yield _delays(found)
    if any(subject.sensitivity for subject in found.subjects):
        yield _sensitivity(found)
    for ladder in found.ladders:
        yield _ladder(ladder)
    yield _clock(found)
    if found.overheads:
        yield _overhead(found)
    if found.simulated:
        yield _simulated(found)
    if found.remarks:
        yield Section("What was left out", " ".join(found.remarks))


def _same(found: Calibration) -> Section:
    rows = [
        (
            f"{subject.name}, {subject.kind}",
            f"{same.false_verdicts} of {same.comparisons}",
            str(same.allowed),
            f"{same.equivalent} of {same.comparisons}",
            _p(same.uniform_p),
            percent(same.resolution_percent),
            percent(same.cv_percent),
            str(same.blocks_spoiled),
            mark(same.passed),
        )
        for subject in found.subjects
        if (same := subject.same)
    ]
    return Section(
        "A system against itself",
        "One system under two names, compared again and again by the standard rules (looks after "
        "7, 10, 14 and 20 blocks, equivalence within ±2 %). Every difference that is claimed is a "
        "false verdict; a sound instrument makes more than the allowed number in at most 2.5 % of "
        "calibrations. P-values at 20 blocks must be uniform (Kolmogorov–Smirnov, above 0.01). "
        "The smallest difference is half the width of the interval at 20 blocks.",
        Table(
            (
                "workload, systems",
                "false verdicts",
                "allowed",
                "equivalent",
                "uniform, p",
                "smallest difference",
                "variation of a trial",
                "blocks disturbed",
                "",
            ),
            tuple(rows),
        ),
    )


def _delays(found: Calibration) -> Section:
    return Section(
        "Known delays",
        "The engine spins for a known time in front of each call; the difference of two systems, "
        "one with and one without, must be that delay. Intervals "
        "must contain it, none may have the wrong sign, and the interval of all blocks together "
        "must reach to within 2 % of the delay or 50 ns of it, whichever is more. Delays of 5 % "
        "and more must be found in 80 % of comparisons where a trial varies by at most 3 %.",
        Table(
            (
                "workload",
                "delay",
                "of an operation",
                "recovered",
                "95 % interval",
                "off by",
                "intervals with it",
                "found",
                "",
            ),
            tuple(
                _delay_row(subject, delay) for subject in found.subjects for delay in subject.delays
            ),
        ),
    )


def _delay_row(subject: SubjectFindings, delay: Delay) -> tuple[str, ...]:
    return (
        subject.name,
        ns(delay.delay_ns),
        percent(delay.percent),
        ns(delay.recovered_ns),
        f"{delay.low_ns:,.0f} … {delay.high_ns:,.0f} ns",
        f"{delay.bias_ns:+.0f} ns",
        f"{delay.covered} of {delay.comparisons}",
        f"{delay.found} of {delay.comparisons}"
        + (f", {delay.wrong_sign} wrong" if delay.wrong_sign else ""),
        mark(delay.passed),
    )


def _sensitivity(found: Calibration) -> Section:
    return Section(
        "What the workloads measure",
        "Every call of the sort that a workload claims to measure is made to take twice as long. "
        "Its metric must fall by 30 % at least; by half, if nothing else counts.",
        Table(
            ("workload", "calls", "metric fell by", ""),
            tuple(
                (subject.name, told.call, percent(100 * told.drop), mark(told.passed))
                for subject in found.subjects
                if (told := subject.sensitivity)
            ),
        ),
    )


def _ladder(ladder: Ladder) -> Section:
    title = f"Known steps of bandwidth: {ladder.name}"
    if ladder.missing:
        return Section(title, f"Not examined ({ladder.about}): {ladder.missing}.")
    return Section(
        title,
        f"Limits set by {ladder.about}, relative to {ladder.full}. The interval of each must "
        f"reach to within {ladder.allowed:g} percentage points of it, and steps of 5 % and more "
        "must be seen.",
        Table(
            ("limit", "set", "found", "95 % interval", "off by", ""),
            tuple(
                (
                    step.limit,
                    f"{step.true_percent:+.1f} %",
                    f"{step.percent:+.2f} %",
                    f"{step.low:+.2f} … {step.high:+.2f} %",
                    f"{step.error:+.2f} points",
                    mark(step.passed),
                )
                for step in ladder.steps
            ),
        ),
    )


def _clock(found: Calibration) -> Section:
    clock = found.clock
    shortest = "–" if clock.shortest_s is None else format_duration(clock.shortest_s)
    return Section(
        "Clock and floor",
        "A step of the clock must be at most a thousandth of the shortest region that is timed, "
        "and the kernel must not change its clock source.",
        Table(
            (
                "clock source",
                "a reading costs",
                "step",
                "operation without I/O",
                "shortest region",
                "",
            ),
            (
                (
                    clock.source + (", changed meanwhile" if clock.changed else ""),
                    ns(clock.read_ns),
                    ns(clock.step_ns),
                    ns(clock.operation_ns),
                    shortest,
                    mark(clock.passed),
                ),
            ),
        ),
    )


def _overhead(found: Calibration) -> Section:
    worth_ns = WORTH_TIMING * found.clock.read_ns
    return Section(
        "What the instrument adds",
        "The engine's own loop must take at most the share given of an operation. Reading the "
        "clock for each operation, beside reading it around all of them in the same blocks, must "
        "cost at most 50 ns (95 % interval; open where it reaches to both sides). For operations "
        f"shorter than {WORTH_TIMING} readings, {ns(worth_ns)} here, that is more than a little: "
        'time those around the whole (timing = "pass") where their latencies are not asked for.',
        Table(
            ("operations", "take", "loop", "share", "allowed", "timing each", "interval", ""),
            tuple(
                (
                    overhead.what,
                    ns(overhead.operation_ns),
                    ns(overhead.loop_ns),
                    percent(100 * overhead.loop_share),
                    percent(100 * overhead.loop_allowed),
                    f"{overhead.timed_ns:+.1f} ns",
                    f"{overhead.timed_low_ns:+.1f} … {overhead.timed_high_ns:+.1f} ns",
                    mark(overhead.passed),
                )
                for overhead in found.overheads
            ),
        ),
    )


def _simulated(found: Calibration) -> Section:
    assert found.simulated is not None
    told = found.simulated
    return Section(
        "Error rates of the rules, by simulation",
        f"What the figures above are to be held against: {told.paths:,} simulated comparisons of "
        f"each kind under {told.scenarios} kinds of noise (seed {told.seed}), from the kindest to "
        "the worst. The standard rules must claim a false difference in 4.2 to 5.5 % of them, give "
        f"or take the {100 * told.known_to:.1f} points that so many leave open "
        f"({mark(told.passed)}). The rules that others use come first.",
        Table(
            ("rule", "false verdicts", "intervals with the truth", "5 % found", "trials of each"),
            tuple(
                (
                    rule.name,
                    shares(rule.false_low, rule.false_high),
                    shares(rule.covered_low, rule.covered_high),
                    shares(rule.power_low, rule.power_high),
                    f"{rule.blocks:.0f}",
                )
                for rule in told.rules
            ),
        ),
    )


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.2g}"
