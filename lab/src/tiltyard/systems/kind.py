"""What a kind of system is: settings a study may vary, and a way up and down again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Literal, Self, TypeVar

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue

from tiltyard.address import Reached
from tiltyard.executors.engine import FarPlace, Inject, Target
from tiltyard.frozen import Frozen
from tiltyard.host.commands import Command
from tiltyard.host.isolation import Isolations
from tiltyard.host.place import HERE, Place
from tiltyard.host.recorder import Recorder
from tiltyard.host.steps import Step, Steps, TakeBack
from tiltyard.host.telemetry import Watching
from tiltyard.ownership import expanded
from tiltyard.recipe import Recipe
from tiltyard.study.model import Clock
from tiltyard.study.problems import not_a, shown
from tiltyard.systems.planned import PlannedPart
from tiltyard.systems.untrusted_inputs import Brought
from tiltyard.tuning.knobs.sysctl import SysctlTable
from tiltyard.tuning.load import Asked, inline_profile, is_path, ready_names
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import Outcome
from tiltyard.units import parse_size
from tiltyard.wire import Call

CONSOLES: Final = "consoles"
"""Folder of the study folder with what the kernels of guests have said."""
LONGEST_DELAY_NS: Final = 10**9
"""The longest delay that the engine injects."""

Size = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}],
            "format": "size",
            "examples": ["64k", "1M", "4G"],
        }
    ),
]
"""Bytes, typed as a number or with a binary suffix: ``"64k"``, ``"1G"``."""


def _profiles(typed: object) -> object:
    """One profile or several; those that are no files must be ready ones."""
    names = [typed] if isinstance(typed, str | dict) else typed
    if not isinstance(names, list | tuple) or not all(isinstance(one, str | dict) for one in names):
        raise ValueError(f'{shown(typed)} is neither a profile, such as "out-of-box", nor a list')
    ready = ready_names()
    for name in names:
        if isinstance(name, dict):
            inline_profile(name)
        elif not is_path(name) and name not in ready:
            raise ValueError(f"{not_a(name, 'tuning profile', ready)} A file ends in .toml.")
    return tuple(names)


_PROFILE: Final[JsonSchemaValue] = {"anyOf": [{"type": "string"}, {"type": "object"}]}
Profiles = Annotated[
    tuple[Asked, ...],
    BeforeValidator(_profiles),
    WithJsonSchema({"anyOf": [*_PROFILE["anyOf"], {"type": "array", "items": _PROFILE}]}),
]
"""Tuning profiles: names of ready ones, paths of files, or their tables as they stand."""


def _kernel_parameters(typed: object) -> object:
    """A table of kernel parameters, as profiles have it."""
    if not isinstance(typed, dict):
        raise ValueError(f'{shown(typed)} is not a table: {{ "vm.dirty_ratio" = 5 }}')
    profile = inline_profile({"sysctl": typed}) if typed else Profile(())
    table = profile.table(SysctlTable)
    parameters = table.parameters if table else {}
    for key, amount in parameters.items():
        if amount.rule:
            raise ValueError(f"{key}: {amount.text} is a rule; rules stand in tuning profiles")
    return {key: amount.text for key, amount in parameters.items()}


KernelParameters = Annotated[
    dict[str, str],
    BeforeValidator(_kernel_parameters),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]
"""Kernel parameters of the whole host, by name."""


class KindSettings(Frozen):
    """Base of the settings of a kind; a field's description is its help."""


class SystemSettings(KindSettings):
    """Base of the settings of a whole system: for every kind."""

    inject_ns: int = Field(
        0,
        ge=0,
        le=LONGEST_DELAY_NS,
        description="A known delay that the engine spins in front of calls, in ns: to prove that "
        "a difference of that size is found. Over a network, at the client.",
    )
    inject_every: int = Field(
        1, ge=1, le=2**32 - 1, description="Every so many calls of a thread are delayed once."
    )
    inject_into: tuple[Call, ...] = Field(
        (), description="Sorts of calls that are delayed; empty: all."
    )

    tuning: Profiles = Field(
        (),
        description="Tuning profile, or several of which the later goes before the earlier: names "
        'of ready ones ("tiltyard tuning" lists them), paths of files, or a table as it stands in '
        'one: { block = { scheduler = "none" } }. Set for each turn of the system and taken back '
        "after it.",
    )
    tuning_strict: bool = Field(
        False,
        description="Whether a system does not come up where its profile cannot be set whole; "
        "otherwise what the host lacks is skipped and reported.",
    )
    drop_caches: bool = Field(
        False,
        description="Drop all that the host holds of its disks in memory before each trial (root). "
        "What was mounted for the turn is not cached yet; for a directory this is the way.",
    )

    def tuned(
        self,
        profile: Profile,
        place: Place,  # noqa: ARG002
    ) -> tuple[Self, Profile, list[Outcome]]:
        """What a profile becomes for these settings, before anything is set.

        Args:
            profile: what is asked for.
            place: the host of the system; some look what it has.

        Returns:
            The settings with what the system sets by itself, the profile that is left, and what
            of it the settings have taken over. Nothing by default.
        """
        return self, profile, []

    @property
    def profiles(self) -> tuple[Asked, ...]:
        """All that is set around the system, the later before the earlier."""
        return self.tuning

    @property
    def required(self) -> Set[str]:
        """What of it the system does not come up without."""
        return frozenset()

    @property
    def inject(self) -> Inject | None:
        """The delay as the engine takes it."""
        if not self.inject_ns:
            return None
        return Inject(delay_ns=self.inject_ns, every=self.inject_every, into=self.inject_into)


