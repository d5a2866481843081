"""A/A comparisons while others use the CPU that measures: are there false verdicts?

python -m benchmarks.noise --directory DIR [--comparisons 40] [--blocks 8] [--seed 1]
    [--transactions 500]

Two directories that do not differ are compared by PostMark, pinned to one CPU, as root. Three ways
take turns comparison by comparison, in a random order:

quiet      nothing is added to what else runs on this host
disturbed  a program that is bound to that CPU computes there at random times
isolated   the same program, and others are kept off the CPU

Told of each: comparisons that name a winner, unadjusted and adjusted, with exact binomial limits;
blocks that a limit of 3 % on the CPU time of others would disturb, on the whole host and on the CPU
that measures; widths of the intervals.
"""

import argparse
import io
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from tiltyard.executors.engine import ConditionsWanted, Engine, Job
from tiltyard.executors.runner import Runners
from tiltyard.executors.runner import Trial as Executed
from tiltyard.host.isolation import isolate
from tiltyard.host.ledger import Ledger
from tiltyard.host.telemetry import Watch
from tiltyard.run.noise_limits import TICKS_S
from tiltyard.run.stream import stream_of
from tiltyard.stats.covariates import explained
from tiltyard.stats.sequential import Spending, looks
from tiltyard.wire import SampleEvent

WAYS = ("quiet", "disturbed", "isolated")
LIMIT = 0.03
LEVEL = 0.05
WORKLOAD, METRIC = "postmark", "transactions"
OTHER = """
import os, random, select, sys, time
if os.fork():
    os._exit(0)
os.setsid()
os.sched_setaffinity(0, {int(sys.argv[1])})
print(os.getpid(), flush=True)
os.close(1)
draw = random.Random(int(sys.argv[2]))
while not select.select([0], [], [], 0)[0]:
    until = time.monotonic() + draw.expovariate(1 / 0.4)
    while time.monotonic() < until:
        pass
    time.sleep(draw.expovariate(1 / 0.8))
"""
"""Nobody's child, so that it is not taken for a part of ours; it ends when its input does."""


@dataclass(frozen=True)
class Trial:
    """What one trial yields."""

    log_value: float
    left: float
    """Logarithm of the share of the CPU's time that others left."""
    anywhere: float
    """CPU time of others on the whole host, of one core."""
    here: float
    """The same on the CPU that measures."""


@dataclass
class Tally:
    """What became of the comparisons of one way."""

    comparisons: int = 0
    claims: dict[str, int] = field(default_factory=lambda: {"unadjusted": 0, "adjusted": 0})
    widths: dict[str, list[float]] = field(
        default_factory=lambda: {"unadjusted": [], "adjusted": []}
    )
    shares: list[float] = field(default_factory=list)
    blocks: int = 0
    disturbed: dict[str, int] = field(default_factory=lambda: {"whole host": 0, "this CPU": 0})


