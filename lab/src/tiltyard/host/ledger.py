"""In which order the agents of hosts have changed something for a run, and what takes it back.

An agent has each change in a ledger on its host, on disk before it is made. It takes all of them
back at its end, however that comes, and what one that was killed has left is taken back by the next
one (``engine/agent/src/ledger.rs``). Nothing is written down here.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import NotRestoredError, RefusedError, TiltyardError, UnreachableError
from tiltyard.host.changes import PREFIX, MadeByOp
from tiltyard.host.commands import shown
from tiltyard.host.host import Host, hosts
from tiltyard.host.place import HERE, Place
from tiltyard.ownership import own_state_directory
from tiltyard.wire import HostUndone

C = TypeVar("C", bound=MadeByOp)


class Ledger:
    """The changes of a run. Use it in a ``with`` block: leaving it takes everything back."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        """Nothing is changed yet.

        Args:
            tell: of another host that is not reached at the end, and how it is put back later;
                without it that is an error.

        Raises:
            RefusedError: if another user has a hand in the state directory.
        """
        own_state_directory()
        self._tell = tell
        self.token = secrets.token_hex(4)
        """The run's name, which nobody else has."""
        self.earlier = ""
        """The same of an earlier start of the run, which goes on with nothing that it has kept."""
        self._outstanding: list[MadeByOp] = []
        self._used: list[Place] = []
        """Other hosts that it has changed."""

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Take everything back that is still outstanding.

        Raises:
            UnreachableError: if that is on another host that is not reached, unless somebody is
                told; another error that is on its way says more.
            TiltyardError: if something could not be taken back.
        """
        try:
            self.close()
        except UnreachableError as error:
            if self._tell:
                self._tell(str(error))
            elif kind is None:
                raise

    def name(self, use: str) -> str:
        """A file name that nobody else has, and that agents will remove."""
        return f"{PREFIX}{self.token}-{use}"

    def uses(self, place: Place) -> None:
        """Another host is changed: at the end its agent is asked what is left there."""
        if place.is_remote and place not in self._used:
            self._used.append(place)

    def record(self, change: C) -> C:
        """Remember a change that was made."""
        self._outstanding.append(change)
        return change

    @property
    def outstanding(self) -> tuple[MadeByOp, ...]:
        """Changes that are not taken back, in order."""
        return tuple(self._outstanding)

    def holds(self, change: MadeByOp) -> bool:
        """Whether a change is made and not taken back."""
        return any(one.is_same(change) for one in self._outstanding)

    def recorded(self, change: MadeByOp) -> MadeByOp:
        """The same change as it was made; itself where it was not."""
        return next((one for one in reversed(self._outstanding) if one.is_same(change)), change)

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
        agent = place.host
        if agent.holds == self.token:
            return ()
        try:
            return tuple(agent.hold_machine(what, self.token))
        except RefusedError as error:
            if not place.is_remote:
                raise
            raise RefusedError(
                str(error).replace(THIS_HOST.restore, place.address.restore)
            ) from None

    def let_go_of_machine(self, place: Place = HERE) -> None:
        """Let others change what is machine-wide, unless something of ours is changed."""
        hosts.let_go(self.token, place.address)

    def undo(self, change: MadeByOp, *, still: bool = False) -> str | None:
        """Take one change back and say what was done; harmless if it is not outstanding.

        Args:
            change: which.
            still: it is made again at once, so that the agent's ledger shall not forget it.

        Raises:
            TiltyardError: if that is not possible; the change stays recorded.
        """
        if not self.holds(change):
            return None
        row = [self.recorded(change)]
        said = _take_back(row, still=still)
        if not still:
            self._forget(row)
        return said

    def undo_row(self, row: Sequence[MadeByOp]) -> None:
        """Take changes of one agent back in one exchange, last first.

        Raises:
            TiltyardError: if that is not possible; all of them stay recorded.
        """
        if row := [one for one in row if one in self._outstanding]:
            _take_back(row)
            self._forget(row)

    def _forget(self, row: Sequence[MadeByOp]) -> None:
        self._outstanding = [one for one in self._outstanding if one not in row]

    def _made_at(self, place: Place) -> list[MadeByOp]:
        return [one for one in self._outstanding if one.address == place.address]

    def forget_lost(self, place: Place) -> None:
        """What an agent that has ended had changed it has taken back, or that is done now."""
        for change in reversed(self._made_at(place)):
            if change.ledger not in place.host.ledgers:
                self.undo(change)

    def leave(self, place: Place, command: Sequence[str]) -> None:
        """Have another host booted; what outlasts the boot there stays.

        Raises:
            BusyError: if others are at work there; nothing was done.
            TiltyardError: if it cannot be booted; what is recorded stays.
        """
        self.uses(place)
        self.come_back(place)  # One that had not come back in time may have by now.
        made = self._made_at(place)
        keep = [one.number for one in made if one.outlasts_boot]
        place.host.leave(command, self.token, keep, alone=True)
        self._forget([one for one in made if not one.outlasts_boot])

    def come_back(self, place: Place) -> None:
        """Go on, after a boot, with what was kept there."""
        place.host.take_up(self.token)
        self.forget_lost(place)

    def take_back_but_kept(self) -> tuple[MadeByOp, ...]:
        """Take back what does not outlast a boot of this host; what does.

        Raises:
            TiltyardError: if something could not be taken back.
        """
        self.forget_lost(HERE)
        kept = [one for one in self._made_at(HERE) if one.outlasts_boot]
        self._take_back_all(but=kept)
        return tuple(kept)

    def hand_over(self, command: Sequence[str]) -> None:
        """Have this host booted; what is outstanding is for the run that goes on after that.

        Raises:
            TiltyardError: if it cannot be booted; all of it is still outstanding.
        """
        HERE.host.leave(command, self.token, [one.number for one in self._outstanding])
        self._outstanding.clear()

    def take_up(self, token: str, kept: Sequence[MadeByOp]) -> None:
        """Go on with what a run has kept over a boot of this host, unless it was given up since.

        Args:
            token: of that run.
            kept: what :meth:`take_back_but_kept` told.

        Raises:
            TiltyardError: if the record of it is not whole.
        """
        if HERE.host.take_up(token):
            self.token = token
            self._outstanding += kept
            self.forget_lost(HERE)

    def close(self) -> None:
        """Take back what is outstanding, last change first.

        Raises:
            UnreachableError: if it is on another host that is not reached.
            TiltyardError: if something could not be taken back; the agent tries again at its end,
                and then whoever recovers.
        """
        try:
            self._take_back_all()
        finally:
            self._outstanding.clear()
            hosts.let_go(self.token)

    def _take_back_all(self, but: Sequence[MadeByOp] = ()) -> None:
        errors: list[TiltyardError] = []
        lost: set[Address] = set()
        while rest := [one for one in self._outstanding if one not in but]:
            row = last_row(rest)
            try:
                if row[0].address not in lost:
                    _take_back(row)
            except UnreachableError:
                lost.add(row[0].address)
            except TiltyardError as error:
                errors.append(_with_fix(error, row[0].address))
            self._forget(row)
        while self._used:
            place = self._used.pop()
            try:
                _recover_for(place, self.token)
            except TiltyardError as error:
                errors.append(error)
        if errors:
            away = all(isinstance(error, UnreachableError) for error in errors)
            text = "; ".join(map(str, errors))
            raise UnreachableError(text) if away else NotRestoredError(text)


def last_row(changes: Sequence[MadeByOp]) -> list[MadeByOp]:
    """The last of some changes, as far as one agent has them in one ledger; the last one first."""
    row: list[MadeByOp] = []
    for change in reversed(changes):
        if row and (change.address, change.ledger) != (row[0].address, row[0].ledger):
            break
        row.append(change)
    return row


def _take_back(row: Sequence[MadeByOp], *, still: bool = False) -> str | None:
    """Changes of one ledger; the agent does, or another one if that has ended without doing so."""
    numbers = [one.number for one in row]
    place = Place(row[0].address)
    found = place.ask(lambda host: host.undo(row[0].ledger, numbers, still=still))
    if found.left:
        raise RefusedError("; ".join(map(shown, found.left)))
    return "; ".join(map(shown, found.done)) or None


def _with_fix(error: TiltyardError, address: Address) -> TiltyardError:
    return NotRestoredError(f"{error}; try: {address.restore}")


def _recover_for(place: Place, token: str) -> None:
    """Have put back what is left on another host, also what was kept there for this run.

    Raises:
        UnreachableError: if the host is not reached.
        NotRestoredError: if something stays changed there.
    """

    def question(host: Host) -> HostUndone:
        return host.recover(kept_for=token)

    try:
        found = place.ask(question)
    except UnreachableError as error:
        if (later := place.address.after_the_job(str(error))) is None:
            raise UnreachableError(
                f"{error}; what was changed there and is not put back yet is left there. "
                f"Fix: {place.address.restore}"
            ) from None
        try:
            found = Place(later).ask(question)
        finally:
            hosts.end(later)  # As long as it is there, its job has the node.
    if found.left:
        left = "; ".join(f"{place}: {shown(left)}" for left in found.left)
        raise _with_fix(RefusedError(left), place.address)


@dataclass(frozen=True)
class PutBack:
    """What became of what killed runs have left changed, one sentence each."""

    done: tuple[str, ...]
    left: tuple[str, ...]
    """What could not be put back, and why."""


def recover() -> list[str]:
    """Have put back what agents of this host that were killed have left changed.

    Returns:
        What was done and what could not be done, one sentence each; empty if there was nothing.

    Raises:
        RefusedError: if another user has a hand in the state directory.
    """
    found = _put_back(HERE, kept=False)
    return [*found.done, *found.left]


def restore(place: Place = HERE) -> PutBack:
    """The same, as a person asks for it: what a run keeps for after a boot is taken back too.

    Raises:
        UnreachableError: if another host is not reached.
        RefusedError: if another user has a hand in the state directory.
    """
    return _put_back(place, kept=True)


def _put_back(place: Place, *, kept: bool) -> PutBack:
    if not place.is_remote:
        own_state_directory()
    try:
        found = place.ask(lambda host: host.recover(kept=kept))
    except UnreachableError:
        raise
    except TiltyardError as error:
        found = HostUndone(done=[], left=[str(error)])
    done = (f"an earlier run was killed: {shown(said)}" for said in found.done)
    left = (f"could not take back what an earlier run left: {shown(said)}" for said in found.left)
    return PutBack(tuple(done), tuple(left))