class ReachableSettings(Reached, SystemSettings):
    """Base of the settings of kinds whose systems may be on another host."""


class OneHostSettings(SystemSettings):
    """Base of the settings of kinds whose systems are on one host as it is."""

    sysctl: KernelParameters = Field(
        {},
        description='Kernel parameters of the whole host: { "vm.dirty_ratio" = 5 }. Set for each '
        "turn of the system and put back after it; it does not come up where one cannot be set.",
    )

    @property
    def profiles(self) -> tuple[Asked, ...]:
        """The parameters go before all profiles."""
        return (*self.tuning, {"sysctl": dict(self.sysctl)}) if self.sysctl else self.tuning

    @property
    def required(self) -> Set[str]:
        """What is asked for by its name."""
        return self.sysctl.keys()


@dataclass(frozen=True)
class Site:
    """Where systems are brought up."""

    root: Path
    """The study folder: paths in a study file are relative to it."""
    work: Path
    """Scratch space for images and mount points."""
    ledger: Recorder
    """In a dry run one that records nothing."""
    place: Place = HERE
    """The host of a placement that the systems are on."""
    there: str = ""
    """Where programs work on that host, if no system names a directory."""
    check: Callable[[], None] = lambda: None
    """Called between steps; raises if a person has asked to stop."""
    note: Callable[[str], None] = lambda _: None
    """Told what a person should know while a step takes long."""
    clients: int = 1
    """So many load a system at once."""
    isolations: Isolations = field(default_factory=Isolations)
    """Of a run, on other hosts."""

    @property
    def scratch(self) -> Path:
        """Where images and mount points are made, on the host of the systems."""
        return self.place.home if self.place.is_remote else self.work.resolve()

    def given(self, path: Path) -> Path:
        """A path of a study: it begins at the study file, on another host at the login's home."""
        if self.place.is_remote:
            return self.scratch / str(path).removeprefix("~/")
        return (self.root / expanded(path)).resolve()


@dataclass(frozen=True)
class ServerEnd:
    """Where a service of a system runs."""

    address: str = "127.0.0.1"
    """As its clients reach it."""
    network: str = ""
    """The network namespace that it is in; empty: this host's."""
    prefix: tuple[str, ...] = ()
    """Command that starts another one on its CPUs; empty: any will do."""
    client: str = ""
    """The network namespace of its clients."""


@dataclass(frozen=True)
class Problem:
    """Something that would go wrong, seen before anything runs."""

    severity: Literal["error", "warning"]
    text: str
    remedy: str | None = None
    """The one command or change that mends it."""
    passes: bool = False
    """Whether it may pass by itself: somebody else has what is needed at the moment."""


@dataclass(frozen=True)
class Up:
    """A system that is up."""

    target: Target
    """An empty directory that trials work in, or the server that they talk to."""
    commands: tuple[Command, ...]
    """What was executed, in order."""
    facts: dict[str, str]
    """What the kernel says of it, in names that a reader knows."""
    failed_boots: tuple[str, ...] = ()
    """Why each boot failed that was made again, a sentence each."""
    prefix: tuple[str, ...] = ()
    """Command that starts the measuring engine where its end of the system is."""
    engine: tuple[str, ...] = ()
    """Command that stands for the engine, where it is not on this host: to another one, or into a
    guest. It takes the engine's verbs and has its pipes. Empty: this installation's engine."""
    another: Callable[[Path], tuple[str, ...]] = lambda file: (str(file),)
    """The same of another engine, whose file is on this host."""
    place: Place = HERE
    """The host that trials run on. On another one the engine stops when its input
    ends, and what is looked at before and after a trial is looked at there."""
    cpus: tuple[int, ...] = ()
    """CPUs for the measuring threads, instead of those of the study; empty: the study's."""
    devices: tuple[str, ...] = ()
    """Block devices of this host that it lies on, topmost first: ``/dev/loop0``."""
    servers: Callable[[], tuple[int, ...]] = lambda: ()
    """Asks for the processes of this host that serve it now (a refresh may bring others): what
    they use of the processor is its own."""
    lost: Callable[[], str] = lambda: ""
    """Asks why it is nothing any more, because what served it has ended; empty while it is up."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What programs that load it are told of it in this turn: ``port`` → ``"20011"``."""
    interfaces: tuple[str, ...] = ()
    """Network devices of this host that its path begins with."""
    far: Place = HERE
    """The host of its server."""
    far_place: FarPlace | None = None
    """Where servers of programs are started that are to run at its server's end."""
    watched: Callable[[], Mapping[str, object]] | None = None
    """Tells what is watched of its host during a trial now (``HostWatchBegin`` of the wire), where
    that is another one."""
    watch_far: Callable[[], Watching] | None = None
    """Begins to watch the host of its server, where that is another one."""
    recipe: Recipe = field(default_factory=Recipe)
    """What was executed and how it is taken back, for a runbook."""


