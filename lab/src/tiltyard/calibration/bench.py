"""Where the parts of a calibration are carried out, and what holds for all of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from tiltyard.calibration.examine import clock_of, delay_of, same_of, sensitivity_of
from tiltyard.calibration.model import Clock, Delay, SubjectFindings
from tiltyard.calibration.part import Outcome, carry_out
from tiltyard.calibration.studies import (
    SHARES,
    Part,
    delays_part,
    same_part,
    sensitivity_part,
)
from tiltyard.calibration.subjects import Place, Subject
from tiltyard.executors.engine import Engine
from tiltyard.host.facts import facts_of_another
from tiltyard.host.place import Place as HostPlace
from tiltyard.run.observer import Observer
from tiltyard.stats.types import FloatArray
from tiltyard.wire import Floor

Gates = Literal["replace", "keep"]


@dataclass
class Bench:
    """Carries parts out, and keeps what it learns of the host and of the clock on the way."""

    root: Path
    engine: Engine
    observer: Observer
    gates: Gates
    place: HostPlace
    """The host that is calibrated."""
    floors: list[Floor] = field(default_factory=list)
    hosts: list[dict[str, str]] = field(default_factory=list)
    """The host as each part found it."""
    shortest_s: float | None = None
    """The shortest region that was timed so far."""
    last_started: str = ""
    """UTC, ISO 8601, of the latest trial."""

    def carry_out(self, part: Part) -> Outcome:
        """One part to its end; see :func:`tiltyard.calibration.part.carry_out` for errors."""
        outcome = carry_out(self.root, part, self.engine, self.observer)
        there = facts_of_another(self.place) if self.place.is_remote else outcome.run.host
        trials = outcome.run.trials
        self.floors += [trial.end.floor for trial in trials if trial.end]
        self.hosts.append(there)
        regions = [sample.elapsed_s for trial in trials for sample in trial.samples]
        self.shortest_s = min([*regions, *([self.shortest_s] if self.shortest_s else [])])
        self.last_started = max(self.last_started, *(trial.started for trial in trials))
        return outcome

    @property
    def clock(self) -> Clock:
        """The clock, as all trials so far found it."""

        def median(name: str) -> float:
            return float(np.median([getattr(floor, name) for floor in self.floors]))

        return clock_of(
            Floor(
                clock_ns=median("clock_ns"),
                clock_step_ns=median("clock_step_ns"),
                operation_ns=median("operation_ns"),
            ),
            [host["clock source"] for host in self.hosts],
            self.shortest_s,
        )


@dataclass
class SubjectBench:
    """One subject, round by round; a round yields several comparisons of each sort."""

    bench: Bench
    subject: Subject
    place: Place
    same: list[FloatArray] = field(default_factory=list)
    """Logarithms under two names, each of shape (blocks, 2)."""
    delayed: list[FloatArray] = field(default_factory=list)
    """Times of an operation in ns, each of shape (blocks, 1 + delays)."""
    doubled: list[FloatArray] = field(default_factory=list)
    """Logarithms with calls as they are and twice as long, shape (blocks, 2)."""
    operation_ns: float | None = None
    """As the first round found it: the delays are cut from it, and then stay."""
    spoiled: int = 0

    def round(self, number: int, *, delays: bool) -> None:
        """The parts of one round, counted from 1; known delays if they are wanted in it."""
        gates, name = self.bench.gates, self.subject.name
        outcome = self.bench.carry_out(same_part(self.subject, self.place, number, gates))
        self.same.append(outcome.log_values(name))
        self.spoiled += outcome.spoiled
        if self.subject.call is None or not delays:
            return
        if self.operation_ns is None:
            self.operation_ns = float(np.nanmedian(outcome.times_ns(name)))
            part = sensitivity_part(self.subject, self.place, self.operation_ns, gates)
            self.doubled.append(self.bench.carry_out(part).log_values(name))
        part = delays_part(self.subject, self.place, number, self.operation_ns, gates)
        self.delayed.append(self.bench.carry_out(part).times_ns(name))

    def findings(self) -> SubjectFindings:
        """What all rounds together say."""
        subject = self.subject
        call = subject.call or ""
        return SubjectFindings(
            name=subject.name,
            about=subject.about,
            use=subject.use,
            kind=self.place.kind,
            parameters=subject.parameters,
            operation_ns=self.operation_ns,
            same=same_of(np.concatenate(self.same), self.spoiled),
            sensitivity=sensitivity_of(call, self.doubled[0]) if self.doubled else None,
            delays=tuple(self._delays()),
        )

    def _delays(self) -> list[Delay]:
        """Each known delay against none, in the same blocks."""
        if not self.delayed or self.operation_ns is None:
            return []
        times = np.concatenate(self.delayed)
        found = [
            delay_of(max(1, round(share * self.operation_ns)), times[:, 0], times[:, n])
            for n, share in enumerate(SHARES, start=1)
        ]
        return [delay for delay in found if delay is not None]
