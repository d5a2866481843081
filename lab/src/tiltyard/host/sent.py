"""What is sent to another host: the engine, and what becomes its agent there; and how."""

import functools
import gzip
import platform
import re
from pathlib import Path
from typing import Final

from tiltyard.errors import HostLacksError

COPY: Final = r"""
printf "\036%s\n" "$(uname -sm)"
read -r bytes || exit 0
engine=$0/tiltyard-agent
mkdir -m 700 "$0" || exit 1
if head -c "$bytes" | gzip -dc > "$engine" && chmod 700 "$engine"; then
    said=$("$engine" --version 2>&1 > /dev/null)
    case $? in
        0) exec "$engine" agent --remove-copy "$0" --lease "$1" ;;
        126) said="no program can be executed in the home directory. \
Fix: mount -o remount,exec, or a user whose home is elsewhere" ;;
    esac
    echo "${said:-the engine cannot be executed}" >&2
fi
rm -rf "$0"
exit 1
"""
"""Says what sort of host it is, takes the engine, and becomes its agent. What a shell cannot
execute has status 126 (POSIX). The agent removes what was left of copies before its own."""


_MACHINE: Final = re.compile(r"[A-Za-z0-9_]{1,32}")


def engine_for(there: str, engine: Path) -> Path:
    """The engine for a host: this one, or that for another machine, which lies beside it.

    Args:
        there: system and machine of the host, as uname(1) tells them.
        engine: the one for this host.

    Raises:
        HostLacksError: if there is none.
    """
    own = f"{platform.system()} {platform.machine()}"
    if there == own:
        return engine
    system, _, machine = there.partition(" ")
    other = engine.with_name(f"{engine.name}-{machine}") if _MACHINE.fullmatch(machine) else engine
    if system == platform.system() and other != engine and other.is_file():
        return other
    fix = f". Fix: that of the wheel for {machine}, as {other}" if other != engine else ""
    raise HostLacksError(f"the engine is for {own}{fix}")


@functools.cache
def packed(engine: Path) -> bytes:
    """The engine as it is sent: a shell on the other host unpacks it."""
    return gzip.compress(engine.read_bytes(), compresslevel=1)
