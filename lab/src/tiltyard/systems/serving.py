"""The server of a system: an engine that serves, for one turn, with a secret of its own."""

import os
import secrets
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from tiltyard.executors.engine import Engine, FarEnd
from tiltyard.executors.far import FarEngine
from tiltyard.host.changes import Change, MadeFile
from tiltyard.host.changes.network import StartedServer
from tiltyard.host.steps import Step, Steps
from tiltyard.systems.kind import Site

_SERVED: Final = "{server}"


class Served(BaseModel):
    """What is known of a server that listens."""

    port: int
    engine: str
    """Its version."""
    secret: str
    """Only the trials of its turn know it."""


class Serve(Step):
    """An engine that serves until we end it; it yields :class:`Served`."""

    kind: Literal["serve"] = "serve"
    argv: tuple[str, ...]
    """The command, with the file of its secret."""
    secret_file: Path
    ssh: tuple[str, ...] = ()
    """Reaches the host that it runs on; empty: this host."""
    output: str = _SERVED

    @property
    def line(self) -> str:
        """In words."""
        return f"# start, and wait until it listens: {shlex.join((*self.ssh, *self.argv))}"

    @property
    def script(self) -> str:
        """At a port that is chosen by hand; on another host only Tiltyard starts it."""
        if self.ssh:
            return self.line
        words = " ".join(map(shlex.quote, self.argv)).replace(" --until-eof", "")
        words = words.replace(" --port 0 ", ' --port "$port" ')
        file = shlex.quote(str(self.secret_file))
        return f"new_secret {file}; start server {words}; sleep 0.5"

    def changes(self) -> Sequence[Change]:
        """On another host both go with the directory of the engine."""
        if self.ssh:
            return ()
        return MadeFile(path=self.secret_file), StartedServer(secret_file=self.secret_file)

    def execute(self, host: Steps) -> str:
        """Start it and wait; the secret goes to a file, and into nobody's arguments.

        Raises:
            TiltyardError: if it does not listen.
        """
        secret = secrets.token_hex(32)
        if self.ssh:
            keep = f'umask 077 && read -r secret && printf %s "$secret" > {self.secret_file}'
            there = f"{keep} && exec {' '.join(self.argv)}"
            engine = FarEngine((*self.ssh, there), f"{secret}\n".encode())
        else:
            file = os.open(self.secret_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w") as handle:
                handle.write(secret)
            engine = FarEngine(self.argv)
        host.keep_running(engine)
        served = Served(port=engine.port, engine=engine.listening.engine, secret=secret)
        return served.model_dump_json()


def serve(site: Site, address: str, *, prefix: tuple[str, ...] = ()) -> Serve:
    """Serve on this host, at a port that is free.

    Args:
        site: where the secret is kept.
        address: where it listens.
        prefix: command that starts it where the server is.
    """
    file = site.work / site.ledger.name("secret")
    words = ("serve", "--until-eof", "--bind", address, "--port", "0", "--secret-file", str(file))
    argv = (*prefix, str(Engine.find().path), *words, *for_clients(site))
    return Serve(argv=argv, secret_file=file)


def for_clients(site: Site) -> tuple[str, ...]:
    """Words for a server that several clients load at once: nothing for one."""
    return ("--clients", str(site.clients)) if site.clients > 1 else ()


def served(steps: Steps) -> Served:
    """The server that was started."""
    return Served.model_validate_json(steps.outputs[_SERVED])


def end_of(steps: Steps, address: str, local: str | None = None) -> FarEnd:
    """The server as trials reach it.

    Args:
        steps: that have started it.
        address: where it listens.
        local: address of the client.
    """
    known = served(steps)
    return FarEnd(address=address, port=known.port, secret=known.secret, local=local)
