"""Every program that some kind of system needs: for the doctor, and for the system record."""

from functools import cache

from tiltyard.host.packages import Tool


@cache
def tools() -> tuple[Tool, ...]:
    """Each once, in the order in which the doctor shows them."""
    from tiltyard.systems import filesystems, other_host, overlay, placement
    from tiltyard.systems.pair import checks as pair_checks
    from tiltyard.systems.vm import tools as of_machines

    known = tuple(filesystems.FILESYSTEMS)
    needed = (
        *(one.tool for one in known),
        *(tool for one in known for tool in one.driver.tools),
        overlay.SERVER,
        *pair_checks.TOOLS,
        other_host.CLIENT,
        placement.TASKSET,
        of_machines.UML,
        *of_machines.OF_IMAGES,
    )
    return tuple({tool.command: tool for tool in needed}.values())
