"""What else went on while something ran: the host's counters, read before and after it.

The engine's agent there reads them; they stand beside what the engine itself has counted
(``end.usage`` of the wire). What a host does not tell is ``None``: not available, which is not the
same as nothing.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from pydantic import Field

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.frozen import Frozen
from tiltyard.host.devices.disks import stack_under
from tiltyard.host.host import Host, here
from tiltyard.host.place import HERE, Place
from tiltyard.host.processes import boot_id
from tiltyard.wire import HostSeen


class Telemetry(Frozen):
    """The host while one trial ran."""

    elapsed_s: float
    host: str = ""
    """The other host on which it ran; empty: this one."""
    own_bytes: int | None = None
    """On the device under test; without a loop device, all that is not known to be others'."""
    foreign_bytes: int | None = None
    """On its disk; see ``watch/disk.rs`` of the agent."""
    servers_s: float | None = None
    """CPU time of the processes that serve the system under test; ``None`` if it has none."""
    cpus: tuple[int, ...] = ()
    """The CPUs that measured; empty: not known, or all."""
    external_cpus: int | None = None
    """How many CPUs the next two are of; ``None`` where nobody counted."""
    external_s: float | None = None
    """CPU time of others on them; see ``watch/external.rs``."""
    external_steal_s: float | None = None
    """Time of them that the hypervisor gave to others."""
    foreign_waits_s: dict[str, float] | None = None
    """cpu, io, memory → how long tasks of others waited; see ``watch/groups.rs``."""
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
    """Mean over nominal; see ``watch/processor.rs``."""
    temperatures_c: dict[str, float] = Field({})
    """Sensor → reading just before the trial, when the host has settled; empty without sensors."""
    clock_sources: tuple[str, ...] = ()
    """All that were in force, in order of name."""
    clock_step_s: float = 0.0
    """How far the time of day was set, away from a clock that nobody sets."""
    kernel_errors: tuple[str, ...] | None = None
    """What the kernel reported as errors, the first few."""
    others: tuple["Telemetry", ...] = ()
    """Of further hosts that have a part in the trial: that of the server, those of clients."""


Servers = Callable[[], Sequence[int]]


class Watch:
    """The counters of this host from now on; a context, for its agent holds files open.

    Start it just before a trial, and ask for its telemetry just after: reading takes about a
    millisecond, in which the engine does not run. Asked again, it tells what has happened since it
    was asked before.
    """

    def __init__(self, directory: Path | None, servers: Servers = lambda: ()) -> None:
        """Read all counters.

        Args:
            directory: what the trial works on; ``None`` if that is no directory.
            servers: asks for the processes that belong to the system under test.
        """
        self._servers = servers
        self._host = here()
        self._began_s = time.monotonic()
        disk = disk_under(directory)
        self._number = self._host.begin_watch(
            {"who": self._who()} | ({"disk": disk} if disk else {})
        )
        self._is_open = True

    def __enter__(self) -> Self:
        """The watch itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """The agent forgets it."""
        with contextlib.suppress(HostLacksError):
            if self._is_open:
                self._host.end_watch(self._number)

    @property
    def is_lost(self) -> bool:
        """Whether its agent has ended, and has taken along what it had read."""
        return not self._host.is_there

    def _who(self) -> dict[str, list[int]]:
        """Whose work is nobody else's; processes of now, with what their ended children used."""
        return {"ours": [os.getpid()], "servers": [*self._servers()]}

    def telemetry(self, cpus: Sequence[int] | None = None, *, last: bool = False) -> Telemetry:
        """What has happened since then; where the agent has ended, nothing is known.

        Args:
            cpus: those that measured, none for all; if not given, they are not known.
            last: it is not asked again.
        """
        self._is_open = not last
        try:
            seen = self._host.watched(self._number, self._who(), cpus, last=last)
        except HostLacksError:
            return Telemetry(elapsed_s=time.monotonic() - self._began_s)
        return _telemetry(seen, cpus)


