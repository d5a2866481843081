"""Where output goes: results to stdout, words for people about the work to stderr."""

from functools import cache

from rich.console import Console, RenderableType


@cache
def out() -> Console:
    """The console on stdout: results."""
    return Console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """The console on stderr: progress and remarks."""
    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Plain text to stdout, never wrapped, markup not interpreted."""
    out().print(text, markup=False, soft_wrap=True)


def show(renderable: RenderableType) -> None:
    """A table or another renderable to stdout."""
    out().print(renderable)


def remark(text: str) -> None:
    """A line for people, to stderr."""
    err().print(text, markup=False, soft_wrap=True)
