"""The systems as they were prepared, and what differs between them."""

import shlex

from tiltyard.analysis.model import SystemFindings
from tiltyard.plan.model import Plan
from tiltyard.run.record import Prepared, RunRecord

ABSENT = "–"
"""Stands where a system has no such fact."""


def system_findings(plan: Plan, run: RunRecord) -> tuple[SystemFindings, ...]:
    """Each system with the facts and commands of its first turn."""
    first = _first_turns(run)
    return tuple(
        SystemFindings(
            name=system.name,
            levels=system.levels,
            facts=first[system.name].facts if system.name in first else {},
            commands=tuple(
                shlex.join(command.argv)
                for command in (first[system.name].commands if system.name in first else ())
            ),
        )
        for system in plan.systems
    )


def differing_facts(systems: tuple[SystemFindings, ...]) -> dict[str, dict[str, str]]:
    """Fact → system → value, for the facts that are not the same in all prepared systems."""
    prepared = [system for system in systems if system.facts]
    names = dict.fromkeys(fact for system in prepared for fact in system.facts)
    table = {
        fact: {system.name: system.facts.get(fact, ABSENT) for system in prepared} for fact in names
    }
    return {fact: row for fact, row in table.items() if len(set(row.values())) > 1}


def _first_turns(run: RunRecord) -> dict[str, Prepared]:
    first: dict[str, Prepared] = {}
    for prepared in run.prepared:
        first.setdefault(prepared.system, prepared)
    return first
