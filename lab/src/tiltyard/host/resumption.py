"""A command that systemd(1) of this host carries out once, after its next boot."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from tiltyard.errors import HostLacksError
from tiltyard.host.op import PutText
from tiltyard.host.place import HERE
from tiltyard.host.settings import SetByCommand
from tiltyard.host.steps import Op

SYSTEMD = "/run/systemd/system"
"""There where systemd is process 1: sd_booted(3)."""
_UNITS = Path("/etc/systemd/system")
BOOT_COMMAND = ("systemctl", "reboot")


class EnableUnit(SetByCommand):
    """A unit is carried out at each boot, until that is taken back."""

    kind: Literal["enable-unit"] = "enable-unit"  # type: ignore[assignment]
    outlasts_boot = True


def resumption(
    name: str, command: Sequence[str], environment: Mapping[str, str], log: Path, about: str
) -> tuple[Op, ...]:
    """What has a command carried out after the next boot.

    Args:
        name: of the unit.
        command: program and arguments; it runs as root in ``/``.
        environment: of the command.
        log: what it says is appended here.
        about: one line for who finds it.
    """
    unit = f"{name}.service"
    return (
        PutText(path=_UNITS / unit, text=_unit(command, environment, log, about), lasts="run"),
        EnableUnit(
            what=unit,
            argv=("systemctl", "enable", unit),
            look=("systemctl", "show", "--property=UnitFileState", "--value", unit),
            before="disabled",
            value="enabled",
            back=("systemctl", "disable", unit),
            lasts="run",
        ),
    )


def require_systemd() -> None:
    """Make sure that something goes on with a run after a boot of this host.

    Raises:
        HostLacksError: if nothing would.
    """
    if not HERE.is_directory(Path(SYSTEMD)):
        raise HostLacksError(
            "nothing on this host would go on with a run after a boot: systemd is not process 1; "
            'use reset = "mkfs", or a host with systemd'
        )


def _unit(command: Sequence[str], environment: Mapping[str, str], log: Path, about: str) -> str:
    """A service that starts when everything else has: systemd.service(5).

    After the target that wants it: then that is not ordered after it, systemd.target(5). What is
    only ordered after the network would not wait for it: systemd.special(7).
    """
    lines = [
        "[Unit]",
        f"Description={_specifiers(about)}",
        "Wants=network-online.target",
        "After=multi-user.target network-online.target",
        "",
        "[Service]",
        "Type=exec",
        "TimeoutStopSec=120",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in environment.items()),
        f"ExecStart={' '.join(_quoted(word).replace('$', '$$') for word in command)}",
        f"StandardOutput=append:{_specifiers(str(log))}",
        f"StandardError=append:{_specifiers(str(log))}",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ]
    return "\n".join(lines)


def _quoted(word: str) -> str:
    """A word as a unit has it: systemd.syntax(7)."""
    return '"' + _specifiers(word.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _specifiers(text: str) -> str:
    """A per cent sign that means itself."""
    return text.replace("%", "%%")


def environment_of_ours() -> dict[str, str]:
    """What of our environment a later start of the same run needs."""
    names = ("PATH", "PYTHONPATH", "TILTYARD_STATE", "TILTYARD_ENGINE")
    return {name: value for name in names if (value := os.environ.get(name))}
