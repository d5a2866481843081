"""Result files of other tools, read: one file a tool, and one line in the list below.

An importer is handed the bytes of one file and yields what it measured; which system that was, the
file mostly does not say: the person who imports it does.
"""

import dataclasses
import re
import warnings
from collections.abc import Callable
from typing import Any, Final

from tiltyard.errors import UsageError
from tiltyard.importers.importer import Imported, Importer
from tiltyard.registry import Plugin, PluginError, PluginWarning, Registry


def _imported(made: object) -> Imported:
    """What a package's reader gave, with every value of the type that it says."""
    from pydantic import TypeAdapter

    if not isinstance(made, Imported):
        raise TypeError(f"it read {type(made).__name__}, not Imported")
    return TypeAdapter(Imported).validate_python(dataclasses.asdict(made))


def _sound(made: Importer, _plugin: Plugin) -> Importer:
    """A package's reader: it may refuse a file, and no more than that."""

    def recognises(text: str) -> bool:
        try:
            return bool(made.recognises(text))
        except PluginError as error:
            warnings.warn(PluginWarning(str(error)), stacklevel=2)
            return False

    def refusing(call: Callable[..., Any]) -> Callable[..., Any]:
        def read(data: bytes, name: str, *more: object) -> Any:
            try:
                return call(data, name, *more)
            except PluginError as error:
                raise UsageError(f"{name}: {error}") from error

        return read

    for expression in (made.disowns, made.for_people.known_by if made.for_people else ""):
        re.compile(expression)
    disproved = made.disproved and refusing(made.disproved)
    return dataclasses.replace(
        made, recognises=recognises, read=refusing(made.read), disproved=disproved
    )


IMPORTERS: Final = Registry[Importer](
    "readers",
    {
        "iozone": "",
        "netperf": "",
        "postmark": "",
        "fs_mark": "",
        "tiotest": "",
        "compilebench": "",
        "aio-stress": "",
        "fdtree": "",
        "fio": ".fio:IMPORTER",
        "iperf3": ".iperf3:IMPORTER",
        "sockperf": "",
        "sysbench": ".sysbench:IMPORTER",
        "hyperfine": ".hyperfine:IMPORTER",
        "bonnie": "",
        "pgbench": ".pgbench:IMPORTER",
        "redis-benchmark": "",
        "stress-ng": "",
        "dbench": "",
        "criterion": "",
        "go-test": "",
        "google-benchmark": "",
        "jmh": "",
        "pytest-benchmark": "",
        "pyperf": "",
        "perf-stat": "",
        "hackbench": "",
        "will-it-scale": "",
        "lkp": "",
        "phoronix": ".phoronix:IMPORTER",
        "csv": ".csv_table:IMPORTER",
    },
    Importer,
    within=__name__,
    unknown="is no kind of result file",
    checks={"read": _imported},
    sound=_sound,
)
"""All importers; the first one that recognises a file reads it."""
