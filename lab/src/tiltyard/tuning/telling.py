"""What became of a profile, in words."""

from collections.abc import Iterable, Mapping, Sequence

from tiltyard.tuning.setting import ABSENT, Outcome


def told(names: Sequence[str], outcomes: Iterable[Outcome]) -> dict[str, str]:
    """Facts of a system that was tuned: one for all, and one for each thing that was asked for.

    Args:
        names: of the profiles.
        outcomes: of their settings; those of one name are told together.
    """
    by_name = grouped(outcomes)
    done, held, skipped = counts(by_name)
    absent = [name for name, group in by_name.items() if group[0].value == ABSENT]
    facts = {
        f"tuning {name}": sentence(group) for name, group in by_name.items() if name not in absent
    }
    if absent:
        facts[f"tuning, {ABSENT}"] = ", ".join(absent)
    total = f"{done} set, {held} as they were, {skipped} skipped"
    return {"tuning": f"{' + '.join(names)}: {total}", **facts}


def counts(by_name: Mapping[str, Sequence[Outcome]]) -> tuple[int, int, int]:
    """How many things are set (if only on some CPUs), as they were, and skipped."""
    count = {"set": 0, "skipped": 0, "unchanged": 0}
    for group in by_name.values():
        statuses = {outcome.status for outcome in group}
        count[next(each for each in count if each in statuses)] += 1
    return count["set"], count["unchanged"], count["skipped"]


def grouped(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by what they are of: each CPU has a governor, and that is one thing."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.name, []).append(outcome)
    return found


def sentence(outcomes: Sequence[Outcome]) -> str:
    """What became of one thing: ``40 (was 20)``; where it is many, each answer with its count."""
    said = [_one(outcome) for outcome in outcomes]
    distinct = dict.fromkeys(said)
    if len(distinct) == 1:
        return said[0] + (f", {len(said)} times" if len(said) > 1 else "")
    return "; ".join(f"{text}, {said.count(text)} times" for text in distinct)


def _one(outcome: Outcome) -> str:
    """One answer."""
    if outcome.status == "skipped":
        return f"skipped: {outcome.reason}"
    if outcome.status == "unchanged":
        return f"{outcome.value}, as it was"
    return f"{outcome.value} (was {outcome.before})" if outcome.before else outcome.value
