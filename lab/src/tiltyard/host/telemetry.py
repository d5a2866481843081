"""What else went on while something ran: the host's counters, read before and after it.

They stand beside what the engine itself has counted (``end.usage`` of the wire). What a host does
not tell is ``None``: not available, which is not the same as nothing.
"""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeVar

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.frozen import Frozen
from tiltyard.host.devices.disk_watch import DiskWatch
from tiltyard.host.external import ExternalWatch
from tiltyard.host.groups import QuotaWatch
from tiltyard.host.place import HERE, Place
from tiltyard.host.pressure import longest_waits_s, others_waited_s
from tiltyard.host.processes import used_s
from tiltyard.host.processor import FrequencyWatch, Sensors
from tiltyard.host.small_files import read_small

_KMSG = Path("/dev/kmsg")
_LONGEST = 8192
_LEVELS = 8
"""A record's first number is facility · 8 + level."""
_ERROR = 3
_MOST = 10
_HARMLESS = ("operation not supported error",)
"""How such messages begin: a device that lacks an operation (a loop device cannot always write
zeroes by itself), which the block layer then does in another way."""


class KernelLog:
    """The kernel's messages from now on."""

    def __init__(self) -> None:
        """Open the log at its end, where we may read it."""
        self._file: int | None = None
        try:
            self._file = os.open(_KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._file, 0, os.SEEK_END)
        except OSError:
            self.close()

    def __enter__(self) -> Self:
        """The log itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Read no more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def errors(self) -> tuple[str, ...] | None:
        """What the kernel itself said at level error or graver, the first few since last asked.

        ``None`` where the log may not be read.
        """
        if self._file is None:
            return None
        found: list[str] = []
        while len(found) < _MOST:
            try:
                record = os.read(self._file, _LONGEST)
            except BrokenPipeError:
                continue  # records were overwritten before we came to them
            except BlockingIOError:
                break
            if not record:
                break
            if message := _error(record.decode(errors="replace")):
                found.append(message)
        return tuple(found)


def _error(record: str) -> str | None:
    """The message of a record, if it is the kernel's own (facility 0) and tells of an error."""
    head, _, text = record.partition(";")
    facility, level = divmod(int(head.partition(",")[0]), _LEVELS)
    if facility != 0 or level > _ERROR or text.startswith(_HARMLESS):
        return None
    return text.partition("\n")[0]


_READINGS = 5
_VMSTAT = Path("/proc/vmstat")
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_SWAPPING = ("pswpin", "pswpout")
_STALLS = "allocstall"
_COMPACTION = "compact_stall"
_HUGE_PAGES = "thp_fault_fallback"
_NAMES = "|".join((*_SWAPPING, _STALLS, _COMPACTION, _HUGE_PAGES))
_EVENT = re.compile(rf"^({_NAMES})(?:(?<={_STALLS})_\w+)? (\d+)$", re.MULTILINE)
"""Of hundreds of counters those that are looked at; stalls are counted by zone."""


class Telemetry(Frozen):
    """The host while one trial ran."""

    elapsed_s: float
    host: str = ""
    """The other host on which it ran; empty: this one."""
    own_bytes: int | None = None
    """On the device under test; without a loop device, all that is not known to be others'."""
    foreign_bytes: int | None = None
    """On its disk; see :mod:`tiltyard.host.devices.disk_watch`."""
    servers_s: float | None = None
    """CPU time of the processes that serve the system under test; ``None`` if it has none."""
    cpus: tuple[int, ...] = ()
    """The CPUs that measured; empty: not known, or all."""
    external_cpus: int | None = Field(None, exclude_if=lambda cpus: cpus is None)
    """How many CPUs the next two are of; ``None`` where nobody counted, and in older journals."""
    external_s: float | None = None
    """CPU time of others on them; see :mod:`tiltyard.host.external`."""
    external_steal_s: float | None = None
    """Time of them that the hypervisor gave to others."""
    foreign_waits_s: dict[str, float] | None = None
    """cpu, io, memory → how long tasks of others waited; see :mod:`tiltyard.host.pressure`."""
    swapped_pages: int | None = None
    """In and out."""
    allocation_stalls: int | None = None
    """Recorded only: like the next two, our own work causes them as well."""
    compaction_stalls: int | None = None
    huge_page_fallbacks: int | None = None
    throttled: int | None = None
    """How often CPUs were slowed down for heat."""
    quota_throttled: int | None = None
    """Periods in which a quota of CPU time was used up; ``None`` where no group has one."""
    quota_throttled_s: float | None = None
    """How long CPUs were kept from the processes for it, the sum over CPUs."""
    frequency: float | None = None
    """Mean over nominal; see :class:`tiltyard.host.processor.FrequencyWatch`."""
    temperatures_c: dict[str, float] = Field({})
    """Sensor → reading just before the trial, when the host has settled; empty without sensors."""
    clock_sources: tuple[str, ...] = ()
    """All that were in force, in order of name."""
    clock_step_s: float = 0.0
    """How far the time of day was set, away from a clock that nobody sets."""
    kernel_errors: tuple[str, ...] | None = None
    """What the kernel reported as errors, the first few."""
    others: tuple["Telemetry", ...] = Field((), exclude_if=lambda others: not others)
    """Of further hosts that have a part in the trial: that of the server, those of clients."""


