"""Clocks that the kernel reads."""

from tiltyard.host.record.section import Section, Seen

_SOURCE = "/sys/devices/system/clocksource/clocksource0"
_EVENTS = "/sys/devices/system/clockevents/clockevent0/current_device"


def _tell(seen: Seen) -> dict[str, str]:
    return {
        "source": seen.file(f"{_SOURCE}/current_clocksource"),
        "sources there are": seen.file(f"{_SOURCE}/available_clocksource"),
        "event device": seen.file(_EVENTS),
    }


SECTION = Section(
    name="clock",
    tell=_tell,
    files=(f"{_SOURCE}/current_clocksource", f"{_SOURCE}/available_clocksource", _EVENTS),
)
