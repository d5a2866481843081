"""The steps of a service: a port and a secret, files, commands as its user, its start."""

import json
import os
import secrets
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self

from tiltyard.errors import HostLacksError
from tiltyard.host.links import inside
from tiltyard.host.place import Place
from tiltyard.host.start import Start
from tiltyard.host.steps import Step, Steps
from tiltyard.recipe import resolved
from tiltyard.study.placeholders import filled
from tiltyard.study.program import SECRET, SERVER
from tiltyard.systems.kind import ServerEnd

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DRAWN: Final = "{service}"
_PORTS: Final = range(20_000, 32_000)
"""Below those that the kernel gives to clients (ip_local_port_range begins at 32768)."""
_SOCKETS: Final = tuple(f"/proc/net/{name}" for name in ("tcp", "tcp6", "udp", "udp6"))
_WRITE: Final = 'umask 077; mkdir -p -- "$1" && cat > "$2"'
_SUN_PATH_BYTES: Final = 107
_SOCKET_BYTES: Final = 30
"""Room for the name of a socket."""


class DrawValues(Step):
    """A free port and a secret for the turn; it yields them as JSON."""

    kind: Literal["draw-values"] = "draw-values"
    output: str = DRAWN

    @property
    def line(self) -> str:
        """In words."""
        return "# choose {port}, which is free on loopback, and {secret}"

    def execute(self, host: Steps) -> str:
        """Draw."""
        port = str(free_port(host.place))
        return json.dumps({"port": port, SECRET: secrets.token_hex(16)})


class Inside(Start):
    """A command as the user of a service, and all that it starts.

    Its texts are a person's: placeholders in them are filled when it is executed.
    """

    kind: Literal["inside"] = "inside"  # type: ignore[assignment]
    home: Path
    """The directory of the service."""
    login: str
    """As whom it runs."""
    end: ServerEnd
    """Where it runs."""
    env: dict[str, str]
    typed: tuple[str, ...] = ()
    """As the study has it, once its placeholders are filled."""

    def filler(self, outputs: Mapping[str, str]) -> Callable[[str], str]:
        """Makes of a text what it is in this turn."""
        of_turn = {"dir": str(self.home), SERVER: self.end.address, **values(self.home, outputs)}
        return lambda text: filled(text, of_turn)

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
            "USER": self.login,
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


class WriteFile(Inside):
    """A file of its directory, written by the user of the service: it is his alone."""

    kind: Literal["write-file"] = "write-file"  # type: ignore[assignment]
    name: str

    @property
    def _path(self) -> Path:
        return self.home / self.name

    def with_outputs(self, outputs: dict[str, str]) -> Self:
        """What it is in this turn."""
        if self.typed or DRAWN not in outputs:
            return self
        argv = ("sh", "-c", _WRITE, "sh", str(self._path.parent), str(self._path))
        filled = super().with_outputs(outputs)
        stdin = self.filler(outputs)(self.stdin)
        return filled.model_copy(update={"argv": argv, "stdin": stdin})

    @property
    def line(self) -> str:
        """In words."""
        return f"# write {self._path} ({len(self.stdin.encode())} bytes)"

    @property
    def executed(self) -> tuple[str, ...]:
        """It is known by its line."""
        return ()


def values(home: Path, outputs: Mapping[str, str]) -> dict[str, str]:
    """What a service and its clients are told in this turn."""
    drawn: dict[str, Any] = json.loads(outputs[DRAWN])
    return {"service_dir": str(home), "socket": str(home / "socket"), **drawn}


def short_path(name: str, place: Place) -> Path:
    """Where the directory of a service is seen: a socket in it has a path that is short enough.

    Raises:
        HostLacksError: if it would not be: unix(7) takes 107 characters.
    """
    path = Path("/tmp" if place.is_remote else tempfile.gettempdir()) / name
    if len(os.fsencode(path)) + _SOCKET_BYTES > _SUN_PATH_BYTES:
        raise HostLacksError(f"{path} is too long for sockets; TMPDIR names another directory")
    return path


def free_port(place: Place) -> int:
    """One that nobody listens at there, and that the kernel gives to nobody.

    Raises:
        HostLacksError: if there is none.
    """
    texts = place.read_all(_SOCKETS).values()
    lines = [line.split() for text in texts for line in text.splitlines()[1:]]
    with place.understood():
        # sl local_address rem_address …
        taken = {int(words[1].rpartition(":")[2], 16) for words in lines}
    free: list[int] = [port for port in _PORTS if port not in taken]
    if not free:
        raise HostLacksError(f"no port between {_PORTS[0]} and {_PORTS[-1]} is free")
    return secrets.choice(free)
