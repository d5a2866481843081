"""The lab's reader of the wire; its types are generated from the schema of the engine's.

Only what the engine sends is here; further fields pass through.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, Literal

from msgspec import DecodeError, Struct, ValidationError, json
from pydantic import TypeAdapter

from tiltyard.wire.end_types import *  # noqa: F403
from tiltyard.wire.end_types import Message
from tiltyard.wire.host_types import *  # noqa: F403
from tiltyard.wire.host_types import HostSeen, HostSettled
from tiltyard.wire.types import *  # noqa: F403
from tiltyard.wire.types import Card, CatalogueMessage, Event, ModelEvent, SampleEvent

PROTOCOL: Final = 1
RECORD_SEPARATOR: Final = b"\x1e"
"""Stands before each line of a runner's own."""


class Catalogue(CatalogueMessage):
    """Everything that this engine can do."""

    def workload(self, name: str) -> Card | None:
        """The workload of that name, if there is one."""
        return next((card for card in self.workloads if card.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all workloads."""
        return tuple(card.name for card in self.workloads)

    def whole(self) -> "Catalogue":
        """The same with every workload in it, also those whose files are read when asked for."""
        return self


class Listening(Message):
    """Where an engine that serves can be reached."""

    addresses: list[str]
    """``address:port``, an IPv6 address in brackets."""
    engine: str
    protocol: int


class ListeningLine(Message):
    """The only line of an engine that serves."""

    type: Literal["listening"]
    data: Listening


class RunnerHello(Message):
    """First line of a runner: it is ready."""

    protocol: int
    engine: str


class RunnerEnded(Message):
    """The trial of a runner has ended, with all that it started."""

    status: int
    """Exit status; negative is the signal that killed it."""
    said: str
    """The end of what it wrote for people."""
    seen: HostSeen | None = None
    """What went on on its host, if that was asked for."""


class RunnerRefused(Message):
    """A request was not carried out."""

    message: str


class RunnerBeat(Message):
    """It is still there."""


class RunnerReady(Message):
    """A trial that is held is ready for a timed region."""


class RunnerClock(Message):
    """What time it is there."""

    now_ns: int
    """By CLOCK_MONOTONIC."""


class RunnerReply(Message):
    """One of them."""

    hello: RunnerHello | None = None
    ended: RunnerEnded | None = None
    beat: RunnerBeat | None = None
    ready: RunnerReady | None = None
    clock: RunnerClock | None = None
    settled: HostSettled | None = None
    """Before a trial: its host's disks have come to rest."""
    refused: RunnerRefused | None = None


class RunnerLine(Message):
    """A line of a runner's own, between the lines of trials."""

    runner: RunnerReply


_TYPE: Final = b'{"type":"'
_A_SAMPLE: Final = _TYPE + b'sample"'
_SAMPLE: Final = json.Decoder(SampleEvent)
_EVENT: Final[TypeAdapter[ModelEvent]] = TypeAdapter(ModelEvent)


class _Typed(Struct):
    """Of any event, what it is."""

    type: str


def read_event(line: str | bytes) -> Event:
    """One line of the engine's output.

    Raises:
        ValueError: if the line is not an event.
    """
    try:
        return _event(line)
    except RecursionError:
        raise ValueError("it is nested more deeply than any event") from None


def _event(line: str | bytes) -> Event:
    if not _is_other(line):
        try:
            # A large grid has thousands of samples.
            return _SAMPLE.decode(line)
        except ValidationError:
            if _is_sample(line):
                raise
        except DecodeError:
            pass
    return _EVENT.validate_json(line)


def _is_other(line: str | bytes) -> bool:
    """Whether it begins as all lines of the engine but samples do."""
    if isinstance(line, str):
        return line.startswith(_TYPE.decode()) and not line.startswith(_A_SAMPLE.decode())
    return line.startswith(_TYPE) and not line.startswith(_A_SAMPLE)


def _is_sample(line: str | bytes) -> bool:
    with suppress(DecodeError):
        return json.decode(line, type=_Typed).type == SampleEvent.__struct_config__.tag
    return False


def written_event(event: Event) -> bytes:
    """The line of an event, without what is absent."""
    if isinstance(event, SampleEvent):
        return json.encode(event) + b"\n"
    return event.model_dump_json(exclude_none=True).encode() + b"\n"


def read_events(lines: Iterable[str | bytes]) -> Iterator[Event]:
    """All events of a stream; blank lines are passed over."""
    return (read_event(line) for line in lines if line.strip())
