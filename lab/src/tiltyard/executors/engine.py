"""The engines: where their binaries are, what they can do, and whether they accept a job."""

import errno
import functools
import json
import os
import platform
import shlex
import site
import stat
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, JsonValue, ValidationError

from tiltyard import elf
from tiltyard.errors import HostLacksError, TiltyardError, UsageError
from tiltyard.frozen import Frozen
from tiltyard.installation import CHECKOUT, repair
from tiltyard.registry import SWITCH, Plugin, PluginWarning, Registry
from tiltyard.wire import (
    PROTOCOL,
    Call,
    Catalogue,
    EndEvent,
    Event,
    Hello,
    HelloEvent,
    Output,
    read_events,
)

NAME = "tiltyard-engine"
_ANSWER_S = 60


class JobRefused(UsageError):  # noqa: N818  it reads as what happened
    """The engine does not accept a job.

    Attributes:
        parameter: the parameter at fault, where there is one.
        message: what is wrong and what would be right, in the engine's words.
    """

    def __init__(self, parameter: str | None, message: str) -> None:
        """Both as the engine says them."""
        super().__init__(f"{parameter}: {message}" if parameter else message)
        self.parameter = parameter
        self.message = message


class Inject(Frozen):
    """A known delay in front of calls, to prove that the instrument sees it."""

    delay_ns: int
    every: int = 1
    into: tuple[Call, ...] = ()
    """Empty: all."""


class ConditionsWanted(Frozen):
    """Conditions that the engine shall bring about."""

    cpus: tuple[int, ...] = ()
    unpinned: bool = False
    keep_awake: bool = False
    settle: bool = False
    """Let the kernel do, before a region is timed, what it puts off and what first reads cost."""
    numa: int | None = None
    watched: bool = False
    """Whoever asks counts what others use meanwhile; the engine does not."""
    inject: Inject | None = None


class FarEnd(Frozen):
    """The server of a connection: an engine that serves."""

    address: str
    port: int
    secret: str | None = None
    local: str | None = None
    """Address of the client; the kernel chooses if it is left out."""


class FarPlace(Frozen):
    """The server's end of a system, as a place of this host where servers of programs start."""

    address: str
    network: Path | None = None
    """File of its network namespace; ``None``: that of the program."""
    cpus: tuple[int, ...] = ()
    """Empty: all."""


Target = Path | FarEnd
"""What a trial works on: a directory, or a server."""


Part = Literal["study_setup", "turn_setup", "trial", "turn_cleanup", "study_cleanup"]
"""What is executed of a program's commands."""


class Stage(Frozen):
    """A part of a program's work, in a directory that several parts share."""

    part: Part
    room: str
    """Name of that directory, in the target."""


class Job(Frozen):
    """One trial, as the wire wants it."""

    workload: str
    parameters: dict[str, JsonValue]
    target: Target
    variables: dict[str, str] = Field({}, exclude=True)
    """Values of the system under test that stand in commands as ``{name}``."""
    stage: Stage | None = Field(None, exclude=True)
    """Which part of a program's work it is, where some is done once for several trials."""
    far_place: FarPlace | None = Field(None, exclude=True)
    """Of a program on a system of two ends."""
    expected: Output | None = Field(None, exclude=True)
    """What a program is expected to print, where a command compares it."""
    elsewhere: bool = Field(False, exclude=True)
    """Whether a job that is only looked at is for another host: what it names is there."""
    conditions: ConditionsWanted = ConditionsWanted()

    def message(self) -> bytes:
        """The document that goes to the engine's standard input."""
        fields = self.model_dump(mode="json", exclude={"target"}, exclude_none=True)
        target: dict[str, object] = {"directory": str(self.target)}
        if isinstance(self.target, FarEnd):
            target = {"far": self.target.model_dump(exclude_none=True)}
        if self.variables:
            target["variables"] = self.variables
        if self.stage:
            target["stage"] = self.stage.model_dump()
        if self.far_place:
            target["far_place"] = self.far_place.model_dump(mode="json", exclude_none=True)
        if self.expected is not None:
            target["expected"] = self.expected.model_dump(mode="json", exclude_none=True)
        if self.elsewhere:
            target["elsewhere"] = True
        return json.dumps({"protocol": PROTOCOL, **fields, "target": target}).encode()


_SOME_FAR_END = FarEnd(address="127.0.0.1", port=1)
"""For a job that is only looked at."""