def main() -> None:
    """Compare, and tell after each round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transactions", type=int, default=500, help="of each trial")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    cpu = max(os.sched_getaffinity(0))
    tallies = {way: Tally() for way in WAYS}
    for number in range(1, given.comparisons + 1):
        for way in draw.sample(WAYS, len(WAYS)):
            _compare(way, given, cpu, draw, tallies[way])
        _say(f"after {number} comparisons of each way")
        for way, tally in tallies.items():
            _say(f"  {way:<10} {_told(tally)}")


def _compare(
    way: str, given: argparse.Namespace, cpu: int, draw: random.Random, tally: Tally
) -> None:
    """One comparison of equals."""
    values = []
    with Ledger() as ledger, _other(cpu, draw) if way != "quiet" else _nobody():
        if way == "isolated" and not (found := isolate(ledger, (cpu,))).granted:
            _say(f"not isolated: {found.text}")
            return
        for _ in range(given.blocks):
            names = draw.sample(("a", "b"), 2)
            turn = {name: _trial(given.directory / name, cpu, given.transactions) for name in names}
            values.append((turn["a"], turn["b"]))
    _judge(values, tally)


def _judge(values: list[tuple[Trial, Trial]], tally: Tally) -> None:
    """Both analyses, and both limits."""
    differences = np.array([[b.log_value - a.log_value for a, b in values]])
    covariates = np.array([[[b.left - a.left] for a, b in values]])
    spending = Spending("fixed", False, looks("fixed", False, len(values)))
    tally.comparisons += 1
    for name, own in (("unadjusted", None), ("adjusted", covariates)):
        found = spending.evidence(0, differences, covariates=own)
        tally.claims[name] += int(found.p[0] <= LEVEL)
        tally.widths[name].append(float(found.high[0] - found.low[0]))
    tally.shares.append(explained(differences[0], covariates[0], float(np.median(differences))))
    tally.blocks += len(values)
    for name, shares in (
        ("whole host", [max(a.anywhere, b.anywhere) for a, b in values]),
        ("this CPU", [max(a.here, b.here) for a, b in values]),
    ):
        tally.disturbed[name] += sum(share > LIMIT for share in shares)


def _trial(directory: Path, cpu: int, transactions: int) -> Trial:
    """One trial, pinned."""
    directory.mkdir(exist_ok=True)
    job = Job(
        workload=WORKLOAD,
        parameters={"transactions": transactions},
        target=directory,
        conditions=ConditionsWanted(cpus=(cpu,), unpinned=False, keep_awake=False),
    )
    keep = io.BytesIO()
    with closing(Runners()) as runners, Watch(directory) as watching:
        trial = Executed(runners.of((str(Engine.find().path),)), job.message(), keep)
        for _ in trial.lines():
            pass
        seen = watching.telemetry((cpu,))
    stream = stream_of(keep.getvalue())
    end, external_s = stream.end, seen.external_s
    samples = [event.data for event in stream.events if isinstance(event, SampleEvent)]
    values = [sample.value for sample in samples if sample.metric == METRIC]
    foreign_s = None if end is None else end.usage.foreign_s
    if external_s is None or foreign_s is None or not values:
        raise SystemExit(f"a trial failed: {stream.outcome[1]}")
    here = _beyond_ticks(external_s, seen.elapsed_s)
    return Trial(
        log_value=float(np.log(values[0])),
        left=float(np.log1p(-min(here, 0.95))),
        anywhere=_beyond_ticks(foreign_s, seen.elapsed_s),
        here=here,
    )


def _beyond_ticks(spent_s: float, elapsed_s: float) -> float:
    """As a share of a core; what may be chance of the counter is none."""
    return spent_s / elapsed_s if spent_s > TICKS_S else 0.0


@contextmanager
def _nobody() -> Iterator[None]:
    yield


@contextmanager
def _other(cpu: int, draw: random.Random) -> Iterator[None]:
    """Somebody else who computes at random times."""
    argv = (sys.executable, "-c", OTHER, str(cpu), str(draw.randrange(2**32)))
    ours, its = os.pipe()[::-1]
    with subprocess.Popen(argv, stdin=its, stdout=subprocess.PIPE, text=True) as started:
        os.close(its)
        assert started.stdout is not None
        pid = int(started.stdout.readline())
    try:
        yield
    finally:
        os.kill(pid, 9)
        os.close(ours)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _told(tally: Tally) -> str:
    """One line."""
    if not tally.comparisons:
        return "none"
    claims = []
    for name, count in tally.claims.items():
        limits = binomtest(count, tally.comparisons).proportion_ci()
        width = 100 * float(np.median(tally.widths[name]))
        claims.append(
            f"{name}: {count} of {tally.comparisons} name a winner "
            f"({100 * limits.low:.1f}–{100 * limits.high:.1f} %), width {width:.1f} %"
        )
    disturbed = ", ".join(
        f"{100 * count / tally.blocks:.0f} % by {name}" for name, count in tally.disturbed.items()
    )
    explains = f"variance explained {100 * float(np.median(tally.shares)):.0f} %"
    return f"{'; '.join(claims)}; {explains}; blocks disturbed: {disturbed}"


if __name__ == "__main__":
    main()
