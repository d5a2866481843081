"""Another host: whether it will do, and how an engine is started there."""

from collections.abc import Sequence

from tiltyard.address import THIS_HOST
from tiltyard.errors import TiltyardError, UnreachableError
from tiltyard.host.packages import Tool, install_command
from tiltyard.host.place import HERE, Place
from tiltyard.systems.kind import Problem

CLIENT = Tool(*THIS_HOST.program, ("-V",), "systems on other hosts cannot be reached")
_WAIT = 'engine=$1; shift; "$engine" "$@"; exit $?'
"""A shell stays above the engine, so that an engine that is killed is told from a
connection that is lost."""


def problems_of(place: Place) -> list[Problem]:
    """No program that leads there, no way in, or a host that cannot run this engine."""
    address = place.address
    program, package = address.program
    if not HERE.has(program):
        return [Problem("error", f"{program} is not installed", install_command(HERE, package))]
    try:
        place.ask(lambda host: host.read())
    except UnreachableError as error:
        return [Problem("error", str(error), address.remedy)]
    except TiltyardError as error:
        return [Problem("error", str(error))]
    return []


def engine_command(place: Place, *engine: str, prefix: Sequence[str] = ()) -> tuple[str, ...]:
    """The command that stands for an engine there; it takes the engine's verbs.

    Args:
        place: the host.
        engine: how it is started.
        prefix: starts it where the system is, as :attr:`tiltyard.systems.kind.Up.prefix`.
    """
    return place.address.argv((*prefix, "sh", "-c", _WAIT, "sh", *engine))
