"""The far end of a system on this host: an engine that serves, for one turn."""

import os
import secrets

from tiltyard.executors.engine import Engine, FarEnd
from tiltyard.executors.far import FarEngine
from tiltyard.host.changes import MadeFile
from tiltyard.host.network_changes import StartedServer
from tiltyard.systems.kind import Site
from tiltyard.systems.steps import Steps


class Serving:
    """An engine that serves with a secret of its own; only the trials of its turn know it."""

    def __init__(self, site: Site, steps: Steps, use: str) -> None:
        """Nothing is started yet.

        Args:
            site: where the secret is kept.
            steps: of the turn that it belongs to; taking them back ends what :meth:`end` did not.
            use: part of the name of the file with the secret.
        """
        self._secret_file = site.work / site.ledger.name(use)
        self._steps = steps
        self._engine: FarEngine | None = None

    def begin(
        self, address: str, *, prefix: tuple[str, ...] = (), local: str | None = None
    ) -> FarEnd:
        """Start it at an address, at a port that is free.

        Args:
            address: where it listens.
            prefix: command that starts it where the far end is.
            local: address of the near end.

        Raises:
            TiltyardError: if it does not listen.
        """
        secret = secrets.token_hex(32)
        self._write(secret)
        self._steps.record(StartedServer(secret_file=self._secret_file))
        served = ("serve", "--until-eof", "--bind", address, "--port", "0")
        engine = str(Engine.find().path)
        self._engine = FarEngine(
            (*prefix, engine, *served, "--secret-file", str(self._secret_file))
        )
        return FarEnd(address=address, port=self._engine.port, secret=secret, local=local)

    @property
    def version(self) -> str:
        """Version of the engine that serves."""
        return self._engine.listening.engine if self._engine else ""

    def end(self) -> None:
        """End it; harmless when it does not run."""
        if self._engine is not None:
            self._engine.stop()
            self._engine = None

    def _write(self, secret: str) -> None:
        """The file that only we can read."""
        path = self._steps.record(MadeFile(path=self._secret_file)).path
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as handle:
            handle.write(secret)


def on_cpus(cpus: tuple[int, ...]) -> tuple[str, ...]:
    """Command that starts another one on certain CPUs; nothing if any will do."""
    return ("taskset", "--cpu-list", ",".join(str(cpu) for cpu in cpus)) if cpus else ()


def cpus_in_words(cpus: tuple[int, ...]) -> str:
    """CPUs as a fact."""
    return ", ".join(str(cpu) for cpu in cpus) if cpus else "any"
