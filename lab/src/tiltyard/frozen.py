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
    """A model, or models in tuples, lists and dicts, as an equal one in a third of the memory.

    A model that was read has a dict of its values, a set of the names that it was given, and mostly
    an empty dict of others. Equal sets become one, and values that are set one by one share their
    names with all models of the kind: a run has a dozen models a trial. What is lean stays as it
    is, also where several have it.
    """
    made: _T = _lean(value)
    return made


_PLAIN: Final = frozenset((str, int, float, bool, type(None)))


def _lean(value: Any) -> Any:
    kind = type(value)
    if issubclass(kind, BaseModel):
        return _lean_model(value)
    if kind in (tuple, list) and not _PLAIN.issuperset(map(type, value)):
        return kind(map(_lean, value))
    if kind is dict and not _PLAIN.issuperset(map(type, value.values())):
        return {name: _lean(one) for name, one in value.items()}
    return value


def _lean_model(model: BaseModel) -> BaseModel:
    own, extra = model.__pydantic_fields_set__, model.__pydantic_extra__
    given = _SETS.setdefault(frozenset(own), set(own))
    if given is own:
        return model
    made = type(model).__new__(type(model))
    change = object.__setattr__
    for name, one in vars(model).items():
        change(made, name, one if type(one) in _PLAIN else _lean(one))
    change(made, "__pydantic_fields_set__", given)
    change(made, "__pydantic_extra__", _NO_EXTRA if extra == {} else extra)
    change(made, "__pydantic_private__", model.__pydantic_private__)
    return made


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
