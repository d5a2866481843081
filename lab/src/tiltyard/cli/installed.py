"""The verbs that installed packages add; ours among them are in packages of their own."""

import functools
from collections.abc import Callable, Iterable
from typing import Final

from cyclopts import App

from tiltyard.cli import VERBS
from tiltyard.errors import TiltyardError
from tiltyard.registry import Plugin, Registry, told


def _sound(made: object, plugin: Plugin) -> Callable[..., object]:
    """A package's verb: where it fails, the message names the package."""
    if not callable(made):
        raise TypeError(f"it is {type(made).__name__}, not a function")
    call = made

    @functools.wraps(call)
    def verb(*args: object, **options: object) -> int | None:
        try:
            code = call(*args, **options)
        except (TiltyardError, OSError):
            raise
        except Exception as error:
            raise plugin.failed(f"failed: {told(error)}") from error
        return code if isinstance(code, int) and code in range(256) else None

    parsed = App(name=plugin.name)
    parsed.default(verb)
    parsed.assemble_argument_collection()
    return verb


INSTALLED: Final = Registry[Callable[..., object]](
    "verbs",
    {verb.strip("_"): f".{verb}:{verb}" for verb in VERBS},
    None,
    within=__package__,
    sound=_sound,
)
"""Ours and those of packages, name → function."""


def verbs(asked: str = "") -> Iterable[tuple[str, Callable[..., object]]]:
    """Name and function of each that can be used; of the one that is asked for, if there is one.

    Raises:
        UsageError: if several have its name.
        PluginError: if it cannot be used.
    """
    if not asked:
        return INSTALLED.items(ours=False)
    return [(asked, INSTALLED.named(asked))] if asked in INSTALLED.names else []
