"""A guest: booted by the engine of its host, and asked through it.

What may be said to one is defined in the engine (``engine/guest/src/message.rs``), as is what comes
of a boot (``engine/guest/src/boot.rs``).
"""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, JsonValue, TypeAdapter, ValidationError, model_validator

from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import NAME
from tiltyard.frozen import Frozen
from tiltyard.host.commands import Command, complaint, shown
from tiltyard.host.place import Place
from tiltyard.host.start import Ready, Start
from tiltyard.host.steps import Steps, Text

DESCRIPTORS: Final = (3, 4)
"""Of a machine: of the pipe into the guest, and of the one out of it."""
_BEYOND_S: Final = 30.0
"""How long it may take, beyond the limit of the guest, to say that it was reached."""
_ENDS_S: Final = 40.0
"""More than a guest may take to switch itself off."""
_FOUND: Final = TypeAdapter(list[dict[str, str]])


class Hello(Frozen):
    """The first words of a guest."""

    version: int
    engine: str
    troubles: tuple[str, ...]


class _Ready(Frozen):
    machine: int = Field(gt=0)
    """The process that is the machine."""
    hello: Hello


class _Failed(Frozen):
    ended: bool
    """Whether the machine has ended by itself: another boot may do better."""
    why: str
    words: str
    """The last of this boot; empty: none."""


class _Answer(Frozen):
    """One of both."""

    ready: _Ready | None = None
    failed: _Failed | None = None

    @model_validator(mode="after")
    def _one(self) -> "_Answer":
        if (self.ready is None) == (self.failed is None):
            raise ValueError("either ready or failed")
        return self


class BootFailedError(TiltyardError):
    """A machine has ended before its guest was ready; another boot may do better."""


class Boot(Start):
    """A machine, started and waited for until its guest is ready; at its end it is switched off."""

    kind: Literal["boot"] = "boot"  # type: ignore[assignment]
    channel: Path
    """Path of the pipes between host and guest, without ``.in`` and ``.out``."""
    console: Path
    """File there that what the machine prints is added to."""
    within_s: float
    """How long the guest may take."""

    def op(self, text: Text) -> dict[str, object]:
        """The engine there is above the machine."""
        within = ("--within", str(self.within_s), text(self.channel), text(self.console))
        argv = [{"of": "self"}, "guest-boot", *within, "--", *map(text, self.argv)]
        return {**super().op(text), "argv": argv}

    @property
    def line(self) -> str:
        """In words."""
        return f"# boot, and wait until the guest is ready: {shlex.join(self.argv)}"

    @property
    def script(self) -> str:
        """Its channel is the engine's."""
        return self.line

    @property
    def back_script(self) -> str:
        """The same."""
        return "# switch the machine off"

    @property
    def executed(self) -> tuple[str, ...]:
        """Told of the boot that was the last."""
        return ()


def boot(
    argv: tuple[str, ...], *, mark: str, channel: Path, console: Path, within_s: float
) -> Boot:
    """The step that boots a machine.

    Args:
        argv: becomes the machine; it has the pipes as descriptors 3 and 4.
        mark: by which its processes are known.
        channel: path of the pipes, which are made, without ``.in`` and ``.out``.
        console: file there that what it prints is added to.
        within_s: how long the guest may take to be ready.
    """
    return Boot(
        argv=argv,
        mark=mark,
        directory=str(channel.parent),
        channel=channel,
        console=console,
        within_s=within_s,
        ready=Ready(line=True),
        limit_s=within_s + _BEYOND_S,
        stop_s=_ENDS_S,
        what="the guest did not boot",
    )


@dataclass(frozen=True)
class Guest:
    """A guest that is ready."""

    place: Place
    """Its host."""
    channel: Path
    console: Path
    machine: int
    """The process that is the machine."""
    hello: Hello
    command: Command
    """That has become the machine, and how long its boot has taken."""

    @property
    def reached(self) -> tuple[str, ...]:
        """What an engine of its host is told of it."""
        options = ("--console", str(self.console), "--machine", str(self.machine))
        return (*options, str(self.channel))

    def ask(self, *requests: JsonValue) -> dict[str, str]:
        """Ask for one thing after the other; what was found, all told.

        Raises:
            TiltyardError: if it is refused, or there is no guest any more.
        """
        place = self.place
        argv = (place.engine, "guest-ask", *self.reached, *map(json.dumps, requests))
        ran = place.ask(lambda host: host.run(argv, ok=range(256)))
        if ran.status != 0:
            why = complaint(ran.stderr, ran.status or 0)
            raise TiltyardError(shown(why.removeprefix(f"{NAME}: ")))
        with place.understood():
            answers = _FOUND.validate_json(ran.stdout)
        return {name: text for one in answers for name, text in one.items()}

    def read(self, *paths: str) -> dict[str, str]:
        """Small files of the guest by path, those that cannot be read left out."""
        return self.ask({"read": {"paths": list(paths)}})


def booted(steps: Steps, step: Boot, console: str) -> Guest:
    """The guest that a step has booted.

    Args:
        steps: have executed it.
        step: it.
        console: what a person calls the file with what it has said.

    Raises:
        BootFailedError: if its machine has ended, and may be booted again.
        TiltyardError: if it says nothing; the message has its last words, too.
    """
    _, told = steps.started[step.mark]
    try:
        said = _Answer.model_validate_json(told.line)
    except ValidationError:
        raise TiltyardError(f"the guest did not boot: {shown(told.line)}") from None
    if (failed := said.failed) is not None:
        words = f"its last words: {shown(failed.words) or 'nothing'} ({console})"
        kind = BootFailedError if failed.ended else TiltyardError
        raise kind(f"the guest did not boot: {shown(failed.why)}; {words}")
    assert said.ready is not None
    command = Command(argv=step.argv, elapsed_s=told.elapsed_s)
    ready = said.ready
    return Guest(steps.place, step.channel, step.console, ready.machine, ready.hello, command)
