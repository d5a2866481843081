"""A command under a supervisor (``supervisor.py``): nothing that it starts outlives us."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tiltyard.errors import TiltyardError
from tiltyard.frozen import Frozen
from tiltyard.host.changes.settings import MARK, SUPERVISOR
from tiltyard.host.processes import descendants

_ANSWERS_S: Final = 60.0
_DIES_S: Final = 40.0
_STEP_S: Final = 0.01
_LINES: Final = 3
"""Of the end of the output, in an error."""


class State(Frozen):
    """What the supervisor says."""

    status: int | None
    """Exit status of the command, negative for a signal; ``None``: it has not ended."""
    runs: bool
    """Whether the command, or anything that it has left behind, still runs."""
    said: str
    """The end of its output."""

    @property
    def last_lines(self) -> str:
        """The end of its output in one line; empty if it said nothing."""
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        return " | ".join(lines[-_LINES:])

    @property
    def why(self) -> str:
        """How it ended, with its last words."""
        status = self.status or 0
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"{how}: {self.last_lines or 'it said nothing'}"


class Supervised:
    """A command that runs under a supervisor of ours."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        mark: str,
        environment: Mapping[str, str],
        directory: Path,
        stop: str | Sequence[str] = "SIGTERM",
        stop_s: float = 10.0,
    ) -> None:
        """Start both.

        Args:
            argv: the command.
            mark: by which the supervisor is known as ours, also after our death.
            environment: of the command: all of it.
            directory: that it starts in.
            stop: the name of the signal, or the command, that asks it to end.
            stop_s: how long it may take to end after that.
        """
        request = {
            "argv": [*argv],
            "environment": {**environment, MARK: f"{mark}-inside"},
            "directory": str(directory),
            "stop": stop if isinstance(stop, str) else [*stop],
            "stop_s": stop_s,
        }
        self._ends_s = stop_s + _DIES_S
        self._process = subprocess.Popen(
            (sys.executable, "-I", "-S", str(SUPERVISOR)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, MARK: mark},
            start_new_session=True,
        )
        self._say(json.dumps(request))

    def state(self) -> State:
        """How it is now."""
        self._say("")
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            line = self._process.stdout.readline() if selector.select(_ANSWERS_S) else b""
        if not line:
            return State(status=None, runs=False, said="its supervisor was killed")
        return State.model_validate_json(line)

    def wait(self, longest_s: float, check: Callable[[], None]) -> State | None:
        """Wait until the command has ended.

        Args:
            longest_s: not longer than that.
            check: raises if a person has asked to stop.

        Returns:
            ``None`` if it has not ended.
        """
        give_up = time.monotonic() + longest_s
        while True:
            check()
            state = self.state()
            if state.status is not None or not state.runs:
                return state
            if time.monotonic() > give_up:
                return None
            time.sleep(_STEP_S)

    def pids(self) -> tuple[int, ...]:
        """The command and all that it has started, below its supervisor.

        The time of those that have ended is counted with the supervisor.
        """
        return tuple(sorted(descendants(self._process.pid)))

    def stop(self) -> None:
        """End it, and wait until nothing of it is left; harmless when it has ended.

        Raises:
            TiltyardError: if that takes too long.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(self._ends_s)
        except subprocess.TimeoutExpired:
            text = f"process {self._process.pid}: what it supervises does not end"
            raise TiltyardError(text) from None
        self._process.stdout.close()

    def _say(self, text: str) -> None:
        """A line to its input; one that has ended is found out by its silence."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
