"""Table ``[mount]``: options with which a system's file system is mounted.

The system mounts with them itself: they go before the options of the study, which have the last
word. What no system mounts is not changed.
"""

from collections.abc import Iterator

from pydantic import ConfigDict

from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, Scene

ANY = "any"


class MountTable(KnobTable):
    """Mount options by file system; those of ``any`` are for all of them."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, list[str]]

    def options(self, filesystem: str) -> tuple[str, ...]:
        """The options for one of them."""
        own = self.__pydantic_extra__
        return (*own.get(ANY, ()), *own.get(filesystem, ()))

    def over(self, earlier: "MountTable") -> "MountTable":
        """Those of both, this one's last."""
        before, own = earlier.__pydantic_extra__, self.__pydantic_extra__
        both = {name: [*before.get(name, ()), *own.get(name, ())] for name in {**before, **own}}
        return MountTable(**{name: list(dict.fromkeys(words)) for name, words in both.items()})


def _settings(table: MountTable, scene: Scene) -> Iterator[Absent]:
    """Left over where no system has taken them."""
    del scene
    for name, options in table.__pydantic_extra__.items():
        words = ",".join(options)
        yield Absent(f"mount options of {name}", f"{words}: this system mounts nothing of it")


KNOB = Knob(
    name="mount",
    about="options with which a system's file system is mounted",
    Table=MountTable,
    of="host",
    settings=_settings,
)
