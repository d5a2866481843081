"""Formats of a report: one file a format, and one line in the list below."""

from pathlib import PurePosixPath
from typing import Final

from tiltyard.registry import Plugin, Registry
from tiltyard.report.formats.format import Format


def _require_within(name: object) -> None:
    """A path that stays in the folder of the report."""
    path = PurePosixPath(str(name))
    if not isinstance(name, str) or path.is_absolute() or {"..", ""} & {*path.parts, str(name)}:
        raise ValueError(f"{name!r} is no path in the folder of the report")


def _files(made: object) -> dict[str, bytes]:
    if not isinstance(made, dict) or not all(isinstance(data, bytes) for data in made.values()):
        raise TypeError("it made no table of files, path to bytes")
    for name in made:
        _require_within(name)
    return made


def _sound(made: Format, _plugin: Plugin) -> Format:
    _require_within(made.file)
    return made


FORMATS: Final = Registry[Format](
    "formats",
    {
        "html": ".html:FORMAT",
        "pdf": "",
        "xlsx": "",
        "pptx": "",
        "markdown": ".markdown:FORMAT",
        "latex": "",
        "csv": ".csv:FORMAT",
        "json": ".json:FORMAT",
    },
    Format,
    within=__name__,
    unknown="is not a format",
    checks={"render": _files},
    sound=_sound,
)
"""All formats; the first is made where none is asked for."""
