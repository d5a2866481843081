"""The headline of a report: what the verdicts say of its question, and nothing that they do not.

It names a difference with estimate, interval and number of blocks; of many comparisons it counts
the verdicts. Where nothing is decided it says so, whatever the values are.
"""

import math
from collections.abc import Sequence
from typing import Final

from tiltyard.analysis.line import Line, line_in, line_over_all
from tiltyard.analysis.model import Comparison, Effect, Findings, WorkloadFindings
from tiltyard.analysis.pairs import between
from tiltyard.analysis.relative import relative_tests, with_mean
from tiltyard.analysis.statements.claims import counted, over_levels, over_lines
from tiltyard.analysis.statements.cpu_times import APART
from tiltyard.analysis.statements.deltas import Count, Crossing, crossing, tests
from tiltyard.analysis.statements.numbers import confidence, confidence_said_once
from tiltyard.analysis.statements.split import split, split_answer, split_in_short, split_pair
from tiltyard.analysis.statements.statement import statement
from tiltyard.units import count_of

FEW: Final = 3
"""As many sentences are a headline; more comparisons than that are counted."""


MOST: Final = 6
"""As many pairs are told with their mean over all tests."""


def with_headline(findings: Findings) -> Findings:
    """The findings with their headline; no answer is a mean that hides some of its cells."""
    workloads = tuple(_unhidden(findings, workload) for workload in findings.workloads)
    findings = findings.model_copy(update={"workloads": workloads})
    told = " ".join(filter(None, (headline(findings), APART.make(findings))))
    return findings.model_copy(update={"answer": told})


def _unhidden(findings: Findings, workload: WorkloadFindings) -> WorkloadFindings:
    text = split_answer(findings, workload)
    if not text:
        return workload
    end = _common_end([workload.answer])
    return workload.model_copy(update={"answer": f"{text.removesuffix('.')}{end or '.'}"})


def headline(findings: Findings) -> str:
    """The first that applies."""
    return next(text for one in HEADLINES if (text := one.make(findings)))


@statement("headline", "No verdict: values were not repeated. By value alone …")
def _single(findings: Findings) -> str:
    """A source kept one value of everything, and the levels of a factor can be compared."""
    if findings.planned or _has_intervals(findings):
        return ""
    found = _counts(findings)
    if not found:
        return ""
    told = " ".join(counted(findings, *one, speeds=True) for one in found[:FEW])
    return f"No verdict, because values were not repeated. By value alone: {told}"


@statement("headline", "No verdict on any of N workloads: REASON")
def _no_verdict(findings: Findings) -> str:
    """No comparison of a workload as a whole has an interval, or nothing was measured."""
    if not findings.workloads:
        return "No verdict: there are no values."
    if _has_intervals(findings):
        return ""
    answers = list(dict.fromkeys(workload.answer for workload in findings.workloads))
    if len(answers) <= FEW:
        return " ".join(answers)
    return f"No verdict on any of {count_of(len(answers), 'workload')}. {answers[0]}"


@statement("headline", "SYSTEM against SYSTEM (95 % CI, N blocks): WORKLOAD +N % (…, VERDICT), …")
def _workload_by_workload(findings: Findings) -> str:
    """Two systems and three workloads, of which each has an interval."""
    crossed = crossing(findings)
    if len(findings.workloads) != FEW or len(findings.systems) != 2 or not _is_simple(crossed):
        return ""
    (pair,) = crossed.pairs
    means = []
    for workload in findings.workloads:
        found = between(workload.index.comparisons, *pair.sides)
        own = line_in(findings, workload.index, pair)
        if found is None or own is None or not own.interval or found.verdict == "invalid":
            return ""
        if split_pair(findings, workload, found):
            return ""
        means.append((workload.display, own))
    place = _common_end([workload.answer for workload in findings.workloads]).removesuffix(".")
    return _told(f"{pair.system} against {pair.against}{place}", means, findings)


@statement("headline", "SYSTEM is N % faster than SYSTEM in TOPIC (95 % CI …, N blocks)")
def _answers(findings: Findings) -> str:
    """One factor, and two workloads or, of two systems, three: the answer of each."""
    most = FEW if len(findings.systems) == 2 else FEW - 1
    if len(findings.workloads) > most or not _is_simple(crossing(findings)):
        return ""
    return _said_once([workload.answer for workload in findings.workloads])


