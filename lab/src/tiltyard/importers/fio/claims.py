"""What a job of fio claims of the page cache, against what the kernel counted of its processes.

The kernel's count has fio's own program in it, where that was not in memory: some MB, which hide
what a job of a few MB did.
"""

from collections.abc import Mapping
from typing import Final

from tiltyard.importers.fio.report import jobs_of, report_of

_ENOUGH: Final = 0.9
"""Share of what was read past the cache that the counters have at least: they may miss a request
that began before them."""
_NO: Final = frozenset(("0", "false"))


def disproved(data: bytes, name: str, device_bytes: int) -> str | None:
    """Why reads with ``direct=1`` were not what they claim; ``None``: nothing speaks against it.

    Args:
        data: fio's report.
        name: of the report, for messages.
        device_bytes: read below the page cache, by all of its processes.
    """
    direct = [job for job in jobs_of(report_of(data, name)) if _is_direct(job.options)]
    reads = (thread.get("read") for job in direct for thread in job.threads)
    asked = int(sum(way["io_bytes"].value() or 0 for way in reads if way is not None))
    if device_bytes >= _ENOUGH * asked:
        return None
    return (
        f"{', '.join(job.name for job in direct)}: direct=1, and of {asked:,} B that were read "
        f"only {device_bytes:,} B came from a device: the rest was in memory, or not to be seen. "
        "Fix: leave direct=1 out, or measure a file system that keeps it"
    )


def _is_direct(options: Mapping[str, str]) -> bool:
    """An option without a value is switched on."""
    return options.get("direct", "0") not in _NO
