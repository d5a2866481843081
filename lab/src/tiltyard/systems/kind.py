"""What a kind of system is: settings a study may vary, and a way up and down again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, WithJsonSchema

from tiltyard.executors.engine import Target
from tiltyard.host.commands import Command
from tiltyard.host.ledger import Ledger
from tiltyard.units import parse_size

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


class KindSettings(BaseModel):
    """Base of the settings of a kind; a field's description is its help."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Site:
    """Where systems are brought up."""

    root: Path
    """The study folder: paths in a study file are relative to it."""
    work: Path
    """Scratch space for images and mount points."""
    ledger: Ledger
    check: Callable[[], None] = lambda: None
    """Called between steps; raises if a person has asked to stop."""


@dataclass(frozen=True)
class Problem:
    """Something that would go wrong, seen before anything runs."""

    severity: Literal["error", "warning"]
    text: str
    remedy: str | None = None
    """The one command or change that mends it."""


@dataclass(frozen=True)
class Up:
    """A system that is up."""

    target: Target
    """An empty directory that trials work in, or the far end that they talk to."""
    commands: tuple[Command, ...]
    """What was executed, in order."""
    facts: dict[str, str]
    """What the kernel says of it, in names that a reader knows."""
    prefix: tuple[str, ...] = ()
    """Command that starts the measuring engine where its end of the system is."""
    cpus: tuple[int, ...] = ()
    """CPUs for the measuring threads, instead of those of the study; empty: the study's."""


class System(ABC):
    """One system under test on this host. Between turns nothing of it is left up."""

    @abstractmethod
    def problems(self) -> list[Problem]:
        """What would keep it from coming up here; changes nothing."""

    @abstractmethod
    def bring_up(self) -> Up:
        """Prepare it for a turn.

        Raises:
            TiltyardError: if a step fails; what was done until then is undone.
        """

    @abstractmethod
    def take_down(self) -> None:
        """Undo :meth:`bring_up` and verify that it is undone; harmless when it is not up.

        Raises:
            TiltyardError: if something stays behind; the message names it.
        """


S = TypeVar("S", bound=KindSettings)


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

    def system(self, name: str, settings: Mapping[str, JsonValue], site: Site) -> System:
        """The system that a plan describes.

        Raises:
            pydantic.ValidationError: if the settings are not this kind's (a ``ValueError``).
        """
        return self.open(name, self.Settings.model_validate(settings), site)


AnyKind = Kind[Any]
