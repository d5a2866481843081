"""A calibration as one HTML page that needs nothing else, and as a Markdown document."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from tiltyard.report.formats.html import prose, style_sheet
from tiltyard.stats.planning import LIKELY_SHARE
from tiltyard.units import format_duration
from tiltyard_calibrate import words
from tiltyard_calibrate.model import Calibration, Ladder
from tiltyard_calibrate.words import mark, ns, percent, shares


def render_page(found: Calibration) -> str:
    """A self-contained HTML5 document in the style of the reports."""
    return (
        _environment(autoescape=True)
        .get_template("page.html.j2")
        .render(
            found=found,
            answer=words.answer(found),
            sections=list(sections(found)),
            identity=words.identity(found),
            failed=words.mark(False),
            style=style_sheet(),
        )
    )


def render_document(found: Calibration) -> str:
    """A Markdown document without names or paths of the machine."""
    return (
        _environment(autoescape=False)
        .get_template("document.md.j2")
        .render(
            answer=words.answer(found),
            sections=list(sections(found)),
            host=words.host_lines(found),
            identity=words.identity(found),
        )
    )


def _environment(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("tiltyard_calibrate"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = prose
    return environment


WORTH_TIMING: Final = 200
"""Readings of the clock that an operation should last to be timed by itself (method 5.1)."""


T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """Figures with their heads; the first column is a name, all others are figures or words."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _table(rows: Iterable[T], columns: Mapping[str, Callable[[T], str]]) -> Table:
    """A row for each; head of a column → what stands in it."""
    lines = tuple(tuple(cell(one) for cell in columns.values()) for one in rows)
    return Table(tuple(columns), lines)


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
    return Section(
        "A system against itself",
        "One system under two names, compared again and again by the standard rules (looks after "
        "7, 10, 14 and 20 blocks, equivalence within ±2 %). Every difference that is claimed is a "
        "false verdict; a sound instrument makes more than the allowed number in at most 2.5 % of "
        "calibrations. P-values at 20 blocks must be uniform (Kolmogorov–Smirnov, above 0.01). "
        f"The smallest difference is the one that {LIKELY_SHARE} of comparisons find.",
        _table(
            [(subject, subject.same) for subject in found.subjects if subject.same],
            {
                "workload, systems": lambda one: f"{one[0].name}, {one[0].kind}",
                "false verdicts": lambda one: f"{one[1].false_verdicts} of {one[1].comparisons}",
                "allowed": lambda one: str(one[1].allowed),
                "equivalent": lambda one: f"{one[1].equivalent} of {one[1].comparisons}",
                "uniform, p": lambda one: _p(one[1].uniform_p),
                "smallest difference": lambda one: percent(one[1].resolution_percent),
                "variation of a trial": lambda one: percent(one[1].cv_percent),
                "blocks disturbed": lambda one: str(one[1].blocks_disturbed),
                "": lambda one: mark(one[1].passed),
            },
        ),
    )


def _delays(found: Calibration) -> Section:
    return Section(
        "Known delays",
        "The engine spins for a known time in front of each call; the difference of two systems, "
        "one with and one without, must be that delay. Intervals "
        "must contain it, none may have the wrong sign, and the interval of all blocks together "
        "must reach to within 2 % of the delay or 50 ns of it, whichever is more. Delays of 5 % "
        f"and more must be found in {LIKELY_SHARE} of comparisons where a trial varies by at most "
        "3 %.",
        _table(
            [(subject.name, delay) for subject in found.subjects for delay in subject.delays],
            {
                "workload": lambda one: one[0],
                "delay": lambda one: ns(one[1].delay_ns),
                "of an operation": lambda one: percent(one[1].percent),
                "recovered": lambda one: ns(one[1].recovered_ns),
                "95 % interval": lambda one: f"{one[1].low_ns:,.0f} … {one[1].high_ns:,.0f} ns",
                "off by": lambda one: f"{one[1].bias_ns:+.0f} ns",
                "intervals with it": lambda one: f"{one[1].covered} of {one[1].comparisons}",
                "found": lambda one: (
                    f"{one[1].found} of {one[1].comparisons}"
                    + (f", {one[1].wrong_sign} wrong" if one[1].wrong_sign else "")
                ),
                "": lambda one: mark(one[1].passed),
            },
        ),
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
        _table(
            ladder.steps,
            {
                "limit": lambda step: step.limit,
                "set": lambda step: f"{step.true_percent:+.1f} %",
                "found": lambda step: f"{step.percent:+.2f} %",
                "95 % interval": lambda step: f"{step.low:+.2f} … {step.high:+.2f} %",
                "off by": lambda step: f"{step.error:+.2f} points",
                "": lambda step: mark(step.passed),
            },
        ),
    )


def _clock(found: Calibration) -> Section:
    shortest_s = found.clock.shortest_s
    shortest = "–" if shortest_s is None else format_duration(shortest_s)
    return Section(
        "Clock and floor",
        "A step of the clock must be at most a thousandth of the shortest region that is timed, "
        "and the kernel must not change its clock source.",
        _table(
            [found.clock],
            {
                "clock source": lambda one: one.source + ", changed meanwhile" * one.changed,
                "a reading costs": lambda one: ns(one.read_ns),
                "step": lambda one: ns(one.step_ns),
                "operation without I/O": lambda one: ns(one.operation_ns),
                "shortest region": lambda _: shortest,
                "": lambda one: mark(one.passed),
            },
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
        _table(
            found.overheads,
            {
                "operations": lambda one: one.what,
                "take": lambda one: ns(one.operation_ns),
                "loop": lambda one: ns(one.loop_ns),
                "share": lambda one: percent(100 * one.loop_share),
                "allowed": lambda one: percent(100 * one.loop_allowed),
                "timing each": lambda one: f"{one.timed_ns:+.1f} ns",
                "interval": lambda one: f"{one.timed_low_ns:+.1f} … {one.timed_high_ns:+.1f} ns",
                "": lambda one: mark(one.passed),
            },
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
        _table(
            told.rules,
            {
                "rule": lambda rule: rule.name,
                "false verdicts": lambda rule: shares(rule.false_low, rule.false_high),
                "intervals with the truth": lambda rule: shares(
                    rule.covered_low, rule.covered_high
                ),
                "5 % found": lambda rule: shares(rule.power_low, rule.power_high),
                "trials of each": lambda rule: f"{rule.blocks:.0f}",
            },
        ),
    )


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.2g}"
