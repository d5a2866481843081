"""How a system mounts: as root on this host, or as a user in a namespace of its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from tiltyard.host.changes import Change
from tiltyard.host.mounts import Mount, mounts_at
from tiltyard.host.servers import ServedMount
from tiltyard.host.setting_changes import StartedProcess
from tiltyard.host.steps import Steps


class Mounter(ABC):
    """Mounts for one turn; every step is in the ledger first."""

    def __init__(self, steps: Steps, mark: str) -> None:
        """Nothing is mounted yet.

        Args:
            steps: taking them back unmounts.
            mark: name that its processes carry; nobody else's.
        """
        self.steps = steps
        self._mark = mark

    @property
    def prefix(self) -> tuple[str, ...]:
        """Command that starts another one where the mounts are seen."""
        return ()

    @property
    def servers(self) -> tuple[int, ...]:
        """Our processes that serve what is mounted."""
        return tuple(StartedProcess(mark=self._mark).pids())

    def open(self) -> None:  # noqa: B027
        """Make it ready, before anything else; nothing by default."""

    @abstractmethod
    def start(self, argv: tuple[str, ...], ready: Callable[[], bool]) -> None:
        """Start a server that mounts nothing by itself, and wait until it is ready."""

    @abstractmethod
    def mount(self, argv: tuple[str, ...], change: Change) -> None:
        """Mount by a command that ends."""

    @abstractmethod
    def serve(self, argv: tuple[str, ...], target: Path) -> None:
        """Mount by a command that stays, or by one that leaves a server behind."""

    @abstractmethod
    def at(self, target: Path) -> list[Mount]:
        """What is mounted on exactly this directory, the topmost last."""

    @abstractmethod
    def seen(self, path: Path) -> Path:
        """A path in what is mounted, as this process reaches it."""


class RootMounter(Mounter):
    """As root, for all to see."""

    def start(self, argv: tuple[str, ...], ready: Callable[[], bool]) -> None:
        """Start a server that mounts nothing by itself."""
        process = self.steps.record(StartedProcess(mark=self._mark))
        self.steps.start(argv, process.environment, ready)

    def mount(self, argv: tuple[str, ...], change: Change) -> None:
        """The command ends when it is done."""
        self.steps.record(change)
        self.steps.run(argv)

    def serve(self, argv: tuple[str, ...], target: Path) -> None:
        """Its processes are known by the mark."""
        served = self.steps.record(ServedMount(target=target, mark=self._mark))
        self.steps.start(argv, served.process.environment, lambda: bool(mounts_at(target)))

    def at(self, target: Path) -> list[Mount]:
        """In the table of mounts of this process."""
        return mounts_at(target)

    def seen(self, path: Path) -> Path:
        """As it is."""
        return path
