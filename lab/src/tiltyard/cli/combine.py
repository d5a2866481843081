"""``tiltyard combine``: several studies as one decision."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tiltyard.cli.completers import Study
from tiltyard.cli.printing import WORDS, Printing
from tiltyard.units import count_of

if TYPE_CHECKING:
    from tiltyard.analysis.weighted import Gain


def combine(
    *studies: Study,
    weight: tuple[str, ...] = (),
    as_: Annotated[str, Parameter(name="--as")] = "",
    baseline: str | None = None,
    printing: Printing = WORDS,
) -> None:
    """Combine studies of the same systems into one decision: a matrix of purposes × systems.

    Each figure is how much better a system is than the baseline: above 1 is better, whatever is
    measured. All headline comparisons of all studies are corrected together, so a verdict of a
    study by itself may be undecided here. The last row is the weighted geometric mean; its interval
    lies between the means of the bounds.

    ```
    tiltyard combine mail builds database
    tiltyard combine mail builds database --weight mail=3 --weight builds=1
    tiltyard combine mail builds --as "Which file system for the new servers?"
    ```

    Args:
        studies: Study folders that were run here, of systems of the same names.
        weight: How much a study or one of its workloads counts, `NAME=NUMBER`; by default 1.
        as_: The question that they answer together.
        baseline: What the others are compared with; by default that of the first study.
        printing: Options of what is printed.
    """
    from rich.text import Text

    from tiltyard.analysis.line import MARKS
    from tiltyard.app.combine import combine as combined
    from tiltyard.cli.console import say, show, tell
    from tiltyard.report.stacking import StackingTable

    printing.begin()
    found = combined(studies, _weights(weight), as_, baseline)
    if printing.emit(found):
        return
    tell(f"Question {found.question}")
    say("")
    table = StackingTable(
        f"better than {found.baseline}", "weight", *(row.system for row in found.systems)
    )
    for purpose in found.purposes:
        cells = (_cell(row.purposes[purpose.name]) for row in found.systems)
        table.add_row(purpose.name, f"{100 * purpose.weight:.0f} %", *map(Text, cells))
    table.add_row("together", "100 %", *(Text(_cell(row.together)) for row in found.systems))
    show(table)
    words = {"faster": "better", "slower": "worse"}
    legend = "   ".join(f"{mark} {words.get(name, name)}" for name, mark in MARKS.items())
    say(f"{legend}\n")
    tell(
        f"Family   {count_of(found.family, 'comparison')}, corrected together; simultaneous 95 % "
        "intervals"
    )
    if found.left_out:
        tell(f"Left out {', '.join(found.left_out)}: not in every study")


def _cell(gain: "Gain") -> str:
    """``1.07 (1.03 … 1.11) ▲``."""
    from tiltyard.analysis.line import MARKS, interval_text, ratio_text

    between = "" if gain.low is None else f" ({interval_text(gain)})"
    return f"{ratio_text(gain)}{between} {MARKS[gain.verdict]}"


def _weights(typed: tuple[str, ...]) -> dict[str, float]:
    """Name → weight.

    Raises:
        UsageError: if one is not of that form.
    """
    from tiltyard.errors import UsageError

    weights = {}
    for text in typed:
        name, sign, number = text.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise UsageError(f'--weight {text}: write it like "mail=2"')
    return weights
