"""Every program that some kind of system needs: for the doctor, and for the system record."""

from tiltyard.host.packages import Tool
from tiltyard.systems import filesystems, other_host, overlay, placement
from tiltyard.systems.pair import checks as pair_checks
from tiltyard.systems.vm import tools as of_machines

_NEEDED = (
    *(one.tool for one in filesystems.FILESYSTEMS),
    *(tool for one in filesystems.FILESYSTEMS for tool in one.driver.tools),
    overlay.SERVER,
    *pair_checks.TOOLS,
    other_host.SSH,
    placement.TASKSET,
    of_machines.UML,
    *of_machines.OF_IMAGES,
)

TOOLS: tuple[Tool, ...] = tuple({tool.command: tool for tool in _NEEDED}.values())
"""Each once, in the order in which the doctor shows them."""
