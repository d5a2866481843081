"""A sort of settings: one table of a profile, and how it becomes settings of a host."""

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from tiltyard.study.file import Typed
from tiltyard.tuning.setting import Scene, Setting, Stage
from tiltyard.tuning.values import Amount


class KnobTable(Typed):
    """Base of a knob's table in a profile; a field's description is its help."""

    def over(self, earlier: Self) -> Self:
        """Both, this one's keys first; tables in it are merged key by key."""
        merged: dict[str, Any] = {}
        for name in (*earlier.model_fields_set, *self.model_fields_set):
            value = getattr(self if name in self.model_fields_set else earlier, name)
            before = getattr(earlier, name)
            merged[name] = value if value is before else _merged(value, before)
        return self.model_copy(update=merged)

    def without(self, names: Set[str]) -> Self:
        """The same with some keys as if they had not been typed."""
        fields = type(self).model_fields
        return self.model_copy(update={name: fields[name].get_default() for name in names})


def _merged(value: object, before: object) -> object:
    """A later profile's value after an earlier one's."""
    if isinstance(value, dict) and isinstance(before, dict):
        return {**before, **value}
    if isinstance(value, Amount) and isinstance(before, Amount):
        return value.over(before)
    return value


T = TypeVar("T", bound=KnobTable)


@dataclass(frozen=True)
class Knob(Generic[T]):
    """One line of :data:`tiltyard.tuning.knobs.KNOBS`."""

    name: str
    """Of its table in a profile."""
    about: str
    Table: type[T]
    of: Stage
    """When it is set."""
    settings: Callable[[T, Scene], Iterable[Setting]]
    """What a table asks for on a host."""
    again: bool = False
    """Whether it is set again when servers were started again."""


AnyKnob = Knob[Any]
