"""A system that is tuned for its turns: the setting ``tuning`` of every kind.

What holds for the whole host is set before the system comes up, what belongs to its devices when
they are there; all of it is taken back when the turn ends, so that a system that is not tuned can
have the next one.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from tiltyard.errors import HostLacksError
from tiltyard.folder import HASHED
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Step, Steps
from tiltyard.systems.kind import AnyKind, Problem, Site, System, SystemSettings, Up
from tiltyard.systems.untrusted_inputs import Brought
from tiltyard.systems.volume import queue_facts
from tiltyard.tuning.knobs.sysctl import SysctlTable
from tiltyard.tuning.load import Asked, load_profiles
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import (
    Absent,
    Outcome,
    Scene,
    Setting,
    Stage,
    apply,
    grouped,
    launched_by,
    look_at,
    sentence,
    told,
)

_STARTED_BY_KERNEL: Final = frozenset(
    ("kernel.core_pattern", "kernel.hotplug", "kernel.modprobe", "kernel.poweroff_cmd")
)
"""Parameters whose value is a command that the kernel starts as root."""
_HANDLERS: Final = "fs.binfmt_misc."
_ELSEWHERE: Final = "the workload is started on another host, or in a guest"


def with_tuning(kind: AnyKind) -> AnyKind:
    """The same kind, whose systems heed the setting ``tuning``."""

    def opened(name: str, settings: Any, site: Site) -> System:
        system = (Tuned if settings.profiles else _untuned)(kind, name, settings, site)
        return TunedServer(system, settings, site) if _of_server(settings) else system

    def brings(settings: Any, root: Path) -> Iterator[Brought]:
        profile = load_profiles(settings.profiles, root)
        # Nothing is asked of another host for it: what is brought does not depend on what is there.
        own = settings.tuned(profile, HERE)[0] if settings.profiles else settings
        yield from kind.brings(own, root)
        yield from _commands_of_kernel("tuning", profile)
        yield from _commands_of_kernel("server_tuning", load_profiles(_of_server(settings), root))

    return replace(kind, open=opened, brings=brings)


def _untuned(kind: AnyKind, name: str, settings: SystemSettings, site: Site) -> System:
    return kind.open(name, settings, site)


def _of_server(settings: SystemSettings) -> tuple[Asked, ...]:
    """What is asked for of the host of a server, where that is another one."""
    asked: tuple[Asked, ...] = getattr(settings, "server_tuning", ())
    return asked


def _commands_of_kernel(setting: str, profile: Profile) -> Iterator[Brought]:
    table = profile.table(SysctlTable)
    for key, amount in table.parameters.items() if table else ():
        if key in _STARTED_BY_KERNEL or key.startswith(_HANDLERS):
            yield Brought(setting, f"command of the kernel parameter {key}: {amount.text}")


class Tuned(System):
    """A system, and what its profiles set around it."""

    def __init__(self, kind: AnyKind, name: str, settings: SystemSettings, site: Site) -> None:
        """Nothing is touched yet.

        Raises:
            UsageError: if a profile is not there, or is none.
        """
        self._profile = load_profiles(settings.profiles, site.root)
        self._taken: list[Outcome] = []
        self._names, self._required = self._profile.names, settings.required
        system = kind.open(name, settings, site)
        self._known_as = (kind, name, settings, site)
        # Where an agent prepares it, its own file is what is started.
        self._starts_there = system.place.is_remote and not kind.in_guest
        self._is_remote = kind.elsewhere or system.place.is_remote
        self._begin(system, system.place, settings.profiles, settings, site)

    def _begin(
        self,
        system: System,
        at: Place,
        asked: Sequence[Asked],
        settings: SystemSettings,
        site: Site,
    ) -> None:
        """What is the same whichever host is tuned."""
        # What a study sets itself is what it asks about: without it there is nothing to compare.
        typed = not any(isinstance(each, str) for each in asked)
        self._strict = settings.tuning_strict
        self._all_required = self._strict or typed
        self._system, self._at, self._scene = system, at, Scene(at)
        self._around = Steps(site.ledger, site.check, site.note, at)
        self._inside = Steps(site.ledger, site.check, site.note, at)
        self.place, self.far = system.place, system.far
        self.rest = (*self._system.rest, "set what the profile has for the devices")

    _known_as: tuple[AnyKind, str, SystemSettings, Site] | None = None
    """What it is opened by again when it is first used."""

    def _open(self) -> None:
        """Open it without what it sets by itself of the profile; some look at their host for it."""
        if self._known_as is None:
            return
        kind, name, settings, site = self._known_as
        with self._at.understood():
            own, self._profile, self._taken = settings.tuned(self._profile, self._at)
        self._system, self._known_as = kind.open(name, own, site), None

    _key = "tuning"
    """The setting."""
    _known_ahead: tuple[Stage, ...] = ("host",)
    """What can be looked at before the system is up."""

    def _scene_ahead(self) -> Scene:
        """The host, with what is known of it before the system is up."""
        return Scene(self._at)

    def problems(self) -> list[Problem]:
        """Those of the system, and what the host lacks of the profile, as far as it is known."""
        self._open()
        problems = self._system.problems()
        if self._at.is_remote and any(problem.severity == "error" for problem in problems):
            return problems  # A host that is not reached has nothing to be looked at.
        scene = self._scene_ahead()
        stages = (self._profile.settings(stage, scene) for stage in self._known_ahead)
        with self._at.understood():
            outcomes = look_at((one for settings in stages for one in settings), self._at)
            launched, _ = launched_by(self._starts())
        lacks = self._lacks([*outcomes, *launched])
        return [*problems, *lacks, *self._without_root(outcomes)]

    def steps_up(self) -> Iterator[Step]:
        """What is the host's, then the system, then what is known before its devices are."""
        self._open()
        scene = self._scene_ahead()
        yield from self._steps_of(self._profile.settings("host", scene))
        yield from self._system.steps_up()
        yield from self._steps_of(self._profile.settings("devices", scene))
        yield from self._steps_of(self._starts())

    def _steps_of(self, settings: Iterable[Setting]) -> Iterator[Step]:
        """Those of what is not so yet."""
        known = list(settings)
        for setting, outcome in zip(known, look_at(known, self._at), strict=True):
            if outcome.status == "set":
                yield setting.step(outcome.before, outcome.value)

    def steps_refresh(self) -> Iterable[Step]:
        """The system's own; what was set stays."""
        return self._system.steps_refresh()

    def steps_down(self) -> Iterable[Step]:
        """The system's own."""
        return self._system.steps_down()

    def look(self) -> Up:
        """The system's own."""
        return self._system.look()

    def boot(self) -> Mapping[str, str]:
        """The system's own."""
        return self._system.boot()

    def far_interfaces(self) -> tuple[str, ...]:
        """The system's own."""
        return self._system.far_interfaces()

    def bring_up(self) -> Up:
        """Set what is the host's, bring the system up, set what is its devices'."""
        self._open()
        self._around.begin()
        self._inside.begin()
        try:
            host = self._profile.settings("host", Scene(self._at))
            outcomes = [*self._taken, *self._apply(host, self._around)]
            up = self._system.bring_up()
            self._scene = self._scene_of(up)
            devices = self._profile.settings("devices", self._scene)
            outcomes += self._apply(devices, self._inside)
            launched, command = launched_by(self._starts())
            self._require(launched)
        except BaseException:
            self.take_down()
            raise
        executed = (*self._around.executed, *up.commands, *self._inside.executed)
        facts = {**up.facts, **_facts_again(up), **self._told([*outcomes, *launched])}
        recipe = self._around.recipe + up.recipe + self._inside.recipe
        return replace(
            up, commands=executed, facts=facts, recipe=recipe, prefix=(*command, *up.prefix)
        )

    def _scene_of(self, up: Up) -> Scene:
        """The host that is tuned, with what the system has there."""
        return Scene(self._at, _devices(up), up.interfaces, up.servers)

    def _told(self, outcomes: Iterable[Outcome]) -> dict[str, str]:
        """As facts of the system."""
        files = self._profile.files.items()
        hashes = {f"tuning by {name}": f"{name}{HASHED}{digest}" for name, digest in files}
        return {**told(self._names, outcomes), **hashes}

    def refresh(self) -> None:
        """The system's own; what was set stays, but for what its servers have of it."""
        self._system.refresh()
        again = self._profile.settings("devices", self._scene, again=True)
        self._apply(again, self._inside)

    def _starts(self) -> Iterator[Setting]:
        """How the engine is started, where we start it."""
        if self._starts_there or not self._is_remote:
            yield from self._profile.settings("engine", Scene(self._at))
            return
        for setting in self._profile.settings("engine", Scene()):
            yield Absent(setting.name, _ELSEWHERE)

    def take_down(self) -> None:
        """Take everything back, what was done last first, whatever of it fails."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._around.undo)
            stack.callback(self._system.take_down)
            stack.callback(self._inside.undo)

    def _apply(self, settings: Iterable[Setting], steps: Steps) -> list[Outcome]:
        """Set one part of the profile."""
        with self._at.understood():
            return self._require(apply(settings, steps))

    def _require(self, outcomes: list[Outcome]) -> list[Outcome]:
        """The same outcomes.

        Raises:
            HostLacksError: if something is skipped, and nothing may be.
        """
        skipped = [one for one in outcomes if one.status == "skipped" and self._is_required(one)]
        if skipped:
            first = skipped[0]
            why = "tuning_strict: " if self._strict else ""
            raise HostLacksError(f"{why}{first.name} cannot be set: {first.reason}")
        return outcomes

    def _without_root(self, outcomes: Sequence[Outcome]) -> list[Problem]:
        """What is there, and only root can set."""
        names = [outcome.name for outcome in outcomes if outcome.status == "set"]
        if not names or self._at.is_remote or self._at.is_root:
            return []
        others = f" and {len(names) - 1} more" if names[1:] else ""
        text = f"{self._key}: only root can set {names[0]}{others}"
        severity = self._severity(one for one in outcomes if one.status == "set")
        return [Problem(severity, text, "sudo, or a study without it")]

    def _is_required(self, outcome: Outcome) -> bool:
        return self._all_required or outcome.name in self._required

    def _severity(self, outcomes: Iterable[Outcome]) -> Literal["error", "warning"]:
        """Of what would be skipped."""
        return "error" if any(map(self._is_required, outcomes)) else "warning"

    def _lacks(self, outcomes: Iterable[Outcome]) -> list[Problem]:
        """What would be skipped."""
        return [
            Problem(self._severity(group), f"{self._key} {name}: {sentence(group)}")
            for name, group in grouped(outcomes).items()
            if any(outcome.status == "skipped" for outcome in group)
        ]


class TunedServer(Tuned):
    """A system whose server is on another host, and what profiles set there."""

    _key = "server_tuning"
    _known_ahead = ("host", "devices")

    def __init__(self, system: System, settings: SystemSettings, site: Site) -> None:
        """Nothing is touched yet.

        Raises:
            UsageError: if a profile is not there, or is none.
        """
        asked = _of_server(settings)
        self._profile = load_profiles(asked, site.root)
        self._names, self._taken, self._required = self._profile.names, [], frozenset()
        self._is_remote, self._starts_there = True, False
        assert system.far is not None
        self._begin(system, system.far, asked, settings, site)

    def _scene_ahead(self) -> Scene:
        """Its devices do not depend on what is up, which is at the client."""
        return Scene(self._at, interfaces=self.far_interfaces())

    def _scene_of(self, up: Up) -> Scene:  # noqa: ARG002
        return self._scene_ahead()

    def _told(self, outcomes: Iterable[Outcome]) -> dict[str, str]:
        facts = super()._told(outcomes)
        return {key.replace("tuning", "tuning of the server", 1): facts[key] for key in facts}


def _facts_again(up: Up) -> dict[str, str]:
    """What a system said of its device before that was tuned."""
    names = queue_facts(up.devices[0], up.place) if up.devices else {}
    return {name: value for name, value in names.items() if name in up.facts}


def _devices(up: Up) -> tuple[str, ...]:
    """Block devices of a system that is up; under a directory, what it is mounted from."""
    if up.devices or not isinstance(up.target, Path):
        return up.devices
    source = up.place.mount_of(up.target).source
    return (source,) if source.startswith("/dev/") else ()
