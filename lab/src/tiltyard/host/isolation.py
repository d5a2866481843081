"""Isolation: keep the work of others off the CPUs that measure, and give these back afterwards.

The agent of the host makes a group for what measures whose CPUs the kernel keeps everybody else off
(``isolate.rs``); it says why not where that would harm somebody, or cannot be.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from tiltyard.errors import BusyError
from tiltyard.host.commands import shown
from tiltyard.host.cpus import cpu_list
from tiltyard.host.host import Host
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Op, Steps, Text
from tiltyard.units import count_of
from tiltyard.wire import HostDid

_ENTER: Final = 'echo 0 > "$0" && exec "$@"'
"""Moves itself to a control group, and becomes a command."""
_ENTRANCE: Final = "ENTRANCE"
_THREADS: Final = "THREADS"


@dataclass(frozen=True)
class Isolation:
    """What was granted."""

    granted: bool
    text: str
    """What was done and what stays there, or why nothing was done."""
    command: tuple[str, ...] = ()
    """Starts what measures, so that it is on these CPUs; nothing else is."""


class Isolate(Op):
    """CPUs for what measures alone. Where that cannot be, nothing is changed and it is skipped."""

    kind: Literal["isolate"] = "isolate"
    lasts: Literal["turn", "run"] = "run"
    cpus: tuple[int, ...]
    group: str
    """Name of the one that what measures enters."""
    looks_only: bool = False

    def op(self, text: Text) -> dict[str, object]:  # noqa: ARG002  it names no output
        """Which, and by what group."""
        how = {"group": self.group, "looks_only": self.looks_only}
        return {"op": "isolate", "cpus": [*self.cpus], **how}

    def yields(self, did: HostDid) -> dict[str, str]:
        """How the group is entered, and who may still run there."""
        if (made := did.isolated) is None:
            return {}
        return {_ENTRANCE: made.enter, _THREADS: count_of(made.kernel_threads, "thread")}

    @property
    def of_machine(self) -> str:
        """Others lose CPUs by it."""
        return f"CPU {cpu_list(self.cpus)}"

    @property
    def line(self) -> str:
        """In words."""
        return f"# keep others off CPU {cpu_list(self.cpus)}"

    @property
    def way_back(self) -> str:
        """They get the CPUs back."""
        return f"# let others run on CPU {cpu_list(self.cpus)} again"


def isolate(
    ledger: Ledger,
    cpus: tuple[int, ...],
    note: Callable[[str], None] = lambda _: None,
    place: Place = HERE,
) -> Isolation:
    """Keep others off CPUs until the ledger takes it back.

    Args:
        ledger: of the run that has them then.
        cpus: those that measure.
        note: gets what a run that was killed had left, and is put back first.
        place: the host.

    Raises:
        BusyError: if another run has CPUs for itself, or has set something else of this machine.
        TiltyardError: if what was half done cannot be taken back.
    """
    (steps := Steps(ledger, note=note, place=place)).begin()
    # One that has them may have been killed: what it left is put back when the machine is held.
    with contextlib.suppress(BusyError):
        if reason := _hindrance(cpus, place):
            return Isolation(False, reason)
    try:
        steps.take((Isolate(cpus=cpus, group=ledger.name("measures")),))
    finally:
        ledger.let_go_of_machine(place)
    if steps.skipped:
        ((_, skipped),) = steps.skipped
        return Isolation(False, shown(skipped.text))
    with place.understood():
        entrance, staying = (steps.outputs[name] for name in (_ENTRANCE, _THREADS))
    return Isolation(
        granted=True,
        text=f"CPU {cpu_list(cpus)} for what measures alone; "
        f"{staying} of the kernel may still run there",
        command=("sh", "-c", _ENTER, entrance),
    )


def hindrance(cpus: tuple[int, ...]) -> str:
    """Why others could not be kept off these CPUs now; empty: they could. Nothing is changed."""
    try:
        return _hindrance(cpus, HERE)
    except BusyError as error:
        return str(error)


def _hindrance(cpus: tuple[int, ...], place: Place) -> str:
    """The same.

    Raises:
        BusyError: if another run has CPUs for itself.
    """
    look = Isolate(cpus=cpus, group="tiltyard-none", looks_only=True)
    did = place.ask(lambda host: host.change([look.op(str)]))
    return "; ".join(shown(skipped.text) for skipped in did.skipped)


class Isolations:
    """What is granted on other hosts, each time from the first turn there to the end of the run."""

    def __init__(self, cpus: tuple[int, ...] = ()) -> None:
        """Nothing is asked for yet.

        Args:
            cpus: those that measure, if others are to be kept off them.
        """
        self.cpus = cpus
        self._found: dict[Host, Isolation] = {}
        """By the agent: with one that has ended, it has ended as well."""

    def at(self, place: Place, ledger: Ledger, note: Callable[[str], None]) -> Isolation:
        """What is granted there; it is asked for where it was not.

        Raises:
            BusyError, TiltyardError: see :func:`isolate`.
        """
        if (agent := place.host) not in self._found:
            self._found[agent] = isolate(ledger, self.cpus, note, place)
        return self._found[agent]

    def fact(self, found: Isolation) -> dict[str, str]:
        """What a system says of it."""
        kept = "others are kept off" if found.granted else "others are not kept off"
        return {"isolation": f"{kept} CPU {cpu_list(self.cpus)}: {found.text}"}
