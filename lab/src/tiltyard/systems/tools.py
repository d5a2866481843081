"""Every program that some kind of system needs: for the doctor, and for the system record."""

from tiltyard.host.packages import Tool
from tiltyard.systems import filesystems, other_host, overlay, placement
from tiltyard.systems.pair import checks as pair_checks
from tiltyard.systems.vm import operating_system
from tiltyard.systems.vm.backends import uml

_NEEDED = (
    *(one.tool for one in filesystems.FILESYSTEMS),
    *(tool for one in filesystems.FILESYSTEMS for tool in one.driver.tools),
    overlay.SERVER,
    *pair_checks.TOOLS,
    other_host.SSH,
    placement.TASKSET,
    uml.TOOL,
    *operating_system.TOOLS,
)

TOOLS: tuple[Tool, ...] = tuple({tool.command: tool for tool in _NEEDED}.values())
"""Each once, in the order in which the doctor shows them."""
