"""A server that belongs to a system: the setting ``service`` of kinds that are a directory."""

import shlex
import signal
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from tiltyard.study.placeholders import names_in
from tiltyard.study.problems import shown
from tiltyard.study.program import OF_SERVICE, SERVER
from tiltyard.systems.kind import KindSettings, OneHostSettings, SystemSettings
from tiltyard.systems.untrusted_inputs import Brought

_DIR: Final = "dir"
"""In its own texts its directory is called so as well."""

Words = Annotated[tuple[str, ...], Field(min_length=1)]


def _commands(typed: object) -> object:
    """One command is a list of one."""
    if isinstance(typed, list | tuple) and typed and all(isinstance(one, str) for one in typed):
        return (tuple(typed),)
    return typed


Commands = Annotated[
    tuple[Words, ...],
    BeforeValidator(_commands),
    WithJsonSchema(
        {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                ]
            },
        }
    ),
]
"""A command (a list of words), or a list of commands."""


class Ready(KindSettings):
    """How it is seen that a service can be loaded: one of these."""

    command: Words | None = Field(None, description="A command that ends with status 0.")
    port: int | str | None = Field(
        None, description='A port of {server} that takes connections: "{port}".'
    )
    path: str | None = Field(None, description='A file that is there: "{socket}".', min_length=1)

    @field_validator("port")
    @classmethod
    def _a_port(cls, port: int | str | None) -> int | str | None:
        """A number, or a placeholder for one."""
        if isinstance(port, str) and not (port.isdigit() or any(names_in(port))):
            raise ValueError(f'{shown(port)} is no port; give a number, or "{{port}}"')
        return port

    @model_validator(mode="after")
    def _one(self) -> "Ready":
        """One sign is enough."""
        given = [one for one in (self.command, self.port, self.path) if one is not None]
        if len(given) != 1:
            raise ValueError("give one of command, port and path")
        return self


class ServiceSettings(KindSettings):
    """A server that is started for the turn of its system, stopped and wiped.

    Commands are lists of words, no shell lines. ``{dir}``, ``{server}``, ``{port}``, ``{socket}``,
    ``{secret}`` and variables of the system stand in all texts.
    """

    start: Words = Field(
        description="The server. It may stay in the foreground or leave a daemon behind.",
    )
    initialise: Commands = Field(
        (), description="Commands before the start, for each turn: initdb, a user, a certificate."
    )
    files: dict[str, str] = Field(
        {},
        description="Files that are written into {dir} before anything is executed: name = text.",
    )
    ready: Ready | None = Field(
        None,
        description="How it is seen that it serves. By default a connection to {port}, or the "
        "socket {socket}, whichever its texts name.",
    )
    timeout: float = Field(
        60.0, gt=0, le=86400, description="Seconds that a command of initialise may take, and the "
        "start until it is ready.",
    )  # fmt: skip
    stop: str | Words = Field(
        "SIGTERM", description="The signal, or the command, that asks it to end."
    )
    stop_timeout: float = Field(
        30.0, ge=0, le=3600, description="Seconds that it may take to end; then it is killed."
    )
    user: str | None = Field(
        None,
        min_length=1,
        description='Who executes all of it; where we are root and none is given: "nobody".',
    )
    env: dict[str, str] = Field(
        {}, description="Environment, beside PATH, HOME, USER, LANG and TMPDIR."
    )

    @field_validator("stop")
    @classmethod
    def _a_signal(cls, stop: str | tuple[str, ...]) -> str | tuple[str, ...]:
        """By its name."""
        if isinstance(stop, str) and stop not in signal.Signals.__members__:
            text = f'{shown(stop)} is no signal, such as "SIGINT"; a command is a list of words'
            raise ValueError(text)
        return stop

    @field_validator("files")
    @classmethod
    def _inside(cls, files: dict[str, str]) -> dict[str, str]:
        """Nothing is written outside of the directory."""
        for name in files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
                raise ValueError(
                    f"{shown(name)} is no file in {{dir}}; give a name such as my.conf"
                )
        return files

    @field_validator("start", "initialise", "files", "ready", "stop", "env")
    @classmethod
    def _known_names(cls, value: Any) -> Any:
        """What a text names is there."""
        known = (_DIR, SERVER, *OF_SERVICE)
        for name in names_in(value.model_dump() if isinstance(value, Ready) else value):
            if name not in known:
                names = ", ".join(f"{{{one}}}" for one in known)
                raise ValueError(
                    f'"{{{name}}}" stands for nothing; there are {names} and the variables of the '
                    f'system. For the text itself: "{{{{{name}}}}}"'
                )
        return value

    @model_validator(mode="after")
    def _has_a_sign(self) -> "ServiceSettings":
        """It can be seen that it serves."""
        if self.ready is None and not {"port", "socket"} & set(self.names):
            raise ValueError(
                "it cannot be seen when it serves: use {port} or {socket} in it, or give ready, "
                'such as { command = ["pg_isready", "-h", "{dir}"] }'
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The placeholders in its texts."""
        texts: list[Any] = [self.start, self.initialise, self.files, self.stop, self.env]
        texts += [self.ready.model_dump()] if self.ready else []
        return tuple(dict.fromkeys(names_in(texts)))

    @property
    def sign(self) -> Ready:
        """How it is seen that it serves."""
        by_default = Ready(port="{port}") if "port" in self.names else Ready(path="{socket}")
        return self.ready or by_default

    def brings(self) -> Iterator[Brought]:
        """All that would be executed."""
        commands = [*self.initialise, self.start]
        commands += [self.ready.command] if self.ready and self.ready.command else []
        commands += [] if isinstance(self.stop, str) else [self.stop]
        for words in commands:
            yield Brought("service", f"command {shlex.join(words)}")


class ServedSettings(SystemSettings):
    """Base of the settings of kinds whose systems may have a server."""

    service: ServiceSettings | None = Field(
        None,
        description="A server that belongs to the system: started in a directory on it for each "
        "turn, probed until it is ready, stopped and wiped after.",
    )


class ServiceableSettings(ServedSettings, OneHostSettings):
    """Base of the settings of kinds whose systems are a directory of this host."""
