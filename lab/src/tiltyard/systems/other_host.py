"""Another host that ssh reaches: whether it will do, and the engine's way there and back.

The engine is copied once in a run, into a directory of the user's home. Whoever starts it there has
a link to it in a directory with a fresh name, which is removed with all that runs out of it. Each
step is in the ledger first.
"""

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from typing import Literal

from tiltyard.errors import TiltyardError, UnreachableError
from tiltyard.executors.engine import NAME, Engine
from tiltyard.folder import sha256
from tiltyard.host import commands
from tiltyard.host.changes import Change
from tiltyard.host.changes.network import MadeOverSsh
from tiltyard.host.packages import Tool, find_program, install_command
from tiltyard.host.place import Place
from tiltyard.host.recorder import Recorder
from tiltyard.host.steps import Step, Steps
from tiltyard.systems.kind import Problem

SSH = Tool("ssh", "openssh-client", ("-V",), "systems on other hosts cannot be reached")
_SRUN_PACKAGE = "slurm-client"
_GONE = 9
"""Status of a shell that does not find the copy."""
_EXECUTES = (
    "test $? -ne 126 || { echo 'no program can be executed in the home directory. "
    "Fix: mount -o remount,exec, or a user whose home is elsewhere' >&2; exit 1; };"
)
"""What a shell cannot execute has status 126 (POSIX)."""
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
        if find_program(by) is None:
            package = SSH.package if by == SSH.command else _SRUN_PACKAGE
            return [Problem("error", f"{by} is not installed", install_command(package))]
        try:
            self.place.ask(lambda host: host.read())
        except UnreachableError as error:
            remedy = f"ssh {self.place} must work without a question" if by == SSH.command else None
            return [Problem("error", str(error), remedy)]
        except TiltyardError as error:
            return [Problem("error", str(error))]
        return []

    def kept_engine(self, ledger: Recorder) -> "KeepEngine":
        """The copy of the engine that stays there until the end of the run."""
        name = sha256(shlex.join(self.place.ssh).encode())[:8]
        return KeepEngine(ssh=self.place.ssh, directory=ledger.name(f"engine-{name}"), lasts="run")

    def engine_steps(
        self, ledger: Recorder, directory: str, *, beside: str | None = None
    ) -> Iterator[Step]:
        """Have the engine there, in a directory of its own: what runs out of it ends with it.

        Args:
            ledger: knows whether the run has copied it there.
            directory: a directory of the user's home that is made for it.
            beside: path of another directory, which is made in the same go.
        """
        kept = self.kept_engine(ledger)
        if not ledger.holds(kept.made):
            yield kept
        yield LinkEngine(ssh=kept.ssh, kept=kept.directory, directory=directory, beside=beside)

    def argv(self, *engine: str, prefix: Sequence[str] = ()) -> tuple[str, ...]:
        """The command that stands for an engine there; it takes the engine's verbs.

        Args:
            engine: how it is started.
            prefix: starts it where the system is, as :attr:`tiltyard.systems.kind.Up.prefix`.
        """
        return self.place.argv((*prefix, "sh", "-c", _WAIT, "sh", *engine))


def engine_in(directory: str) -> str:
    """Its path in a directory there."""
    return f"{directory}/{NAME}"


class KeepEngine(Step):
    """The engine, copied once in a run; see :meth:`OtherHost.kept_engine`."""

    kind: Literal["keep-engine"] = "keep-engine"
    ssh: tuple[str, ...]
    directory: str

    @property
    def line(self) -> str:
        """The command."""
        return f"{shlex.join(self._argv)} < {Engine.find().path}"

    @property
    def _argv(self) -> tuple[str, ...]:
        engine = engine_in(self.directory)
        put = f"mkdir -m 700 {self.directory} && cat > {engine} && chmod 700 {engine}"
        return (*self.ssh, f"{put} && {{ {engine} --version > /dev/null 2>&1; {_EXECUTES} }}")

    @property
    def made(self) -> MadeOverSsh:
        """Its change."""
        return MadeOverSsh(ssh=self.ssh, directory=self.directory)

    def changes(self) -> Sequence[Change]:
        """The directory."""
        return (self.made,)

    def execute(self, host: Steps) -> str:
        """Copy it.

        Raises:
            UnreachableError: if the host is not reached.
            TiltyardError: if something is in the way there.
        """
        try:
            with Place(self.ssh).told():
                host.run(self._argv, Engine.find().path)
        except TiltyardError:
            # The next turn tries again.
            with contextlib.suppress(TiltyardError):
                host.ledger.undo(self.made)
            raise
        return ""


class LinkEngine(Step):
    """The engine in another directory there; see :meth:`OtherHost.engine_steps`."""

    kind: Literal["link-engine"] = "link-engine"
    ssh: tuple[str, ...]
    kept: str
    """Directory of the copy."""
    directory: str
    beside: str | None

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self._argv)

    @property
    def _argv(self) -> tuple[str, ...]:
        engine, kept = engine_in(self.directory), engine_in(self.kept)
        # Not every file system has links.
        link = f"{{ ln {kept} {engine} 2> /dev/null || cp {kept} {engine}; }}"
        put = f"mkdir -m 700 {self.directory} && {link}"
        if self.beside is not None:
            put = f"mkdir -m 700 {shlex.quote(self.beside)} && {put}"
        return (*self.ssh, f"test -x {kept} || exit {_GONE}; {put}")

    def changes(self) -> Sequence[Change]:
        """The engine's directory is taken back first: what runs out of it may use the other."""
        made = (self.beside, self.directory) if self.beside else (self.directory,)
        return [MadeOverSsh(ssh=self.ssh, directory=directory) for directory in made]

    def execute(self, host: Steps) -> str:
        """Link it; where somebody has removed the copy, it is made again.

        Raises:
            UnreachableError: if the host is not reached.
            TiltyardError: if something is in the way there.
        """
        with Place(self.ssh).told():
            try:
                host.run(self._argv)
            except commands.CommandFailedError as error:
                if error.status != _GONE:
                    raise
                kept = KeepEngine(ssh=self.ssh, directory=self.kept, lasts="run")
                host.ledger.undo(kept.made)
                host.take([kept])
                host.run(self._argv)
        return ""
