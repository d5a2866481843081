"""The steps of a service: a port and a secret, files, commands as its user, its start."""

import contextlib
import json
import os
import pwd
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.folder import NEW
from tiltyard.host.changes import Change, MadeDirectory
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.changes.settings import SupervisedProcess
from tiltyard.host.commands import Command
from tiltyard.host.steps import Step, Steps
from tiltyard.host.supervised import State, Supervised
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
from tiltyard.systems.service.settings import Ready

SETPRIV: Final = "setpriv"
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DRAWN: Final = "{service}"
_PORTS: Final = range(20_000, 32_000)
"""Below those that the kernel gives to clients (ip_local_port_range begins at 32768)."""
_TRIES: Final = 200
_STEP_S: Final = 0.02
_PROBE_S: Final = 10.0
_CONNECT: Final = "import socket, sys; socket.create_connection(sys.argv[1:], 1)"
_SUN_PATH_BYTES: Final = 107
_SOCKET_BYTES: Final = 30
"""Room for the name of a socket."""
_ENDS_S: Final = 45.0
"""How long a supervisor may take beyond what the service may take."""


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


class Inside(Step):
    """A step of a service: placeholders in its texts are filled when it is executed."""

    home: Path
    """The directory of the service."""
    user: str
    """Who executes it; empty: we."""
    env: dict[str, str]
    end: ServerEnd
    """Where it runs."""

    def with_outputs(self, outputs: dict[str, str]) -> Self:  # noqa: ARG002
        """Its texts are a person's: they are filled by :meth:`fill`."""
        return self

    def fill(self, host: Steps, text: str) -> str:
        """A text as it is used in this turn."""
        return filled(
            text, {"dir": str(self.home), SERVER: self.end.address, **values(self.home, host)}
        )

    def words(self, host: Steps, argv: Sequence[str]) -> tuple[str, ...]:
        """A command as it is executed: as its user, and ended with its supervisor."""
        return self.shown(self.fill(host, word) for word in argv)

    def shown(self, argv: Iterable[str]) -> tuple[str, ...]:
        """The same with its placeholders."""
        return (*self.end.inside, *as_user(self.user), *argv)

    def environment(self, host: Steps) -> dict[str, str]:
        """All of it."""
        own = {key: self.fill(host, value) for key, value in self.env.items()}
        return {
            "PATH": PATH,
            "HOME": str(self.home),
            "USER": self.user or name_of(os.geteuid()),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.home),
            **own,
        }

    def end_of(self, host: Steps, argv: Sequence[str], longest_s: float) -> State | None:
        """Run a command and all that it starts to their end; ``None`` if it takes longer."""
        command = Supervised(
            self.words(host, argv),
            mark=f"{_mark(self.home)}-command",
            environment=self.environment(host),
            directory=self.home,
        )
        try:
            return command.wait(longest_s, host.check)
        finally:
            command.stop()


class WriteFile(Inside):
    """A file of its directory, for the user of the service alone."""

    kind: Literal["write-file"] = "write-file"
    name: str
    text: str

    @property
    def line(self) -> str:
        """In words."""
        return f"# write {self.home / self.name} ({len(self.text.encode())} bytes)"

    def execute(self, host: Steps) -> str:
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
                file.write(self.fill(host, self.text).encode())
        return ""


class RunInside(Inside):
    """A command that ends; nothing that it starts stays."""

    kind: Literal["run-inside"] = "run-inside"
    argv: tuple[str, ...]
    timeout_s: float

    @property
    def line(self) -> str:
        """The command, with its placeholders."""
        return shlex.join(self.shown(self.argv))

    def execute(self, host: Steps) -> str:
        """Run it.

        Raises:
            TiltyardError: if it fails, with its last words, or takes too long.
        """
        began = time.monotonic()
        state = self.end_of(host, self.argv, self.timeout_s)
        host.keep(Command(argv=self.argv, elapsed_s=time.monotonic() - began))
        what = f"service, initialise: {shlex.join(self.argv)}"
        if state is None:
            raise TiltyardError(f"{what}: not done after {self.timeout_s:g} s, so it was killed")
        if state.status != 0:
            raise TiltyardError(f"{what}: {without_secret(state.why, host)}")
        return ""