Servers = Callable[[], Sequence[int]]


@dataclass(frozen=True)
class _Seen:
    """Counters at one instant."""

    served_s: float | None
    temperatures_c: dict[str, float]
    clock_source: str
    waited_s: dict[tuple[Path, str], float]
    throttled: int | None
    quota_periods: int | None
    quota_s: float | None
    memory: dict[str, int]
    ahead_s: float
    at_s: float


class Watch:
    """The counters from now on; a context, for it holds files open.

    Start it just before a trial, and ask for its telemetry just after: reading takes a few
    milliseconds, in which the engine does not run. Asked again, it tells what has happened since
    it was asked before.
    """

    def __init__(
        self,
        directory: Path | None,
        servers: Servers = lambda: (),
        engines: Servers = lambda: (),
    ) -> None:
        """Read all counters.

        Args:
            directory: what the trial works on; ``None`` if that is no directory.
            servers: asks for the processes that belong to the system under test.
            engines: asks for those that measure, where they are no children of this one.
        """
        self._servers, self._engines = servers, engines
        serving = servers()
        self._is_served = bool(serving)
        self._log = KernelLog()
        self._disk = DiskWatch(directory, (*serving, *engines())) if directory else None
        self._frequency = FrequencyWatch()
        self._sensors = Sensors()
        self._external = ExternalWatch(servers)
        self._quota = QuotaWatch((os.getpid(), *serving, *engines()))
        self._before = self._look(serving)

    def __enter__(self) -> Self:
        """The watch itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the kernel's log, and what else is open."""
        self._log.close()
        self._external.close()
        self._quota.close()

    def _look(self, serving: Sequence[int]) -> _Seen:
        quota_periods, quota_s = self._quota.throttled() or (None, None)
        return _Seen(
            served_s=used_s(serving) if self._is_served else None,
            temperatures_c=self._sensors.temperatures_c(),
            clock_source=_clock_source(),
            waited_s=others_waited_s(self._engines()),
            throttled=self._sensors.throttled(),
            quota_periods=quota_periods,
            quota_s=quota_s,
            memory=_memory_events(HERE.read(_VMSTAT) or ""),
            ahead_s=_time_of_day_ahead_s(),
            at_s=time.monotonic(),
        )

    def telemetry(self, cpus: Sequence[int] | None = None) -> Telemetry:
        """What has happened since then.

        Args:
            cpus: those that measured, none for all; if not given, they are not known.
        """
        # Those of now have what their ended children used.
        serving = self._servers() if self._is_served else ()
        before, now = self._before, self._look(serving)
        self._before = now
        external = self._external.seen(cpus)
        ours = (*serving, *self._engines())
        own_bytes, foreign_bytes = self._disk.seen(ours) if self._disk else (None, None)
        return Telemetry(
            elapsed_s=now.at_s - before.at_s,
            own_bytes=own_bytes,
            foreign_bytes=foreign_bytes,
            servers_s=None
            if before.served_s is None or now.served_s is None
            else max(0.0, now.served_s - before.served_s),
            cpus=tuple(cpus or ()),
            external_cpus=external.cpus if external else None,
            external_s=external.cpu_s if external else None,
            external_steal_s=external.steal_s if external else None,
            foreign_waits_s=longest_waits_s(before.waited_s, now.waited_s),
            throttled=_grown(before.throttled, now.throttled),
            quota_throttled=_grown(before.quota_periods, now.quota_periods),
            quota_throttled_s=_grown(before.quota_s, now.quota_s),
            frequency=self._frequency.ratio(),
            temperatures_c=before.temperatures_c,
            clock_sources=tuple(sorted({before.clock_source, now.clock_source} - {""})),
            clock_step_s=now.ahead_s - before.ahead_s,
            kernel_errors=self._log.errors(),
            **_memory_telemetry(before.memory, now.memory),
        )


