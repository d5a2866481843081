"""The kinds of change that a tuning profile makes beside files, and how each is taken back.

The rules are those of :mod:`tiltyard.host.changes`: an ``undo`` acts only on what is there and
still ours, says what it did, and returns ``None`` if nothing was left to do.
"""

import shlex
from typing import Literal

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host import ethtool, services, swaps, tuned
from tiltyard.host.changes.change import SettingChange
from tiltyard.host.place import Place

_WORD = r"^[A-Za-z0-9_@][A-Za-z0-9_.@:-]*$"


class StoppedService(SettingChange):
    """A service that ran."""

    kind: Literal["service"] = "service"
    name: str = Field(pattern=_WORD)

    @property
    def script(self) -> str:
        """It is started again."""
        return shlex.join(Place(self.ssh).argv(services.start_command(self.name)))

    def undo(self) -> str | None:
        """Start it again, unless somebody has."""
        place = Place(self.ssh)
        if services.state(place, self.name) != "stopped":
            return None
        services.start(place, self.name)
        if services.state(place, self.name) != "running":
            raise TiltyardError(f"service {self.name}: does not run, although it was started again")
        return f"started service {self.name} again"


class SetInterface(SettingChange):
    """A property of a network device, as ethtool(8) sets it."""

    kind: Literal["interface"] = "interface"
    interface: str = Field(pattern=_WORD)
    group: ethtool.Group
    key: str = Field(pattern=_WORD)
    before: str = Field(pattern=_WORD)
    value: str

    @property
    def script(self) -> str:
        """The command for what it was in the run."""
        words = ethtool.command(self.interface, self.group, self.key, self.before)
        return shlex.join(Place(self.ssh).argv(words))

    @property
    def ends_with_boot(self) -> bool:
        """The driver begins with its own; another host's goes on."""
        return not self.ssh

    def undo(self) -> str | None:
        """Put the old value back, unless somebody has set yet another one since."""
        place = Place(self.ssh)
        what = f"{self.interface} {self.group} {self.key}"
        now = ethtool.read(place, self.interface, self.group).get(self.key)
        if now is None or now == self.before:
            return None
        if now != self.value:
            return f'left {what} at "{now}": somebody has set it since (it was "{self.before}")'
        place.by_shell(ethtool.command(self.interface, self.group, self.key, self.before))
        now = ethtool.read(place, self.interface, self.group).get(self.key)
        if now != self.before:
            raise TiltyardError(f'{what}: does not go back to "{self.before}"')
        return f'set {what} to "{self.before}" again'


class SetTunedProfile(SettingChange):
    """The active profile of tuned-adm(8)."""

    kind: Literal["tuned"] = "tuned"
    before: str = Field(pattern=rf"^$|{_WORD}")
    """Empty: none was active."""
    value: str

    @property
    def script(self) -> str:
        """The one that was active in the run."""
        return shlex.join(Place(self.ssh).argv(tuned.command(self.before)))

    def undo(self) -> str | None:
        """Put the old one back, unless somebody has chosen yet another one since."""
        place = Place(self.ssh)
        now = tuned.active(place)
        if now == self.before:
            return None
        if now != self.value:
            return f'left tuned at "{now}": somebody has chosen it since (it was "{self.before}")'
        tuned.choose(place, self.before)
        if tuned.active(place) != self.before:
            raise TiltyardError(f'tuned-adm: does not go back to "{self.before or "off"}"')
        return f'set tuned to "{self.before or "off"}" again'


class SwappedOff(SettingChange):
    """A swap area that was in use."""

    kind: Literal["swap"] = "swap"
    path: str = Field(pattern=r"^/")
    priority: int

    @property
    def ends_with_boot(self) -> bool:
        """A boot swaps on what the host's own files name; another host goes on."""
        return not self.ssh

    @property
    def way_back(self) -> str:
        """It is swapped on."""
        return shlex.join(Place(self.ssh).argv(swaps.command(self.path, self.priority)))

    def undo(self) -> str | None:
        """Swap on again, unless somebody has."""
        place = Place(self.ssh)
        if self.path in swaps.areas(place):
            return None
        place.by_shell(swaps.command(self.path, self.priority))
        return f"swapped on {self.path} again"
