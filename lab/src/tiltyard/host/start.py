"""Processes that stay: a host's agent starts each below a keeper, which ends it with all it starts.

Such a process may write over its environment, leave its parent and change its user. It is known by
its mark, and a number alone is never one.
"""

import json
import shlex
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import HostLacksError
from tiltyard.frozen import Frozen
from tiltyard.host.changes import MadeByOp
from tiltyard.host.commands import Command
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Op, Steps, Text
from tiltyard.wire import HostServer, HostStarted

MOUNTS_S = 30.0
"""How long a server may take until it has mounted, and to write what it keeps when it is unmounted.
Asked to end before it is done, it may leave the file system half written."""

MARK: Final = "TILTYARD_PROCESS"
"""Environment variable by which a process is known as ours, also after the agent's death."""


class Ready(Frozen):
    """The sign that a process is ready; without any, that it has ended well."""

    line: bool = False
    """It has printed a line."""
    command: tuple[str, ...] = ()
    """One that ends with status 0."""
    address: str = ""
    port: str = ""
    """Somebody listens there."""
    seen_from: str = ""
    """Network namespace in which that is tried; empty: the host's."""
    path: str = ""
    """It is there."""
    mounted: Path | None = None
    """Something is mounted on it."""
    seen_by: str = ""
    """Process in whose table of mounts that is seen; empty: in ours."""

    def told(self, text: Text) -> object:
        """As an agent is told."""
        if self.command:
            return {"command": [*map(text, self.command)]}
        if self.port:
            port = {"address": self.address, "port": text(self.port)}
            return {"port": {**port, **({"in": self.seen_from} if self.seen_from else {})}}
        if self.path:
            return {"path": text(self.path)}
        if self.mounted:
            seen = {"seen_by": text(self.seen_by)} if self.seen_by else {}
            return {"mounted": {"at": text(self.mounted), **seen}}
        return "line" if self.line else "ended"


class Stop(Frozen):
    """What asks a process to end."""

    signal: str = "SIGTERM"
    command: tuple[str, ...] = ()
    """Instead of the signal."""
    unmount: Path | None = None
    """The same: what it serves."""

    def told(self, text: Text) -> object:
        """As an agent is told."""
        if self.command:
            return {"command": [*map(text, self.command)]}
        return {"unmount": text(self.unmount)} if self.unmount else {"signal": self.signal}


class Start(Op):
    """A process, started and waited for until it is ready. It goes before what is older than it."""

    kind: Literal["start"] = "start"
    argv: tuple[str, ...]
    mark: str
    ready: Ready
    limit_s: float = MOUNTS_S
    stop: Stop = Stop()
    stop_s: float = MOUNTS_S
    environment: dict[str, str] | None = None
    """All of it; the agent's if left out."""
    user: str = ""
    """As whom it runs; empty: as the agent."""
    directory: str = ""
    """That it works in."""
    stdin: str = Field("", exclude=True, repr=False)
    secret: str = Field("", exclude=True, repr=False)
    """What is said of it nowhere."""
    network: str = ""
    """Network namespace that it runs in."""
    directories: tuple[Path, ...] = ()
    """Where it alone has business."""
    what: str = ""
    """Stands in front of what is said of it."""
    outlives: bool = False
    """Whether it stays when its agent is gone, for who takes back what was made above it."""
    again: bool = False
    """Whether the agent's ledger has it already."""

    def op(self, text: Text) -> dict[str, object]:
        """What, as whom, and how it is waited for and ended."""
        own = self.environment
        optional: dict[str, object] = {
            "name": self.output,
            "environment": own and {key: text(value) for key, value in own.items()},
            "user": self.user,
            "directory": self.directory and text(self.directory),
            "in": self.network,
            "directories": [*map(text, self.directories)],
            "stdin": self.stdin,
            "secret": self.secret,
            "what": self.what,
            "outlives": self.outlives,
        }
        return {
            "op": "start",
            "mark": self.mark,
            "argv": [*map(text, self.argv)],
            "ready": self.ready.told(text),
            "limit_s": self.limit_s,
            "stop": self.stop.told(text),
            "stop_s": self.stop_s,
            "again": self.again,
            **{name: value for name, value in optional.items() if value},
        }

    @property
    def line(self) -> str:
        """In words."""
        return f"# start, and wait until it serves: {shlex.join(self.argv)}"

    @property
    def script(self) -> str:
        """It is started, and waited for."""
        begin = f"start {self.mark} {shlex.join(self.argv)}"
        if self.ready.seen_by:
            return self.line
        if self.ready.mounted:
            return f"{begin}; mounted {shlex.quote(str(self.ready.mounted))}"
        return f"{begin}; sleep 0.5"

    @property
    def way_back(self) -> str:
        """What it serves is unmounted, or it is asked to end."""
        if self.again or not self.stays:
            return ""
        if self.stop.unmount:
            return f"umount {self.stop.unmount}"
        return f"# end the processes that carry {MARK}={self.mark}"

    @property
    def back_script(self) -> str:
        """By the number that the script knows; a server writes what it keeps before it ends."""
        if self.stop.unmount:
            return f"umount {self.stop.unmount}; ended {self.mark}"
        return f"stop {self.mark}"

    def made(self, address: Address = THIS_HOST) -> MadeByOp:
        """Its end; known by its mark, for what it is told may be a secret."""
        told = json.dumps({"op": "start", "mark": self.mark})
        made = MadeByOp(op=told, back="", back_script=self.back_script, address=address)
        first = self.model_copy(update={"again": False})
        return made.model_copy(update={"back": first.way_back})

    @property
    def stays(self) -> bool:
        """Not where its end is the sign."""
        return self.ready != Ready()

    @property
    def executed(self) -> tuple[str, ...]:
        """The command, as it is kept for the record; none of what is no part of the system."""
        return self.argv

    def began(self, host: Steps, told: HostStarted) -> None:
        """It is there, and its keeper."""
        host.started[self.mark] = (self, told)
        if self.executed:
            host.keep(Command(argv=self.executed, elapsed_s=told.elapsed_s))


def servers(marks: tuple[str, ...], place: Place = HERE) -> list[HostServer]:
    """What has become of processes that were started; nothing where nobody can be asked."""
    try:
        return place.host.servers(marks)
    except HostLacksError as error:
        return [HostServer(pids=[], ended=str(error)) for _ in marks]


def pids(marks: tuple[str, ...], place: Place = HERE) -> tuple[int, ...]:
    """All their processes."""
    return tuple(sorted(pid for one in servers(marks, place) for pid in one.pids))
