"""The hosts of a placement: which session of a study each of them carries out.

A host is lost when it is not reached; the session that it was carrying out is begun anew on
another one, and what there is of it is put aside, kept and reported.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tiltyard.errors import BusyError, HostLacksError, TiltyardError
from tiltyard.host import commands
from tiltyard.host.changes.slurm import HeldNodes, jobs_named
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import HERE, Place
from tiltyard.study.model import Placement

_DOWN: Final = re.compile(r"down|drain|fail|unk|reboot|maint|power|planned", re.IGNORECASE)
_LONGEST_S: Final = 86_400.0
"""What is waited for is said to Slurm; this only ends what hangs."""
_ANSWERS_S: Final = 20.0
_SOON_S: Final = 20.0
"""How long another node is waited for while other sessions go on."""


def foreseen(placement: Placement | None) -> dict[str, Place]:
    """The hosts as far as they are known before there is an allocation; of Slurm a stand-in."""
    if placement is None:
        return {"": HERE}
    if placement.engine == "slurm":
        return {"NODE": Place.through_slurm("JOB", "NODE")}
    return {host: Place.over_ssh(host, placement.ssh_options) for host in placement.hosts}


@dataclass
class Nodes:
    """The hosts of one start of a run."""

    placement: Placement
    ledger: Ledger
    wait_s: float
    places: dict[str, Place] = field(default_factory=dict)
    """Those that there are, by name."""
    lost: list[str] = field(default_factory=list)

    def take(self, known: Iterable[str], count: int) -> None:
        """Get hosts for so many sessions, of which some have a host already.

        Args:
            known: hosts that sessions were begun on.
            count: of all sessions that are not over.

        Raises:
            HostLacksError: if there is no Slurm.
            BusyError: if nodes are not free in time.
        """
        placement, begun = self.placement, set(known)
        if placement.engine == "ssh":
            self.places.update(foreseen(placement))
            return
        require_slurm(placement)
        self.lost += sorted(_down(begun))
        wanted = tuple(sorted(begun - {*self.lost}))
        held = hold_nodes(self.ledger, placement, count, wanted, (*self.lost,), self.wait_s)
        self.places.update(held)

    def another(self, taken: Iterable[str]) -> str:
        """A host that no session is on; empty: there is none now."""
        free = [name for name in self.places if name not in {*taken, *self.lost}]
        if not free and self.placement.engine == "slurm":
            without = (*self.places, *self.lost)
            try:
                found = hold_nodes(self.ledger, self.placement, 1, (), without, _SOON_S)
            except TiltyardError:
                return ""
            self.places.update(found)
            free = [*found]
        return free[0] if free else ""

    def is_reached(self, name: str) -> bool:
        """Whether a host answers now."""
        try:
            self.places[name].run(("true",), timeout_s=_ANSWERS_S)
        except TiltyardError:
            return False
        return self.placement.engine == "ssh" or not _down({name})


def hold_nodes(
    ledger: Ledger,
    placement: Placement,
    count: int,
    wanted: tuple[str, ...],
    without: tuple[str, ...],
    wait_s: float,
) -> dict[str, Place]:
    """Get so many whole nodes; the ledger has them until they are let go.

    Args:
        ledger: of the process that holds them.
        placement: what is asked of Slurm.
        count: of nodes.
        wanted: names of nodes that are to be among them.
        without: names of nodes that are not.
        wait_s: how long to wait for them.

    Returns:
        Node → how it is reached.

    Raises:
        HostLacksError: if there is no Slurm.
        BusyError: if they are not free in that time.
        TiltyardError: if Slurm refuses; the message has its words.
    """
    held = ledger.record(HeldNodes(name=ledger.name(f"nodes-{len(ledger.outstanding) + 1}")))
    line = (
        *("salloc", "--no-shell", "--no-kill", "--quiet", f"--job-name={held.name}"),
        *(f"--immediate={max(1, round(wait_s))}", *_asked(placement, count, wanted, without)),
    )
    try:
        commands.run(line, timeout_s=_LONGEST_S)
        ((job, nodes),) = jobs_named(held.name)
        names = commands.run(("scontrol", "show", "hostnames", nodes)).stdout.split()
    except commands.CommandFailedError as error:
        ledger.undo(held)
        said = _told(error)
        kind = BusyError if "mmediate" in said or "queued" in said else TiltyardError
        raise kind(f"Slurm gives no {count} nodes: {said}") from None
    except BaseException:
        ledger.undo(held)
        raise
    return {name: Place.through_slurm(job, name) for name in names}


def _down(nodes: set[str]) -> set[str]:
    """Those of them that Slurm would give to nobody now."""
    if not nodes:
        return set()
    told = commands.run(
        ("sinfo", "--noheader", "--Node", f"--nodes={','.join(sorted(nodes))}", "-o", "%N %T")
    ).stdout
    states = dict(line.split() for line in told.splitlines())
    return {name for name in nodes if _DOWN.search(states.get(name, "down"))}


def require_slurm(placement: Placement) -> None:
    """Ask Slurm whether it would ever give such nodes; nothing is allocated.

    Raises:
        HostLacksError: if there is no Slurm, or it would not.
    """
    try:
        commands.run(("srun", "--test-only", *_asked(placement, placement.nodes), "true"))
    except commands.CommandFailedError as error:
        raise HostLacksError(f"Slurm: {_told(error)}") from None


def _asked(
    placement: Placement, count: int, wanted: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """What is asked of Slurm, as its options."""
    options = {
        "nodes": f"{count}",
        "partition": placement.partition,
        "account": placement.account,
        "constraint": placement.constraint,
        "licenses": placement.licenses,
        "nodelist": ",".join(wanted),
        "exclude": ",".join(without),
    }
    return ("--exclusive", *(f"--{name}={value}" for name, value in options.items() if value))


def _told(error: commands.CommandFailedError) -> str:
    """Slurm's words without the name of its program."""
    return re.sub(r"^(\w+: |error: )+", "", error.complaint)
