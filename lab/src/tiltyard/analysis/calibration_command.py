"""Which command calibrates the host of a study."""


def calibration_command(where: str) -> str:
    """The command; empty where there are several hosts, of which no calibration speaks.

    Args:
        where: :attr:`tiltyard.plan.model.Plan.where`.
    """
    if where == "this host":
        return "tiltyard calibrate"
    return "" if " " in where else f"tiltyard calibrate --host {where}"
