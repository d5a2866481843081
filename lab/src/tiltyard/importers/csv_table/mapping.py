"""What a mapping may say: which column is what, in which unit, and how numbers are written."""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from tiltyard.errors import UsageError
from tiltyard.frozen import Frozen
from tiltyard.importers.gather import contents
from tiltyard.importers.quantities import Unit, unit_named
from tiltyard.study.load import parsed
from tiltyard.study.locate import locate
from tiltyard.study.problems import located
from tiltyard.study.wording import flaws_of
from tiltyard.units import SIZE_UNITS


class Column(Frozen):
    """A column, by its name in the head."""

    column: Annotated[str, Field(min_length=1)]
    unit: str | None = None
    """Of sizes: ``KiB``."""

    @property
    def factor(self) -> int:
        """Bytes of one."""
        return SIZE_UNITS[self.unit] if self.unit else 1

    @model_validator(mode="after")
    def _known(self) -> "Column":
        if self.unit is not None and self.unit not in SIZE_UNITS:
            raise ValueError(f'"{self.unit}" is not one of {", ".join(SIZE_UNITS)}')
        return self

    def __str__(self) -> str:
        return f'"{self.column}"'


class Quantity(Frozen):
    """A metric."""

    unit: Annotated[str, Field(min_length=1, description='Fix: unit = "MB/s"')]
    direction: Annotated[
        Literal["higher", "lower"],
        Field(description='What is better. Fix: direction = "higher" or "lower"'),
    ]
    column: str | None = None
    """Where its values stand, in a wide file."""
    label: str = ""
    decimals: Annotated[int, Field(ge=0, le=12)] | None = None
    compared: bool = True


class Mapping(Frozen):
    """What a CSV file is made of."""

    delimiter: Annotated[str, Field(pattern=r'^[^"\r\n]$', description='Fix: delimiter = ","')]
    decimal: Annotated[Literal[".", ","], Field(description='Fix: decimal = "."')]
    thousands: Literal["", ",", ".", " ", "'"] = ""
    workload: Annotated[
        Annotated[str, Field(min_length=1)] | Column,
        Field(description='Fix: workload = "NAME", or workload = { column = "NAME" }'),
    ]
    system: Column | None = None
    """Absent where the command line says it: NAME=FILE."""
    block: Column | None = None
    at: dict[str, Column] = Field(default_factory=dict)
    metric: Column | None = None
    """With ``value``: a long file, one value in a row."""
    value: Column | None = None
    metrics: Annotated[
        dict[str, Quantity],
        Field(min_length=1, description="Fix: [metrics.NAME] with column, unit and direction"),
    ]

    @model_validator(mode="after")
    def _one_form(self) -> "Mapping":
        named = [name for name, one in self.metrics.items() if one.column]
        if (self.metric is None) != (self.value is None):
            raise ValueError("metric and value go together: a long file has both columns")
        if self.metric is None and len(named) < len(self.metrics):
            raise ValueError("each metric needs its column, or the file metric and value")
        if self.metric is not None and named:
            raise ValueError(f"{named[0]}: a column of its own in a file with a column of values")
        if self.thousands == self.decimal:
            raise ValueError("thousands and decimal are the same")
        return self

    def columns(self) -> Iterator[str]:
        """The names of all columns that are read."""
        sources = (self.workload, self.system, self.block, self.metric, self.value)
        for one in (*sources, *self.at.values()):
            if isinstance(one, Column):
                yield one.column
        yield from (metric.column for metric in self.metrics.values() if metric.column)

    def plain(self, text: str) -> str:
        """A number as programs write it.

        Raises:
            ValueError: if it is written otherwise than the mapping says.
        """
        found = text
        if self.thousands and self.thousands in found:
            group = re.escape(self.thousands)
            if not re.fullmatch(
                rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{re.escape(self.decimal)}\d+)?", text
            ):
                raise ValueError(f'"{self.thousands}" does not part thousands in it')
            found = found.replace(self.thousands, "")
        other = "," if self.decimal == "." else "."
        if other in found:
            raise ValueError(f'it has a "{other}", and the mapping says decimal = "{self.decimal}"')
        return found.replace(",", ".")


def unit_of(name: str) -> Unit:
    """A unit by name; one that is not known is its own base unit."""
    return unit_named(name) or Unit(name, name, Fraction(1))


def read_mapping(path: Path) -> Mapping:
    """A mapping from its file.

    Raises:
        UsageError: it names the file, and each line and key that is not right.
    """
    try:
        text = contents(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: {error.reason}") from error
    document = parsed(text, path)
    try:
        return Mapping.model_validate(document)
    except ValidationError as error:
        found = located(path, locate(text), flaws_of(error, Mapping))
        wrong = (": ".join(filter(None, (str(e.line), e.key, e.text))) for e in found.problems)
        raise UsageError(f"{path}:{'; '.join(wrong)}") from error
