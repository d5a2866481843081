"""The engine: where its binary is, what it can do, and whether it accepts a job."""

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tiltyard.errors import HostLacksError, TiltyardError, UsageError
from tiltyard.wire import (
    PROTOCOL,
    Call,
    Catalogue,
    EndEvent,
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


class Inject(BaseModel):
    """A known delay in front of calls, to prove that the instrument sees it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    delay_ns: int
    every: int = 1
    into: tuple[Call, ...] = ()
    """Empty: all."""


class ConditionsWanted(BaseModel):
    """Conditions that the engine shall bring about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cpus: tuple[int, ...] = ()
    unpinned: bool = False
    keep_awake: bool = False
    settle: bool = Field(False, exclude_if=lambda settle: not settle)
    """Let the kernel do, before a region is timed, what it puts off and what first reads cost."""
    numa: int | None = None
    inject: Inject | None = None


class FarEnd(BaseModel):
    """The far end of a connection: an engine that serves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    port: int
    secret: str | None = None
    local: str | None = None
    """Address of the near end; the kernel chooses if it is left out."""


Target = Path | FarEnd
"""What a trial works on: a directory, or a far end."""


class Job(BaseModel):
    """One trial, as the wire wants it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workload: str
    parameters: dict[str, JsonValue]
    target: Target
    variables: dict[str, str] = Field({}, exclude=True)
    """Values of the system under test that stand in commands as ``{name}``."""
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
        if self.expected is not None:
            target["expected"] = self.expected.model_dump(mode="json", exclude_none=True)
        if self.elsewhere:
            target["elsewhere"] = True
        return json.dumps({"protocol": PROTOCOL, **fields, "target": target}).encode()


_SOME_FAR_END = FarEnd(address="127.0.0.1", port=1)
"""For a job that is only looked at."""


class Engine:
    """An engine binary."""

    def __init__(self, path: Path) -> None:
        """The binary at that path; nothing is started yet."""
        self.path = path

    @classmethod
    def find(cls) -> Self:
        """The engine of this installation.

        Raises:
            HostLacksError: if it is nowhere; the message lists every place that was looked at.
        """
        places = list(_places())
        for place in places:
            if place.is_file() and os.access(place, os.X_OK):
                return cls(place)
        looked = ", ".join(str(place) for place in places)
        raise HostLacksError(
            f'there is no {NAME}; looked at {looked} and in PATH. "make build" builds it, '
            "TILTYARD_ENGINE names another place"
        )

    def describe(self) -> Catalogue:
        """Everything that this engine can do; asked once.

        Raises:
            HostLacksError: if it speaks another protocol.
        """
        return self._catalogue

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
                f"{self.path}: speaks protocol {catalogue.protocol}, this lab speaks {PROTOCOL}; "
                '"make build" builds the engine that belongs to it'
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
        card = self._catalogue.workload(workload)
        far = card is not None and card.target == "far"
        target = _SOME_FAR_END if far else Path("/")
        job = Job(
            workload=workload,
            parameters=dict(parameters),
            target=target,
            variables=dict(variables or {}),
            elsewhere=elsewhere,
        )
        answer = self._ask("validate", job.message())
        for event in read_events(answer.stdout.splitlines()):
            if isinstance(event, HelloEvent):
                return event.data
            if isinstance(event, EndEvent) and event.data.failure is not None:
                raise JobRefused(event.data.failure.parameter, event.data.failure.message)
        said = answer.stderr.decode(errors="replace").strip() or f"exit status {answer.returncode}"
        raise TiltyardError(f"{self.path} validate: no answer: {said}")

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
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HostLacksError(f"{self.path} {verb}: {error}") from error


def _places() -> Iterator[Path]:
    """Where an engine may be, in the order of preference."""
    if named := os.environ.get("TILTYARD_ENGINE"):
        yield Path(named)
        return
    yield Path(sys.executable).parent / NAME
    repository = Path(__file__).resolve().parents[4]
    if (repository / "Cargo.toml").is_file():
        yield from (repository / "target" / profile / NAME for profile in ("release", "debug"))
    if found := shutil.which(NAME):
        yield Path(found)
