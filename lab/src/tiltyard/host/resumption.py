"""A command that systemd(1) of this host carries out once, after its next boot."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from tiltyard.errors import HostLacksError, RefusedError
from tiltyard.folder import write_whole
from tiltyard.host import commands
from tiltyard.host.changes.change import PREFIX, HostChange

_SYSTEMD = Path("/run/systemd/system")
"""There where systemd is process 1: sd_booted(3)."""
_UNITS = Path("/etc/systemd/system")
BOOT_COMMAND = ("systemctl", "reboot")


class MadeResumption(HostChange):
    """A unit that goes on with a run after the boot."""

    kind: Literal["resumption"] = "resumption"
    manager: Literal["systemd", "cron"] = "systemd"
    """Earlier versions could leave a table of cron(8) in a ledger; it is still taken back."""
    path: Path

    is_kept_over_boot: ClassVar = True

    def undo(self) -> str | None:
        """Remove it."""
        if not self.path.name.startswith(PREFIX):
            raise RefusedError(f"{self.path}: not removed: its name does not begin with {PREFIX}")
        if not self.path.exists():
            return None
        if self.manager == "systemd":
            commands.run(("systemctl", "disable", self.path.name))
        self.path.unlink()
        if self.manager == "systemd":
            commands.run(("systemctl", "daemon-reload"))
        return f"removed {self.path}, which would have gone on with a run after a boot"

    def make(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, about: str
    ) -> None:
        """Write it; on return it is on disk and will be carried out.

        Args:
            command: program and arguments; it runs as root in ``/``.
            environment: of the command.
            log: what it says is appended here.
            about: one line for who finds it.
        """
        write_whole(self.path, _unit(command, environment, log, about).encode())
        commands.run(("systemctl", "daemon-reload"))
        commands.run(("systemctl", "enable", self.path.name))


def has_systemd() -> bool:
    """Whether systemd is process 1 of this host."""
    return _SYSTEMD.is_dir()


def resumption(name: str) -> MadeResumption:
    """The unit of that name; nothing is made yet.

    Raises:
        HostLacksError: if nothing here would carry it out.
    """
    if has_systemd():
        return MadeResumption(path=_UNITS / f"{name}.service")
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
