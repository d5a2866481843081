"""The server of a system: an engine that serves, for one turn, with a secret of its own."""

import secrets
import shlex
from typing import Final, Literal, Self

from pydantic import BaseModel, ValidationError

from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import NAME, FarEnd
from tiltyard.host.commands import shown
from tiltyard.host.start import Ready, Start
from tiltyard.host.steps import Steps, Text
from tiltyard.recipe import ENGINE
from tiltyard.systems.kind import ServerEnd, Site
from tiltyard.wire import PROTOCOL, ListeningLine

_BEGINS_S: Final = 60.0
"""How long it may take until it listens: CPUs of a host may not be free."""
_ENDS_S: Final = 20.0
"""How long it may take to end; no figure of a trial waits for that."""
_SECRET: Final = "$work/secret"


class Served(BaseModel):
    """What is known of a server that listens."""

    port: int
    engine: str
    """Its version."""
    secret: str
    """Only the trials of its turn know it."""
    keeper: int
    """The process on its host that has it."""


class Serve(Start):
    """An engine that serves: the agent's own file."""

    kind: Literal["serve"] = "serve"  # type: ignore[assignment]
    prefix: tuple[str, ...]
    """Command that starts it on its CPUs."""
    what: str = "the server does not listen"

    def with_outputs(self, outputs: dict[str, str]) -> Self:
        """With a secret of its own, when it is executed."""
        known = super().with_outputs(outputs)
        if known.secret:
            return known
        secret = secrets.token_hex(32)
        return known.model_copy(update={"stdin": f"{secret}\n", "secret": secret})

    def op(self, text: Text) -> dict[str, object]:
        """The secret goes through the pipe, and into nobody's arguments."""
        file = ("--secret-file", "/proc/self/fd/0")
        argv = [*self.prefix, {"of": "self"}, *self.argv, *file]
        return {**super().op(text), "argv": argv}

    @property
    def line(self) -> str:
        """In words."""
        return f"# start, and wait until it listens: {shlex.join((*self.prefix, NAME, *self.argv))}"

    @property
    def script(self) -> str:
        """At a port that is chosen by hand."""
        inside = ("ip", "netns", "exec", self.network) if self.network else ()
        before, words = (
            f"{shlex.join(some)} " if some else "" for some in ((*inside, *self.prefix), self.argv)
        )
        words = words.replace(" --port 0 ", ' --port "$port" ')
        started = f'start server {before}"{ENGINE}" {words}--secret-file "{_SECRET}"'
        return f'new_secret "{_SECRET}"; {started}; sleep 0.5'

    @property
    def back_script(self) -> str:
        """By the name that the script gave it."""
        return f'stop server; rm -f "{_SECRET}"'

    @property
    def executed(self) -> tuple[str, ...]:
        """None: a turn has its server's version."""
        return ()


def serve(site: Site, end: ServerEnd, *, port: int = 0, data_ports: str | None = None) -> Serve:
    """Serve on the host whose agent executes the step.

    Args:
        site: whose clients it serves.
        end: where it runs, and listens.
        port: where it listens; 0: one that is free.
        data_ports: the first and the last for data, as in ``20000-20099``.
    """
    words = ("serve", "--bind", end.address, "--port", str(port))
    data = ("--data-ports", data_ports) if data_ports else ()
    clients = ("--clients", str(site.clients)) if site.clients > 1 else ()
    return Serve(
        argv=(*words, *data, *clients),
        prefix=end.prefix,
        mark=site.ledger.name("server"),
        ready=Ready(line=True),
        limit_s=_BEGINS_S,
        stop_s=_ENDS_S,
        network=end.network,
    )


def served(steps: Steps, step: Serve) -> Served:
    """The server that a step has started.

    Raises:
        TiltyardError: if it does not say where it listens, or speaks another protocol.
    """
    done, started = steps.started[step.mark]
    assert isinstance(done, Serve)
    try:
        listening = ListeningLine.model_validate_json(started.line).data
        port = int(listening.addresses[0].rpartition(":")[2])
    except (ValidationError, LookupError, ValueError):
        raise TiltyardError(f"the server does not listen: {shown(started.line)}") from None
    if listening.protocol != PROTOCOL:
        raise TiltyardError(
            f"the server speaks protocol {listening.protocol}, this lab speaks {PROTOCOL}"
        )
    return Served(port=port, engine=listening.engine, secret=done.secret, keeper=started.pid)


def end_of(known: Served, address: str, local: str | None = None) -> FarEnd:
    """The server as trials reach it.

    Args:
        known: the server.
        address: where it listens.
        local: address of the client.
    """
    return FarEnd(address=address, port=known.port, secret=known.secret, local=local)
