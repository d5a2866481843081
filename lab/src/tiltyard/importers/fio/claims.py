"""What jobs of fio claim of the page cache, against what the kernel counted of its processes.

``direct=1`` claims that every read goes past it. ``invalidate=1``, which fio does unless told
otherwise, claims that a job begins without what it holds of its files: whatever it reads first
comes from the device. That much can be said of a job of which the report tells what it reads first.

The kernel's count has fio's own program in it, where that was not in memory: some MB, which hide
what a job of a few MB did.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tiltyard.importers.fio.report import Job, bytes_moved, jobs_of, report_of
from tiltyard.importers.importer import Disproved

_ENOUGH: Final = 0.9
"""Share of what was read past the cache that the counters have at least: they may miss a request
that began before them."""
_NO: Final = frozenset(("0", "false"))
_WAYS: Final = frozenset(("read", "randread", "rw", "readwrite", "randrw"))
_ENGINES: Final = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring")
)
_SIZE: Final = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_FORESEEN: Final = frozenset(
    (
        *("rw", "readwrite", "bs", "blocksize", "size", "numjobs", "iodepth", "ioengine", "direct"),
        *("invalidate", "runtime", "time_based", "loops", "thread", "group_reporting", "new_group"),
        *("stonewall", "startdelay", "rwmixread", "rwmixwrite", "rate", "rate_iops", "thinktime"),
        *("fsync", "fdatasync", "end_fsync", "fsync_on_close", "create_fsync", "refill_buffers"),
        *("randrepeat", "randseed", "unlink", "percentile_list", "clat_percentiles", "nrfiles"),
    )
)
"""With these options alone each block of the files is read once before one is read again."""


@dataclass(frozen=True)
class _Claim:
    """What jobs claim to read from the device."""

    jobs: tuple[str, ...]
    option: str
    what: str
    asked_bytes: int
    fix: str
    stated: bool = True


def disproved(data: bytes, name: str, device_bytes: int) -> Disproved | None:
    """What was not read as jobs claim; ``None``: nothing speaks against them.

    Args:
        data: fio's report.
        name: of the report, for messages.
        device_bytes: read below the page cache, by all of its processes.
    """
    jobs = jobs_of(report_of(data, name))
    claims = [claim for claim in (_direct(jobs), *_cold(jobs)) if claim.asked_bytes]
    asked = 0
    for place, claim in enumerate(claims):
        asked += claim.asked_bytes
        if device_bytes < _ENOUGH * asked:
            first = claims[: place + 1]
            said = "; ".join(f"{', '.join(one.jobs)}: {one.option}" for one in first)
            return Disproved(
                message=f"{said}, and of {asked:,} B that {claim.what} only {device_bytes:,} B "
                "came from a device: the rest was in memory, or not to be seen",
                fix=claim.fix,
                stated=claim.stated,
            )
    return None


def _direct(jobs: list[Job]) -> _Claim:
    """All reads of jobs that go past the page cache."""
    own = [job for job in jobs if _is_on(job.options, "direct", "0")]
    return _Claim(
        jobs=tuple(job.name for job in own),
        option="direct=1",
        what="were read",
        asked_bytes=sum(_bytes(job, "read") for job in own),
        fix="leave direct=1 out, or measure a file system that keeps it",
    )


def _cold(jobs: list[Job]) -> Iterator[_Claim]:
    """First reads of jobs that drop the page cache before: those that say so, then the others."""
    for stated in (True, False):
        of_files: dict[str, int] = {}
        names = []
        for job in jobs:
            if ("invalidate" in job.options) is not stated or _is_written_meanwhile(job, jobs):
                continue
            if first := _first_bytes(job):
                names.append(job.name)
                # What others have read of a shared file is in memory.
                files = job.filename or f"files of {job.name}"
                of_files[files] = max(first, of_files.get(files, 0))
        yield _Claim(
            jobs=tuple(names),
            option="invalidate=1" if stated else "invalidate=1, as by default",
            what="are read first",
            asked_bytes=sum(of_files.values()),
            fix="write invalidate=0, or let what is written reach the disk before (end_fsync=1)",
            stated=stated,
        )


def _is_written_meanwhile(job: Job, jobs: list[Job]) -> bool:
    """Whether another job puts its file into memory at the same time; ``stonewall`` waits."""
    if not job.filename or "stonewall" in job.options:
        return False
    others = (one for one in jobs if one is not job and one.filename == job.filename)
    return any(_bytes(one, "write") for one in others)


def _first_bytes(job: Job) -> int:
    """Bytes that no thread of a job had read or written before; 0 where that is not known."""
    options = job.options
    way = options.get("rw", options.get("readwrite", "")).partition(":")[0]
    foreseen = options.keys() <= _FORESEEN and way in _WAYS
    if not foreseen or options.get("ioengine", "psync") not in _ENGINES:
        return 0
    if _is_on(options, "direct", "0") or not _is_on(options, "invalidate", "1"):
        return 0
    size = _SIZE.fullmatch(options.get("size", ""))
    threads = options.get("numjobs", "1")
    if size is None or not threads.isdigit():
        return 0
    of_files = int(size[1]) << 10 * " kmgt".index(size[2].lower() or " ")
    if not job.filename:
        of_files *= int(threads)
    read, written = _bytes(job, "read"), _bytes(job, "write")
    return read * min(of_files, read + written) // max(1, read + written)


def _bytes(job: Job, way: str) -> int:
    """Of all threads of a job."""
    ways = (thread.get(way) for thread in job.threads)
    return int(sum(bytes_moved(own) for own in ways if own is not None))


def _is_on(options: Mapping[str, str], name: str, default: str) -> bool:
    """An option without a value is switched on."""
    return options.get(name, default) not in _NO
