"""Several studies of the same systems as one decision: purpose × system, with weights.

All headline comparisons of all studies are one family: each study is analysed with the comparisons
of the others beside its own, so that verdicts are corrected over all, with simultaneous intervals.
The weighted geometric mean of a system's ratios then lies between those of the bounds with the same
confidence: no further assumption is made, and none about how studies depend on each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.analysis.weighted import Gain, gain_of, together
from tiltyard.app.source_study import require_apart
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard.frozen import Frozen
from tiltyard.phases import phase
from tiltyard.run.sessions import Recorded, read_sessions
from tiltyard.study.problems import not_a
from tiltyard.units import listed


class Purpose(Frozen):
    """One workload of one study: what a host does."""

    name: str
    """The study's folder; of a study of several workloads, the workload behind it."""
    study: str
    workload: str
    question: str
    weight: float
    """Share of it in the mean; all together are 1."""
    blocks: int


class CombinedSystem(Frozen):
    """One row of the matrix."""

    system: str
    purposes: dict[str, Gain]
    together: Gain


class Combined(Frozen):
    """The matrix."""

    question: str
    baseline: str
    purposes: tuple[Purpose, ...]
    systems: tuple[CombinedSystem, ...]
    """Without the baseline."""
    family: int
    """Headline comparisons that are corrected together."""
    left_out: tuple[str, ...]
    """Systems that are not in every study."""


@dataclass(frozen=True)
class _Part:
    """What one purpose is made of."""

    name: str
    study: str
    findings: Findings
    workload: WorkloadFindings

    def gain(self, system: str, baseline: str) -> Gain:
        """Of a system over the baseline."""
        return gain_of(self.workload.index, system, baseline)


def combine(
    studies: Sequence[Path],
    weights: Mapping[str, float],
    question: str = "",
    baseline: str | None = None,
) -> Combined:
    """The decision matrix of several studies that were run here; nothing is written.

    Args:
        studies: two folders or more, of the same systems.
        weights: name of a study or of a purpose → how much it counts; what is not named counts 1.
        question: by default made of the systems.
        baseline: what the others are compared with; by default that of the first study.

    Raises:
        UsageError: if a study was not run, or they have not two systems in common, or there is no
            such purpose or system.
    """
    if len(studies) < 2:
        raise UsageError("name two studies or more: tiltyard combine mail builds database")
    found, family = _analysed(studies)
    first = next(iter(found.values()))
    names = [_systems(findings) for findings in found.values()]
    systems = [name for name in names[0] if all(name in own for own in names)]
    base = baseline or first.baseline
    if base not in systems or len(systems) < 2:
        raise UsageError(
            f"the studies have {listed(systems) or 'no system'} in common. Fix: combine studies of "
            "the same systems, under the same names, and name one of them as the baseline"
        )
    parts = list(_parts(found))
    shares = _shares(parts, weights)
    return Combined(
        question=question or f"Which of {listed(systems)} for {len(parts)} purposes?",
        baseline=base,
        purposes=tuple(
            Purpose(
                name=part.name,
                study=part.study,
                workload=part.workload.name,
                question=part.findings.question,
                weight=shares[part.name],
                blocks=part.findings.blocks_done,
            )
            for part in parts
        ),
        systems=tuple(_row(name, base, parts, shares) for name in systems if name != base),
        family=family,
        left_out=tuple(dict.fromkeys(name for own in names for name in own if name not in systems)),
    )


def _analysed(studies: Sequence[Path]) -> tuple[dict[str, Findings], int]:
    """The findings of each study, by name, with all of them in one family; its size."""
    recorded: dict[str, Sequence[Recorded]] = {}
    for study in studies:
        folder = StudyFolder.of(study)
        name = folder.root.resolve().name
        recorded[name if name not in recorded else str(folder.root)] = read_sessions(folder)
    if len(recorded) < len(studies):
        raise UsageError("one study is named twice. Fix: name each once")
    plans = {name: groups[0].plan for name, groups in recorded.items()}
    sizes = {n: comb(len(plan.systems), 2) * len(plan.workloads) for n, plan in plans.items()}
    family = sum(sizes.values())
    found = {}
    for name, groups in recorded.items():
        with phase(f"analysing {name}"):
            found[name] = analyse_sessions(groups, family - sizes[name])
    require_apart(found)
    return found, family


def _parts(found: Mapping[str, Findings]) -> Iterator[_Part]:
    for study, findings in found.items():
        for workload in findings.workloads:
            name = study if len(findings.workloads) == 1 else f"{study}/{workload.name}"
            yield _Part(name, study, findings, workload)


def _shares(parts: Sequence[_Part], weights: Mapping[str, float]) -> dict[str, float]:
    """How much each purpose counts; all together are 1. A study's weight is that of all of it."""
    known = {*(part.name for part in parts), *(part.study for part in parts)}
    for name in weights:
        if name not in known:
            raise UsageError(f"--weight: {not_a(name, 'purpose', sorted(known))}")
    own = {}
    for part in parts:
        inside = sum(other.study == part.study for other in parts)
        own[part.name] = weights.get(part.name, weights.get(part.study, 1.0) / inside)
    total = sum(own.values())
    if total <= 0 or min(own.values()) < 0:
        raise UsageError("--weight: weights are 0 or more, and not all of them 0")
    return {name: weight / total for name, weight in own.items()}


def _row(
    system: str, baseline: str, parts: Sequence[_Part], shares: Mapping[str, float]
) -> CombinedSystem:
    gains = {part.name: part.gain(system, baseline) for part in parts}
    within = min(part.findings.design.equivalent_within for part in parts)
    counted = {name: gain for name, gain in gains.items() if shares[name]}
    return CombinedSystem(system=system, purposes=gains, together=together(counted, shares, within))


def _systems(findings: Findings) -> list[str]:
    return [system.name for system in findings.systems]
