"""Findings of every sort that a report must be able to tell: run here, printed, incomplete."""

from collections.abc import Callable
from functools import cache

from support.network_studies import network_study
from support.printed_studies import SORTS
from support.synthetic import SHAPES, factorial_study, synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings

FACTORS = {"filesystem": ("ext4", "xfs"), "mount": ("default", "noatime")}
STUDIES: dict[str, Callable[[int], Findings]] = {
    "three file systems": lambda seed: analyse(
        *synthetic_study(workloads=tuple(SHAPES), effects={"xfs": 1.3, "btrfs": 0.9}, seed=seed)
    ),
    "two factors": lambda seed: analyse(
        *factorial_study(FACTORS, {("xfs",): 1.2, ("noatime",): 1.05}, seed=seed)
    ),
    "four levels": lambda seed: analyse(
        *factorial_study(
            {"filesystem": ("ext4", "xfs", "btrfs", "ext3"), "mount": ("default", "noatime")},
            seed=seed,
        )
    ),
    "network": lambda seed: analyse(*network_study(effects={"optimized": 1.1}, seed=seed)),
    "too few blocks": lambda seed: analyse(*synthetic_study(blocks=2, seed=seed)),
    "not begun": lambda seed: analyse(*synthetic_study(blocks=0, seed=seed)),
    **{
        f"printed {name}": lambda seed, make=make: analyse_collection(make(seed))
        for name, make in SORTS.items()
    },
}


@cache
def findings_of(name: str, seed: int) -> Findings:
    """Findings of a sort; made once for all tests."""
    return STUDIES[name](seed)
