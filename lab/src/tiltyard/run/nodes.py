"""The hosts of a placement: which session of a study each of them carries out.

A host is lost when it is not reached; the session that it was carrying out is begun anew on
another one, and what there is of it is put aside, kept and reported.
"""

import contextlib
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from tiltyard.address import Address
from tiltyard.errors import BusyError, HostLacksError, TiltyardError
from tiltyard.host import commands
from tiltyard.host.ledger import Ledger
from tiltyard.host.op import Owe
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Steps
from tiltyard.study.model import Placement
from tiltyard.units import format_duration

_DOWN: Final = re.compile(r"down|drain|fail|unk|reboot|maint|power|planned", re.IGNORECASE)
_ASKED: Final = {"partition", "account", "constraint", "licenses"}
_ANSWERS_S: Final = 20.0
_STEP_S: Final = 0.1
_SAID: Final = 1 << 16
"""Characters of what it says while it waits."""
_SOON_S: Final = 20.0
"""How long another node is waited for while other sessions go on."""


def named(placement: Placement) -> dict[str, Place]:
    """The hosts that a study names, by name."""
    return {address.host: Place(address) for address in placement.addresses}


@dataclass
class Nodes:
    """The hosts of one start of a run."""

    placement: Placement
    ledger: Ledger
    check: Callable[[], None]
    """Raises if a person has asked to stop."""
    places: dict[str, Place] = field(default_factory=dict)
    """Those that there are, by name."""
    lost: set[str] = field(default_factory=set)

    def take(self, begun: set[str], count: int, wait_s: float) -> None:
        """Get hosts for so many sessions, of which some have a host already.

        Args:
            begun: hosts that sessions were begun on.
            count: of all sessions that are not over.
            wait_s: how long to wait for nodes.

        Raises:
            HostLacksError: if there is no Slurm.
            BusyError: if nodes are not free in time.
        """
        if self.placement.engine != "slurm":
            self.places.update(named(self.placement))
            return
        require_slurm(self.placement)
        self.lost |= _down(begun)
        self._hold(count, begun - self.lost, wait_s)

    def another(self, taken: Iterable[str]) -> str:
        """A host that no session is on; empty: there is none now, or a person asks to stop."""
        if self.placement.engine == "slurm" and not self._free(taken):
            with contextlib.suppress(TiltyardError):
                self._hold(1, set(), _SOON_S)
        return next(iter(self._free(taken)), "")

    def _free(self, taken: Iterable[str]) -> list[str]:
        return [name for name in self.places if name not in {*taken, *self.lost}]

    def is_reached(self, name: str) -> bool:
        """Whether a host answers now."""
        try:
            self.places[name].run(("true",), timeout_s=_ANSWERS_S)
            return self.placement.engine != "slurm" or not _down({name})
        except TiltyardError:
            return False

    def _hold(self, count: int, wanted: set[str], wait_s: float) -> None:
        """Get so many whole nodes; the ledger has them until they are let go.

        Args:
            count: of nodes, none of which there is already.
            wanted: names of nodes that are to be among them.
            wait_s: how long to wait for them.

        Raises:
            BusyError: if they are not free in that time.
            HostLacksError: if it would never give them; the message has its words.
        """
        name = self.ledger.name(f"nodes-{len(self.ledger.outstanding) + 1}")
        steps = Steps(self.ledger, self.check)
        steps.take([let_go(name)])
        try:
            without = {*self.places, *self.lost}
            # Licences are held with the first nodes: asked for again, they would never be free.
            asked = self.placement
            if self.places:
                asked = asked.model_copy(update={"licenses": ""})
            _allocate(salloc(asked, name, count, wanted, without), wait_s, self.check)
            told = HERE.run(_jobs_named(name, "%i %N")).stdout
            jobs = [(words[0], words[-1]) for line in told.splitlines() if (words := line.split())]
            if not jobs:
                raise BusyError("Slurm has taken the nodes back. Fix: the same command")
            with commands.understood("Slurm"):
                ((job, nodes),) = jobs
            names = HERE.run(("scontrol", "show", "hostnames", nodes)).stdout.split()
        except BaseException:
            steps.undo()
            raise
        self.places.update({one: Place(Address(one, by="slurm", job=job)) for one in names})


