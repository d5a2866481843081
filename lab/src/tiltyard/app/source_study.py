"""One of the studies that are compared with each other: read, with what sets it apart."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.app.studies import RUN, kind_of
from tiltyard.collected.model import SourceStudy
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard.host.record import changed
from tiltyard.phases import phase
from tiltyard.run.differences import differences
from tiltyard.run.sessions import read_sessions, replicates, seal_of
from tiltyard.study.model import SystemSpec
from tiltyard.study_path import study_path
from tiltyard.units import listed

_UNSTEADY: Final = frozenset({"free", "device"})
"""Facts of a system that are another each time it is brought up."""
_PRIVATE: Final = re.compile(r"serial|uuid|wwn|address|host.?name", re.IGNORECASE)
"""Facts whose values are nobody else's business: that they differ is told, not how."""
_IN_FULL: Final = 2
"""As many differences of one kind are told in a sentence; of more their number."""


@dataclass(frozen=True)
class Study:
    """One study as it is read."""

    name: str
    sessions: Mapping[int, Findings]
    """By number; those that have been begun."""
    began: str = ""
    specs: Mapping[str, SystemSpec] = field(default_factory=dict)
    units: Mapping[int, int] = field(default_factory=dict)
    """Session → the first one of its host, or of its boot and day: these count once."""

    @property
    def first(self) -> Findings:
        """Of its first session: what is the same in all of them."""
        return next(iter(self.sessions.values()))

    def workload(self, name: str) -> WorkloadFindings | None:
        """The workload of a name, if it has any values."""
        found = (own for own in self.first.workloads if own.name == name and own.cells)
        return next(found, None)

    def source(self, differs: Iterable[str]) -> SourceStudy:
        """What is told of it."""
        own = self.sessions.values()
        return SourceStudy(
            name=self.name,
            question=self.first.question,
            began=self.began,
            blocks=sum(one.blocks_done for one in own),
            sessions=len(own),
            plan_hash=self.first.plan_hash,
            seal=seal_of([one.seal for one in own if one.seal]),
            differs=tuple(differs),
        )


def read_study(path: Path, name: str) -> Study:
    """Analyse a study of any kind, session by session.

    Raises:
        UsageError: if nothing was measured of it, or it compares studies itself.
    """
    folder = study_path(path)
    kind = kind_of(folder)
    with phase(f"analysing {name}"):
        if kind is not RUN:
            found = kind.findings(folder)
            if found.provenance and found.provenance.studies:
                raise UsageError(
                    f"{path}: is itself a comparison of studies. Fix: name the studies that it "
                    f"compares: {listed([one.name for one in found.provenance.studies])}"
                )
            began = found.provenance.published if found.provenance else ""
            return Study(name, {1: found}, began)
        groups = [one for one in read_sessions(StudyFolder.of(folder)) if one.run.trials]
        if not groups:
            raise UsageError(f"{path}: nothing was measured yet. Fix: tiltyard run {path}")
        first = groups[0]
        return Study(
            name,
            {one.number: analyse(one.plan, one.run) for one in groups},
            first.run.began,
            {spec.name: spec for spec in first.plan.systems},
            replicates(groups),
        )


def require_apart(studies: Mapping[str, Findings]) -> None:
    """Refuse trials that count twice.

    Args:
        studies: as they were named.

    Raises:
        UsageError: if two of them are copies of one run.
    """
    seen: dict[str, str] = {}
    for name, findings in studies.items():
        if findings.seal and findings.seal in seen:
            raise UsageError(
                f"{name}: is a copy of {seen[findings.seal]} (seal {findings.seal[:12]}). "
                "Its trials would count twice. Fix: name each run once"
            )
        seen[findings.seal] = name


def differing(first: Study, one: Study) -> Iterator[str]:
    """What is not as in the first study: what it runs on, then what measures."""
    before, now = first.first, one.first
    for section, fact, old, new in changed(before.record, now.record):
        values = "" if _PRIVATE.search(fact) else f" {old} → {new}"
        yield f"{section}: {fact}{values}"
    for fact, old in before.host.items() if not (before.record and now.record) else ():
        if now.host.get(fact, old) != old:
            yield f"{fact} {old} → {now.host[fact]}"
    for name, spec in first.specs.items():
        if name in one.specs:
            yield from _system_differs(first, one, spec, one.specs[name])
    for what, old, new in (
        ("Tiltyard", before.tiltyard, now.tiltyard),
        ("engine", before.engine, now.engine),
        ("disturbed blocks", _disturbed(first), _disturbed(one)),
    ):
        if old != new:
            yield f"{what}: {old} → {new}"


def _disturbed(study: Study) -> str:
    """Share of all blocks that were run, those that were replaced too."""
    disturbed = run = 0
    for one in study.sessions.values():
        own = len(one.disturbed.blocks) if one.disturbed else 0
        disturbed += own
        run += round(own / one.disturbed.share) if one.disturbed else one.blocks_done
    return f"{100 * disturbed / run:.0f} %" if disturbed else "none"


def _system_differs(
    first: Study, one: Study, ours: SystemSpec, theirs: SystemSpec
) -> Iterator[str]:
    """Settings of a system of one name, and what the kernel said of it."""
    old, new = ({**spec.settings, **spec.variables, "kind": spec.kind} for spec in (ours, theirs))
    for key in {**old, **new}:
        if old.get(key) != new.get(key):
            yield f"{ours.name}: {key} {old.get(key, '–')} → {new.get(key, '–')}"
    facts = {
        study.name: next(own.facts for own in study.first.systems if own.name == ours.name)
        for study in (first, one)
    }
    specs = [
        spec.model_copy(update={"name": study.name})
        for spec, study in ((ours, first), (theirs, one))
    ]
    for found in differences(facts, specs, {}):
        if found.why and found.fact not in _UNSTEADY:
            yield f"{ours.name}: {found.fact} {' → '.join(found.values.values())}"


def in_short(differs: Sequence[str]) -> Iterator[str]:
    """By what they are of: few in full, of more the number; the report lists all of them."""
    by_head: dict[str, list[str]] = {}
    for line in differs:
        head, _, fact = line.partition(": ")
        by_head.setdefault(head, []).append(fact)
    for head, facts in by_head.items():
        told = ", ".join(facts) if len(facts) <= _IN_FULL else f"{len(facts)} facts"
        yield f"{head}: {told}" if told else head
