"""The reference page of importers, from the importers themselves."""

import inspect
import sys

from tiltyard.importers import IMPORTERS
from tiltyard.importers.quantities import KNOWN_UNITS
from tiltyard.units import SIZE_UNITS


def page() -> str:
    """Everything that can be imported, and what becomes of a file that is cut off."""
    text = (
        "# Importers\n\n`tiltyard import` recognises a file by its first 64 KiB, or is told its "
        "kind: `--as iozone`.\nUnits are converted exactly; a figure that the tool did not measure "
        "is missing, and no zero.\nA text that ends in the middle of a line is always refused.\n\n"
        "| kind | files | a file that ends too early, between two lines |\n| --- | --- | --- |\n"
    )
    for one in IMPORTERS:
        text += f"| [`{one.name}`](#{one.name}) | {one.about} | {one.cut_off} |\n"
    for one in IMPORTERS:
        module = sys.modules[one.read.__module__]
        text += f"\n## {one.name}\n\n{inspect.cleandoc(module.__doc__ or '')}\n".replace("``", "`")
        text += f"\nNot taken over: {one.left_out}.\n"
    return text + _mapping()


def _mapping() -> str:
    return (
        "\nUnits of metrics that a mapping or a study may name: "
        f"{KNOWN_UNITS}.\nA mapping keeps any other as it is given, a study refuses it. Sizes in "
        f"`at`: {', '.join(f'`{name}`' for name in SIZE_UNITS)}.\n"
    )
