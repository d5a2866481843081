"""The command that boots a host before each turn: ``reboot_command``."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

from pydantic import Field

from tiltyard.host.resumption import BOOT_COMMAND
from tiltyard.systems.brought import Brought, quoted

_BOOTS: Final = (BOOT_COMMAND, ("systemctl", "kexec"), ("reboot",))
"""What boots a host and does nothing else."""

BootCommand = Annotated[
    tuple[str, ...],
    Field(
        exclude_if=lambda command: command == BOOT_COMMAND,
        min_length=1,
        description='What boots the host with reset = "reboot", one word each: ["reboot"] where '
        "systemd is not process 1.",
    ),
]


def boot_command(command: Sequence[str]) -> Iterator[Brought]:
    """What boots a host (``reboot_command``), if it may do something else."""
    if tuple(command) not in _BOOTS:
        text = quoted(shlex.join(command))
        yield Brought("reboot_command", f"command {text}, executed by root")
