"""What the calibration of this host that is in force says of a study."""

from tiltyard.host import calibrations
from tiltyard.host.calibrations import KeptCalibration
from tiltyard.plan.model import Plan
from tiltyard.run.record import CalibrationNote
from tiltyard.units import format_number


def calibration_note(plan: Plan) -> CalibrationNote | None:
    """The smallest difference that this host could show in the workloads of a plan.

    Of several workloads the largest such difference counts. Where none of them was calibrated,
    that of the calibrated ones is told, and that it is theirs.

    Returns:
        ``None`` if this host was not calibrated under this kernel.
    """
    kept = calibrations.in_force()
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
        sentence=_sentence(kept, percent, "" if own else " and ".join(told)),
    )


def _sentence(kept: KeptCalibration, percent: float, others: str) -> str:
    """As a person reads it; ``others``: workloads that it is about, if not those of the study."""
    which = f"calibration {kept.date[:10]}, id {kept.id}"
    above = f"This host showed differences above about {format_number(percent, 2)} %"
    if others:
        return f"{above} in {others} ({which}); the workloads of this study were not calibrated."
    return f"{above} for this workload ({which})."
