"""The write-ahead record of everything that Tiltyard has changed on this host.

Each process has one ledger file in the state directory. A change is appended and synced before it
is made, and marked once it is taken back. The file is locked (flock(2)) as long as its process or
any command that the process started lives, so a ledger whose lock is free belongs to a dead
process, and :mod:`tiltyard.host.recovery` may take back what that process could not: after
kill -9, and after a power failure.
"""

import contextlib
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self, TypeVar

from tiltyard.errors import (
    HostLacksError,
    NotRestoredError,
    RefusedError,
    TiltyardError,
    UnreachableError,
)
from tiltyard.folder import sync_directory
from tiltyard.host import commands
from tiltyard.host.changes import Change, take_back
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.changes.op import MadeByOp, UsedAgent
from tiltyard.host.host import hosts
from tiltyard.host.place import HERE, Place
from tiltyard.host.processes import Process
from tiltyard.host.recovery import (
    PutBack,
    append,
    put_back,
    put_back_ledger,
    read_ledger,
    told_of_broken,
)
from tiltyard.ownership import home, require_ours
from tiltyard.wire import HostLast

C = TypeVar("C", bound=Change)
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
"""Bits of a mode that let others write."""


def state_directory() -> Path:
    """Where ledgers are kept: it must survive a reboot, and be the same for every study.

    Hosts may share it: a ledger tells whose it is.
    """
    if explicit := os.environ.get("TILTYARD_STATE"):
        return Path(explicit)
    if os.geteuid() == 0:
        return Path("/var/lib/tiltyard")
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else home() / ".local" / "state") / "tiltyard"


def own_state_directory(state: Path | None = None) -> Path:
    """The state directory, or another one, in which no other user has a hand.

    What a ledger names is executed to put things back, so that it must be from us.

    Raises:
        RefusedError: if another user owns or may write to it, or to a ledger in it.
    """
    directory = state or state_directory()
    mend = f"chown and chmod go-w {directory}, or name another one: TILTYARD_STATE"
    require_ours(directory, mend, others=_OTHERS)
    for path in directory.glob("*.jsonl"):
        require_ours(path, f"look what it says, then remove it: {path}", others=_OTHERS)
    return directory


