"""From bytes to lines and numbers, so that no damaged file becomes a wrong number.

A text file that ends in the middle of a line is refused: its last number may lack digits. One that
ends in a closing bracket lacks its line feed only. Files that end between two lines are each tool's
own matter.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.frozen import LARGEST

LONGEST_LINE: Final = 2**16
"""Characters; no tool prints a longer line."""
LONGEST_NUMBER: Final = 64
"""Characters; no tool prints a longer number."""

_BYTE_ORDER_MARKS: Final = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_NUMBER: Final = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_GROUPED: Final = re.compile(r"-?[1-9]\d{0,2}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,})", re.ASCII)
"""Thousands that can be nothing else: ``1,021`` may have a decimal comma."""
_IN_GROUPS: Final = re.compile(r"-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_NO_FIGURE: Final = re.compile(r"[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")


_CLOSED: Final = (")", "]", "`")
"""What ends a line that lacks its line feed only: ``tps = 712.5 (without initial …)``, a fence."""


class NoFigureError(UsageError):
    """A figure that a tool states and that cannot be: negative, not finite, beyond all reason.

    Attributes:
        why: what is wrong with it, in words.
    """

    def __init__(self, refused: UsageError, why: str) -> None:
        super().__init__(str(refused))
        self.why = why


class _CannotBeError(ValueError):
    """A number that is none of those that are measured."""


@dataclass(frozen=True)
class Line:
    """One line of a file, which knows where it stands."""

    file: str
    number: int
    text: str

    @property
    def words(self) -> list[str]:
        """What blanks part."""
        return self.text.split()

    def refused(self, why: str) -> UsageError:
        """The error that names file and line."""
        return UsageError(f"{self.file}:{self.number}: {printable(why)}")

    def value(self, text: str, what: str = "a number", *, grouped: bool = False) -> Fraction:
        """A number that is not negative, exactly as it is printed.

        Args:
            text: how it is printed.
            what: what should stand there, for the error.
            grouped: whether its tool groups thousands by commas, and never writes a decimal one.

        Raises:
            NoFigureError: if it cannot be.
            UsageError: if it is something else.
        """
        try:
            return number(text, grouped=grouped)
        except ValueError as error:
            raise refusal(self.refused(f"{shown(text)} should be {what}: {error}"), error) from None

    def count(self, text: str, what: str = "a whole number") -> int:
        """The same of a number without a fraction."""
        value = self.value(text, what)
        if value.denominator != 1:
            raise self.refused(f"{shown(text)} should be {what}: it is not whole")
        return value.numerator


def refusal(refused: UsageError, error: ValueError) -> UsageError:
    """The error of a number that was refused: of a kind of its own where it cannot be."""
    return NoFigureError(refused, str(error)) if isinstance(error, _CannotBeError) else refused


def number(text: str, *, signed: bool = False, grouped: bool = False) -> Fraction:
    """The exact value of a printed number; thousands may be grouped by commas.

    Args:
        text: the number.
        signed: whether it may be negative.
        grouped: whether a single comma parts thousands for sure.

    Raises:
        ValueError: if it is none, is negative, infinite or not a number, or beyond all reason; or
            if its comma may be a decimal one.
    """
    if _NO_FIGURE.fullmatch(text):
        raise _CannotBeError("that is not a finite number")
    groups = _IN_GROUPS if grouped else _GROUPED
    if len(text) > LONGEST_NUMBER or not (_NUMBER.fullmatch(text) or groups.fullmatch(text)):
        if "," in text and _NUMBER.fullmatch(text.replace(",", ".", 1)):
            raise ValueError("a comma in it may be a decimal one, or part thousands")
        raise ValueError("that is not a finite number")
    if text.startswith("-") and not signed:
        raise _CannotBeError("it is negative")
    return within(_exact(text))


def within(exact: Fraction) -> Fraction:
    """The same number.

    Raises:
        ValueError: if it is beyond all reason.
    """
    if abs(exact.numerator) > LARGEST * exact.denominator:
        raise _CannotBeError("it is larger than anything that a machine does")
    if exact and abs(exact.numerator) * LARGEST < exact.denominator:
        raise _CannotBeError("it is smaller than anything that a machine does")
    return exact


@lru_cache(maxsize=2**14)
def _exact(text: str) -> Fraction:
    """Sizes, counts and rounds come again and again in a table."""
    # Twice as fast as a fraction of the text, and as exact.
    return Fraction(*Decimal(text.replace(",", "")).as_integer_ratio())


def text_of(data: bytes, name: str) -> str:
    """The text of a file: UTF-8, UTF-16, or else Latin-1; every line ends in a line feed.

    Raises:
        UsageError: if it is not text.
    """
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name}: not text: byte {error.start} is not {encoding}; save it as UTF-8"
        ) from error
    match = _UNPRINTABLE.search(_ESCAPES.sub("", text))
    if match:
        raise UsageError(
            f"{name}: not text: it holds the control character {match[0]!a}; "
            "give the file as the tool wrote it"
        )
    return _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def lines_of(data: bytes, name: str) -> list[Line]:
    """The lines of a text file.

    Raises:
        UsageError: if it is not text, is empty, ends in the middle of a line, or has a line that no
            tool would print.
    """
    text = text_of(data, name)
    if not text.strip():
        raise UsageError(f"{name}: empty; give the file that the tool wrote")
    lines = [Line(name, place, one) for place, one in enumerate(text.split("\n"), 1)]
    if not lines[-1].text.strip():
        lines.pop()
    elif not lines[-1].text.rstrip().endswith(_CLOSED):
        raise UsageError(
            f"{name}:{len(lines)}: ends in the middle of a line, so its last number may be cut "
            "off; if it is whole, end it with a newline"
        )
    for line in lines:
        if len(line.text) > LONGEST_LINE:
            raise line.refused(f"a line of {len(line.text)} characters; no tool prints such a line")
    return lines


def head_of(data: bytes) -> str:
    """The beginning of a file as text, for recognising it; never raises."""
    return data.decode(_encoding(data), errors="replace")


def executions(lines: list[Line], begins: re.Pattern[str]) -> list[list[Line]]:
    """The lines of each execution in a file; those before the first banner belong to it.

    Args:
        lines: the lines of a file.
        begins: the first line of a banner; where there is none, everything is one execution.
    """
    own: list[list[Line]] = [[]]
    begun = False
    for line in lines:
        if begins.fullmatch(line.text):
            if begun:
                own.append([])
            begun = True
        own[-1].append(line)
    return own


def shown(text: str) -> str:
    """Something from a file, quoted and short enough for an error."""
    short = text if len(text) <= 40 else f"{text[:37]}…"
    return f'"{short}"' if short.isprintable() else ascii(short)


def printable(text: str) -> str:
    """A text that quotes a file, made one line that a terminal can show."""
    return "".join(sign if sign.isprintable() else "�" for sign in text)


def _encoding(data: bytes) -> str:
    """By its mark; else UTF-16 shows by its zeros, UTF-8 by its grammar; all can be Latin-1."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:1024]
    if len(head) >= 4 and head[1::2].count(0) > 0.4 * len(head) / 2 > head[::2].count(0):
        return "utf-16-le"
    if len(head) >= 4 and head[::2].count(0) > 0.4 * len(head) / 2 > head[1::2].count(0):
        return "utf-16-be"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        # A head may be cut inside a character.
        return "utf-8" if len(data) - error.start < 4 else "latin-1"
    return "utf-8"
