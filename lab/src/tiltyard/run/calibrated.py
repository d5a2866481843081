"""What the calibration of the host of a study says of it."""

from collections.abc import Sequence
from typing import Any

from tiltyard.address import Address
from tiltyard.errors import TiltyardError
from tiltyard.host import calibrations
from tiltyard.host.place import Place
from tiltyard.plan.model import Plan
from tiltyard.run.record import CalibrationNote
from tiltyard.units import format_number, listed


def calibration_note(plan: Plan) -> CalibrationNote | None:
    """The smallest difference that the host of a plan could show in its workloads.

    Of several workloads the largest such difference counts. Where none of them was calibrated,
    that of the calibrated ones is told, and that it is theirs.

    Returns:
        ``None`` if that host was not calibrated under its kernel, if it is not reached, or if there
        are several.
    """
    place = _host_of(plan)
    if place is None:
        return None
    try:
        kept = calibrations.in_force(place=place)
    except TiltyardError:
        return None
    if kept is None or not kept.resolution_percent:
        return None
    used = {workload.spec.use for workload in plan.workloads}
    own = {use: shown for use, shown in kept.resolution_percent.items() if use in used}
    told = own or kept.resolution_percent
    percent = max(told.values())
    return CalibrationNote(
        id=kept.id,
        date=kept.date,
        resolution_percent=percent,
        sentence=_sentence(place, kept, percent, () if own else tuple(told)),
    )


def _host_of(plan: Plan) -> Place | None:
    """The host that is measured, if it is one."""
    hosts = {_way_to(system.settings) for system in plan.systems}
    return hosts.pop() if len(hosts) == 1 and not plan.placement else None


def _way_to(settings: dict[str, Any]) -> Place | None:
    """How the host of a system is reached; ``None`` where it has two."""
    if settings.get("server"):
        return None
    return Place(Address.in_settings(settings))


def _sentence(
    place: Place, kept: calibrations.KeptCalibration, percent: float, others: Sequence[str]
) -> str:
    """As a person reads it; ``others``: workloads that it is about, if not those of the study."""
    which = f"calibration {kept.date[:10]}, id {kept.id}"
    host = str(place) if place.is_remote else "This host"
    above = f"{host} showed differences above about {format_number(percent, 2)} %"
    if others:
        named = listed(others)
        return f"{above} in {named} ({which}); the workloads of this study were not calibrated."
    return f"{above} for this workload ({which})."