def let_go(name: str) -> Owe:
    """Nodes that are held for the job of that name are given back."""
    cancel = ("scancel", "--me", f"--name={name}")
    return Owe(
        what=f"released the nodes of Slurm's job {name}",
        argv=cancel,
        back=shlex.join(cancel),
        look=_jobs_named(name, "%i"),
    )


def _jobs_named(name: str, shown: str) -> tuple[str, ...]:
    """The command that lists our jobs of that name that are not over: squeue(1)."""
    return ("squeue", "--noheader", f"--user={os.geteuid()}", f"--name={name}", "-o", shown)


def _allocate(line: tuple[str, ...], wait_s: float, check: Callable[[], None]) -> None:
    """Wait in Slurm's queue; a person who asks to stop ends that."""
    give_up = time.monotonic() + wait_s
    with tempfile.TemporaryFile("w+") as said:
        waiting = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        try:
            while waiting.poll() is None:
                check()
                if time.monotonic() > give_up:
                    raise BusyError(
                        f"Slurm has given no nodes in {format_duration(wait_s)}. Fix: the same "
                        "command when they are free, or with a longer --wait"
                    )
                time.sleep(_STEP_S)
        finally:
            waiting.terminate()
            waiting.wait()
        said.seek(0)
        if waiting.returncode:
            told = commands.complaint(said.read(_SAID), waiting.returncode)
            raise HostLacksError(f"Slurm: {_plain(told)}")


def _down(nodes: set[str]) -> set[str]:
    """Those of them that Slurm would give to nobody now."""
    if not nodes:
        return set()
    told = HERE.run(
        ("sinfo", "--noheader", "--Node", f"--nodes={','.join(sorted(nodes))}", "-o", "%N %T")
    ).stdout
    with commands.understood("Slurm"):
        states = dict(line.split() for line in told.splitlines())
    return {name for name in nodes if _DOWN.search(states.get(name, "down"))}


def require_slurm(placement: Placement) -> None:
    """Ask Slurm whether it would ever give such nodes; nothing is allocated.

    Raises:
        HostLacksError: if there is no Slurm, or it would not.
    """
    try:
        HERE.run(("srun", "--test-only", *_asked(placement, placement.nodes), "true"))
    except HostLacksError:
        raise
    except TiltyardError as error:
        raise HostLacksError(f"Slurm: {_plain(str(error))}") from None


def salloc(
    placement: Placement,
    name: str,
    count: int,
    wanted: Iterable[str] = (),
    without: Iterable[str] = (),
) -> tuple[str, ...]:
    """The command that waits for nodes, and ends when they are held.

    Args:
        placement: what is asked of Slurm.
        name: of the job.
        count: of nodes.
        wanted: names of nodes that are to be among them.
        without: names of nodes that are not.
    """
    named = {"nodelist": ",".join(sorted(wanted)), "exclude": ",".join(sorted(without))}
    return (
        *("salloc", "--no-shell", "--no-kill", "--quiet", f"--job-name={name}"),
        *_asked(placement, count),
        *(f"--{option}={names}" for option, names in named.items() if names),
    )


def _asked(placement: Placement, count: int) -> tuple[str, ...]:
    """What nodes are asked for, as options of Slurm's programs."""
    asked = {"nodes": f"{count}", **placement.model_dump(include=_ASKED)}
    return ("--exclusive", *(f"--{name}={value}" for name, value in asked.items() if value))


def _plain(complaint: str) -> str:
    """Slurm's words without the name of its program."""
    return re.sub(r"^(\w+: )+", "", complaint)
