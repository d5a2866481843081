"""The live display of a run: one line that moves on a terminal, plain lines elsewhere.

It goes to stderr, so that stdout stays clean. It is drawn twice a second at most: the display is
our own interference, and each trial records what it costs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from rich.progress import BarColumn, Progress, TextColumn
from rich.progress import TaskID as Task

from tiltyard.cli.console import err, remark
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.plan.prospect import prospects
from tiltyard.run.history import Failing
from tiltyard.run.observer import Decision, Outlook
from tiltyard.run.record import TrialRecord
from tiltyard.run.stream import read_stream
from tiltyard.units import count_of, format_duration

_WIDE: Final = 72
"""Columns of a terminal that has room for a bar and the time left beside the words."""
_PERCENT: Final = 7
_FIGURES: Final = 25


class LiveDisplay:
    """An observer of a run for people. Use it in a ``with`` block."""

    def __init__(self, *, decides: bool = True, outputs_in: StudyFolder | None = None) -> None:
        """Nothing is drawn before :meth:`started`.

        Args:
            decides: Whether the run is to decide anything; a pilot is not.
            outputs_in: The study folder, if what programs print is to be shown.
        """
        self._decides = decides
        self._outputs_in = outputs_in
        width = err().width
        is_wide = width >= _WIDE
        bar = min(36, width // 5)
        self._room = width - bar - _FIGURES if is_wide else width - _PERCENT
        columns = (
            TextColumn("{task.description}"),
            *((BarColumn(bar_width=bar),) if is_wide else ()),
            TextColumn("{task.percentage:3.0f} %"),
            *((TextColumn("{task.fields[left]}"),) if is_wide else ()),
        )
        self._bar = Progress(*columns, console=err(), transient=True, auto_refresh=False)
        self._task: Task | None = None
        self._block = ""
        self._trial = ""
        self._titles: dict[str, str] = {}
        self._failing: dict[tuple[str, str], Failing] = {}
        self.decision: str | None = None
        """Why the latest look ends the run, if it does."""

    def __enter__(self) -> Self:
        """Take the terminal's line."""
        if err().is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self._bar.stop()

    def started(self, plan: Plan, outlook: Outlook) -> None:
        """Say what will be done."""
        looks = [look.blocks for look in plan.design.looks]
        blocks = f"{looks[0]} to {looks[-1]}" if len(looks) > 1 else str(looks[0])
        remark(f"Question {plan.question}")
        self._titles = plan.titles
        workloads = ", ".join(self._titles.values())
        remark(
            f"Study    {count_of(len(plan.systems), 'system')} × {workloads}, "
            f"{count_of(blocks, 'block')}, seed {plan.seed}"
        )
        for limit in prospects(plan) if self._decides else ():
            remark(f"Limit    {limit}")
        if outlook.trials_done:
            remark(
                f"Resumed  {count_of(outlook.trials_done, 'trial is', 'trials are')} done already "
                "and kept"
            )
        self.begin_bar(outlook)

    def begin_bar(self, outlook: Outlook) -> None:
        """A bar for the trials of one study; that of an earlier one is gone."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task("", total=outlook.trials_to_look, left="")
        self._move(outlook)

    def note(self, text: str) -> None:
        """A remark above the moving line."""
        remark(f"Note     {text}")

    def block_started(self, block: int, of: int) -> None:
        """A new block."""
        self._block = f"block {block}/{of}"
        if not err().is_terminal:
            remark(self._block)

    def preparing(self, system: str) -> None:
        """A system is being brought up."""
        self._say(f"{system}  preparing")

    def trial_started(self, key: TrialKey, slot: int, outlook: Outlook) -> None:  # noqa: ARG002
        """A trial begins."""
        self._trial = f"{key.system}  {self._titles.get(key.workload, key.workload)}"
        self._move(outlook)
        self._say(self._trial)

    def progress(self, fraction: float, what: str) -> None:
        """The trial goes on."""
        if self._task is not None:
            done = int(self._bar.tasks[0].completed)
            self._bar.update(self._task, completed=done + min(fraction, 0.99))
        self._say(f"{self._trial}  {what}")

    def trial_finished(self, record: TrialRecord, outlook: Outlook) -> None:
        """A trial is on disk."""
        if record.outcome != "done":
            key = record.key
            title = self._titles.get(key.workload, key.workload)
            remark(f"Failed   block {key.block} {key.system}, {title}: {self._reason(record)}")
        if self._outputs_in is not None and record.file:
            for line in _printed(self._outputs_in.root / record.file):
                remark(line)
        self._move(outlook)
        self._say("")

    def _reason(self, record: TrialRecord) -> str:
        """Why a trial failed: in full the first time, then the block that has said it."""
        key, reason = record.key, record.reason or "no reason given"
        first = self._failing.setdefault(
            (key.system, key.workload), Failing(reason, frozenset([key.block]))
        )
        if key.block in first.blocks or not first.like(reason):
            return reason
        return f"as in block {min(first.blocks)}"

    def looked(self, blocks: int, decision: Decision) -> None:
        """The data were looked at."""
        remark(f"Look     after {count_of(blocks, 'block')}: {decision.reason}")
        self.decision = decision.reason if decision.done else None

    def _say(self, what: str) -> None:
        """Change the words on the line."""
        if self._task is not None:
            self._bar.update(self._task, description=f"{self._block}  {what}"[: self._room])
            self._bar.refresh()

    def _move(self, outlook: Outlook) -> None:
        """Change bar and time left."""
        if self._task is None:
            return
        left = outlook.left_to_look_s
        self._bar.update(
            self._task,
            completed=outlook.trials_done,
            total=outlook.trials_to_look,
            left="" if left is None else f"{format_duration(left)} left",
        )


def _printed(trial: Path) -> Iterator[str]:
    """What the measured executions of a trial printed, each text once, line by line."""
    stream = read_stream(trial.read_bytes())
    hashes = [of for one in stream.executions for of in (one.stdout, one.stderr)]
    for output in filter(None, map(stream.outputs.get, dict.fromkeys(hashes))):
        if output.text is None and output.bytes:
            yield f"Output   {output.bytes} bytes that are no text"
        for line in (output.text or "").splitlines():
            yield f"Output   {line}"
        if output.truncated and output.text:
            yield f"Output   … {output.bytes} bytes in all"
