"""Rows of the findings that are made when they are first read.

A large grid has a hundred thousand comparisons; a page shows some hundred of them, and a decision
about the next block none of their sentences.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar, get_args, overload

from pydantic import GetCoreSchemaHandler, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema

_Row = TypeVar("_Row")


class Rows(Sequence[_Row]):
    """A tuple that is made when somebody first reads it, and equal to it."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Iterable[_Row]]) -> None:
        self._make: Callable[[], Iterable[_Row]] | None = make
        self._made: tuple[_Row, ...] = ()

    @property
    def made(self) -> tuple[_Row, ...]:
        """All of them."""
        self._made, self._make = self.fresh, None
        return self._made

    @property
    def fresh(self) -> tuple[_Row, ...]:
        """The same, for once."""
        return self._made if self._make is None else tuple(self._make())

    def __len__(self) -> int:
        return len(self.made)

    @overload
    def __getitem__(self, place: int) -> _Row: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[_Row, ...]: ...
    def __getitem__(self, place: int | slice) -> _Row | tuple[_Row, ...]:
        return self.made[place]

    def __iter__(self) -> Iterator[_Row]:
        return iter(self.made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.made == tuple(other)

    def __hash__(self) -> int:
        return hash(self.made)

    def __repr__(self) -> str:
        return repr(self.made)


class _MadeWhenRead:
    """Annotates a field that may have such rows; read from JSON, it is a tuple."""

    def __get_pydantic_core_schema__(self, of: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        rows = core_schema.tuple_variable_schema(handler.generate_schema(get_args(of)[0]))
        written = core_schema.plain_serializer_function_ser_schema(_written, return_schema=rows)
        return core_schema.no_info_wrap_validator_function(_kept, rows, serialization=written)


MADE_WHEN_READ: Final = _MadeWhenRead()


def _written(rows: Iterable[_Row]) -> tuple[_Row, ...]:
    """Those to write: what nobody has read is made, and not kept."""
    return rows.fresh if isinstance(rows, Rows) else tuple(rows)


def _kept(rows: object, validate: ValidatorFunctionWrapHandler) -> Any:
    return rows if isinstance(rows, Rows) else validate(rows)
