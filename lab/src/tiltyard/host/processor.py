"""What the processor says of itself: frequency, throttling; and how warm the machine is."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from tiltyard.host.small_files import read_small

_CPUS = Path("/sys/devices/system/cpu")
_REGISTERS = Path("/dev/cpu")
_ZONES = Path("/sys/class/thermal")
_MONITORS = Path("/sys/class/hwmon")
_DISK_MONITORS = frozenset({"nvme", "drivetemp"})
_MPERF, _APERF = 0xE7, 0xE8
"""They count at the nominal and at the actual frequency while a CPU is not idle (Intel SDM,
volume 3, 15.2; AMD has the same numbers)."""


def _read_register(file: Path, register: int) -> int:
    """A register of a CPU (msr(4)); ``OSError`` where that is not allowed."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int.from_bytes(os.pread(descriptor, 8, register), "little")
    finally:
        os.close(descriptor)


class FrequencyWatch:
    """Mean frequency of the CPUs, from now on.

    From the registers APERF and MPERF (root and the module ``msr``): of busy CPUs, relative to the
    nominal frequency. Else from the time in each state (``cpufreq/stats``): idle time included,
    relative to the highest one. The frequency of an instant says nothing of a trial.
    """

    def __init__(self, read: Callable[[Path, int], int] = _read_register) -> None:
        """Read all counters.

        Args:
            read: reads a register of a CPU's file; raises ``OSError`` where it cannot.
        """
        self._read = read
        self._files = [*_REGISTERS.glob("[0-9]*/msr")]
        self._policies = [*_CPUS.glob("cpufreq/policy*/stats/time_in_state")]
        self._before = self._counts()

    def ratio(self) -> float | None:
        """Actual over nominal, all CPUs together, since it was asked before.

        ``None`` where the host does not tell.
        """
        before, now = self._before, self._counts()
        self._before = now
        if before is None or now is None:
            return None
        actual, nominal = (after - was for was, after in zip(before, now, strict=True))
        return actual / nominal if nominal > 0 else None

    def _counts(self) -> tuple[int, int] | None:
        """(Actual, nominal) so far, in any unit."""
        return self._registers() or _time_in_states(self._policies)

    def _registers(self) -> tuple[int, int] | None:
        try:
            actual = sum(self._read(file, _APERF) for file in self._files)
            nominal = sum(self._read(file, _MPERF) for file in self._files)
        except OSError:
            return None
        return (actual, nominal) if self._files else None


class Sensors:
    """What tells of heat. Which files do is found once: they come and go with their devices."""

    def __init__(self) -> None:
        """Find them: thermal zones, disks, and what counts that CPUs were slowed down."""
        self._throttles = [*_CPUS.glob("cpu[0-9]*/thermal_throttle/*_throttle_count")]
        zones = {f"{_text(zone / 'type')} ({zone.name})": zone / "temp" for zone in
                 _ZONES.glob("thermal_zone*")}  # fmt: skip
        disks = {
            f"{_text(monitor / 'name')} ({monitor.name})": monitor / "temp1_input"
            for monitor in _MONITORS.glob("hwmon*")
            if _text(monitor / "name") in _DISK_MONITORS
        }
        self._temperatures = dict(sorted({**zones, **disks}.items()))

    def throttled(self) -> int | None:
        """How often CPUs were slowed down for heat since boot; ``None``: that is not counted."""
        counts = map(_number, self._throttles)
        found = [number for number in counts if number is not None]
        return sum(found) if found else None

    def temperatures_c(self) -> dict[str, float]:
        """Sensor → degrees Celsius: thermal zones and disks; empty where there is none."""
        readings = {name: _number(file) for name, file in self._temperatures.items()}
        return {name: milli / 1000 for name, milli in readings.items() if milli is not None}


def _time_in_states(policies: Iterable[Path]) -> tuple[int, int] | None:
    """Σ frequency · time, and Σ highest frequency · time, over all groups of CPUs."""
    actual = nominal = 0
    for stats in policies:
        states = [tuple(map(int, line.split())) for line in _text(stats).splitlines()]
        if states:
            actual += sum(frequency * ticks for frequency, ticks in states)
            nominal += max(states)[0] * sum(ticks for _, ticks in states)
    return (actual, nominal) if nominal else None


def _number(file: Path) -> int | None:
    """The number in a small file; ``None`` where it is missing or a sensor does not answer."""
    text = _text(file)
    return int(text) if text.lstrip("-").isdecimal() else None


def _text(file: Path) -> str:
    """A small file; empty if it cannot be read."""
    return (read_small(file) or "").strip()
