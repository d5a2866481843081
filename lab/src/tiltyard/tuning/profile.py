"""A tuning profile: what its file may say, and several of them as one."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import Field, create_model

from tiltyard.folder import sha256
from tiltyard.study.file import Text, Typed
from tiltyard.tuning.knob import KnobTable
from tiltyard.tuning.knobs import KNOBS
from tiltyard.tuning.setting import Scene, Setting, Stage

T = TypeVar("T", bound=KnobTable)


class ProfileHead(Typed):
    """What a profile says of itself."""

    about: Text = Field(description="What it is for, in one line.")
    source: Text | None = Field(None, description="Whose values these are.")
    include: list[str] = Field(
        [], description="Profiles that it builds on; what stands here goes before theirs."
    )


@cache
def profile_file() -> type[ProfileHead]:
    """A profile as it is typed: the head, and a table for each knob."""
    tables: dict[str, Any] = {
        knob.name: (knob.Table, Field(None, description=knob.about)) for knob in KNOBS
    }
    return create_model("ProfileFile", __base__=ProfileHead, **tables)


@dataclass(frozen=True)
class Profile:
    """What is to be set, and under which names it was asked for."""

    names: tuple[str, ...]
    """Those of files with a digest: a file may be edited between two runs."""
    about: str = ""
    source: str = ""
    tables: dict[str, KnobTable] = field(default_factory=dict)
    """Knob → its table."""
    files: dict[str, str] = field(default_factory=dict)
    """Path as it was asked for → digest of what that file and those that it includes set."""

    @classmethod
    def of(cls, name: str, file: ProfileHead) -> "Profile":
        """The profile that a file describes, without those that it includes."""
        tables = {knob.name: getattr(file, knob.name) for knob in KNOBS}
        given = {name: table for name, table in tables.items() if table is not None}
        return cls((name,), file.about, file.source or "", given)

    @property
    def digest(self) -> str:
        """Tells contents apart: of what is set, whatever the comments and the files it is in."""
        return sha256(repr(sorted(self.tables.items())).encode())

    def over(self, earlier: "Profile") -> "Profile":
        """Both, this one's values first."""
        tables = dict(earlier.tables)
        for name, table in self.tables.items():
            tables[name] = table.over(tables[name]) if name in tables else table
        return replace(self, tables=tables)

    def table(self, kind: type[T]) -> T | None:
        """The table of a knob."""
        return next((table for table in self.tables.values() if isinstance(table, kind)), None)

    def with_table(self, name: str, table: KnobTable | None) -> "Profile":
        """The same with another table of that name, or without it."""
        left = {key: value for key, value in self.tables.items() if key != name}
        return replace(self, tables=left if table is None else {**left, name: table})

    def settings(self, of: Stage, scene: Scene, *, again: bool = False) -> Iterator[Setting]:
        """What it asks for on a host, or on devices, in order.

        Args:
            of: when it is set.
            scene: where.
            again: only what is set again when servers were started again.
        """
        for knob in KNOBS:
            if knob.of == of and knob.name in self.tables and again <= knob.again:
                yield from knob.settings(self.tables[knob.name], scene)

    def settings_of(self, scene: Scene) -> Iterator[Setting]:
        """All that it asks for, of a host whose devices are known."""
        for stage in get_args(Stage):
            yield from self.settings(stage, scene)
