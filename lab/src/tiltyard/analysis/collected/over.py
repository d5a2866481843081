"""What several studies say, in words: of systems compared in each of them, or of two of them."""

from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.analysis.decision import headlines
from tiltyard.analysis.estimators import signed
from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.analysis.statements.numbers import compatible
from tiltyard.units import agreeing, count_of, listed, part_of

_OPEN: Final = ("undecided", "invalid")
TOLD: Final = 3
"""As many comparisons are told in the answer; more are counted."""


def told_over_studies(findings: Findings) -> Findings:
    """The findings with answers and a design that say what studies are compared, and how."""
    workloads = tuple(
        workload.model_copy(update={"answer": " ".join(_answer(workload))})
        for workload in findings.workloads
    )
    return findings.model_copy(
        update={
            "workloads": workloads,
            "answer": _headline(findings.model_copy(update={"workloads": workloads})),
            "design_sentence": _design(findings),
        }
    )


def _headline(findings: Findings) -> str:
    """What is decided; of what is open why, and what these studies say of it."""
    pairs = headlines(findings)
    told = [pair for pair in pairs if pair.verdict not in _OPEN]
    return " ".join((*_decided(told, len(pairs)), *_left_open(findings, len(pairs))))


def _decided(told: Sequence[Comparison], of: int) -> Iterator[str]:
    for pair in told[:TOLD]:
        yield pair.sentence
        if pair.verdict != "equivalent" and pair.over and pair.over.apart:
            yield f"In {listed(pair.over.apart)} it is the other way round."
    if len(told) > TOLD:
        yield f"{part_of(len(told), of, 'comparison')} decided."


def _left_open(findings: Findings, of: int) -> Iterator[str]:
    left = [
        (own.index.label, pair)
        for own in findings.workloads
        for pair in own.index.comparisons
        if pair.verdict in _OPEN
    ]
    if not left:
        return
    on = "" if of == 1 else f" on {len(left)} of {count_of(of, 'comparison')}"
    why = next((pair.over.lacks for _, pair in left if pair.over and pair.over.lacks), "")
    yield f"No verdict{on}: {why}." if why else f"No difference shown{on}."
    for label, pair in left[:TOLD]:
        over = pair.over
        if over is None or pair.low is not None:
            yield pair.sentence
        elif over.ratio is not None and over.low is not None and over.high is not None:
            where = "In these blocks alone" if not over.values else "If studies spread normally"
            yield (
                f"{where}, {pair.system} against {pair.against} in {label}: "
                f"{signed(over.ratio, over.low, over.high)} "
                f"(95 % CI {compatible(over.low, over.high)})."
            )


def _answer(workload: WorkloadFindings) -> Iterator[str]:
    for pair in workload.index.comparisons:
        yield pair.sentence
        if pair.over:
            yield pair.over.sentence


def _design(findings: Findings) -> str:
    how = (
        "Systems are compared within the blocks of each study; the means of the log ratios are "
        "pooled by random effects: the spread between studies by Paule and Mandel, the interval by "
        "Hartung and Knapp, never narrower than with that spread taken as known. No interval is "
        "surer than how rarely studies of two equally frequent kinds are all of one kind, so that "
        "fewer than six studies decide nothing."
        if findings.unit == "study"
        else "The studies did not take turns, so what a session shares is part of every difference "
        "between them: the session is what is replicated. Verdicts are by exact ranks of the means "
        "of sessions (Mann and Whitney, Hodges and Lehmann). The interval within these sessions "
        "is Welch's of their blocks on the log scale, and decides nothing."
    )
    headlines = sum(len(own.index.comparisons) for own in findings.workloads)
    family = (
        f" {count_of(headlines, 'comparison')} of whole workloads "
        f"{agreeing(headlines, 'is', 'are')} corrected together by Holm, with "
        "simultaneous 95 % intervals"
        if headlines > 1
        else " There is one comparison of a whole workload, with a 95 % interval"
    )
    metrics = (
        f", {findings.family} of single metrics by Benjamini and Hochberg"
        if findings.family
        else ""
    )
    within = f"{100 * findings.design.equivalent_within:g} %"
    return f"{how}{family}{metrics}. Equivalence margin: ±{within}."


def compared_over(findings: Findings) -> Sequence[tuple[WorkloadFindings, Comparison]]:
    """Every comparison of a workload as a whole that is over studies, in the order of print."""
    return [
        (workload, pair)
        for workload in findings.workloads
        for pair in workload.index.comparisons
        if pair.over
    ]