class StartService(Inside):
    """The server, waited for until it is ready."""

    kind: Literal["start-service"] = "start-service"
    argv: tuple[str, ...]
    directories: tuple[Path, ...]
    """Where its files are seen."""
    ready: Ready
    timeout_s: float
    stop: str | tuple[str, ...]
    stop_s: float
    recorded: bool = True
    """Without, its change is in the ledger already."""

    def with_outputs(self, outputs: dict[str, str]) -> Self:
        """Where its files are is known when the system is up."""
        return self.model_copy(update={"directories": resolved(self.directories, outputs)})

    @property
    def line(self) -> str:
        """In words."""
        return f"# start, and wait until it is ready: {shlex.join(self.shown(self.argv))}"

    @property
    def change(self) -> SupervisedProcess:
        """It and all that it starts."""
        return SupervisedProcess(
            mark=_mark(self.home), directories=self.directories, stop_s=self.stop_s + _ENDS_S
        )

    def changes(self) -> Sequence[Change]:
        """Its end."""
        return (self.change,) if self.recorded else ()

    def execute(self, host: Steps) -> str:
        """Start it and wait.

        Raises:
            TiltyardError: if it ends before, or takes too long; with the end of its log.
        """
        began = time.monotonic()
        service = host.keep_running(
            Supervised(
                self.words(host, self.argv),
                mark=self.change.mark,
                environment=self.environment(host),
                directory=self.home,
                stop=self.stop if isinstance(self.stop, str) else self.words(host, self.stop),
                stop_s=self.stop_s,
            )
        )
        what = f"service: {shlex.join(self.argv)}"
        while not self._is_ready(host):
            host.check()
            state = service.state()
            if not state.runs or (state.status or 0) != 0:
                raise TiltyardError(f"{what}: {without_secret(state.why, host)}")
            if time.monotonic() - began > self.timeout_s:
                said = without_secret(state.last_lines, host) or "it said nothing"
                raise TiltyardError(f"{what}: not ready after {self.timeout_s:g} s: {said}")
            time.sleep(_STEP_S)
        host.keep(Command(argv=self.shown(self.argv), elapsed_s=time.monotonic() - began))
        return ""

    def _is_ready(self, host: Steps) -> bool:
        """Whether it gives the sign."""
        if self.ready.path is not None:
            with contextlib.suppress(OSError):  # Where the service's user lets nobody look.
                Path(self.fill(host, self.ready.path)).lstat()
                return True
            return False
        if self.ready.port is not None:
            return _listens(self.end, self.fill(host, str(self.ready.port)))
        assert self.ready.command is not None
        state = self.end_of(host, self.ready.command, min(_PROBE_S, self.timeout_s))
        return state is not None and state.status == 0


def values(home: Path, host: Steps) -> dict[str, str]:
    """What a service and its clients are told in this turn."""
    drawn: dict[str, Any] = json.loads(host.outputs[DRAWN])
    return {"service_dir": str(home), "socket": str(home / "socket"), **drawn}


def without_secret(text: str, host: Steps) -> str:
    """A text that may be kept."""
    drawn: Mapping[str, str] = json.loads(host.outputs[DRAWN])
    return text.replace(drawn[SECRET], "{secret}")


def as_user(user: str) -> tuple[str, ...]:
    """What a command of a service is executed by: setpriv(1)."""
    dies = (SETPRIV, "--pdeathsig", "KILL")
    return (*dies, "--reuid", user, "--regid", _group(user), "--init-groups") if user else dies


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


def _listens(end: ServerEnd, port: str) -> bool:
    """Whether its clients can connect."""
    if end.client:
        ask = (*end.client, sys.executable, "-ISc", _CONNECT, end.address, port)
        return subprocess.run(ask, capture_output=True, check=False).returncode == 0
    with contextlib.suppress(OSError), socket.create_connection((end.address, int(port)), 1):
        return True
    return False


def _group(user: str) -> str:
    try:
        return str(pwd.getpwnam(user).pw_gid)
    except KeyError:
        return user  # A dry run prints it; that there is no such user is a problem of its own.


def _mark(home: Path) -> str:
    assert home.name.startswith(PREFIX)
    return home.name
