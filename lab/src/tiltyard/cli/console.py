"""Where output goes: results to stdout, words for people about the work to stderr."""

import sys
from collections.abc import Iterator
from functools import cache
from string import ascii_letters
from textwrap import wrap
from typing import NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tiltyard.printable import visible, visible_in_json


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
    """A head and its text to stdout; a terminal that is too narrow breaks it between words.

    A line with a command to copy is left in one piece, and so is every line through a pipe.
    """
    if not out().is_terminal or ": tiltyard " in text:
        say(text)
        return
    beneath = " " * (len(text) - len(text.lstrip(ascii_letters).lstrip()))
    for line in wrap(text, out().width, subsequent_indent=beneath, break_on_hyphens=False):
        say(line)


def show(renderable: RenderableType) -> None:
    """A table or another renderable to stdout."""
    out().print(renderable, crop=False)


def remark(text: str) -> None:
    """A line for people, to stderr."""
    err().print(visible(text), markup=False, soft_wrap=True)