class Watching(Protocol):
    """Counters of a host from the beginning of a context on."""

    def __enter__(self) -> Self:
        """It."""

    def __exit__(self, *_: object) -> None:
        """It is of no use any more."""

    def telemetry(self, cpus: Sequence[int] | None = None) -> Telemetry:
        """What has happened since then; see :meth:`Watch.telemetry`."""


class Watches:
    """One watch that goes on from trial to trial, where what is between them is short."""

    def __init__(self) -> None:
        """None is open."""
        self._open: tuple[Path | None, Watch] | None = None

    def of(self, directory: Path | None) -> Watch:
        """The one that is open, where it watches that directory; else another one."""
        if self._open is None or self._open[0] != directory:
            self.close()
            self._open = directory, Watch(directory)
        return self._open[1]

    def close(self) -> None:
        """What comes next is watched from its own begin."""
        if self._open is not None:
            self._open[1].__exit__()
            self._open = None


_Number = TypeVar("_Number", int, float)


def _grown(before: _Number | None, now: _Number | None) -> _Number | None:
    """What was added, where the host tells."""
    return None if before is None or now is None else now - before


class FarWatch:
    """The counters of another host from now on: those that a few files there tell a shell.

    Disks, groups of others, frequency, heat, the kernel's log and the time of day are not watched
    there; CPU time and steal the engine counts itself, wherever it runs.
    """

    def __init__(self, place: Place) -> None:
        """Read them; a host that is not reached tells nothing.

        Args:
            place: where the trial runs.
        """
        self._place = place
        self._memory, self._clock_source = self._look()
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        """The watch itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open."""

    def telemetry(self, cpus: Sequence[int] | None = None) -> Telemetry:  # noqa: ARG002  as here
        """What has happened since then; who used which CPU there is not asked."""
        elapsed_s = time.monotonic() - self._began_s
        memory, clock_source = self._look()
        return Telemetry(
            elapsed_s=elapsed_s,
            host=str(self._place),
            clock_sources=tuple(sorted({self._clock_source, clock_source} - {""})),
            **_memory_telemetry(self._memory, memory),
        )

    def _look(self) -> tuple[dict[str, int], str]:
        """Events of memory, and the clock."""
        try:
            found = self._place.read_all((_VMSTAT, _CLOCK_SOURCE))
            with self._place.understood():
                events = _memory_events(found.get(str(_VMSTAT), ""))
        except TiltyardError:
            return {}, ""
        return events, found.get(str(_CLOCK_SOURCE), "")


def watch(place: Place, directory: Path | None, servers: Servers = lambda: ()) -> Watch | FarWatch:
    """Watches the host that a trial runs on.

    Args:
        place: that host.
        directory: what the trial works on; ``None`` if that is no directory of this host.
        servers: asks for the processes of this host that belong to the system under test.
    """
    return FarWatch(place) if place.ssh else Watch(directory, servers)


def _memory_telemetry(before: dict[str, int], now: dict[str, int]) -> dict[str, int | None]:
    """What was added, by the names of :class:`Telemetry`."""
    grown = {name: now[name] - before[name] for name in now.keys() & before}
    return {
        "swapped_pages": grown.get("swapped"),
        "allocation_stalls": grown.get(_STALLS),
        "compaction_stalls": grown.get(_COMPACTION),
        "huge_page_fallbacks": grown.get(_HUGE_PAGES),
    }


def _memory_events(text: str) -> dict[str, int]:
    """Events of the text of ``/proc/vmstat`` since boot; those that the kernel counts."""
    counts: dict[str, int] = {}
    for kind, count in _EVENT.findall(text):
        name = "swapped" if kind in _SWAPPING else kind
        counts[name] = counts.get(name, 0) + int(count)
    return counts


def _clock_source() -> str:
    """The clock that the kernel reads; empty where it does not say."""
    return (read_small(_CLOCK_SOURCE) or "").strip()


def _time_of_day_ahead_s() -> float:
    """The time of day less the monotonic clock.

    Both are slewed alike by a time service, which is harmless (at most 500 ppm, adjtimex(2)); so
    the difference changes only when somebody sets the time. Two clocks cannot be read at once: of
    some readings counts the one in which the least time has passed, so that it is no step of the
    clock when this process had to wait for its CPU between them.
    """
    _, ahead_ns = min(_time_of_day_ahead_ns() for _ in range(_READINGS))
    return ahead_ns / 1e9


def _time_of_day_ahead_ns() -> tuple[int, float]:
    """How long it took to read it, and how far it was ahead in the middle of that."""
    began_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    now_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
    ended_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return ended_ns - began_ns, now_ns - (began_ns + ended_ns) / 2
