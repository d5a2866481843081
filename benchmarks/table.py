"""The table of a whole run: which comparisons, line by line, and how many fall short."""

import argparse
import os
import random
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from .harness import Comparison, header, missing


def chosen(
    parser: argparse.ArgumentParser, every: Sequence[Comparison], names: Sequence[str]
) -> list[Comparison]:
    """Those whose names begin so; all where no name is given."""
    # Every name begins with nothing.
    wanted = tuple(names) or ("",)
    found = [each for each in every if each.name.startswith(wanted)]
    if not found:
        known = dict.fromkeys(each.name.partition(",")[0] for each in every)
        parser.error(f"no comparison begins so; there are: {', '.join(known)}")
    return found


def tabulate(
    comparisons: Sequence[Comparison], seconds: float, place: Callable[[Comparison], Path]
) -> None:
    """Print the table; `place` says where the directories of a comparison shall be."""
    rng = random.Random(20261121)
    short = 0
    say(machine())
    say(header())
    for comparison in comparisons:
        if lacking := missing(comparison):
            say(f"{comparison.name:<32}  left out: {', '.join(lacking)} is not on PATH")
            continue
        try:
            for row in comparison.rows(seconds, place(comparison), rng):
                say(str(row))
                short += not row.ok
        except RuntimeError as error:
            say(f"{comparison.name:<32}  failed: {error}")
            short += 1
    say(f"{short} short of their targets" if short else "all targets reached")
    say(machine())


def machine() -> str:
    """Where and when, and how busy it is."""
    now, load = datetime.now(tz=UTC), os.getloadavg()[0]
    machine = f"Linux {os.uname().release}, {os.cpu_count()} CPUs"
    return f"{now:%Y-%m-%d %H:%M} UTC, {machine}, load {load:.1f}"


def say(line: str) -> None:
    """Print at once: a row takes seconds."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
