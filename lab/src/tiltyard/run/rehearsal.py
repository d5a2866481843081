"""Before a run: what would go wrong, and what differs between the systems beyond the factors."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tiltyard.folder import StudyFolder
from tiltyard.host.ledger import Ledger, recover
from tiltyard.run.lock import hold_lock
from tiltyard.run.workshop import open_systems, workshop
from tiltyard.study.model import SystemSpec
from tiltyard.systems.kind import Problem


@dataclass(frozen=True)
class Rehearsal:
    """What was found."""

    problems: dict[str, list[Problem]]
    """System → what would go wrong."""
    facts: dict[str, dict[str, str]]
    """System → what the kernel said when it was up; empty if nothing was brought up."""
    recovered: tuple[str, ...]
    """What had to be put back after an earlier run."""


def rehearse(
    folder: StudyFolder,
    specs: Iterable[SystemSpec],
    *,
    bring_up: bool = True,
    check: Callable[[], None] = lambda: None,
) -> Rehearsal:
    """Ask every system what it lacks, and bring each one up and down once.

    Args:
        folder: the study.
        specs: its systems.
        bring_up: without it nothing is touched on the host.
        check: called between steps; raises if a person wants to stop.

    Raises:
        TiltyardError: if a system that sees no problem does not come up, or not down again.
        RefusedError: if the study is being run.
    """
    with hold_lock(folder):
        recovered = tuple(recover()) if bring_up else ()
        with workshop(folder), Ledger() as ledger:
            systems = open_systems(folder, specs, ledger, check)
            problems = {name: system.problems() for name, system in systems.items()}
            lacking = any(p.severity == "error" for found in problems.values() for p in found)
            facts: dict[str, dict[str, str]] = {}
            if bring_up and not lacking:
                for name, system in systems.items():
                    facts[name] = system.bring_up().facts
                    system.take_down()
    return Rehearsal(problems=problems, facts=facts, recovered=recovered)


def differences(facts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Facts that are not the same for all systems: fact → system → value.

    A fact that a system does not have counts as "–".
    """
    names = dict.fromkeys(fact for of_one in facts.values() for fact in of_one)
    table = {
        fact: {system: of_one.get(fact, "–") for system, of_one in facts.items()} for fact in names
    }
    return {fact: values for fact, values in table.items() if len(set(values.values())) > 1}