class Engine:
    """An engine binary; that of the installation has those of packages beside it."""

    def __init__(self, path: Path, plugin: Plugin | None = None) -> None:
        """The binary at that path; nothing is started yet.

        Args:
            path: of the binary.
            plugin: whose it is, where an installed package brings it.
        """
        self.path = path
        self.plugin = plugin
        self._beside: tuple[Path, ...] | None = None

    def __str__(self) -> str:
        """``the engine "turbo" of the package turbo-bench 1.2``."""
        return str(self.plugin or f"the engine {self.path}")

    @classmethod
    def find(cls) -> Self:
        """The engine of this installation, and beside it those of packages.

        The first of ``TILTYARD_ENGINE`` takes its place, the others stand beside it. None is ever
        looked for in ``PATH``: each command would execute whatever is called so there.

        Raises:
            HostLacksError: if it is nowhere; the message lists every place that was looked at.
        """
        places, named = list(_places()), _named()
        there = [place for place in places if place.is_file()]
        for place in there:
            if os.access(place, os.X_OK):
                found = cls(place)
                found._beside = named[1:]
                return found
        for place in there:
            raise HostLacksError(f"{place}: {_why_not_executable(place)}")
        looked = ", ".join(str(place) for place in places)
        if os.environ.get("TILTYARD_ENGINE"):
            raise HostLacksError(
                f"there is no {looked}, which TILTYARD_ENGINE names. Fix: unset TILTYARD_ENGINE"
            )
        raise HostLacksError(f"there is no {NAME}; looked at {looked}. Fix: {repair()}")

    def describe(self) -> Catalogue:
        """Everything that this engine, and those beside it, can do; each is asked once.

        Of workloads of one name only the first is listed, with a warning.

        Raises:
            HostLacksError: if it speaks another protocol.
        """
        return self._all

    def of(self, workload: str) -> "Engine":
        """The engine that has a workload; this one, where none has it.

        Raises:
            UsageError: if several have one of that name.
        """
        having = [one for one in (self, *self._others) if one.has(workload)]
        if len(having) > 1:
            raise UsageError(_twice(workload, having))
        return having[0] if having else self

    def has(self, workload: str) -> bool:
        """Whether it is one of its own."""
        return self._catalogue.workload(workload) is not None

    @functools.cached_property
    def _others(self) -> tuple["Engine", ...]:
        """Those beside it, of which each has said what it can do."""
        if self._beside is None:
            return ()
        named = [Engine(path) for path in self._beside]
        for one in named:
            _ = one._catalogue
        return (*named, *ENGINES)

    @functools.cached_property
    def _all(self) -> Catalogue:
        """The catalogue of all of them together."""
        if not self._others:
            return self._catalogue
        cards = list(self._catalogue.workloads)
        holders: dict[str, Engine] = {card.name: self for card in cards}
        for one in self._others:
            for card in one._catalogue.workloads:
                first = holders.setdefault(card.name, one)
                if first is one:
                    cards.append(card)
                else:
                    warnings.warn(PluginWarning(_twice(card.name, [first, one])), stacklevel=3)
        return self._catalogue.model_copy(update={"workloads": cards})

    @functools.cached_property
    def _catalogue(self) -> Catalogue:
        """The answer to ``describe``."""
        try:
            catalogue = Catalogue.model_validate_json(self._ask("describe").stdout)
        except ValidationError as error:
            raise HostLacksError(
                f"{self.path}: not an engine of this lab: {error.errors()[0]['msg']}"
            ) from error
        if catalogue.protocol != PROTOCOL:
            raise HostLacksError(
                f"{self.path}: speaks protocol {catalogue.protocol}, this lab speaks {PROTOCOL}. "
                f"Fix: {repair()}"
            )
        return catalogue

    def validate(
        self,
        workload: str,
        parameters: Mapping[str, JsonValue],
        variables: Mapping[str, str] | None = None,
        *,
        elsewhere: bool = False,
    ) -> Hello:
        """What the engine makes of a job, without doing anything.

        Args:
            workload: its name.
            parameters: of the workload.
            variables: of the system, for its commands.
            elsewhere: whether it is for another host, whose programs and files are not looked for.

        Raises:
            JobRefused: if the engine does not accept it.
            TiltyardError: if it gives no answer.
        """
        card = self._all.workload(workload)
        far = card is not None and card.target == "far"
        target = _SOME_FAR_END if far else Path("/")
        job = Job(
            workload=workload,
            parameters=dict(parameters),
            target=target,
            variables=dict(variables or {}),
            elsewhere=elsewhere,
        )
        answer = self.of(workload)._ask("validate", job.message())
        for event in self._accepted(answer):
            if isinstance(event, HelloEvent):
                return event.data
        raise self._no_answer(answer)

    def pool(self, clients: Mapping[str, object]) -> bytes:
        """The common stream of clients that have executed one job at the same time.

        Args:
            clients: as the wire's ``Pool``.

        Raises:
            JobRefused: if theirs make none.
            TiltyardError: if it gives no answer.
        """
        answer = self._ask("pool", json.dumps(clients).encode())
        if answer.returncode:
            list(self._accepted(answer))
            raise self._no_answer(answer)
        return answer.stdout

    @staticmethod
    def _accepted(answer: subprocess.CompletedProcess[bytes]) -> Iterator[Event]:
        """What the engine says of what it was asked, unless it does not accept that."""
        for event in read_events(answer.stdout.splitlines()):
            if isinstance(event, EndEvent) and event.data.failure is not None:
                raise JobRefused(event.data.failure.parameter, event.data.failure.message)
            yield event

    @staticmethod
    def _no_answer(answer: subprocess.CompletedProcess[bytes]) -> TiltyardError:
        said = answer.stderr.decode(errors="replace").strip() or f"exit status {answer.returncode}"
        return TiltyardError(f"{shlex.join(map(str, answer.args))}: no answer: {said}")

    def _ask(self, verb: str, message: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a verb that answers at once."""
        try:
            return subprocess.run(
                (self.path, verb),
                input=message,
                capture_output=True,
                timeout=_ANSWER_S,
                check=False,
            )
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                raise HostLacksError(f"{self.path}: {_why_not_of_this_host(self.path)}") from error
            raise HostLacksError(f"{self.path} {verb}: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise HostLacksError(f"{self.path} {verb}: {error}") from error


def _twice(workload: str, engines: Sequence[Engine]) -> str:
    """Why a workload is none that can be run."""
    fix = f"remove all but one of them, or {SWITCH}=none"
    return f"{' and '.join(map(str, engines))} have a workload {workload}. Fix: {fix}"


def _of_package(made: object, plugin: Plugin) -> Engine:
    """What an entry point of the group ``tiltyard.v1.engines`` means: the path of a binary.

    Raises:
        PluginError: if it is none, or does not say what it can do.
    """
    if not isinstance(made, str | Path):
        raise TypeError(f"{plugin.value} is {type(made).__name__}, not the path of a binary")
    engine = Engine(Path(made), plugin)
    try:
        if not engine.path.is_absolute() or not engine.path.is_file():
            raise HostLacksError(f"{engine.path} is no absolute path of a file")
        if not os.access(engine.path, os.X_OK):
            raise HostLacksError(f"{engine.path}: {_why_not_executable(engine.path)}")
        _ = engine._catalogue
    except HostLacksError as error:
        raise plugin.failed(f"cannot be used: {error}") from error
    return engine


ENGINES: Registry[Engine] = Registry("engines", {}, None, sound=_of_package)
"""Those of installed packages."""


def _named() -> tuple[Path, ...]:
    """Those that ``TILTYARD_ENGINE`` names, as ``PATH`` names directories."""
    named = os.environ.get("TILTYARD_ENGINE", "").split(os.pathsep)
    return tuple(Path(one) for one in named if one)


def _places() -> Iterator[Path]:
    """Where our engine may be, in the order of preference."""
    if named := _named():
        yield named[0]
        return
    # Where installers put programs: beside the interpreter, or where users have theirs.
    schemes = [sysconfig.get_default_scheme()]
    schemes += [sysconfig.get_preferred_scheme("user")] if site.ENABLE_USER_SITE else []
    beside = [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]
    for folder in dict.fromkeys((Path(sys.executable).parent, *beside)):
        yield folder / NAME
    if CHECKOUT:
        yield from (CHECKOUT / "target" / profile / NAME for profile in ("release", "debug"))


def _why_not_executable(engine: Path) -> str:
    """What keeps a file that is there from being executed, and the fix."""
    if engine.stat().st_mode & stat.S_IXUSR and os.statvfs(engine).f_flag & os.ST_NOEXEC:
        return (
            "its file system is mounted noexec. Fix: install Tiltyard on another one, or copy the "
            "engine to one and name it by TILTYARD_ENGINE"
        )
    return f"is not executable by you. Fix: chmod a+rx {shlex.quote(str(engine))}"


def _why_not_of_this_host(engine: Path) -> str:
    """Why the kernel does not take it for a program, and the fix."""
    built, host = elf.machine(engine), platform.machine()
    if built in (None, host):
        return f"is not a whole program. Fix: {repair()}"
    if os.environ.get("TILTYARD_ENGINE"):
        return f"is built for {built}, this host is {host}. Fix: unset TILTYARD_ENGINE"
    fix = repair() if CHECKOUT else f"install the wheel or package whose name says {host}"
    return f"is built for {built}, this host is {host}. Fix: {fix}"
