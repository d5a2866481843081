"""The base of data that is written, kept and passed on, and the one reader of JSON from outside."""

from collections.abc import Mapping
from typing import Any, Final, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

_T = TypeVar("_T")

LARGEST: Final = 10**24
"""Nothing that a machine does is more, in any unit; nor is any part of it less than 1 by this."""

_LONGEST_KEY: Final = 200
"""Characters, in a message."""


class Frozen(BaseModel):
    """Never changed, without keys that nobody knows and numbers that are not finite.

    What reads it is made when one is first read: of most of them a command reads none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values, without what was worked out of the earlier ones and kept."""
        made = super().model_copy(update=update, deep=deep)
        for name in vars(made).keys() - type(made).model_fields.keys():
            del vars(made)[name]
        return made

    @classmethod
    def of_json(cls, text: str | bytes) -> Self:
        """What a file or a program has, as :func:`read_json` reads it.

        Raises:
            ValueError: if it is no JSON; a ValidationError, if it is not of this form.
        """
        return cls.model_validate(read_json(text))


_SETS: Final[dict[frozenset[str], set[str]]] = {}
_NO_EXTRA: Final[dict[str, Any]] = {}


def lean(value: _T) -> _T:
    """A model, or models in tuples, lists and dicts, made smaller; the same one.

    Each model has a set of the fields that it was given, which is half of a small one, and mostly
    an empty dict of others. Those that are equal become one: a run has a dozen models a trial.
    """
    if isinstance(value, BaseModel):
        own = value.__pydantic_fields_set__
        object.__setattr__(value, "__pydantic_fields_set__", _SETS.setdefault(frozenset(own), own))
        if value.__pydantic_extra__ == {}:
            object.__setattr__(value, "__pydantic_extra__", _NO_EXTRA)
        for one in vars(value).values():
            lean(one)
    elif isinstance(value, tuple | list):
        for one in value:
            lean(one)
    elif isinstance(value, dict):
        for one in value.values():
            lean(one)
    return value


def flaw(error: ValueError) -> str:
    """What is wrong with a text that was to be one of ours: the first key and its reason."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    key = ".".join(str(one)[:_LONGEST_KEY] for one in first["loc"])
    return ": ".join(filter(None, (key, first["msg"])))


def read_json(text: str | bytes) -> Any:
    """What is in a JSON text that somebody else has written.

    Raises:
        ValueError: if it is none, is no Unicode, is nested more than 200 deep, or has a number that
            is not finite or is beyond :data:`LARGEST`; it says which, and where.
    """
    try:
        document = from_json(text)
    except ValueError as error:
        raise ValueError(f"Invalid JSON: {error}") from error
    left = [("", document)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            left += [(f"{path}.{key}" if path else key, each) for key, each in value.items()]
        elif isinstance(value, list):
            left += [(f"{path}.{place}", each) for place, each in enumerate(value)]
        elif isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:
            raise ValueError(f"{path[:_LONGEST_KEY]}: {str(value)[:20]} is no number up to 1e24")
    return document
