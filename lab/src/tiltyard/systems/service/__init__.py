"""A system with a server: the setting ``service`` of kinds on this host.

The system comes up first, whatever it is; then the service, in a directory on it. So one server
with two configurations is compared like the same configuration on two file systems. On a system
of two ends it runs at the server's, and its directory is in the study's scratch folder. It
is seen at a short path: sockets lie in it, and a user who is not root comes to it, however deep
the system lies.
"""

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.folder import HASHED
from tiltyard.host.commands import shown
from tiltyard.host.op import Link, MakeDirectory, Mount, Run
from tiltyard.host.start import Ready, Stop, pids, servers
from tiltyard.host.steps import Step, Steps, TakeBack, UndoTemporarily
from tiltyard.study.placeholders import names_in
from tiltyard.systems.kind import AnyKind, Problem, Site, System, Up
from tiltyard.systems.mount.checks import strangers
from tiltyard.systems.service.settings import ServiceSettings
from tiltyard.systems.service.steps import (
    DrawValues,
    Inside,
    WriteFile,
    short_path,
    values,
)
from tiltyard.systems.untrusted_inputs import Brought

_SYSTEM: Final = "{system}"
"""Output: the directory of the system below, or the scratch folder."""
_NOBODY: Final = "nobody"
_COMMAND_S: Final = 10.0
"""How long what a command has left behind may take to end."""


def with_service(kind: AnyKind) -> AnyKind:
    """The same kind, whose systems heed the setting ``service``."""

    def opened(name: str, settings: Any, site: Site) -> System:
        system = kind.open(name, settings, site)
        service = getattr(settings, "service", None)
        return Serviced(system, service, site) if service else system

    def brings(settings: Any, root: Path) -> Iterator[Brought]:
        yield from kind.brings(settings, root)
        if service := getattr(settings, "service", None):
            yield from service.brings()

    return replace(kind, open=opened, brings=brings)


