"""A real control group with a quota of CPU time (version 1), where a test can make one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.patience import wait_until

_ROOT = Path("/sys/fs/cgroup/cpu")
ENTER = ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"')
"""With a group and a command after it: becomes that command, inside of the group."""


@contextmanager
def group_with_quota() -> Iterator[Path]:
    """It may use 0.4 CPUs; it goes when the last process in it has gone.

    A millisecond at a stretch uses that up for a moment, also where others leave less.
    """
    group = _ROOT / f"tiltyard-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of version 1 can be made here: {error}")
    try:
        (group / "cpu.cfs_period_us").write_text("2500")
        (group / "cpu.cfs_quota_us").write_text("1000")
        yield group
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "the group is not empty")
    finally:
        group.rmdir()
