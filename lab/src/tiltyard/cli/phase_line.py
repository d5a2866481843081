"""Phases on a terminal: a line that moves; elsewhere one plain line for each that takes long."""

import threading
import time
from typing import TYPE_CHECKING, Final

from tiltyard.cli.console import err, remark
from tiltyard.phases import Phase
from tiltyard.printable import one_line
from tiltyard.units import format_duration

if TYPE_CHECKING:
    from rich.live import Live

_SILENT_S: Final = 0.9
"""What is shorter needs no words."""
_STEP_S: Final = 0.5
_COUNTED_S: Final = 3.0
"""From then on it is said for how long."""


class PhaseLine:
    """Shows the innermost phase by a thread of its own.

    It ends when it has seen no phase: those around short trials come faster than it can be
    started and waited for.
    """

    def __init__(self) -> None:
        """Nothing is shown yet."""
        self._phases: list[Phase] = []
        self._told: set[int] = set()
        self._thread: threading.Thread | None = None
        self._drawing = threading.Lock()
        self._line: Live | None = None

    def began(self, phase: Phase) -> None:
        """It may be shown from now on."""
        with self._drawing:
            self._phases.append(phase)
            if self._thread is None:
                self._thread = threading.Thread(target=self._show, daemon=True)
                self._thread.start()

    def ended(self, phase: Phase) -> None:
        """With the last one the line goes."""
        with self._drawing:
            self._phases.remove(phase)
            self._told.discard(id(phase))
            if not self._phases and self._line is not None:
                self._line.stop()
                self._line = None

    def _show(self) -> None:
        while True:
            time.sleep(_STEP_S)
            with self._drawing:
                if not self._phases:
                    self._thread = None
                    return
                self._tell(self._phases[-1])

    def _tell(self, phase: Phase) -> None:
        if phase.elapsed_s < _SILENT_S:
            return
        words = one_line(str(phase))
        if not err().is_terminal:
            if id(phase) not in self._told:
                self._told.add(id(phase))
                remark(f"Phase    {words}")
            return
        if phase.elapsed_s >= _COUNTED_S:
            words = f"{words}, {format_duration(phase.elapsed_s)}"
        from rich.live import Live
        from rich.text import Text

        if self._line is None:
            self._line = Live(console=err(), transient=True, auto_refresh=False)
            self._line.start()
        # What does not fit in one line would be left behind when the line moves.
        self._line.update(Text(words, no_wrap=True, overflow="ellipsis"), refresh=True)
