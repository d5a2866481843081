"""The systems as they were prepared, and what differs between them."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from tiltyard.analysis.model import Advantage, Pair, SystemFindings
from tiltyard.plan.model import Plan
from tiltyard.recipe import Recipe
from tiltyard.run.record import DISK_UNDER_TEST, Prepared, RunRecord


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
            recipe=_recipe(system.name, run),
        )
        for system in plan.systems
    )


def record_under_test(
    record: Mapping[str, Mapping[str, str]], systems: Sequence[SystemFindings]
) -> dict[str, dict[str, str]]:
    """The system record, which says of each disk whether it is under test, and for whom."""
    users: dict[str, list[str]] = {}
    for system in systems:
        for disk in system.facts.get(DISK_UNDER_TEST, "").partition(", through ")[0].split(", "):
            users.setdefault(disk, []).append(system.name)
    return {
        section: dict(_marked(facts, users) if section == "disks" else facts.items())
        for section, facts in record.items()
    }


def _marked(
    facts: Mapping[str, str], users: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """The first fact of each disk is whether it is under test."""
    told: set[str] = set()
    for fact, value in facts.items():
        disk, colon, _ = fact.partition(": ")
        if colon and disk not in told:
            told.add(disk)
            under = f"yes, of {', '.join(users[disk])}" if disk in users else "no"
            yield f"{disk}: under test", under
        yield fact, value


def asked_factor(question: str, systems: Mapping[str, Mapping[str, str]]) -> str | None:
    """The factor that a question names, by its name or by two of its levels; else the first one.

    Args:
        question: as a person wrote it.
        systems: system → factor → level.
    """
    factors: dict[str, set[str]] = {}
    for own in systems.values():
        for factor, level in own.items():
            factors.setdefault(factor, set()).add(level)
    named = [
        factor
        for factor, levels in factors.items()
        if len(levels) > 1
        and (_names(question, factor) or sum(_names(question, own) for own in levels) > 1)
    ]
    return next(iter((*named, *factors)), None)


def _names(question: str, name: str) -> bool:
    """Whether a text has a name in it as a word, or several: ``file systems`` for filesystem."""
    letters = r"[\s_-]?".join(map(re.escape, re.sub(r"[\s_-]", "", name.lower())))
    return bool(name) and bool(re.search(rf"(?<!\w){letters}s?(?!\w)", question.lower()))


def advantages(
    systems: Mapping[str, Mapping[str, str]], baseline: str, asked: str | None = None
) -> tuple[Advantage, ...]:
    """Each level of each factor over the baseline's level, all other levels being the same.

    Args:
        systems: system → factor → level.
        baseline: one of them.
        asked: the factor that comes first: it is what reports compare systems by.
    """
    base = systems[baseline]
    by_levels = {tuple(levels.values()): name for name, levels in systems.items()}
    found = []
    for place, (factor, over) in enumerate(base.items()):
        for level in dict.fromkeys(levels[factor] for levels in systems.values()):
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
    return tuple(sorted(found, key=lambda own: own.factor != asked))


def _with(levels: tuple[str, ...], place: int, level: str) -> tuple[str, ...]:
    return (*levels[:place], level, *levels[place + 1 :])


def _first_turns(run: RunRecord) -> dict[str, Prepared]:
    first: dict[str, Prepared] = {}
    for prepared in run.prepared:
        first.setdefault(prepared.system, prepared)
    return first


def _recipe(system: str, run: RunRecord) -> Recipe | None:
    """Of its first turn, with the jobs that have the executions which were found in it."""
    told = [one.recipe for one in run.prepared if one.system == system and one.recipe]
    jobs = {name: job for one in told for name, job in one.jobs.items()}
    return told[0].model_copy(update={"jobs": jobs}) if told else None