class Ledger:
    """The ledger of this process. Use it in a ``with`` block: leaving it takes everything back."""

    def __init__(self, state: Path | None = None, *, study: Path | None = None) -> None:
        """Open an empty ledger, or the one that this study kept over a boot of the host.

        Raises:
            HostLacksError: if the state directory cannot be written.
            RefusedError: if another user has a hand in it.
            TiltyardError: if the ledger that was kept is not whole.
        """
        self._directory = own_state_directory(state)
        self._outstanding: dict[int, Change] = {}
        self._of_agents: set[int] = set()
        """Those that are in ledgers of agents alone."""
        self._number = 0
        self._last_ns = 0
        self._closed = False
        kept = None if study is None else _kept_for(study, self._directory)
        try:
            if kept is None:
                self.token, self.path, self._file = _new(self._directory)
            else:
                self.token, self.path, self._file = self._take_up(kept)
            self._begin(is_new=kept is None)
            if self._made_at(HERE):
                self.come_back(HERE)
        except OSError as error:
            raise HostLacksError(
                f"{self._directory}: cannot keep the record of changes here ({error.strerror}); "
                "TILTYARD_STATE names another directory"
            ) from None

    def _begin(self, *, is_new: bool) -> None:
        """Write down whose it is; where that fails nobody holds it, and a new one is removed."""
        try:
            self._append({"owner": Process.current().model_dump()})
            sync_directory(self._directory)
        except OSError:
            # Where nothing can be removed either, an empty ledger that nobody holds is left.
            with contextlib.suppress(OSError):
                if is_new:
                    self.path.unlink()
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Take everything back that is still outstanding.

        An error that is on its way says more than that another host is not reached.
        """
        try:
            self.close()
        except UnreachableError:
            if kind is None:
                raise

    def name(self, use: str) -> str:
        """A file name that nobody else has and that :mod:`~tiltyard.host.changes` will remove."""
        return f"{PREFIX}{self.token}-{use}"

    def record(self, change: C) -> C:
        """Write down a change that is about to be made; on return it is on disk.

        Raises:
            OSError: with the ledger's name, if it is not; the change must not be made.

        What an agent has made is in the agent's own ledger, and here only for the order.
        """
        self._number += 1
        if isinstance(change, MadeByOp):
            self._of_agents.add(self._number)
        else:
            self._write(self._number, change)
        self._outstanding[self._number] = change
        return change

    def _write(self, number: int, change: Change) -> None:
        self._last_ns = max(self._last_ns + 1, time.time_ns())
        is_change = change.model_dump(mode="json")
        self._append({"change": number, "at_ns": self._last_ns, "is": is_change})

    def recorded(self, change: C) -> C:
        """The same change as it is recorded; itself where it is not."""
        same = (one for one in reversed(self._outstanding.values()) if one.is_same(change))
        return next(same, change)  # type: ignore[return-value]  # the same is of the same kind

    def hold_machine(self, what: str, place: Place = HERE) -> tuple[str, ...]:
        """From now on no other run changes what is machine-wide, whatever its state directory.

        Called before one looks what there is: what a holder that was killed has left changed is put
        back first.

        Args:
            what: is to be changed, as a person calls it.
            place: the host, whose agent holds it.

        Returns:
            What was put back, one sentence each.

        Raises:
            BusyError: if another run holds the machine.
            RefusedError: if what the last holder left cannot be put back.
        """
        agent, own = place.host, str(self.path)
        if agent.holds == own:
            return ()
        held = agent.hold(what, own)
        if held.last is None:
            return tuple(held.done)
        try:
            done = _put_back_first(held.last, place)
            agent.hold(what, own, is_put_back=True)
        except BaseException:
            agent.let_go(own)
            raise
        return done

    def let_go_of_machine(self, place: Place = HERE) -> None:
        """Let others change what is machine-wide, unless something of ours is changed."""
        hosts.let_go(str(self.path), place.ssh)

    def holds(self, change: Change) -> bool:
        """Whether a change is recorded and not taken back."""
        return any(one.is_same(change) for one in self._outstanding.values())

    @property
    def outstanding(self) -> tuple[Change, ...]:
        """Changes that are recorded and not taken back, in order."""
        return tuple(self._outstanding.values())

    def undo(self, change: Change) -> str | None:
        """Take one change back and say what was done; harmless if it is not outstanding.

        Raises:
            TiltyardError: if that is not possible; the change stays recorded.
        """
        same = ((n, one) for n, one in self._outstanding.items() if one.is_same(change))
        number, recorded = next(same, (0, None))
        if recorded is None:
            return None
        said = take_back(recorded)
        self._forget(number)
        return said

    def record_use(self, place: Place) -> None:
        """Write down that the agent of another host changes it for this run, unless that is."""
        used = UsedAgent(ssh=place.ssh, run=self.token)
        if not self.holds(used):
            self.record(used)

    def forget_lost(self, place: Place) -> None:
        """What an agent that has ended had changed it has taken back, or that is done now."""
        agent = place.host
        for _, change in reversed(self._made_at(place)):
            if change.ledger not in agent.ledgers:
                self.undo(change)

    def _made_at(self, place: Place) -> list[tuple[int, MadeByOp]]:
        """What the agent of a place has changed, by number."""
        changes = self._outstanding.items()
        made = ((number, one) for number, one in changes if isinstance(one, MadeByOp))
        return [(number, one) for number, one in made if one.ssh == place.ssh]

    def leave(self, place: Place, command: Sequence[str]) -> None:
        """Have another host booted; what outlasts the boot there stays.

        Raises:
            BusyError: if others are at work there; nothing was done.
            TiltyardError: if it cannot be booted; what is recorded stays.
        """
        self.record_use(place)
        self.come_back(place)  # One that had not come back in time may have by now.
        made = self._made_at(place)
        keep = [one.number for _, one in made if one.outlasts_boot]
        place.host.leave(command, self.token, keep, alone=True)
        for number, one in reversed(made):
            if not one.outlasts_boot:
                self._forget(number)

    def come_back(self, place: Place) -> None:
        """Go on, after a boot, with what was kept there."""
        place.host.take_up(self.token)
        self.forget_lost(place)

    def undo_row(self, row: Sequence[MadeByOp]) -> None:
        """Take changes of one agent back in one exchange, last first.

        Raises:
            TiltyardError: if that is not possible; all of them stay recorded.
        """
        numbers = [number for number, one in self._outstanding.items() if one in row]
        if numbers:
            row[0].undo_for(others=row[1:])
        for number in numbers:
            self._forget(number)

    def _forget(self, number: int) -> None:
        """One that is taken back."""
        if number not in self._of_agents:
            self._append({"undone": number})
        del self._outstanding[number]

    def _append(self, line: dict[str, object]) -> None:
        append(self._file, self.path, line)

    def run(
        self,
        argv: Sequence[str],
        stdin: Path = Path(os.devnull),
    ) -> commands.Output:
        """Run a command that makes a recorded change; our lock is held until it has ended.

        Args:
            argv: the command.
            stdin: file that it reads.
        """
        return commands.run(argv, stdin=stdin, hold=(self._file,))

    @property
    def hold(self) -> tuple[int, ...]:
        """File descriptors that a long-lived child should keep open, so that the lock is held."""
        return (self._file,)

    def keep_for(self, study: Path) -> list[int]:
        """Close the ledger and leave it to the run of a study that goes on after a boot.

        What is made to outlast the boot is left to it; everything else is taken back now.

        Returns:
            Numbers of what this host's agent is to keep for the ledger's token.

        Raises:
            TiltyardError: if something could not be taken back.
        """
        self._undo_all(keep=True)
        made = self._made_at(HERE)
        for number, one in made:
            if number in self._of_agents:
                self._write(number, one)
        self._append({"kept_for": str(study.resolve())})
        self._let_go()
        self._closed = True
        return [one.number for _, one in made]

    def close(self) -> None:
        """Take back what is outstanding, last change first, and remove the ledger.

        Raises:
            UnreachableError: if it is on another host that is not reached.
            TiltyardError: if something could not be taken back. The ledger stays, and
                :func:`recover` tries again at the next start.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._undo_all()
            self.path.unlink()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Of the ledger, and then of the machine: a later holder finds the ledger as it is."""
        os.close(self._file)
        hosts.let_go(str(self.path))

    def _undo_all(self, *, keep: bool = False) -> None:
        """Take changes back, last one first; ``keep``: without those kept over a boot.

        Where there is no room to write down that one is undone, the removal of the ledger says it.
        """
        errors: list[Exception] = []
        for number, change in reversed(list(self._outstanding.items())):
            if keep and change.is_kept_over_boot:
                continue
            try:
                take_back(change)
            except (TiltyardError, OSError) as error:
                errors.append(error)
                continue
            try:
                self._forget(number)
            except OSError as error:
                del self._outstanding[number]
                errors += [error] if keep else []
        if errors:
            away = all(isinstance(error, UnreachableError) for error in errors)
            text = f"{'; '.join(map(str, errors))}; try: tiltyard restore"
            raise UnreachableError(text) if away else NotRestoredError(text)

    def _take_up(self, kept: Path) -> tuple[str, Path, int]:
        """Go on with a ledger that was kept over a boot: its token, path and file."""
        token = kept.stem.partition("-")[2]
        path = kept.with_name(f"{os.getpid()}-{token}.jsonl")
        file = os.open(kept, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            content = read_ledger(kept)
            if content.broken:
                raise TiltyardError(told_of_broken(kept, content.broken))
            kept.rename(path)
        except BaseException:
            os.close(file)
            raise
        self._outstanding = {n: one.change for n, one in content.outstanding.items()}
        self._number = content.last_number
        self._last_ns = max((one.at_ns for one in content.outstanding.values()), default=0)
        return token, path, file


def recover(state: Path | None = None) -> list[str]:
    """Take back what processes that died have left behind.

    Returns:
        What was done and what could not be done, one sentence each; empty if there was nothing.
    """
    found = put_back(own_state_directory(state))
    return [*found.done, *found.left]


def restore(state: Path | None = None) -> PutBack:
    """The same, as a person asks for it: what a run keeps for after a boot is taken back too."""
    return put_back(own_state_directory(state), kept=True)


def restore_there(place: Place) -> PutBack:
    """The same of another host.

    Raises:
        UnreachableError: if it is not reached.
    """
    found = place.ask(lambda host: host.recover(kept=True))
    return PutBack(*(tuple(map(commands.shown, told)) for told in (found.done, found.left)))


def _put_back_first(last: HostLast, place: Place) -> tuple[str, ...]:
    """What a lab that held the machine and was killed has left."""
    ledger = Path(last.ledger)
    left = [f"its ledger is {ledger}"]
    if not place.ssh:
        own_state_directory(ledger.parent)
        found = put_back_ledger(ledger)
        if not found.left:
            return found.done
        left = [*found.left]
    raise RefusedError(
        f"process {last.pid} has left {'this machine' if not place.ssh else place} changed: "
        f"{left[0]}. Fix: TILTYARD_STATE={ledger.parent} tiltyard restore"
    )


def _new(directory: Path) -> tuple[str, Path, int]:
    """Token, path and locked file of a ledger that is in its place.

    Between making and locking it, a recovery may take it for one that a dead process left empty.
    """
    if not directory.exists():
        directory.mkdir(parents=True, mode=0o700)
        sync_directory(directory.parent)
    while True:
        token = secrets.token_hex(4)
        path = directory / f"{os.getpid()}-{token}.jsonl"
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(file).st_ino:
                return token, path, file
        os.close(file)


def _kept_for(study: Path, directory: Path) -> Path | None:
    """The ledger that the run of a study kept over a boot, if there is one."""
    for path in directory.glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError, TiltyardError):
            content = read_ledger(path)
            if content.kept_for == str(study.resolve()) and not content.is_elsewhere:
                return path
    return None
