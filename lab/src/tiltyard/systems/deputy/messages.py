"""What a deputy says, as data: systems that are up, problems, and errors that come back as such."""

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, JsonValue

from tiltyard.errors import (
    BusyError,
    HostLacksError,
    NotRestoredError,
    RefusedError,
    TiltyardError,
    TrialsFailedError,
    UsageError,
)
from tiltyard.executors.engine import FarEnd, FarPlace
from tiltyard.frozen import Frozen
from tiltyard.host.commands import Command, shown
from tiltyard.host.processes import Process
from tiltyard.recipe import Recipe

_KINDS: Final = {
    kind.__name__: kind
    for kind in (
        *(BusyError, HostLacksError, NotRestoredError, RefusedError),
        *(TrialsFailedError, UsageError, TiltyardError),
    )
}
"""What may fail over there. That this run is interrupted, or boots, is said here only."""
_TEXT: Final = 2000
"""Characters of an error."""
_Word = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]+$")]
"""Of a command, as an operating system takes it."""
_Words = Annotated[tuple[_Word, ...], Field(max_length=64)]


class Message(Frozen):
    """Base of all of them."""


class Failure(Message):
    """An error over there."""

    kind: str
    """Name of its class, or of what that is derived from, among those that may fail there."""
    text: str

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """As it will be raised here; one that is none of ours is a line of text."""
        names = (each.__name__ for each in type(error).__mro__ if each.__name__ in _KINDS)
        text = str(error)[:_TEXT] or type(error).__name__
        return cls(kind=next(names, TiltyardError.__name__), text=text)

    def error(self, host: str) -> TiltyardError:
        """The error, with the host it is of."""
        known = _KINDS.get(self.kind, HostLacksError)
        return known(f"{host}: {shown(self.text, _TEXT)}")


class Request(Message):
    """What a deputy is asked for."""

    do: str
    system: str = ""
    """Name of the system that it is about."""
    given: dict[str, JsonValue] = Field({})


class Hello(Message):
    """What a deputy says first."""

    process: Process
    directory: Path
    """Where it has its copy, its scratch folder and what it is told of the study folder."""
    recovered: tuple[str, ...] = ()
    """What an earlier run had left changed on that host."""


class Answer(Message):
    """One line of a deputy; one of these."""

    hello: Hello | None = None
    note: str | None = None
    """What a person should know meanwhile."""
    beat: bool = False
    """That it is there, and works."""
    failed: Failure | None = None
    done: JsonValue = None
    """What was asked for, where nothing else stands in the line."""


class UpThere(Message):
    """A system that is up on another host: what :class:`tiltyard.systems.kind.Up` says of it."""

    target: Path | FarEnd
    commands: tuple[Command, ...]
    facts: dict[str, str]
    failed_boots: tuple[str, ...] = ()
    prefix: _Words = ()
    engine: _Words
    cpus: tuple[int, ...] = ()
    variables: dict[str, str] = Field({})
    far_place: FarPlace | None = None
    recipe: Recipe = Recipe()
    who: dict[str, list[int] | list[str]] = Field({})
    """Whose work there is nobody else's, as a watch is told it."""
    disk: dict[str, str | bool] | None = None
    """Under its directory, as a watch is told it."""


def line(said: BaseModel) -> bytes:
    """As it goes through the pipe."""
    return said.model_dump_json(exclude_defaults=True).encode() + b"\n"


def plain(value: Any) -> JsonValue:
    """What stands in :attr:`Answer.done`."""
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value
