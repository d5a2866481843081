"""Where output goes: results to stdout, words for people about the work to stderr."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from textwrap import wrap
from typing import Final, NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tiltyard.printable import visible, visible_in_json

_HEAD: Final = re.compile(r"(?:[A-Za-z]* +)?")
_WHOLE: Final = re.compile(r"^[A-Za-z]* +|(?<=: )tiltyard (?:'[^']*'|[^'])*?(?=$|[,;.] )")
"""In what no line ends: between head and text, and in a command."""
_SPACE: Final = "\ue000"
"""Stands for a space at which no line ends."""


class _Console(Console):
    """A console whose reader may go away (`| head`) without an error being made of it."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """What a terminal would obey is shown: texts come from studies, engines, other hosts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def on_broken_pipe(self) -> NoReturn:
        """Let the command line end the process, with the code for that."""
        raise


@cache
def out() -> Console:
    """The console on stdout: results."""
    return _Console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """The console on stderr: progress and remarks."""
    return _Console(stderr=True, highlight=False)


def emit(data: bytes) -> None:
    """A file's bytes to stdout, whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def emit_json(text: str) -> None:
    """A JSON document to stdout: in UTF-8, as every reader of JSON expects it."""
    emit(f"{visible_in_json(text)}\n".encode())


def say(text: str) -> None:
    """Plain text to stdout, never wrapped, markup not interpreted."""
    out().print(visible(text), markup=False, soft_wrap=True)


def tell(text: str) -> None:
    """A head and its text to stdout, as :func:`broken` has it."""
    for line in broken(text, out()):
        say(line)


def broken(text: str, console: Console) -> list[str]:
    """The lines of a head and its text: a terminal that is too narrow breaks it between words.

    A command to copy stays in one piece, as a word that is longer than a line does: the terminal
    folds them. Through a pipe every text is one line.
    """
    if not console.is_terminal:
        return [text]
    beneath = " " * len(_HEAD.match(text)[0])  # type: ignore[index]  # It may be empty.
    lines = wrap(
        _WHOLE.sub(lambda found: found[0].replace(" ", _SPACE), text),
        console.width,
        subsequent_indent=beneath,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_SPACE, " ") for line in lines] or [""]


def show(renderable: RenderableType) -> None:
    """A table or another renderable to stdout."""
    out().print(renderable, crop=False)


def remark(text: str) -> None:
    """A head and its text for people, to stderr, as :func:`broken` has it."""
    for line in broken(text, err()):
        err().print(visible(line), markup=False, soft_wrap=True)
