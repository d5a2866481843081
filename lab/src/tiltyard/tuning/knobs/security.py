"""Table ``[security]``: what the kernel asks of its security modules at each call."""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from tiltyard.tuning.files import FileSetting
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Scene
from tiltyard.tuning.values import Amount

_ENFORCE: Final = "/sys/fs/selinux/enforce"
_MODES: Final = {"enforcing": "1", "permissive": "0"}


class SecurityTable(KnobTable):
    """Selinux(8). Off altogether, it takes a boot with ``selinux=0``."""

    selinux: Literal["enforcing", "permissive"] | None = Field(
        None, description="Whether SELinux refuses, or only logs."
    )


def _settings(table: SecurityTable, scene: Scene) -> Iterator[FileSetting]:
    if table.selinux is not None:
        wanted = (Amount(_MODES[table.selinux]),)
        lack = f"SELinux is not on in this kernel: there is no {_ENFORCE}"
        yield FileSetting("SELinux enforces", scene.place, _ENFORCE, wanted, lack)


KNOB = Knob(
    name="security",
    about="whether SELinux refuses or only logs",
    Table=SecurityTable,
    of="host",
    settings=_settings,
)
