"""The reference page of importers, from the importers themselves."""

import inspect
import sys

from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import Importer
from tiltyard.importers.quantities import KNOWN_UNITS
from tiltyard.units import SIZE_UNITS


_NO_REPETITION = "A value that stands twice in a file is refused: nothing says that it is repeated."


def page() -> str:
    """Everything that can be imported, and what becomes of a file that is cut off."""
    text = (
        "# Importers\n\n`tiltyard import` recognises a file by its first 64 KiB, or else by up to 4 MiB at "
        "each end, or is told its kind: `--as iozone`.\nA program's output is read in the same way while it is measured: "
        '`read = "iozone"`. Where a metric has the name of\none that the engine measures (`time`, '
        "`read`), the reader's name stands before it: `fio_read`.\nUnits are converted exactly; a figure that the tool did not measure "
        "is missing, and no zero.\nWhat one file repeats of a cell is of one process or of one sequence: "
        "it counts as one value, the mean, and files\nare the repetitions; only rows of a CSV and runs of LKP "
        "count by themselves.\nA text that ends in the middle of a line is refused, unless that ends in a closing bracket.\n\n"
        "| kind | files | a file that ends too early, between two lines |\n| --- | --- | --- |\n"
    )
    for one in IMPORTERS:
        text += f"| [`{one.name}`](#{one.name}) | {one.about} | {one.cut_off} |\n"
    for one in IMPORTERS:
        module = sys.modules[one.read.__module__]
        text += f"\n## {one.name}\n\n{inspect.cleandoc(module.__doc__ or '')}\n".replace("``", "`")
        text += f"\nNot taken over: {one.left_out}.\n"
        again = f"Repetitions in a file: {one.repeats}." if one.repeats else _NO_REPETITION
        text += f"\n{again}\n"
        if one.for_people:
            text += f"\nIts output for people is refused: {one.for_people.instead}.\n"
        text += _live(one)
    return text + _mapping()


def _live(one: Importer) -> str:
    """What a study finds in output that is read while it is measured."""
    if not one.metrics:
        return "\nReads files only.\n"
    names = ", ".join(f"`{metric.name}` ({metric.unit})" for metric in one.metrics)
    grid = f", over {', '.join(one.grid)}" if one.grid else ""
    timed = f" Percentiles: `{one.timed[0]}_p99` and the like." if one.timed else ""
    return f'\nMetrics of `read = "{one.name}"`: {names}{grid}.{timed}\n'


def _mapping() -> str:
    return (
        "\nUnits of metrics that a mapping or a study may name: "
        f"{KNOWN_UNITS}.\nA mapping keeps any other as it is given, a study refuses it. Sizes in "
        f"`at`: {', '.join(f'`{name}`' for name in SIZE_UNITS)}.\n"
    )
