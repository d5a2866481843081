"""Before a run: what would go wrong, and what the kernel says of each system."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tiltyard.errors import InterruptedRunError, TiltyardError
from tiltyard.folder import StudyFolder
from tiltyard.host.isolation import hindrance
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.place import HERE
from tiltyard.run.interrupt import Interrupt
from tiltyard.run.lock import hold_lock
from tiltyard.run.nodes import named, require_slurm
from tiltyard.run.scratch_dir import open_systems, scratch_dir
from tiltyard.run.turn import facts_of
from tiltyard.study.model import ConditionsSpec, Placement, SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Problem, System
from tiltyard.systems.placement import cpu_problems


@dataclass(frozen=True)
class Rehearsal:
    """What was found."""

    problems: dict[str, list[Problem]]
    """System → what would go wrong."""
    facts: dict[str, dict[str, str]]
    """System → what the kernel said when it was up; empty if nothing was brought up."""
    recovered: tuple[str, ...]
    """What had to be put back after an earlier run."""


def lacking(conditions: ConditionsSpec, system: SystemSpec) -> list[Problem]:
    """What this host lacks for the conditions of a system that it measures itself."""
    if system.settings.get("host") or kind(system.kind).elsewhere:
        return []
    found = cpu_problems(*conditions.cpus)
    if conditions.isolate and not found and (why := hindrance(conditions.cpus)):
        found.append(Problem("warning", f"no isolation: {why}"))
    return found


def rehearse(
    folder: StudyFolder,
    specs: Iterable[SystemSpec],
    *,
    bring_up: bool = True,
    refresh: bool = False,
    placement: Placement | None = None,
) -> Rehearsal:
    """Ask every system what it lacks, and bring each one up and down once.

    Args:
        folder: the study.
        specs: its systems.
        bring_up: without it nothing is touched on the host.
        refresh: refresh each system as between two trials of a turn.
        placement: each system is asked on each of its hosts that is known before a run.

    Raises:
        InterruptedRunError: after Ctrl-C; nothing is left up.
        RefusedError: if the study is being run.
    """
    stopped = "Interrupted; nothing is left mounted"
    with hold_lock(folder), scratch_dir(folder), Interrupt(stopped) as interrupt:
        recovered = tuple(recover()) if bring_up else ()
        with Ledger() as ledger:
            opened = _opened(folder, tuple(specs), ledger, interrupt.check, placement)
            systems = dict(opened)
            problems = {name: system.problems() for name, system in systems.items()}
            facts: dict[str, dict[str, str]] = {}
            for name, system in systems.items():
                if bring_up and not any(p.severity == "error" for p in problems[name]):
                    try:
                        facts[name] = _up_and_down(system, refresh)
                    except InterruptedRunError:
                        raise
                    except (TiltyardError, OSError) as error:
                        problems[name].append(Problem("error", f"does not come up: {error}"))
    return Rehearsal(problems=problems, facts=facts, recovered=recovered)


def _opened(
    folder: StudyFolder,
    specs: Iterable[SystemSpec],
    ledger: Ledger,
    check: Callable[[], None],
    placement: Placement | None,
) -> Iterator[tuple[str, System]]:
    """The systems by name, on several hosts with the host's."""
    if placement and placement.engine == "slurm":
        require_slurm(placement)
        return
    hosts, there = (named(placement), placement.directory) if placement else ({"": HERE}, "")
    for host, place in hosts.items():
        found = open_systems(folder, specs, ledger, check, place=place, there=there)
        for name, system in found.items():
            yield f"{name} on {host}" if host else name, system


def _up_and_down(system: System, refresh: bool) -> dict[str, str]:
    """Facts of a system that was up for a moment."""
    try:
        facts = facts_of(system.bring_up())
        if refresh:
            system.refresh()
    finally:
        system.take_down()
    return facts