class Serviced(System):
    """A system, and the server on it."""

    def __init__(self, system: System, settings: ServiceSettings, site: Site) -> None:
        """Nothing is touched yet."""
        self._system = system
        self._settings = settings
        self._site = site
        place = site.place
        self._name = site.ledger.name("service")
        self._home = short_path(self._name, place)
        self._files = Path(_SYSTEM) / self._name
        self._own = Steps(site.ledger, site.check, site.note, place)
        self.steps = system.steps
        self.place, self.far = system.place, system.far
        self.server_end = system.server_end
        self.rest = system.rest

    @property
    def _is_root(self) -> bool:
        return self._own.place.is_root

    @property
    def _user(self) -> str:
        """As whom it runs; empty: as we."""
        return (self._settings.user or _NOBODY) if self._is_root else ""

    def problems(self) -> list[Problem]:
        """Those of the system, and what the service lacks."""
        found, place = self._system.problems(), self._own.place
        if place.is_remote and any(each.severity == "error" for each in found):
            return found  # A host that is not reached has nothing to be looked at.
        return [*found, *strangers(self._home.parent, place), *self._wrong_user(), *self._missing()]

    def _wrong_user(self) -> Iterator[Problem]:
        user = self._settings.user
        if not self._is_root and user not in (None, self._own.place.login):
            text = f'service: only root can start it as user "{user}"'
            yield Problem("error", text, "sudo, or a study without user")
        elif self._user and not self._exists(self._user):
            fix = f"useradd --system {self._user}, or another user"
            yield Problem("error", f'service: there is no user "{self._user}"', fix)

    def _missing(self) -> Iterator[Problem]:
        """Programs that are not there; one that a placeholder leads to may come yet."""
        ready = self._settings.ready
        commands = [*self._settings.initialise, self._settings.start]
        commands += [ready.command] if ready and ready.command else []
        for program in dict.fromkeys(self._words(words)[0] for words in commands):
            if not any(names_in(program)) and not self._own.place.has(program):
                fix = "install its package, or give the path of the program"
                yield Problem("error", f'service: there is no program "{program}"', fix)

    def _words(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """A command whose program, if that is a relative path, begins at the study file."""
        program = argv[0]
        if "/" in program and not program.startswith(("/", "{")):
            program = str(self._site.given(Path(program)))
        return (program, *argv[1:])

    def _exists(self, user: str) -> bool:
        try:
            self._own.place.run(("id", "-u", user))
        except TiltyardError:
            return False
        return True

    def steps_up(self) -> Iterator[Step]:
        """The system, then its service."""
        yield from self._system.steps_up()
        yield from self._prepare()

    def steps_refresh(self) -> Iterator[Step]:
        """The service is stopped while the system is refreshed; its data stay."""
        yield from self._pause()
        yield from self._system.steps_refresh()
        yield from self._go_on()

    def steps_down(self) -> Iterator[Step]:
        """The service, then the system."""
        for _ in range(4 if self._is_root else 3):
            yield TakeBack(everything=False)
        yield from self._system.steps_down()

    def look(self) -> Up:
        """The system's own."""
        return self._system.look()

    def bring_up(self) -> Up:
        """Bring the system up, then its service."""
        up = self._system.bring_up()
        try:
            is_directory = isinstance(up.target, Path)
            if up.prefix and is_directory:
                raise HostLacksError(
                    "service: what a user mounts nobody else sees, and no server comes to it. "
                    "Fix: sudo, or a directory that is there"
                )
            self._own.begin()
            self._own.outputs[_SYSTEM] = str(up.target if is_directory else self._site.scratch)
            self._own.take(self._prepare())
        except BaseException:
            self.take_down()
            raise
        return self._with_service(up)

    def refresh(self) -> None:
        """Stop the service, refresh the system, start the service on the data that it has."""
        self._own.take(self._pause())
        self._system.refresh()
        self._own.take(self._go_on())

    def take_down(self) -> None:
        """Stop and wipe the service, then take the system down, whatever of it fails."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._system.take_down)
            stack.callback(self._own.undo)

    def _with_service(self, up: Up) -> Up:
        inner, runs_as = up.servers, self._works["login"]
        facts = {"service": shlex.join(self._settings.start), "service runs as": runs_as}
        if program := self._program:
            facts["service program"] = program
        return replace(
            up,
            commands=(*up.commands, *self._own.executed),
            recipe=up.recipe + self._own.recipe,
            servers=lambda: (*inner(), *pids((self._mark,), self._own.place)),
            lost=lambda: up.lost() or self._lost(),
            variables=values(self._home, self._own.outputs),
            facts={**up.facts, **facts},
        )

    @property
    def _mark(self) -> str:
        return self._home.name

    def _lost(self) -> str:
        (server,) = servers((self._mark,), self._own.place)
        return server.ended and f"the service {server.ended}"

    @property
    def _program(self) -> str:
        """The program of its start, by its hash."""
        name, place = self._start.argv[0], self._own.place
        if (found := place.program(name)) is None:
            return ""
        real = place.find_all([found]).get(found, found)
        digest = place.run(("sha256sum", real)).stdout.split()[0]
        return f"{shown(real)}{HASHED}{shown(digest)}"

    def _prepare(self) -> Iterator[Step]:
        """A directory on the system, what is in it, the server."""
        yield MakeDirectory(path=self._files, private=True)
        if self._user:
            yield Run(argv=("chown", "-h", f"{self._user}:", str(self._files)))
        if self._is_root:
            yield MakeDirectory(path=self._home)
        yield self._show
        yield DrawValues()
        settings = self._settings
        for name, text in settings.files.items():
            yield WriteFile(
                argv=(), name=name, stdin=text, what=f"service, files, {name}", **self._once
            )
        for argv in settings.initialise:
            argv = self._words(argv)
            yield Inside(argv=argv, what="service, initialise", **self._once)
        yield self._start

    @property
    def _show(self) -> Link | Mount:
        """Its directory at a short path."""
        if self._is_root:
            source = str(self._files)
            return Mount(type="", source=source, target=self._home, options=("bind",))
        return Link(path=self._home, to=self._files)

    def _pause(self) -> Iterator[Step]:
        """Nothing of it holds the system."""
        address = self._own.place.address
        yield UndoTemporarily(change=self._start.made(address))
        if isinstance(self._show, Mount):
            shown = self._show.with_outputs(self._own.outputs)
            yield UndoTemporarily(change=shown.made(address))

    def _go_on(self) -> Iterator[Step]:
        if isinstance(self._show, Mount):
            yield self._show.model_copy(update={"again": True})
        yield self._start.model_copy(update={"again": True})

    @property
    def _start(self) -> Inside:
        settings, sign, stop = self._settings, self._settings.sign, self._settings.stop
        ready = Ready(
            command=self._words(sign.command) if sign.command else (),
            address=self._system.server_end.address,
            port="" if sign.port is None else str(sign.port),
            seen_from=self._system.server_end.client,
            path=sign.path or "",
        )
        return Inside(
            argv=self._words(settings.start),
            mark=self._mark,
            directories=(self._home, self._files),
            ready=ready,
            limit_s=settings.timeout,
            stop=Stop(signal=stop) if isinstance(stop, str) else Stop(command=self._words(stop)),
            stop_s=settings.stop_timeout,
            what="service",
            env=settings.env,
            **self._works,
        )

    @property
    def _once(self) -> dict[str, Any]:
        """The same of commands that end."""
        settings = self._settings
        return {
            "mark": f"{self._mark}-command",
            "ready": Ready(),
            "limit_s": settings.timeout,
            "stop_s": _COMMAND_S,
            "env": settings.env,
            **self._works,
        }

    @property
    def _works(self) -> dict[str, Any]:
        """The same of all that is started."""
        end = self._system.server_end
        login = self._user or self._own.place.login
        works = {"home": self._home, "user": self._user, "login": login, "end": end}
        return {**works, "directory": str(self._home), "network": end.network}
