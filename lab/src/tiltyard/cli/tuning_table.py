"""Tuning profiles as a person reads them."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from tiltyard.report.stacking import StackingTable
from tiltyard.tuning.load import load_profiles, ready_names
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import Outcome, counts, grouped

_WORDS = {"set": "would be set", "unchanged": "is so", "skipped": "skipped"}


def profile_table() -> RenderableType:
    """One line for each ready profile."""
    table = StackingTable("Profile", "What it is for", "Values of")
    for name in ready_names():
        profile = load_profiles([name], Path())
        table.add_row(name, profile.about, profile.source)
    return Group(table, Text("\nMore: tiltyard tuning show NAME"))


def outcome_table(profile: Profile, outcomes: Sequence[Outcome]) -> RenderableType:
    """What a profile would change here: one line for each thing that it asks for."""
    table = StackingTable("Setting", "Now", "Would be", "")
    for name, group in grouped(outcomes).items():
        for outcome in dict.fromkeys(group):
            times = group.count(outcome)
            what = f"{name} ({times} times)" if times > 1 else name
            said = outcome.reason or _WORDS[outcome.status]
            now = outcome.before or "–"
            table.add_row(what, now, outcome.value or "–", Text(said))
    head = Text.assemble((profile.names[0], "bold"), f": {profile.about}")
    lines = [head, Text(f"Values of {profile.source}")] if profile.source else [head]
    new, held, skipped = counts(grouped(outcomes))
    total = Text(f"\n{new} would be set, {held} are so, {skipped} skipped")
    return Group(*lines, Text(), table, total)