def lost_with(servers: Callable[[], tuple[int, ...]]) -> Callable[[], str]:
    """For :attr:`Up.lost`, of a system that is nothing without its servers, if it has any now."""
    if not servers():
        return lambda: ""
    return lambda: "" if servers() else "what serves the system has ended"


class System(ABC):
    """One system under test on this host. Between turns nothing of it is left up."""

    place: Place = HERE
    """The host whose settings a tuning profile changes."""
    far: Place | None = None
    """That of its server, if it is another one."""
    steps: Steps
    """What was executed for the turn."""
    server_end: ServerEnd = ServerEnd()

    def far_interfaces(self) -> tuple[str, ...]:
        """Network devices on its path, of the host of its server where that is another one."""
        return ()

    @abstractmethod
    def problems(self) -> list[Problem]:
        """What would keep it from coming up here; changes nothing."""

    @abstractmethod
    def steps_up(self) -> Iterable[Step]:
        """What prepares it for a turn, in order.

        A dry run only prints the steps. So what makes them looks and changes nothing, and not at
        what earlier ones among them bring about.
        """

    @abstractmethod
    def look(self) -> Up:
        """What it is when the steps are executed."""

    def steps_refresh(self) -> Iterable[Step]:
        """What prepares it for another trial of the same turn; what it is made of stays.

        Nothing by default: each trial is a new process with connections of its own.
        """
        return ()

    def steps_down(self) -> Iterable[Step]:
        """What ends its turn: all changes of the turn are taken back."""
        return (TakeBack(),)

    rest: tuple[str, ...] = ()
    """What is done to bring it up after these steps, in words."""

    on: str = ""
    """The host whose agent executes the steps, for who prints them; empty: this one."""

    def planned(self) -> "list[PlannedPart] | None":
        """What a dry run tells of it, where others know that; ``None``: its steps tell it."""
        return None

    def boot(self) -> Mapping[str, str]:
        """Have its host booted for a turn, if it is another one and the study asks for it.

        Returns:
            Facts about the boot.

        Raises:
            BusyError: if others are at work there; nothing was done.
            TiltyardError: if it cannot be booted, or does not come back.
        """
        return {}

    def bring_up(self) -> Up:
        """Prepare it for a turn.

        Raises:
            TiltyardError: if a step fails; what was done until then is undone.
        """
        self.steps.begin()
        try:
            with self.place.understood():
                self.steps.take(self.steps_up())
                return replace(self.look(), recipe=self.steps.recipe)
        except BaseException:
            self.steps.undo()
            raise

    def refresh(self) -> None:
        """Prepare it for another trial of the same turn.

        Raises:
            TiltyardError: if a step fails; the system may then only be taken down.
        """
        self.steps.take(self.steps_refresh())

    def take_down(self) -> None:
        """Undo :meth:`bring_up` and verify that it is undone; harmless when it is not up.

        Raises:
            TiltyardError: if something stays behind; the message names it.
        """
        for step in self.steps_down():
            step.execute(self.steps)


S = TypeVar("S", bound=SystemSettings)


@dataclass(frozen=True)
class Kind(Generic[S]):
    """One line of :data:`tiltyard.systems.KINDS`."""

    name: str
    about: str
    Settings: type[S]
    target: Literal["directory", "far"]
    """What its trials work on; a workload says which of them it needs."""
    open: Callable[[str, S, Site], System]
    """Makes the system of that name; nothing is touched until it is brought up."""
    placed: bool = True
    """Whether hosts of a placement can have its systems."""
    elsewhere: bool = False
    """Whether its trials are carried out on another host, or in a guest: with programs of there."""
    in_guest: bool = False
    """Whether they are carried out in a guest of its host, which starts them."""
    far_host: bool = False
    """Whether its server is on another host, which clients on further ones reach too."""
    redraws: Callable[[S], str] = lambda _: ""
    """What each turn makes again, in words; what varies with it is the noise between turns."""
    clock: Callable[[S], Clock] = lambda _: "time"
    """What the clock of its systems counts."""
    programs: Callable[[S], str] = lambda _: ""
    """Why no program can be executed on its systems; empty: it can be."""
    brings: Callable[[S, Path], Iterable[Brought]] = lambda _settings, _root: ()
    """What of the settings would be executed, or chooses what is, with the study folder that paths
    begin at. It only looks: nothing of it is executed before the study is trusted."""

    def system(self, name: str, settings: Mapping[str, JsonValue], site: Site) -> System:
        """The system that a plan describes.

        Raises:
            pydantic.ValidationError: if the settings are not this kind's (a ``ValueError``).
        """
        return self.open(name, self.Settings.model_validate(settings), site)

    def inject(self, settings: Mapping[str, JsonValue]) -> Inject | None:
        """The delay that a system asks for."""
        return self.Settings.model_validate(settings).inject


AnyKind = Kind[Any]
