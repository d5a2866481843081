"""Hosts that have what this machine has not: the kernel's files as another machine shows them.

A mount namespace of its own, in which files and folders lie over those of this machine. What is
tested goes there as it goes to any other host, through the command that reaches it.
"""

import contextlib
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltyard.address import Address
from tiltyard.host.place import Place

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_DIGEST = re.compile(r" \([0-9a-f]{8}\)")
_WAIT = "echo ready; exec sleep infinity"
FORGET = (
    """awk '$5 ~ "/pytest-of-" {print $5}' /proc/self/mountinfo | tac | xargs -r umount -l || :"""
)
"""In a new table of mounts: what tests have mounted at that moment goes from it.

A device stays busy as long as any table has it, and another test waits for its own only so long.
What that test unmounts meanwhile goes from this table by itself.
"""
OWN_MOUNTS = (
    "unshare", "--mount", "--propagation", "slave", "sh", "-ec", f'{FORGET}; exec "$@"', "sh"
)  # fmt: skip
"""Starts a command with a table of mounts of its own."""


@dataclass(frozen=True)
class Behind(Address):
    """A stand-in for another host: a command of this one that takes lines of shell, as ssh does."""

    words: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The command."""
        return self.words


def behind(*words: str) -> Place:
    """What is behind a command; it is called by the last word of that."""
    return Place(Behind(words[-1], words=words))


def tuning_facts(facts: Mapping[str, str]) -> dict[str, str]:
    """What is told of tuning, without the digests of profiles' files."""
    told = {key: value for key, value in facts.items() if re.match("tuning(?! by )", key)}
    return told | {"tuning": _DIGEST.sub("", told["tuning"])} if told else {}


@contextlib.contextmanager
def pretend(
    tmp_path: Path,
    *,
    files: Mapping[str, str] | None = None,
    trees: Mapping[str, Mapping[str, str]] | None = None,
    programs: Mapping[str, str] | None = None,
) -> Iterator[Place]:
    """A place where these are seen.

    Args:
        tmp_path: keeps them.
        files: path → text, each over a file that this machine has.
        trees: folder → files in it, over a folder that this machine has.
        programs: name → script of a shell, before those of the same name.
    """
    mounts = []
    for number, (path, text) in enumerate((files or {}).items()):
        (own := tmp_path / f"file-{number}").write_text(text)
        mounts.append(f"mount --bind {own} {path}")
    for number, (path, inside) in enumerate((trees or {}).items()):
        for name, text in inside.items():
            own = tmp_path / f"tree-{number}" / name
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_text(text)
            own.chmod(0o755)
        mounts.append(f"mount --bind {tmp_path / f'tree-{number}'} {path}")
    (own_programs := tmp_path / "programs").mkdir()
    for name, script in (programs or {}).items():
        (own_programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (own_programs / name).chmod(0o755)
    enter = (*OWN_MOUNTS, "sh", "-ec", "; ".join([*mounts, _WAIT]))
    with subprocess.Popen(enter, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            into = ("nsenter", f"--mount=/proc/{process.pid}/ns/mnt")
            yield behind(*into, "env", f"PATH={own_programs}:{_PATH}", "sh", "-c")
        finally:
            process.kill()
