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


def gate() -> Iterator[RenderableType]:
    from tiltyard.analysis.gate import gate as judged
    from tiltyard.cli.gate import table

    found = specimen(systems=("base", "head"), workloads=("tcp_rr", "postmark"), blocks=20)
    yield table(judged(found, 0.1))


def plan() -> Iterator[RenderableType | str]:
    from support.synthetic import synthetic_study
    from support.turns import in_turns, workload_of
    from tiltyard.analysis.forecast import Asked, basis_of, forecast
    from tiltyard.analysis.replication import components_of, values_of_trials
    from tiltyard.cli.forecast_table import sentences, table

    known, run = in_turns(trials=3, blocks=5, shared=0.1, between=0.02, within=0.01)
    values = values_of_trials(known, run, workload_of(known))
    basis = basis_of(values, ("ext4", "xfs"), components_of(values), turn_s=9.0, trial_s=1.0)
    planned, _ = synthetic_study(("ext4", "xfs"), ("postmark",), 0)
    asked = Asked(within=0.02, power=0.9, budget_s=2700)
    found = forecast(planned, {"postmark": basis}, "a pilot of 5 blocks, 3 trials a turn", asked)
    yield table(found)
    yield from sentences(found)


def status() -> Iterator[str]:
    from tiltyard.app.status import DisturbedBlock, FailedTrial, SessionStatus, Status, TimeLeft
    from tiltyard.cli.status import lines

    disturbed = DisturbedBlock(
        block=4, replaced=True, reason="other processes used 12 % of CPU 1 (limit 3 %)"
    )
    failed = FailedTrial(
        block=2,
        system="xfs",
        workload="postmark",
        title="PostMark",
        reason="no space left on device",
    )
    session = SessionStatus(
        session=1, state="interrupted", ended="", node="", pid=None,
        blocks=7, blocks_max=20, trials=27, disturbed=(disturbed,), failed=(failed,),
        pairs=4, open_pairs=2, left=TimeLeft(look=10, to_look_s=185, last=20, to_last_s=801),
    )  # fmt: skip
    question = "Which file system for the mail spool, and does noatime matter?"
    yield from lines(Status(study="spool", question=question, sessions=(session,)))


SCREENS: dict[str, Callable[[], Iterator[RenderableType | str]]] = {
    "verdict": verdict,
    "commands": commands,
    "doctor": doctor,
    "gate": gate,
    "plan": plan,
    "status": status,
}


if __name__ == "__main__":
    from tiltyard.cli.console import show, tell

    for part in SCREENS[sys.argv[1]]():
        tell(part) if isinstance(part, str) else show(part)
