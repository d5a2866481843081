"""A system of any kind on another host: the setting ``host`` of most kinds, and placements.

The agent there prepares it, op by op: it needs nothing else there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tiltyard.address import Reached
from tiltyard.errors import HostLacksError, RefusedError, TiltyardError, UnreachableError
from tiltyard.host.devices.disks import DISKS, LOOKED_AT
from tiltyard.host.facts import facts_of_another
from tiltyard.host.host import Host, hosts
from tiltyard.host.isolation import Isolation
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place
from tiltyard.host.processes import BOOT_ID
from tiltyard.host.steps import Step
from tiltyard.host.telemetry import disk_under
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.booting import BOOTED, boot, boot_problems
from tiltyard.systems.kind import AnyKind, Problem, ReachableSettings, Site, System, Up
from tiltyard.systems.other_host import engine_command, problems_of
from tiltyard.systems.untrusted_inputs import Brought

_OF_A_HOST: Final = (TiltyardError, HostLacksError, RefusedError)
"""Errors that may not say on which host they were."""


def with_remote(kind: AnyKind) -> AnyKind:
    """The same kind, whose systems heed the setting ``host``, or are where a placement has them."""

    def opened(name: str, settings: Any, site: Site) -> System:
        place = _place_of(kind, settings, site)
        if place is None:
            return kind.open(name, settings, site)
        there = replace(site, place=place)
        boots = getattr(settings, "reset", "") == "reboot"
        command = settings.reboot_command if boots else ()
        return There(kind.open(name, settings, there), there, command)

    def brings(settings: Any, root: Path) -> Iterator[Brought]:
        if isinstance(settings, ReachableSettings):
            yield from untrusted_inputs.way("host", settings.address)
        yield from kind.brings(settings, root)

    return replace(kind, open=opened, brings=brings)


def _place_of(kind: AnyKind, settings: Any, site: Site) -> Place | None:
    """Another host that has the system."""
    if isinstance(settings, Reached) and settings.host:
        return Place(settings.address)
    return site.place if site.place.is_remote and kind.placed else None


class There(System):
    """A system whose steps are ops. Its trials are executed by the agent's own file."""

    def __init__(self, system: System, site: Site, boot_command: Sequence[str] = ()) -> None:
        """Nothing is touched yet.

        Args:
            system: the same as here, at another place.
            site: with that place.
            boot_command: what boots its host before each turn; none: that is not booted.
        """
        self._system = system
        self._site = site
        self._boot_command = boot_command
        self._isolations, self._note = site.isolations, site.note
        self.place = site.place
        self.on = str(site.place)
        self.rest = system.rest

    def problems(self) -> list[Problem]:
        """That it is not reached, or what is found there."""
        if problems := problems_of(self.place):
            return problems
        try:
            with self.place.understood():
                found = self._system.problems()
        except TiltyardError as error:
            lost = isinstance(error, UnreachableError)
            return [Problem("error", str(error), passes=lost)]
        found = [replace(each, text=f"{self.place}: {each.text}") for each in found]
        if self._boot_command and not any(each.severity == "error" for each in found):
            found += boot_problems(self.place, self._boot_command)
        return found

    def boot(self) -> Mapping[str, str]:
        """Boot that host, if the study asks for it."""
        if not self._boot_command:
            return {}
        return {BOOTED: boot(self.place, self._site, self._boot_command)}

    def steps_up(self) -> Iterable[Step]:
        """The system's own, and so are all others."""
        return self._system.steps_up()

    def steps_refresh(self) -> Iterable[Step]:
        """See :meth:`steps_up`."""
        return self._system.steps_refresh()

    def steps_down(self) -> Iterable[Step]:
        """See :meth:`steps_up`."""
        return self._system.steps_down()

    def look(self) -> Up:
        """See :meth:`steps_up`."""
        return self._system.look()

    def bring_up(self) -> Up:
        """Bring it up, and see it from here.

        Raises:
            TiltyardError: if it does not come up; the message names the host that lacks something.
        """
        agent, ledger = self.place.host, self._site.ledger
        assert isinstance(ledger, Ledger)
        ledger.forget_lost(self.place)
        apart = self._kept_off()
        try:
            up = self._system.bring_up()
        except TiltyardError as error:
            if type(error) not in _OF_A_HOST or str(self.place) in str(error):
                raise
            raise type(error)(f"{self.place}: {error}") from None
        try:
            return self._as_seen_here(up, agent, apart)
        except BaseException:
            self.take_down()
            raise

    def _kept_off(self) -> Isolation | None:
        """What is granted of the CPUs that others are to be kept off, if any are."""
        if not self._isolations.cpus:
            return None
        assert isinstance(self._site.ledger, Ledger)
        return self._isolations.at(self.place, self._site.ledger, self._note)

    def _as_seen_here(self, up: Up, agent: Host, apart: Isolation | None) -> Up:
        place = self.place
        with place.looking(files=(*LOOKED_AT, str(BOOT_ID)), links=(DISKS,)):
            directory = up.target if isinstance(up.target, Path) and not up.engine else None
            disk = disk_under(directory, place)
            facts = facts_of_another(place)

        def started(*engine: str) -> tuple[str, ...]:
            prefix = (*(apart.command if apart else ()), *up.prefix)
            return engine_command(place, *engine, prefix=prefix)

        def watched() -> Mapping[str, object]:
            who = {"programs": hosts.engines(place.address), "servers": [*up.servers()]}
            return {"who": who} | ({"disk": disk} if disk else {})

        gone = f"the agent on {place} that has prepared it has ended"
        return replace(
            up,
            facts={
                "host": self.on,
                **facts,
                **up.facts,
                **(self._isolations.fact(apart) if apart else {}),
            },
            engine=started(*(up.engine or (agent.engine,))),
            another=lambda file: started(hosts.of(place.address, file).engine),
            place=place,
            prefix=(),
            lost=lambda: up.lost() if agent.is_there else gone,
            servers=lambda: (),
            watched=watched,
        )

    def refresh(self) -> None:
        """The system's own."""
        self._system.refresh()

    def take_down(self) -> None:
        """The system's own."""
        self._system.take_down()
