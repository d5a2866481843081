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
def group_with_quota(quota_us: int) -> Iterator[Path]:
    """It may use so much of each 100 ms; it goes when the last process in it has gone."""
    group = _ROOT / f"tiltyard-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group of version 1 can be made here: {error}")
    try:
        (group / "cpu.cfs_quota_us").write_text(f"{quota_us}")
        yield group
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "the group is not empty")
    finally:
        group.rmdir()
