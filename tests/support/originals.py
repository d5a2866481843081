"""Programs of others that tests need."""

import shutil
import subprocess
from functools import cache

import pytest

# Where a person gets each: the Debian package, or where the sources are kept.
_SOURCES = {
    "netperf": "apt-get install netperf, from Debian's non-free section",
    "netserver": "apt-get install netperf, from Debian's non-free section",
    "strace": "apt-get install strace",
}


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip, and say how to get it, where a program is not on PATH; or strace may not trace."""
    lacking = [name for name in programs if shutil.which(name) is None]
    reason = "; ".join(f"{name} is not on PATH ({_SOURCES[name]})" for name in lacking)
    if not lacking and "strace" in programs and not _may_trace():
        reason = "strace may not trace here: ptrace(2) is forbidden, as in some containers"
    return pytest.mark.skipif(bool(reason), reason=reason or "all there")


@cache
def _may_trace() -> bool:
    return subprocess.run(["strace", "true"], capture_output=True, check=False).returncode == 0
