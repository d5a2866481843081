"""Another host that ssh reaches: whether it will do, and how an engine is started there."""

from collections.abc import Sequence

from tiltyard.errors import TiltyardError, UnreachableError
from tiltyard.host.packages import Tool, install_command
from tiltyard.host.place import HERE, Place
from tiltyard.systems.kind import Problem

SSH = Tool("ssh", "openssh-client", ("-V",), "systems on other hosts cannot be reached")
_SRUN_PACKAGE = "slurm-client"
_WAIT = 'engine=$1; shift; "$engine" "$@"; exit $?'
"""A shell stays between ssh and the engine, so that an engine that is killed is told from a
connection that is lost."""


class OtherHost:
    """A host, and what a turn does there."""

    def __init__(self, place: Place) -> None:
        """Nothing is touched yet.

        Args:
            place: how it is reached.
        """
        self.place = place

    def problems(self) -> list[Problem]:
        """No ssh, no way in, or a host that cannot run this engine."""
        by = self.place.ssh[0]
        if not HERE.has(by):
            package = SSH.package if by == SSH.command else _SRUN_PACKAGE
            return [Problem("error", f"{by} is not installed", install_command(HERE, package))]
        try:
            self.place.ask(lambda host: host.read())
        except UnreachableError as error:
            remedy = f"ssh {self.place} must work without a question" if by == SSH.command else None
            return [Problem("error", str(error), remedy)]
        except TiltyardError as error:
            return [Problem("error", str(error))]
        return []

    def argv(self, *engine: str, prefix: Sequence[str] = ()) -> tuple[str, ...]:
        """The command that stands for an engine there; it takes the engine's verbs.

        Args:
            engine: how it is started.
            prefix: starts it where the system is, as :attr:`tiltyard.systems.kind.Up.prefix`.
        """
        return self.place.argv((*prefix, "sh", "-c", _WAIT, "sh", *engine))