def _said_once(answers: list[str]) -> str:
    """Answers after each other; what all say of place and confidence is said only once."""
    if end := _common_end(answers):
        answers = [*(text.removesuffix(end) + "." for text in answers[:-1]), answers[-1]]
    return confidence_said_once(" ".join(answers))


def _common_end(answers: Sequence[str]) -> str:
    """`` on this host.``: where all verdicts hold, if all say the same behind their evidence."""
    ends = {text.rpartition(")")[2] for text in answers}
    end = ends.pop() if len(ends) == 1 else ""
    return end if end.startswith((" on ", " between ")) else ""


@statement("headline", "LEVEL is N % faster than LEVEL in TOPIC, averaged over … (95 % CI …)")
def _main_effects(findings: Findings) -> str:
    """Several factors, fully crossed: the one asked about, averaged over the others."""
    factor = crossing(findings).factor
    own = [
        [effect for effect in workload.effects if effect.topic == workload.effects[0].topic]
        for workload in findings.workloads
    ]
    main = [e for found in own for e in found if e.kind == "main" and e.factor == factor]
    if not 0 < len(main) <= FEW:
        return ""
    depends = [
        effect
        for found in own
        for effect in found
        if effect.kind == "interaction"
        and factor in (effect.factor, effect.by)
        and effect.verdict in ("faster", "slower")
    ]
    told = [own for effect in main for own in _unhidden_effects(findings, effect)]
    return " ".join(effect.sentence for effect in (*told, *depends[:1]))


def _unhidden_effects(findings: Findings, whole: Effect) -> Sequence[Effect]:
    """A main effect; where single metrics are decided both ways, the largest of these each way."""
    kind = (whole.kind, whole.factor, whole.level, whole.over)
    parts = [
        effect
        for workload in findings.workloads
        if whole in workload.effects
        for effect in workload.effects
        if (effect.kind, effect.factor, effect.level, effect.over) == kind and effect != whole
    ]
    sides = [
        max(own, key=lambda effect: abs(math.log(effect.ratio or 1.0)))
        for verdict in ("faster", "slower")
        if (own := [effect for effect in parts if effect.verdict == verdict])
    ]
    return sides if len(sides) > 1 else [whole]


@statement("headline", "SYSTEM is N % faster than SYSTEM in TOPIC (95 % CI …), for each pair")
def _pairs(findings: Findings) -> str:
    """At most three comparisons along the factor that is asked about."""
    found = _asked(findings)
    if len(found) > FEW:
        return ""
    return " ".join(split_pair(findings, *one) or one[1].sentence for one in found)


@statement("headline", "LEVEL is better than LEVEL in N of M tests and worse in K: from … to …")
def _counted(findings: Findings) -> str:
    """More comparisons than can be told one by one."""
    found = _counts(findings)
    if not found:
        return " ".join(workload.answer for workload in findings.workloads[:FEW])
    if len(found) <= FEW:
        whole = over_all(findings)
        if not whole:
            return " ".join(counted(findings, *one, speeds=True) for one in found)
        means = (between(findings.overall, *pair.sides) for pair in crossing(findings).pairs)
        hides = any(split_in_short(findings, mean, tests(findings)) for mean in means)
        return whole if hides else f"{whole} {_in_short(found)}"
    decided, of = (sum(getattr(one, what) for one, _ in found) for what in ("decided", "of"))
    factor = crossing(findings).factor
    return (
        f"A difference is shown in {decided} of {count_of(of, 'comparison')} along {factor}; the "
        "table of "
        "tests has each of them."
    )


