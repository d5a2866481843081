"""A calibration on the terminal: part by part while it goes on, and in short at its end."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tiltyard.calibration import words
from tiltyard.calibration.model import Calibration
from tiltyard.cli.console import remark
from tiltyard.cli.display import LiveDisplay
from tiltyard.plan.model import Plan
from tiltyard.run.observer import Decision, Outlook


class PartsDisplay(LiveDisplay):
    """The display of many studies in a row: a line for each, and no words about its verdict."""

    def __init__(self) -> None:
        """Nothing is drawn before :meth:`started`."""
        super().__init__()
        self._noted: set[str] = set()

    def started(self, plan: Plan, outlook: Outlook) -> None:
        """One part begins, or goes on."""
        trials = f"{outlook.trials_total} trials"
        if outlook.trials_done:
            trials += f", {outlook.trials_done} done already"
        remark(f"Part     {plan.question} {trials}")
        self.begin_bar(outlook)

    def note(self, text: str) -> None:
        """A remark; what every part would say again is said once."""
        if text not in self._noted:
            self._noted.add(text)
            super().note(text)

    def block_started(self, block: int, of: int) -> None:
        """A new block; without a line of its own, because there are thousands."""
        self._block = f"block {block}/{of}"

    def looked(self, blocks: int, decision: Decision) -> None:
        """Every part is looked at once, at its end: nothing to tell."""


def summary(found: Calibration, page: Path) -> RenderableType:
    """What a person reads when a calibration ends.

    Args:
        found: What it states.
        page: Where the whole page lies; its path is the last line.
    """
    parts: list[RenderableType] = []
    for section in words.sections(found):
        parts += [Text(section.title, style="bold")]
        parts += [_table(section.table), Text()] if section.table else [Text(section.text), Text()]
    closing = Table.grid(padding=(0, 3, 0, 0))
    closing.add_column(no_wrap=True)
    closing.add_column(overflow="fold")
    closing.add_row(Text("Answer", style="bold"), Text(" ".join(words.answer(found))))
    closing.add_row(Text("In force", style="bold"), Text(f"{found.id}, on this host and kernel"))
    closing.add_row(Text("Page", style="bold"), Text(str(page)))
    return Group(*parts, closing)


def _table(told: words.Table) -> Table:
    """A table of the page, as narrow as it goes."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, head in enumerate(told.heads):
        table.add_column(Text(head), justify="left" if place == 0 else "right", overflow="fold")
    for row in told.rows:
        table.add_row(*(Text(text) for text in row))
    return table
