"""The far end of a system on this host: an engine that serves, for one turn."""

import os
import secrets

from tiltyard.executors.engine import Engine, FarEnd
from tiltyard.executors.far import FarEngine
from tiltyard.host.changes import MadeFile
from tiltyard.host.changes.network import StartedServer
from tiltyard.host.steps import Steps
from tiltyard.systems.kind import Site


class Serving:
    """An engine that serves with a secret of its own; only the trials of its turn know it."""

    def __init__(self, site: Site, steps: Steps) -> None:
        """Nothing is started yet.

        Args:
            site: where the secret is kept.
            steps: of the turn that it belongs to; taking them back ends what :meth:`end` did not.
        """
        self._secret_file = site.work / site.ledger.name("secret")
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
        secret = fresh_secret()
        self._keep(secret)
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

    def _keep(self, secret: str) -> None:
        """The secret in a file that only we can read."""
        self._steps.record(MadeFile(path=self._secret_file))
        file = os.open(self._secret_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as handle:
            handle.write(secret)


def fresh_secret() -> str:
    """A secret that nobody can guess."""
    return secrets.token_hex(32)
