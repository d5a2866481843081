"""A system of any kind on another host: the setting ``host`` of most kinds, and placements."""

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue, TypeAdapter

from tiltyard.errors import InterruptedRunError, RefusedError, TiltyardError, UnreachableError
from tiltyard.folder import open_to_change
from tiltyard.host import commands
from tiltyard.host.facts import facts_of_another
from tiltyard.host.place import Place
from tiltyard.host.steps import Step, Steps
from tiltyard.host.telemetry import FarWatch
from tiltyard.ownership import expanded, make_directory
from tiltyard.phases import phase
from tiltyard.study.load import parsed, read_text
from tiltyard.systems import brought
from tiltyard.systems.booting import BOOTED, boot, boot_problems
from tiltyard.systems.brought import Brought
from tiltyard.systems.deputy.link import Check, Deputy, nothing
from tiltyard.systems.deputy.messages import Request, UpThere
from tiltyard.systems.kind import (
    CONSOLES,
    AnyKind,
    Problem,
    ReachableSettings,
    Site,
    System,
    Up,
)
from tiltyard.systems.other_host import OtherHost
from tiltyard.systems.planned import PlannedPart
from tiltyard.systems.there import There
from tiltyard.tuning.load import is_path

_PROBLEMS: Final = TypeAdapter(list[Problem])
_PARTS: Final = TypeAdapter(list[PlannedPart])
_SAID: Final = TypeAdapter(dict[str, str])
_CONSOLE: Final = re.compile(r"[0-9a-f]{8}\.log")
_PATHS: Final = ("directory", "disk", "kernel", "modules")
"""Settings that are paths of that host; a kernel without a slash is a name."""


def anywhere(kind: AnyKind) -> AnyKind:
    """The same kind, whose systems heed the setting ``host``, or are where a placement has them."""

    def opened(name: str, settings: Any, site: Site) -> System:
        place = _place_of(kind, settings, site)
        if place is None:
            return kind.open(name, settings, site)
        there = replace(site, place=place)
        if kind.by_ops(settings):
            return There(kind.open(name, settings, there), there, _boot_command(settings))
        return FarSystem(kind.there or kind.name, name, settings, there)

    def brings(settings: Any, root: Path) -> Iterator[Brought]:
        if isinstance(settings, ReachableSettings) and settings.host:
            yield from brought.ssh("host", settings.host, settings.ssh_options)
        yield from kind.brings(settings, root)

    return replace(kind, open=opened, brings=brings)


def _boot_command(settings: Any) -> tuple[str, ...]:
    """What boots the host before each turn; empty: nothing does."""
    return settings.reboot_command if getattr(settings, "reset", "") == "reboot" else ()


def _place_of(kind: AnyKind, settings: Any, site: Site) -> Place | None:
    """Another host that has the system."""
    if host := getattr(settings, "host", None):
        return Place.over_ssh(host, settings.ssh_options)
    return site.place if site.place.ssh and kind.placed else None