def over_all(findings: Findings) -> str:
    """``3.13 against 3.12, mean of 13 tests (95 % CI): Btrfs −6.4 % (−9.0 … −3.9 %, slower), …``.

    The mean is the geometric one, of tests that measure the same; where these are not the most,
    there is none. A level that is compared once stands with the others of its sort. A mean that
    hides some of the tests is told by them.
    """
    every = relative_tests(findings)
    own = with_mean(every)
    if 2 * len(own) <= len(every):
        return ""
    crossed = crossing(findings)
    lines = tests(findings)
    found = [
        (level, pair, whole)
        for level in crossed.levels[1:]
        for pair in crossed.pairs_of(level)
        if (whole := between(findings.overall, *pair.sides)) is not None and whole.low is not None
    ]
    if not 0 < len(found) <= MOST:
        return ""
    if len(found) == 1 and (text := split(findings, found[0][2], lines, "", "test")):
        return text
    told: dict[str, list[tuple[str, Line]]] = {}
    apart: list[str] = []
    for level, pair, whole in found:
        shown = line_over_all(findings, pair)
        if text := split_in_short(findings, whole, lines):
            name = (pair.within, level if len(crossed.levels) > 2 else "")
            apart.append(f"{' '.join(filter(None, name)) or level} {text}")
        elif shown:
            told.setdefault(level, []).append((pair.within, shown))
    apart_from = f"{len(own)} of " if len(own) < len(every) else ""
    over = f"mean of {apart_from}{count_of(len(every), 'test')}"
    if len(told) > 1 and not any(own[0][0] for own in told.values()):
        means = [(level, own) for level, ((_, own),) in told.items()]
        texts = [_told(f"{over[0].upper()}{over[1:]} against {crossed.base}", means, findings)]
    else:
        texts = [
            _told(f"{level} against {crossed.base}, {over}", own, findings)
            for level, own in told.items()
        ]
    if apart:
        before = "" if told else f"{crossed.levels[-1]} a" if len(crossed.levels) == 2 else "A"
        before = f"{before}gainst {crossed.base}: " if before else ""
        texts.append(f"{before}{'; '.join(apart)} of {count_of(len(lines), 'test')}.")
    return " ".join(texts)


def _told(subject: str, means: Sequence[tuple[str, Line]], findings: Findings) -> str:
    """Pairs in means, each under its name; of pairs of which none is decided the intervals only."""
    basis = ", ".join(sorted({confidence(own.level) for _, own in means}))
    if findings.planned:
        blocks = sorted({own.blocks for _, own in means})
        least = f"{blocks[0]} to " if len(blocks) > 1 else ""
        basis += f", {least}{findings.design.amount(blocks[-1])}"
    if all(own.verdict == "undecided" for _, own in means):
        ends = [f"{name} {own.told_interval}".strip() for name, own in means]
        return f"{subject}: no difference shown ({basis}: {', '.join(ends)})."
    shown = [f"{name} {own.in_full}" for name, own in means]
    return f"{subject} ({basis}): {', '.join(map(str.strip, shown))}."


def _in_short(found: Sequence[tuple[Count, str]]) -> str:
    """``39 comparisons: 2 better, 7 worse.``; the tables have the range."""
    told = []
    alike = len({one.of for one, _ in found}) == 1
    for one, _ in found:
        sides = (("better", one.better), ("worse", one.worse))
        counts = ", ".join(f"{number} {word}" for word, number in sides if number)
        told.append(" ".join(filter(None, (
            one.pair.system if len(found) > 1 else "", counts or "no difference shown",
            "" if alike else f"of {one.of}",
        ))))  # fmt: skip
    first, what = found[0]
    over = f"{first.of} {what}" if alike else what
    if not any(one.decided for one, _ in found):
        told = ["no difference shown"]
    return f"{over[0].upper()}{over[1:]}: {'; '.join(told)}."


HEADLINES: Final = (
    _single,
    _no_verdict,
    _workload_by_workload,
    _answers,
    _main_effects,
    _pairs,
    _counted,
)
"""The first that applies is printed."""


def _has_intervals(findings: Findings) -> bool:
    return any(
        pair.low is not None
        for workload in findings.workloads
        for pair in workload.index.comparisons
    )


def _is_simple(crossed: Crossing) -> bool:
    """Whether systems differ in one factor only."""
    return crossed.blocks == crossed.groups == ("",)


def _asked(findings: Findings) -> Sequence[tuple[WorkloadFindings, Comparison]]:
    """The workloads as wholes, each pair along the factor that is asked about."""
    pairs = crossing(findings).pairs
    return [
        (workload, found)
        for workload in findings.workloads
        for pair in pairs
        if (found := between(workload.index.comparisons, *pair.sides)) is not None
    ]


def _counts(findings: Findings) -> list[tuple[Count, str]]:
    """Each level over all tests and pairs; else each pair over all tests."""
    levels = [(one, "comparisons") for one in over_levels(findings)]
    return levels or [(one, "tests") for one in over_lines(findings)]
