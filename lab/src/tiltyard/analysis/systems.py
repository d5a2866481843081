"""The systems as they were prepared, and what differs between them."""

import shlex

from tiltyard.analysis.model import Advantage, Pair, SystemFindings
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


def advantages(plan: Plan) -> tuple[Advantage, ...]:
    """Each level of each factor over the baseline's level, all other levels being the same."""
    base = plan.system(plan.baseline).levels
    by_levels = {tuple(system.levels.values()): system.name for system in plan.systems}
    found = []
    for place, (factor, over) in enumerate(base.items()):
        for level in dict.fromkeys(system.levels[factor] for system in plan.systems):
            pairs = tuple(
                Pair(
                    system=by_levels[_with(levels, place, level)],
                    against=name,
                    within=" ".join(levels[:place] + levels[place + 1 :]),
                )
                for levels, name in by_levels.items()
                if levels[place] == over and _with(levels, place, level) in by_levels
            )
            if level != over:
                found.append(Advantage(factor=factor, level=level, over=over, pairs=pairs))
    return tuple(found)


def _with(levels: tuple[str, ...], place: int, level: str) -> tuple[str, ...]:
    return (*levels[:place], level, *levels[place + 1 :])


def _first_turns(run: RunRecord) -> dict[str, Prepared]:
    first: dict[str, Prepared] = {}
    for prepared in run.prepared:
        first.setdefault(prepared.system, prepared)
    return first
