"""The table of a whole run: which comparisons, line by line, and how many fall short."""

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from .engine import measuring
from .harness import Comparison, Group, Limit, Peer, Times, header, missing


def asking(about: str | None, seconds: float) -> argparse.ArgumentParser:
    """The options of every table."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("names", nargs="*", help="only comparisons whose names begin so")
    parser.add_argument("--seconds", type=float, default=seconds, help="of rounds, for each")
    parser.add_argument(
        "--before", type=_program, metavar="ENGINE", help="beside an earlier build, not peers"
    )
    return parser


def _program(name: str) -> Path:
    """A file that can be executed, from any directory."""
    path = Path(name).absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        raise argparse.ArgumentTypeError(f"{name} is not a program")
    return path


def wanted(options: argparse.Namespace, every: Sequence[Comparison]) -> list[Comparison]:
    """Those that were asked for.

    Raises:
        SystemExit: if no name begins so.
    """
    # Every name begins with nothing.
    names = tuple(options.names) or ("",)
    found = [each for each in every if each.name.startswith(names)]
    if not found:
        known = dict.fromkeys(each.name.partition(",")[0] for each in every)
        raise SystemExit(f"no comparison begins so; there are: {', '.join(known)}")
    if options.before is None:
        return found
    once = {(each.name, getattr(each, "what", "")): each for each in found}
    return [_beside_itself(each, options.before) for each in once.values()]


def _beside_itself(comparison: Comparison, before: Path) -> Group:
    """Our side of it by two engines; above 1 the one of today is faster, or its figure smaller."""

    def today(directory: Path) -> Times:
        if isinstance(comparison, Limit):
            return {comparison.what: comparison.value(directory)}
        return comparison.ours(directory)

    def then(directory: Path) -> Times:
        with measuring(before):
            return today(directory)

    needs = comparison.needs if isinstance(comparison, Limit) else ()
    earlier = (Peer("before", then),)
    return Group(comparison.name, today, earlier, needs, comparison.on_device)


def tabulate(
    comparisons: Sequence[Comparison], seconds: float, place: Callable[[Comparison], Path]
) -> None:
    """Print the table; `place` says where the directories of a comparison shall be."""
    rng = random.Random(20261121)
    verdicts = Counter[str]()
    say(machine())
    say(header())
    for comparison in comparisons:
        if lacking := missing(comparison):
            say(f"{comparison.name:<32}  left out: {', '.join(lacking)} is not on PATH")
            continue
        try:
            for row in comparison.rows(seconds, place(comparison), rng):
                say(str(row))
                verdicts[row.verdict] += 1
        except RuntimeError as error:
            say(f"{comparison.name:<32}  failed: {error}")
            verdicts["failed"] += 1
    named = {"ok": "reached", "short": "missed", "?": "not decided", "failed": "failed"}
    counts = [f"{verdicts[key]} {word}" for key, word in named.items() if verdicts[key]]
    if counts:
        say(f"targets: {', '.join(counts)}")
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