def _telemetry(seen: HostSeen, cpus: Sequence[int] | None) -> Telemetry:
    """What an agent has told, of these CPUs."""
    return Telemetry.model_validate({**seen.model_dump(), "cpus": tuple(cpus or ())})


def bracketed(seen: HostSeen | None, elapsed_s: float, place: Place) -> Telemetry:
    """What a runner has told of its host; one that was lost has told nothing."""
    told = _telemetry(seen, None) if seen else Telemetry(elapsed_s=elapsed_s)
    return told.model_copy(update={"host": str(place)})


def disk_under(directory: Path | None, place: Place = HERE) -> dict[str, str | bool] | None:
    """What an agent is told of the disk under a directory (``HostDisk`` of the wire), if any."""
    stack = stack_under(directory, place) if directory else None
    if stack is None:
        return None
    loop = {"loop_device": stack.loop.name} if stack.loop else {}
    return {"disk": stack.disk.name, **loop, "is_in_place": stack.is_in_place}


class Watching(Protocol):
    """Counters of a host from the beginning of a context on."""

    def __enter__(self) -> Self:
        """It."""

    def __exit__(self, *_: object) -> None:
        """It is of no use any more."""

    def telemetry(self, cpus: Sequence[int] | None = None, *, last: bool = False) -> Telemetry:
        """What has happened since then; see :meth:`Watch.telemetry`."""


class Watches:
    """One watch that goes on from trial to trial, where what is between them is short."""

    def __init__(self) -> None:
        """None is open."""
        self._open: tuple[Path | None, Watch] | None = None

    def of(self, directory: Path | None) -> Watch:
        """The one that is open, where it watches that directory; else another one."""
        if self._open is None or self._open[0] != directory or self._open[1].is_lost:
            self.close()
            self._open = directory, Watch(directory)
        return self._open[1]

    def close(self) -> None:
        """What comes next is watched from its own begin."""
        if self._open is not None:
            self._open[1].__exit__()
            self._open = None


def watch_of(
    place: Place, who: Mapping[str, object], cpus: Sequence[int] = ()
) -> Callable[[], Watching] | None:
    """Begins to watch another host on which engines of ours serve, or are clients.

    One that shares this kernel (a container) is watched here: there whoever measures is a stranger.

    Args:
        place: how that host is reached.
        who: whose work is nobody else's there (``HostWho`` of the wire).
        cpus: those that count; all if there are none.

    Raises:
        UnreachableError: if the host is not reached.
    """
    if place.host.boot == boot_id():
        return None
    return lambda: FarWatch(place, lambda: {"who": who}, cpus)


class FarWatch:
    """The counters of another host from now on."""

    def __init__(
        self,
        place: Place,
        asked: Callable[[], Mapping[str, object]],
        cpus: Sequence[int] | None = None,
    ) -> None:
        """Read them; a host that is not reached tells nothing.

        Args:
            place: which host.
            asked: what is watched there now (``HostWatchBegin`` of the wire).
            cpus: those that count, none for all; ``None``: only the engine knows them.
        """
        self._place, self._asked, self._cpus = place, asked, cpus
        self._began_s = time.monotonic()
        self._host: Host | None = None
        with contextlib.suppress(TiltyardError):
            there = place.host
            self._number = there.begin_watch(asked())
            self._host = there

    def __enter__(self) -> Self:
        """The watch itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """The agent forgets it."""
        with contextlib.suppress(HostLacksError):
            if self._host:
                self._host.end_watch(self._number)

    def telemetry(
        self,
        cpus: Sequence[int] | None = None,  # noqa: ARG002  as here
        *,
        last: bool = False,
    ) -> Telemetry:
        """What has happened since then; which CPUs count was said before."""
        told = Telemetry(elapsed_s=time.monotonic() - self._began_s)
        host, self._host = self._host, None if last else self._host
        with contextlib.suppress(HostLacksError):
            if host:
                who = self._asked()["who"]
                seen = host.watched(self._number, who, self._cpus, last=last)
                told = _telemetry(seen, self._cpus)
        return told.model_copy(update={"host": str(self._place)})
