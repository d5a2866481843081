"""A calibration on the terminal: part by part while it goes on, and in short at its end."""

from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiltyard.cli.console import remark
from tiltyard.cli.display import LiveDisplay
from tiltyard.plan.model import Plan
from tiltyard.run.observer import Decision, Outlook
from tiltyard.units import count_of
from tiltyard_calibrate import words
from tiltyard_calibrate.model import Calibration

_NOTES_A_PART: Final = 3


class PartsDisplay(LiveDisplay):
    """The display of many studies in a row: a line for each, and no words about its verdict."""

    def __init__(self) -> None:
        """Nothing is drawn before :meth:`started`."""
        super().__init__()
        self._noted: set[str] = set()
        self._notes_left = _NOTES_A_PART

    def started(self, plan: Plan, outlook: Outlook) -> None:
        """One part begins, or goes on."""
        trials = count_of(outlook.trials_total, "trial")
        if outlook.trials_done:
            trials += f", {outlook.trials_done} done already"
        remark(f"Part     {plan.question} {trials}")
        self._notes_left = _NOTES_A_PART
        self.begin_bar(outlook)

    def note(self, text: str) -> None:
        """A remark; what every part would say again is said once, and of many only the first."""
        if text in self._noted or not self._notes_left:
            return
        self._noted.add(text)
        self._notes_left -= 1
        super().note(text if self._notes_left else f"{text}; further ones are in the journal")

    def block_started(self, block: int, of: int) -> None:
        """A new block; no line is printed for it, because there are thousands."""
        self._block = f"block {block}/{of}"

    def looked(self, blocks: int, decision: Decision) -> None:
        """Every part is looked at once, at its end: nothing to tell."""


def summary(found: Calibration, page: Path, host: str = "this host") -> RenderableType:
    """What a person reads when a calibration ends.

    Args:
        found: What it states.
        page: Where the whole page lies; its path is the last line.
        host: That was calibrated.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    for line in words.lines(found):
        table.add_row(Text(line.name), Text(line.text), _mark(line.mark))
    closing = Table.grid(padding=(0, 3, 0, 0))
    closing.add_column(no_wrap=True)
    closing.add_column(overflow="fold")
    for head, text in (
        ("Answer", " ".join(words.answer(found))),
        ("In force", f"{found.id}, on {host} under this kernel"),
        ("Page", str(page)),
    ):
        closing.add_row(Text(head, style="bold"), Text(text))
    return Group(table, Text(), closing)


def _mark(mark: str) -> Text:
    styles = {"FAILED": "bold red", words.NOT_EXAMINED: "dim"}
    return Text(mark, style=styles.get(mark, ""))
