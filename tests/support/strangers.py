"""Other hosts that nobody should trust: a program in the place of ssh that answers as it likes."""

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from support.patience import wait_until
from tiltyard.executors import runner
from tiltyard.host import host, pipe
from tiltyard.systems import booting

HOST: Final = "stranger"
_SSH: Final = """\
#!/bin/sh
[ "$1" = -V ] && exec echo OpenSSH_9 >&2
echo $$ >> {folder}/started
while [ "${{1#-}}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
[ "$1" ] && shift
cd {folder}/home || exit
HOME={folder}/home TILTYARD_STATE={folder}/state
export HOME TILTYARD_STATE
case "$*" in
{asked}) {answers} ;;
esac
eval "$*"
"""
"""Its options are left out; what is not asked for is done as by anybody."""

ASKED: Final = {
    "everything": "*",
    "agent": "*uname*",
    "engine": "*tiltyard-engine*runner*",
    "copy": "*'cat >'*",
    "way back": "*'rm -rf'*",
}
"""What it answers as it likes: patterns of a shell."""
ANSWERS: Final = {
    "nothing": "exit 0",
    "a banner": 'echo "Welcome to this host"',
    "noise": "head -c 3000 /dev/urandom; exit 0",
    "an endless line": "tr '\\0' x </dev/zero; exit 0",
    "endless lines": "yes; exit 0",
    "silence": "sleep 1000; exit 0",
    "what does not end": "trap '' TERM INT HUP; while :; do sleep 1000; done",
    "a mark and nothing": "printf '\\036'; exit 0",
    "a mark and noise": "printf '\\036'; head -c 3000 /dev/urandom; exit 0",
    "a mark and endless lines": "printf '\\036'; yes; exit 0",
    "broken JSON": """echo '{"hello":'; exit 0""",
    "another JSON": """echo '{"hello": 7, "runner": []}'; exit 0""",
    "deep JSON": "head -c 500000 /dev/zero | tr '\\0' '['; echo; exit 0",
    "an unknown runner": """printf '\\036{"runner":{"mystery":{}}}\\n'; sleep 1000""",
    "status 200": "exit 200",
    "status 130": "exit 130",
    "status 255": "exit 255",
    "killed": "kill -9 $$",
    "a failure of builtins": """echo '{"failed":{"kind":"__builtins__","text":"x"}}'; exit 0""",
    "a failure that is a code": """echo '{"failed":{"kind":"ExitCode","text":"x"}}'; exit 0""",
    "an interrupt": """echo '{"failed":{"kind":"InterruptedRunError","text":"x"}}'; exit 0""",
    "a boot": """echo '{"failed":{"kind":"BootingError","text":"x"}}'; exit 0""",
    "a failure that does not end": """echo '{"failed":{"kind":"","text":"'; yes; exit 0""",
}
"""How."""


@dataclass(frozen=True)
class Stranger:
    """Such a host, for one test."""

    folder: Path

    def pids(self) -> list[int]:
        """Whatever was started in the place of ssh and is still there."""
        started = self.folder / "started"
        listed = started.read_text().split() if started.exists() else []
        return [int(pid) for pid in listed if _lives(int(pid))]


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "ssh" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


@contextmanager
def stranger(
    folder: Path, monkeypatch: pytest.MonkeyPatch, asked: str, answers: str
) -> Iterator[Stranger]:
    """A host that does what it is told, but for what is asked; nothing of it lives afterwards.

    Args:
        folder: of its home and its state.
        monkeypatch: makes the program the first of its name, and patience short.
        asked: a pattern of a shell.
        answers: what a shell does then; where it does not exit, it goes on as anybody would.
    """
    for name in ("home", "programs"):
        (folder / name).mkdir(parents=True)
    program = folder / "programs" / "ssh"
    program.write_text(_SSH.format(folder=folder, asked=asked, answers=answers))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    short: dict[object, dict[str, float]] = {
        host: {"_ANSWER_S": 2.0, "STALLED_S": 2.0, "_GOES_S": 2.0},
        pipe: {"STALLED_S": 2.0},
        booting: {"LIMIT_S": 4.0},
        runner: {"_LOST_S": 2.0, "_GRACE_S": 2.0, "_BEAT_S": 0.5},
    }
    for module, limits in short.items():
        for name, seconds in limits.items():
            monkeypatch.setattr(module, name, seconds)
    there = Stranger(folder)
    yield there
    host.hosts.close(here=False)
    wait_until(lambda: not there.pids(), "nothing that led there lives")


def verb(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of a command line; what is no error of ours is raised."""
    from tiltyard.cli import main

    monkeypatch.setattr(sys, "argv", ["tiltyard", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)
