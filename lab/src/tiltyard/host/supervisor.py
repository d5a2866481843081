"""Supervises one command: whatever that starts can be found, and ends with it.

A script with the standard library alone, so that it starts at once; ``supervised.py`` starts it.
The first line of its input says what is run, each later line asks for the state, and the end of
the input (so also the death of the lab) or SIGTERM ends the command. It is a subreaper (prctl(2)):
a process that leaves its parent, its session and its process group becomes a child of this one.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
SAID_BYTES = 16 * 1024
"""How much of the end of the output is kept; the rest is read and thrown away."""
DIES_S = 30.0
STEP_S = 0.01


class Supervisor:
    """One command and all that it starts."""

    def __init__(self, request: dict[str, object]) -> None:
        """Start it, in a session of its own."""
        self.status: int | None = None
        self.is_told_to_end = False
        self._request = request
        self._said = bytearray()
        self._asked = bytearray()
        self._output, self._into = os.pipe()
        self._events, wake = os.pipe()
        for end in (self._output, self._events, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        self._selector = selectors.DefaultSelector()
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ, self._hear)
        self._selector.register(self._output, selectors.EVENT_READ, self._keep)
        self._selector.register(self._events, selectors.EVENT_READ, self._reap)
        self._pid = self._start(request["argv"])

    def serve(self) -> None:
        """Answer until it is to end."""
        while not self.is_told_to_end:
            self._wait(None)

    def end(self) -> None:
        """Stop the command as it wants to be stopped, and kill what is left after that."""
        self.is_told_to_end = False
        give_up = time.monotonic() + float(str(self._request["stop_s"]))
        asked: set[int] = set()
        if isinstance(stop := self._request["stop"], list) and children():
            self._start(stop)
        while (left := children()) and time.monotonic() < give_up and not self.is_told_to_end:
            if isinstance(stop, str):
                # What the command leaves behind when it ends comes to us, and is asked as well.
                for pid in set(left if self.status is not None else [self._pid]) - asked:
                    asked.add(pid)
                    send(pid, signal.Signals[stop])
            self._wait(STEP_S)
        give_up = time.monotonic() + DIES_S
        while children() and time.monotonic() < give_up:
            for pid in stopped():
                send(pid, signal.SIGKILL)
            self._wait(STEP_S)
        self._reap()

    def _start(self, argv: object) -> int:
        """A child of ours whose output we keep the end of."""
        try:
            process = subprocess.Popen(
                argv,  # type: ignore[call-overload]
                cwd=self._request["directory"],
                env=self._request["environment"],
                stdin=subprocess.DEVNULL,
                stdout=self._into,
                stderr=self._into,
                start_new_session=True,
            )
        except OSError as error:
            self._said += str(error).encode()
            self.status = 127
            return 0
        process.returncode = 0  # It is reaped here, with all others.
        return int(process.pid)

    def _wait(self, longest_s: float | None) -> None:
        for key, _ in self._selector.select(longest_s):
            key.data()
        self._reap()

    def _hear(self) -> None:
        """Each line is a question; the end of them ends us."""
        text = os.read(sys.stdin.fileno(), SAID_BYTES)
        if not text:
            self._selector.unregister(sys.stdin.fileno())
            self.is_told_to_end = True
        for _ in range(text.count(b"\n")):
            runs = self.status is None or bool(children())
            said = self._said.decode(errors="replace")
            state = {"status": self.status, "runs": runs, "said": said}
            with contextlib.suppress(BrokenPipeError):
                os.write(sys.stdout.fileno(), json.dumps(state).encode() + b"\n")

    def _keep(self) -> None:
        """The end of the output, whoever writes it."""
        with contextlib.suppress(BlockingIOError):
            while text := os.read(self._output, SAID_BYTES):
                self._said += text
                del self._said[:-SAID_BYTES]
                if len(text) < SAID_BYTES:
                    break

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._events, SAID_BYTES)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    self._keep()
                    self.status = os.waitstatus_to_exitcode(ended[1])

    def _end(self, *_: object) -> None:
        self.is_told_to_end = True


def children() -> list[int]:
    """Numbers of our children that live."""
    me = os.getpid()
    return [pid for pid, parent in parents().items() if parent == me]


def stopped() -> set[int]:
    """All that is below us, stopped: what is stopped starts nothing more."""
    found: set[int] = set()
    while True:
        family, table = {os.getpid()}, parents()
        while more := {pid for pid, parent in table.items() if parent in family} - family:
            family |= more
        if not (fresh := family - found - {os.getpid()}):
            return found
        for pid in fresh:
            send(pid, signal.SIGSTOP)
        found |= fresh


def parents() -> dict[int, int]:
    """Process → its parent, without those that have ended: proc(5)."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent, *_ = (entry / "stat").read_text().rpartition(") ")[2].split()
                if state not in "ZX":
                    found[int(entry.name)] = int(parent)
    return found


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process that may have ended, or that may have become another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def main() -> None:
    """Read what is run, and supervise it to its end."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            return
        line += byte
    supervisor = Supervisor(json.loads(line))
    supervisor.serve()
    supervisor.end()


if __name__ == "__main__":
    main()
