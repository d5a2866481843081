"""Another host that ssh reaches: whether it will do, and the engine's way there and back.

The engine is copied under a fresh name, into a directory of the user's home that is removed with
all that runs out of it. Each step is in the ledger first.
"""

import platform
import shlex
from typing import Annotated

from pydantic import StringConstraints

from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import NAME, Engine
from tiltyard.host import commands
from tiltyard.host.changes.network import MadeOverSsh
from tiltyard.host.packages import Tool, find_program, install_command
from tiltyard.host.place import Place
from tiltyard.host.steps import Steps
from tiltyard.systems.kind import Problem

SSH = Tool("ssh", "openssh-client", ("-V",), "systems on other hosts cannot be reached")
_ANSWER_S = 30

HostName = Annotated[str, StringConstraints(pattern=r"^[^-\s]\S*$")]
"""As ssh knows it; it cannot be taken for an option."""


class OtherHost:
    """A host, and what a turn does there."""

    def __init__(self, host: str, options: tuple[str, ...], steps: Steps) -> None:
        """Nothing is touched yet.

        Args:
            host: ``user@host``.
            options: for ssh.
            steps: of the turn.
        """
        self.place = Place.over_ssh(host, options)
        self._steps = steps

    def problems(self) -> list[Problem]:
        """No ssh, no way in, or a host that cannot run this engine."""
        if find_program(SSH.command) is None:
            text = f"{SSH.command} is not installed"
            return [Problem("error", text, install_command(SSH.package))]
        try:
            there = self.ask("uname -sm").strip()
        except TiltyardError as error:
            remedy = f"ssh {self.place} must work without a question"
            return [Problem("error", str(error), remedy)]
        here = f"{platform.system()} {platform.machine()}"
        if there != here:
            text = f"{self.place} is {there}, but the engine is for {here}"
            return [Problem("error", text, "a host of the same sort")]
        return []

    def ask(self, words: str) -> str:
        """What a line of shell there prints; it changes nothing.

        Raises:
            UnreachableError: if the host is not reached.
            TiltyardError: if the line fails.
        """
        with self.place.told():
            return commands.run((*self.place.ssh, words), timeout_s=_ANSWER_S).stdout

    def copy_engine(self, directory: str, *, beside: str | None = None) -> str:
        """Copy the engine there.

        Args:
            directory: a directory of the user's home that is made for it.
            beside: path of another directory, which is made in the same go.

        Returns:
            The path of the engine there.

        Raises:
            UnreachableError: if the host is not reached.
            TiltyardError: if something is in the way there.
        """
        engine = f"{directory}/{NAME}"
        put = f"mkdir -m 700 {directory} && cat > {engine} && chmod 700 {engine}"
        if beside is not None:
            # Taken back last: what still runs out of the engine's directory may work in it.
            self._steps.record(MadeOverSsh(ssh=self.place.ssh, directory=beside))
            put = f"mkdir -m 700 {shlex.quote(beside)} && {put}"
        self._steps.record(MadeOverSsh(ssh=self.place.ssh, directory=directory))
        with self.place.told():
            self._steps.run((*self.place.ssh, put), stdin=Engine.find().path)
        return engine
