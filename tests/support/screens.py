"""Screens of the terminal: what is printed, on a real terminal of a given size.

``python -m support.screens NAME`` prints one of :data:`SCREENS`, as its verb would.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import RenderableType

from support.patience import wait_until
from support.specimen import findings as specimen
from tiltyard.host.doctor import Check
from tiltyard.report.terminal import verdicts

LONG = ("sort --parallel=1 --buffer-size=64M words", "sort --parallel=4 --buffer-size=64M words")
PAGE = Path("study/report/index.html")


class Terminal:
    """A terminal in which something runs."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ("tmux", "-S", str(socket), "-f", os.devnull)

    def tmux(self, *words: str) -> str:
        done = subprocess.run((*self._tmux, *words), capture_output=True, text=True, check=True)
        return done.stdout

    @property
    def screen(self) -> str:
        """Its lines, from the first one that was printed, without blanks at their ends."""
        lines = self.tmux("capture-pane", "-p", "-S", "-").splitlines()
        return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"

    def type(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)


@contextmanager
def terminal(
    place: Path, columns: int, *command: str | Path, **environment: str
) -> Iterator[Terminal]:
    """A terminal of so many columns, with a command in it; it stays when the command has ended."""
    made = Terminal(place / f"tmux-{columns}")
    settings = {"COLUMNS": "", "COLORTERM": "", "PYTHONPATH": "tests", **environment}
    line = shlex.join(map(str, command))
    exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
    made.tmux(
        *("new-session", "-d", "-x", str(columns), "-y", "50"),
        f"{exports} {line}; printf '\\n-- %s --\\n' $?; exec sleep 600",
    )
    try:
        yield made
    finally:
        made.tmux("kill-server")


def screen_of(place: Path, columns: int, *command: str | Path, **environment: str) -> str:
    """What a command leaves on a terminal."""
    with terminal(place, columns, *command, **environment) as shown:
        wait_until(lambda: "\n-- " in shown.screen, f"{command} does not end", pause_s=0.1)
        text, _, code = shown.screen.rpartition("\n-- ")
    assert code.startswith("0 "), text
    return text.rstrip() + "\n"


def verdict() -> Iterator[RenderableType]:
    yield verdicts(specimen(blocks=7, tests=("write", "read")), PAGE)


def commands() -> Iterator[RenderableType]:
    yield verdicts(specimen(systems=LONG, workloads=("postmark",), blocks=7), PAGE)


def doctor() -> Iterator[RenderableType]:
    from tiltyard.cli.doctor import table

    yield table(
        (
            Check(
                "users' namespaces", "limited", "users cannot mount: no permission", "sysctl x=1"
            ),
            Check("engine", "missing", "there is no tiltyard-engine", "make build"),
        )
    )


SCREENS: dict[str, Callable[[], Iterator[RenderableType]]] = {
    "verdict": verdict,
    "commands": commands,
    "doctor": doctor,
}


if __name__ == "__main__":
    from tiltyard.cli.console import show

    for part in SCREENS[sys.argv[1]]():
        show(part)
