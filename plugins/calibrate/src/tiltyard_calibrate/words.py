"""A calibration in words: its answer, its checks, its host, and how figures are printed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tiltyard.stats.planning import LIKELY_SHARE
from tiltyard.units import count_of, format_number
from tiltyard_calibrate.model import Calibration, SubjectFindings

_TELLING: Final = (
    "CPU",
    "CPUs",
    "memory",
    "kernel",
    "virtualisation",
    "clock source",
    "disk scheduler",
)
"""Facts of a host that say what it is, and not whose."""


NOT_EXAMINED: Final = "–"


@dataclass(frozen=True)
class Line:
    """One check in short."""

    name: str
    text: str
    mark: str
    """``passed``, ``FAILED`` or ``open``; :data:`NOT_EXAMINED` where nothing was checked."""


def answer(found: Calibration) -> list[str]:
    """The calibration in a few sentences, the most important first."""
    false, of = found.false_verdicts
    sentences = [
        f"{count_of(false, 'false verdict')} in {count_of(of, 'comparison')} of a system with "
        "itself."
    ]
    delays = [delay for subject in found.subjects for delay in subject.delays]
    if delays:
        off_ns = max(abs(delay.bias_ns) for delay in delays)
        wrong = sum(delay.wrong_sign for delay in delays)
        sentences.append(
            f"Known delays of {ns(min(d.delay_ns for d in delays))} to "
            f"{ns(max(d.delay_ns for d in delays))} an operation were recovered within "
            f"{ns(off_ns)}, {wrong or 'none'} with the wrong sign."
        )
    shown = [
        f"about {percent(subject.same.resolution_percent)} in {subject.name}"
        for subject in found.subjects
        if subject.same
    ]
    if shown:
        sentences.append(
            f"The smallest differences that {LIKELY_SHARE} of comparisons find on this host: "
            f"{', '.join(shown)}."
        )
    sentences.append(_checks([one.passed for one in found.examined]))
    return sentences


def _checks(passed: Sequence[bool | None]) -> str:
    """How many checks failed or stay open; or that all passed."""
    failed, left_open = passed.count(False), passed.count(None)
    parts = [
        f"{failed} failed" if failed else "",
        f"{left_open} could not be decided" if left_open else "",
    ]
    found = " and ".join(filter(None, parts))
    return f"Of {len(passed)} checks {found}." if found else f"All {len(passed)} checks passed."


def lines(found: Calibration) -> Iterator[Line]:
    """Every check on a line, for a terminal of 80 columns."""
    for subject in found.subjects:
        yield from _subject_lines(subject)
    for ladder in found.ladders:
        if ladder.missing:
            yield Line(f"{ladder.name} bandwidth", f"not examined: {ladder.missing}", NOT_EXAMINED)
        for step in ladder.steps:
            text = f"{step.true_percent:+.1f} % found as {step.percent:+.2f} %"
            yield Line(f"{ladder.name} {step.limit}", text, mark(step.passed))
    clock = found.clock
    text = f"{clock.source}, step {ns(clock.step_ns)}, a reading costs {ns(clock.read_ns)}"
    yield Line("clock", text, mark(clock.passed))
    for overhead in found.overheads:
        text = f"loop {ns(overhead.loop_ns)}, timing each {overhead.timed_ns:+.0f} ns"
        yield Line(overhead.what, text, mark(overhead.passed))
    if found.simulated:
        standard = next(rule for rule in found.simulated.rules if rule.name == "standard")
        text = f"{shares(standard.false_low, standard.false_high)} of verdicts false"
        yield Line("simulated, standard", text, mark(found.simulated.passed))
    for remark in found.remarks:
        yield Line("left out", remark, NOT_EXAMINED)


def _subject_lines(subject: SubjectFindings) -> Iterator[Line]:
    same = subject.same
    if same:
        yield Line(
            f"{subject.name}, {subject.kind}",
            f"{same.false_verdicts} of {same.comparisons} verdicts false (allowed "
            f"{same.allowed}); finds {percent(same.resolution_percent)}",
            mark(same.passed),
        )
    for delay in subject.delays:
        text = (
            f"{ns(delay.recovered_ns)} found ({delay.bias_ns:+.0f}), "
            f"in {delay.covered} of {delay.comparisons} intervals"
        )
        yield Line(f"  {ns(delay.delay_ns)} added", text, mark(delay.passed))
    told = subject.sensitivity
    if told:
        text = f"{told.call} twice as long: fell by {percent(100 * told.drop)}"
        yield Line("  sensitivity", text, mark(told.passed))


def host_lines(found: Calibration) -> dict[str, str]:
    """The host, in words that can be published: no names, no paths."""
    return {name: found.host[name] for name in _TELLING if name in found.host}


def identity(found: Calibration) -> dict[str, str]:
    """Which calibration it is."""
    return {
        "calibration": found.id,
        "date": found.date[:10],
        "tiltyard": found.tiltyard,
        "engine": found.engine,
        "machine": f"{found.machine} (a hash)",
        "blocks with disturbances": "counted" if found.keeps_disturbed else "replaced",
    }


def mark(passed: bool | None) -> str:
    """A verdict on a check."""
    return {True: "passed", False: "FAILED", None: "open"}[passed]


def percent(value: float) -> str:
    """``3.2 %``: two significant digits."""
    return f"{format_number(value, 2)} %"


def ns(value: float) -> str:
    """``1,707 ns``; fractions only of a few."""
    return f"{value:,.0f} ns" if value >= 10 else f"{format_number(value, 2)} ns"


def shares(low: float, high: float) -> str:
    """``4.2 … 5.5 %``."""
    return f"{100 * low:.1f} … {100 * high:.1f} %"
