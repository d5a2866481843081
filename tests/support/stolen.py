"""A test whose processors were taken away is asked once more, as a disturbed block is.

A hypervisor that lends its cores to somebody else makes a machine stand still in the middle of a
system call, and what is measured or waited for meanwhile is not the program's doing. The kernel
counts this time, proc_stat(5). A failure without it stands.
"""

import functools
import os
import time
from pathlib import Path
from typing import Final

import pytest

STAT: Final = pytest.StashKey[Path]()
_BEGAN: Final = pytest.StashKey[tuple[float, float]]()
_SHARE: Final = 0.01
"""Of the time of all processors; less is what any guest loses."""
_LEAST_S: Final = 0.05
"""A short test fails of nothing shorter."""
_STEAL: Final = 8


def stolen_s(stat: Path) -> float:
    """What the hypervisor has taken since boot, in seconds over all processors."""
    ticks = stat.read_text().split(maxsplit=_STEAL + 1)[_STEAL]
    return int(ticks) / os.sysconf("SC_CLK_TCK")


def pytest_configure(config: pytest.Config) -> None:
    """Where the kernel counts; a test of this module puts a file of its own there."""
    config.stash.setdefault(STAT, Path("/proc/stat"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test: which of them the next theft hits, nobody knows."""
    for item in items:
        again = functools.partial(was_stolen_from, item)
        item.add_marker(pytest.mark.flaky(reruns=1, condition=again))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Read the counter before any fixture begins to work."""
    item.stash[_BEGAN] = (time.monotonic(), stolen_s(item.config.stash[STAT]))


def was_stolen_from(item: pytest.Item) -> bool:
    """Whether so much was taken since a test began that its failure says nothing."""
    began, before = item.stash[_BEGAN]
    least = max(_LEAST_S, _SHARE * (time.monotonic() - began) * (os.cpu_count() or 1))
    return stolen_s(item.config.stash[STAT]) - before >= least
