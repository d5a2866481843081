"""The steps of a service: a port and a secret, files, commands as its user, its start."""

import contextlib
import json
import os
import secrets
import shlex
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self

from tiltyard.errors import HostLacksError
from tiltyard.folder import NEW
from tiltyard.host.changes import Change, MadeDirectory
from tiltyard.host.links import inside
from tiltyard.host.start import Start
from tiltyard.host.steps import Step, Steps
from tiltyard.ownership import (
    give,
    held_open,
    make_directory,
    make_inside,
    name_of,
    named_in_errors,
    open_inside,
)
from tiltyard.recipe import resolved
from tiltyard.study.placeholders import filled
from tiltyard.study.program import SECRET, SERVER
from tiltyard.systems.kind import ServerEnd

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DRAWN: Final = "{service}"
_PORTS: Final = range(20_000, 32_000)
"""Below those that the kernel gives to clients (ip_local_port_range begins at 32768)."""
_TRIES: Final = 200
_SUN_PATH_BYTES: Final = 107
_SOCKET_BYTES: Final = 30
"""Room for the name of a socket."""


class MakeOwned(Step):
    """A directory that is not there, for the user of a service alone."""

    kind: Literal["make-owned"] = "make-owned"
    path: Path
    owner: str

    @property
    def line(self) -> str:
        """In words."""
        return f"# make directory {self.path}, for {self.owner}"

    @property
    def script(self) -> str:
        """The commands for it."""
        path = shlex.quote(str(self.path))
        return f"mkdir --mode=0700 {path}; chown {self.owner}: {path}"

    def changes(self) -> Sequence[Change]:
        """It goes with all that is in it."""
        return (MadeDirectory(path=self.path),)

    def execute(self, host: Steps) -> str:  # noqa: ARG002  it needs no command
        """Make it."""
        make_directory(self.path, 0o700, owner=self.owner)
        return ""


class DrawValues(Step):
    """A free port and a secret for the turn; it yields them as JSON."""

    kind: Literal["draw-values"] = "draw-values"
    output: str = DRAWN

    @property
    def line(self) -> str:
        """In words."""
        return "# choose {port}, which is free on loopback, and {secret}"

    def execute(self, host: Steps) -> str:  # noqa: ARG002  it needs no command
        """Draw."""
        return json.dumps({"port": str(free_port()), SECRET: secrets.token_hex(16)})


class Filled(Step):
    """A step whose texts are a person's: placeholders in them are filled when it is executed."""

    home: Path
    """The directory of the service."""
    user: str
    """Who executes it; empty: we."""
    end: ServerEnd
    """Where it runs."""

    def filler(self, outputs: Mapping[str, str]) -> Callable[[str], str]:
        """Makes of a text what it is in this turn."""
        of_turn = {"dir": str(self.home), SERVER: self.end.address, **values(self.home, outputs)}
        return lambda text: filled(text, of_turn)


class WriteFile(Filled):
    """A file of its directory, for the user of the service alone."""

    kind: Literal["write-file"] = "write-file"
    name: str
    text: str

    def with_outputs(self, outputs: dict[str, str]) -> Self:
        """What it is in this turn."""
        return self.model_copy(update={"text": self.filler(outputs)(self.text)})

    @property
    def line(self) -> str:
        """In words."""
        return f"# write {self.home / self.name} ({len(self.text.encode())} bytes)"

    def execute(self, host: Steps) -> str:  # noqa: ARG002  it needs no command
        """Write it; what leads to it is made. Its user may exchange all that is there meanwhile."""
        path = self.home / self.name
        with contextlib.ExitStack() as held, named_in_errors(path):
            above = held.enter_context(held_open(self.home))
            for name in path.parent.relative_to(self.home).parts:
                make_inside(above, name, 0o700, self.user, exist_ok=True)
                above = held.enter_context(open_inside(above, name))
            with os.fdopen(os.open(path.name, NEW, 0o600, dir_fd=above), "wb") as file:
                if self.user:
                    give(file.fileno(), self.user)
                file.write(self.text.encode())
        return ""


class Inside(Start, Filled):
    """A command as the user of a service, and all that it starts."""

    kind: Literal["inside"] = "inside"  # type: ignore[assignment]
    env: dict[str, str]
    typed: tuple[str, ...] = ()
    """As the study has it, once its placeholders are filled."""

    def with_outputs(self, outputs: dict[str, str]) -> Self:
        """What it is in this turn."""
        if self.typed or DRAWN not in outputs:
            return self
        fill, ready, stop = self.filler(outputs), self.ready, self.stop
        return self.model_copy(
            update={
                "typed": self.argv,
                "argv": (*self.end.prefix, *map(fill, self.argv)),
                "environment": self._environment | {k: fill(v) for k, v in self.env.items()},
                "directories": resolved(self.directories, outputs),
                "ready": ready.model_copy(
                    update={
                        "command": (*self._prefixed(ready.command, fill),),
                        "port": fill(ready.port),
                        "path": fill(ready.path),
                    }
                ),
                "stop": stop.model_copy(update={"command": (*self._prefixed(stop.command, fill),)}),
                "secret": json.loads(outputs[DRAWN])[SECRET],
            }
        )

    def _prefixed(self, argv: tuple[str, ...], fill: Callable[[str], str]) -> Iterator[str]:
        if argv:
            yield from (*self.end.prefix, *map(fill, argv))

    @property
    def _environment(self) -> dict[str, str]:
        return {
            "PATH": PATH,
            "HOME": str(self.home),
            "USER": self.user or name_of(os.geteuid()),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.home),
        }

    @property
    def line(self) -> str:
        """The command with its placeholders; in words, if it stays."""
        line = shlex.join(self.executed)
        return f"# start, and wait until it is ready: {line}" if self.stays else line

    @property
    def script(self) -> str:
        """Only Tiltyard does it."""
        return self.line

    @property
    def executed(self) -> tuple[str, ...]:
        """With its placeholders."""
        network = inside(self.network) if self.network else ()
        return (*network, *self.end.prefix, *(self.typed or self.argv))


def values(home: Path, outputs: Mapping[str, str]) -> dict[str, str]:
    """What a service and its clients are told in this turn."""
    drawn: dict[str, Any] = json.loads(outputs[DRAWN])
    return {"service_dir": str(home), "socket": str(home / "socket"), **drawn}


def short_path(name: str) -> Path:
    """Where the directory of a service is seen: a socket in it has a path that is short enough.

    Raises:
        HostLacksError: if it would not be: unix(7) takes 107 characters.
    """
    path = Path(tempfile.gettempdir()) / name
    if len(os.fsencode(path)) + _SOCKET_BYTES > _SUN_PATH_BYTES:
        raise HostLacksError(f"{path} is too long for sockets; TMPDIR names another directory")
    return path


def free_port() -> int:
    """One that nobody listens at, and that the kernel gives to nobody.

    Raises:
        HostLacksError: if there is none.
    """
    for _ in range(_TRIES):
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            return port
    raise HostLacksError(f"no port between {_PORTS[0]} and {_PORTS[-1]} is free")
