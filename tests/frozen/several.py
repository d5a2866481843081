"""What is said over sessions, of studies that are compared or pooled, and of studies combined."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any, Final

import numpy as np

from frozen.judgement import Stated, stated_of, stated_of_combined
from frozen.planted import OWN, PLANTED, TWO, keys, study
from support.collections import collection
from support.laid import laid, laid_sessions
from support.sessions import synthetic_sessions
from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.app.across import across
from tiltyard.app.collect import place_collection
from tiltyard.app.combine import combine
from tiltyard.app.report import findings_of
from tiltyard.collected.model import Reading
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import TrialKey
from tiltyard.plan.sessions import session_plan
from tiltyard.run.sessions import Recorded

LUCK: Final = (0.01, -0.02, 0.0, 0.015, -0.01)
EIGHT: Final = (0.10, 0.11, 0.09, 0.12, 0.08, 0.10, 0.11, 0.09)
FAILED: Final = tuple(TrialKey(block=n, system="xfs", workload="postmark") for n in (1, 2, 4))


def in_boots(boots: Sequence[int]) -> tuple[Recorded, ...]:
    """Sessions of one day, each in a boot of a number."""
    return tuple(
        Recorded(
            one.plan,
            one.run.model_copy(
                update={
                    "boots": (f"boot-{boot}",),
                    "began": f"2026-11-01T{2 * place:02}:00:00+00:00",
                    "ended": f"2026-11-01T{2 * place + 1:02}:00:00+00:00",
                }
            ),
        )
        for place, (one, boot) in enumerate(
            zip(synthetic_sessions(EIGHT, 8), boots, strict=True), 1
        )
    )


SESSIONS: Final[Mapping[str, Callable[[], Sequence[Recorded]]]] = {
    "one": lambda: synthetic_sessions((0.1,), 1),
    "three": lambda: synthetic_sessions((0.10, 0.12, 0.08), 3),
    "three, and one added": lambda: synthetic_sessions((0.10, 0.12, 0.08, -0.2), 3),
    "one, and seven added": lambda: synthetic_sessions(EIGHT, 1),
    "eight": lambda: synthetic_sessions(EIGHT, 8),
    "eight that differ": lambda: synthetic_sessions(
        (0.10, -0.09, 0.12, -0.02, 0.11, 0.10, -0.10, 0.09), 8
    ),
    "eight without a difference": lambda: synthetic_sessions((0.0,) * 8, 8, noise=0.004),
    "eight, one turned": lambda: synthetic_sessions((*EIGHT[:7], -0.3), 8),
    "eight, the last unfinished": lambda: synthetic_sessions(EIGHT, 8, unfinished=True),
    "eight that follow each other": lambda: synthetic_sessions(
        tuple(0.03 * place for place in range(8)), 8
    ),
    "seven, blocks failed in one": lambda: synthetic_sessions(EIGHT[:7], 7, failed=FAILED),
    "three, blocks failed in one": lambda: synthetic_sessions(EIGHT[:3], 3, failed=FAILED),
    "eight, two in one boot": lambda: in_boots((1, 1, 2, 3, 4, 5, 6, 7)),
    "eight in four boots": lambda: in_boots((1, 1, 2, 2, 3, 3, 4, 4)),
    "seven hosts": lambda: synthetic_sessions(
        EIGHT[:7], 7, hosts=(0.0, 0.0, 0.3, 0.0, 0.0, 0.3, 0.0)
    ),
    "three hosts": lambda: synthetic_sessions(EIGHT[:3], 3, hosts=(0.0, 0.1, 0.3)),
}
"""Sessions of one study → each with its record."""


def sessions(root: Path) -> Iterator[tuple[str, Stated]]:
    """``tiltyard report`` of studies of several sessions."""
    for place, (name, made) in enumerate(SESSIONS.items()):
        yield name, stated_of(findings_of(laid_sessions(root / f"{place}", made())))
    folder = StudyFolder(laid_sessions(root / "lost", SESSIONS["seven hosts"]()))
    lost = folder.session(3).lost / "1"
    lost.mkdir(parents=True)
    (lost / "why").write_text("n8 was lost in session 3 after 2 blocks: no answer for 60 s")
    yield "seven hosts, another one lost", stated_of(findings_of(folder.root))


def over(
    root: Path,
    name: str,
    levels: Sequence[float] = (0.0,),
    *,
    xfs: float = 0.0,
    systems: Sequence[str] = TWO,
    seed: int,
    **options: Any,
) -> Path:
    """The folder of a study whose sessions are that much faster as wholes, on the log scale.

    Args:
        root: where the folder is made.
        name: of the folder, and so of the study.
        levels: one a session, each in a boot of its own.
        xfs: how far that system is ahead.
        systems: their names.
        seed: of the noise.
        options: as :func:`synthetic_study` takes them.
    """
    options = {"blocks": 8, "profile": "fixed", "fixed_blocks": 8, "noise": 0.01, **options}
    groups: list[Recorded] = []
    for number, level in enumerate(levels, 1):
        speed = {one: exp(level + (xfs if one == "xfs" else 0.0)) for one in systems}
        plan, run = synthetic_study(
            systems, effects=speed, seed=1000 * seed + number, shapes=OWN, **options
        )
        if groups:
            plan = session_plan(groups[0].plan, number)
        before = plan.blocks[0].number - 1
        trials = tuple(
            one.model_copy(
                update={"key": one.key.model_copy(update={"block": one.key.block + before})}
            )
            for one in run.trials
        )
        day = f"2026-11-{number:02}T0"
        update = {
            "trials": trials, "stopped": "a session is done", "boots": (f"{name}-{number}",),
            "began": f"{day}8:00:00+00:00", "ended": f"{day}9:00:00+00:00",
        }  # fmt: skip
        groups.append(Recorded(plan, run.model_copy(update=update)))
    return laid_sessions(root / name, groups)


def pooled(root: Path, effects: Sequence[float], **options: Any) -> list[Path]:
    """Studies of one session each, in which xfs is that far ahead."""
    return [over(root, f"host{n}", xfs=xfs, seed=n, **options) for n, xfs in enumerate(effects, 1)]


def lowered(by: float = 0.2) -> tuple[float, ...]:
    """The luck of five sessions that are slower by so much."""
    return tuple(level - by for level in LUCK)


COMPARED: Final[Mapping[str, Callable[[Path], Sequence[Path]]]] = {
    "two of one session": lambda at: [over(at, "may", seed=1), over(at, "june", (0.5,), seed=2)],
    "two of five sessions": lambda at: [
        over(at, "may", LUCK, seed=1), over(at, "june", lowered(), seed=2),
    ],
    "two of five sessions, the same": lambda at: [
        over(at, "may", LUCK, seed=1), over(at, "june", LUCK, seed=2),
    ],
    "two whose sessions follow each other": lambda at: [
        over(at, "may", (0.0, 0.03, 0.06, 0.09, 0.12, 0.15), seed=1),
        over(at, "june", (-0.4, -0.37, -0.34, -0.31, -0.28, -0.25), seed=2),
    ],
    "two with other systems and workloads": lambda at: [
        over(at, "may", LUCK, systems=(*TWO, "btrfs"), workloads=("postmark", "chore"), seed=1),
        over(at, "june", lowered(), workloads=("chore", "grid"), seed=2),
    ],
    "two of one session, failed trials": lambda at: [
        over(at, "may", seed=1), over(at, "june", (0.1,), seed=2, failed=keys("xfs", (1, 2, 5))),
    ],
    "two with other margins": lambda at: [
        over(at, "may", LUCK, seed=1), over(at, "june", LUCK, seed=2, equivalent_within=0.05),
    ],
    "three pooled": lambda at: pooled(at, (0.2, 0.2, 0.2)),
    "six pooled": lambda at: pooled(at, (0.12, 0.18, 0.09, 0.15, 0.2, 0.11)),
    "six pooled, one turned": lambda at: pooled(at, (0.12, 0.18, 0.09, 0.15, 0.2, -0.05)),
    "six pooled without a difference": lambda at: pooled(at, (0.0,) * 6, noise=0.003),
    "eight pooled, two kinds": lambda at: pooled(at, (0.1, 0.3, 0.1, 0.3, 0.1, 0.3, 0.1, 0.3)),
    "six pooled over a grid and a time": lambda at: pooled(
        at, (0.12, 0.18, 0.09, 0.15, 0.2, 0.11), workloads=("grid", "chore")
    ),
    "five pooled, failed trials": lambda at: [
        *pooled(at, (0.12, 0.18, 0.09)),
        over(at, "host4", xfs=0.1, seed=4, failed=keys("xfs", range(1, 6))),
        over(at, "host5", xfs=0.1, seed=5, failed=keys("xfs", range(1, 7))),
    ],
    "three pooled of several sessions": lambda at: [
        over(at, f"host{n}", LUCK, xfs=0.1, seed=n) for n in (1, 2, 3)
    ],
}  # fmt: skip
"""Studies that ``tiltyard compare`` holds against each other."""


def studies(root: Path) -> Iterator[tuple[str, Stated]]:
    """``tiltyard compare STUDY STUDY …``."""
    for place, (name, made) in enumerate(COMPARED.items()):
        yield name, stated_of(analyse_collection(across(made(root / f"{place}"))))
    collections = [_collected(root / f"file-{n}", n) for n in range(1, 4)]
    yield "two imported", stated_of(analyse_collection(across(collections[:2])))
    yield "three imported, pooled", stated_of(analyse_collection(across(collections)))
    two = COMPARED["two of five sessions"](root / "pool")
    yield "two of five sessions, pooled", stated_of(analyse_collection(across(two, pool=True)))


def _collected(folder: Path, seed: int) -> Path:
    """A study whose rates were imported, by block: xfs is ahead by a tenth."""
    rng = np.random.default_rng(seed)
    blocks = tuple(range(1, 9))
    readings = [
        Reading(
            metric="throughput", system=system, blocks=blocks,
            values=tuple(1e8 * ahead * np.exp(rng.normal(0, 0.02, len(blocks)))),
        )
        for system, ahead in (("ext4", 1.0), ("xfs", 1.1))
    ]  # fmt: skip
    place_collection(folder, collection(readings), {})
    return folder


def together(root: Path) -> Iterator[tuple[str, Stated]]:
    """``tiltyard combine STUDY STUDY …``."""
    three = (*TWO, "btrfs")
    effects = {"xfs": 1.06, "btrfs": 0.9}
    mail = laid(root / "mail", *study(systems=three, blocks=20, effects=effects))
    builds = laid(
        root / "builds",
        *study(systems=three, workloads=("chore",), blocks=20, effects={"xfs": 0.9}, seed=2),
    )
    mixed = laid(
        root / "mixed",
        *study(systems=TWO, workloads=("grid", "chore"), blocks=20, effects=effects, seed=3),
    )
    fails = laid(root / "fails", *PLANTED["failures on one side"]())
    yield "two", stated_of_combined(combine([mail, builds], {}))
    yield "weighted", stated_of_combined(combine([mail, builds], {"mail": 3.0}))
    yield "other baseline", stated_of_combined(combine([mail, builds], {}, baseline="btrfs"))
    yield "a system left out", stated_of_combined(combine([mail, mixed], {"mixed/chore": 0.0}))
    yield "failures in one", stated_of_combined(combine([mail, fails], {}))