class FarSystem(System):
    """What is asked of it a deputy does on its host."""

    def __init__(self, kind_name: str, name: str, settings: Any, site: Site) -> None:
        """Nothing is touched yet.

        Args:
            kind_name: which kind of system it is there.
            name: its own.
            settings: of the kind.
            site: with the other host.
        """
        self._kind = kind_name
        self._name = name
        self._settings = settings
        self._site = site
        self._boot_command = _boot_command(settings)
        self._deputy: Deputy | None = None
        """Who knows it."""
        self.place = site.place
        self.steps = Steps(site.ledger, site.check, site.note)

    def problems(self) -> list[Problem]:
        """What is found there, by the same code as here; or why nothing can be asked there."""
        try:
            found = self._ask("problems", check=self._site.check)
            with self.place.understood():
                listed = _PROBLEMS.validate_python(found)
        except InterruptedRunError:
            raise
        except TiltyardError as error:
            # Where only the deputy was lost, the next one will answer.
            lost = isinstance(error, UnreachableError)
            text = str(error)
            return OtherHost(self.place).problems() or [Problem("error", text, passes=lost)]
        listed = [replace(each, text=f"{self.place}: {each.text}") for each in listed]
        if self._boot_command and not any(each.severity == "error" for each in listed):
            self._site.deputies.end(self.place)  # Its ledger is one of somebody who is at work.
            listed += boot_problems(self.place, self._boot_command)
        return listed

    def steps_up(self) -> Iterable[Step]:
        """They are taken there."""
        return ()

    def look(self) -> Up:
        """It is looked at there."""
        raise AssertionError("a deputy looks")

    def planned(self) -> list[PlannedPart]:
        """What a dry run tells there."""
        found = self._ask("planned")
        with self.place.understood():
            parts = _PARTS.validate_python(found)
        return [replace(each, part=f"{each.part} on {self.place}") for each in parts]

    def boot(self) -> Mapping[str, str]:
        """Boot that host, if the study asks for it; its deputy has taken back everything before."""
        if not self._boot_command:
            return {}
        self._site.deputies.end(self.place)
        return {BOOTED: boot(self.place, self._site, self._boot_command)}

    def bring_up(self) -> Up:
        """Bring it up there."""
        try:
            found = self._ask("bring_up", check=self._site.check, given=self._kept_off())
            with self.place.understood():
                told = UpThere.model_validate(found)
            return self._as_seen_here(told)
        except BaseException:
            with contextlib.suppress(TiltyardError):
                self.take_down()
            raise

    def _kept_off(self) -> dict[str, JsonValue]:
        """What the deputy is told of the CPUs that others are to be kept off."""
        cpus = self._site.isolations.cpus
        return {"isolate": list(cpus)} if cpus else {}

    def refresh(self) -> None:
        """Refresh it there."""
        self._ask("refresh", check=self._site.check)

    def take_down(self) -> None:
        """Take it down there; a host that has lost us has done so by itself.

        Raises:
            UnreachableError: if the deputy has died; the next one takes back what it has left.
        """
        if self._deputy is not None and self._deputy.lives:
            try:
                self._keep(self._ask("take_down"))
            except TiltyardError as error:
                if self._deputy.lives:
                    raise
                raise UnreachableError(str(error)) from None

    def _keep(self, consoles: Any) -> None:
        """What the kernels of guests there have said; that host names no file of ours."""
        folder = self._site.root / CONSOLES
        with self.place.understood():
            told = _SAID.validate_python(consoles)
        for name, said in told.items():
            if _CONSOLE.fullmatch(name):
                make_directory(folder, exist_ok=True)
                with os.fdopen(open_to_change(folder / name, os.O_APPEND), "a") as console:
                    console.write(said)

    def _as_seen_here(self, told: UpThere) -> Up:
        def lost() -> str:
            # The deputy that has ended took its changes back, perhaps while the trial ran.
            try:
                return commands.shown(str(self._ask_what_is_up("lost") or ""))
            except TiltyardError as error:
                return str(error)

        return Up(
            target=told.target,
            commands=told.commands,
            facts={"host": str(self.place), **facts_of_another(self.place), **told.facts},
            failed_boots=told.failed_boots,
            engine=OtherHost(self.place).argv(*told.engine, prefix=told.prefix),
            place=self.place,
            cpus=told.cpus,
            lost=lost,
            watch=lambda: FarWatch(self.place, lambda: told.who, disk=told.disk),
            variables=told.variables,
            far_place=told.far_place,
            recipe=told.recipe,
        )

    def _ask(
        self, what: str, check: Check = nothing, given: Mapping[str, JsonValue] | None = None
    ) -> JsonValue:
        """Have the deputy do something with the system, which it is told of first."""
        deputy = self._site.deputies.of(self.place, self._site.ledger, self._site.check)
        if self._deputy is not deputy:
            self._open(deputy)
        with phase(f"{what.replace('_', ' ')} on {self.place}"):
            request = Request(do=what, system=self._name, given=dict(given or {}))
            return deputy.ask(request, check, self._site.note)

    def _ask_what_is_up(self, what: str) -> JsonValue:
        """Of a trial: with the deputy that has died, the system has gone."""
        if self._deputy is None or not self._deputy.lives:
            raise UnreachableError(f"{self.place}: what prepared {self._name} there has ended")
        return self._deputy.ask(Request(do=what, system=self._name))

    def _open(self, deputy: Deputy) -> None:
        for told in deputy.hello.recovered:
            self._site.note(f"{self.place}: {told}")
        given = self._settings.model_dump(mode="json", exclude={"host", "ssh_options"})
        for key in _PATHS:
            path = given.get(key)
            if isinstance(path, str) and path[:1] not in "/~" and (key != "kernel" or "/" in path):
                given[key] = f"~/{path}"  # As ssh has it, and not beside the study.
        files: dict[str, JsonValue] = {}
        profiles = given.get("tuning", [])
        if profiles:
            given["tuning"] = [self._profile(each, files) for each in profiles]
        deputy.ask(
            Request(
                do="open",
                system=self._name,
                given={
                    "kind": self._kind,
                    "settings": given,
                    "files": files,
                    "there": self._site.there,
                },
            )
        )
        self._deputy = deputy

    def _profile(self, asked: JsonValue, files: dict[str, JsonValue]) -> JsonValue:
        """A tuning profile as it is named there; the files of it go with it."""
        if not isinstance(asked, str) or not is_path(asked):
            return asked
        root = self._site.root.resolve()
        path = (root / expanded(Path(asked))).resolve()
        if not path.is_relative_to(root):
            raise RefusedError(
                f"tuning: {path} is not copied to {self.place}, for it does not lie beside the "
                f"study. Fix: cp {shlex.quote(str(path))} {shlex.quote(str(root))}"
            )
        name = str(path.relative_to(root))
        if name not in files:
            text = read_text(path)
            files[name] = text
            included: Any = parsed(text, path).get("include", [])
            for inner in included if isinstance(included, list) else [included]:
                if isinstance(inner, str) and is_path(inner):
                    self._profile(str(path.parent / inner), files)
        return name if is_path(name) else f"./{name}"
