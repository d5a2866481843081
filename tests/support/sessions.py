"""Studies of several sessions: synthetic ones, and the command line in a boot of a given name.

Called as ``python -m support.sessions BOOT ARGUMENTS…`` it is the command line, on a host whose
boot is named in the file BOOT: the process that tests kill.
"""

import sys
from collections.abc import Sequence
from math import exp
from pathlib import Path

from support.synthetic import synthetic_study
from tiltyard import cli
from tiltyard.host import processes
from tiltyard.plan.model import TrialKey
from tiltyard.plan.sessions import session_plan
from tiltyard.run import settle
from tiltyard.run.sessions import Recorded
from tiltyard.study.model import Placement

BLOCKS = 6


def synthetic_sessions(
    effects: Sequence[float],
    planned: int,
    *,
    noise: float = 0.01,
    unfinished: bool = False,
    failed: Sequence[TrialKey] = (),
    hosts: Sequence[float] = (),
) -> tuple[Recorded, ...]:
    """Sessions of six blocks in which xfs is that much faster than ext4, on the log scale.

    Args:
        effects: one a session.
        planned: sessions of the plan; the others are added.
        noise: standard deviation of a log value.
        unfinished: the last one is, after three of its blocks.
        failed: trials that fail, with their numbers in the first session.
        hosts: each session is on a host of a placement, so much faster for all systems, on the log
            scale.
    """
    found = []
    for number, effect in enumerate(effects, 1):
        last = unfinished and number == len(effects)
        level = hosts[number - 1] if hosts else 0.0
        plan, run = synthetic_study(
            ("ext4", "xfs"),
            blocks=3 if last else BLOCKS,
            profile="fixed",
            fixed_blocks=BLOCKS,
            effects={"ext4": exp(level), "xfs": exp(effect + level)},
            noise=noise,
            seed=number,
            failed=failed if number == 1 else (),
        )
        if number == 1:
            design = plan.design.model_copy(update={"sessions": planned})
            placement = Placement(hosts=tuple(f"n{n + 1}" for n in range(len(hosts))))
            first = plan.model_copy(
                update={"design": design, "placement": placement if hosts else None}
            )
        own = first if number == 1 else session_plan(first, number)
        before = own.blocks[0].number - 1
        trials = tuple(
            trial.model_copy(
                update={"key": trial.key.model_copy(update={"block": trial.key.block + before})}
            )
            for trial in run.trials
        )
        record = run.model_copy(
            update={
                "trials": trials,
                "stopped": None if last else "a session is done",
                "boots": (f"boot-{number}",),
                "began": f"2026-11-{number:02}T08:00:00+00:00",
                "ended": f"2026-11-{number:02}T09:00:00+00:00",
                "seal": f"{number:064x}",
                "node": f"n{number}" if hosts else "",
            }
        )
        found.append(Recorded(own, record))
    return tuple(found)


def main() -> None:
    """The command line in that boot."""
    boot, *arguments = sys.argv[1:]
    processes.BOOT_ID = Path(boot)
    settle._LIMIT_S = 0.0
    sys.argv = ["tiltyard", *arguments]
    cli.main()


if __name__ == "__main__":
    main()
