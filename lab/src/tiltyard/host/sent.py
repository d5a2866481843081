"""What is sent to another host: the engine, and what becomes its agent there; and how."""

import functools
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from tiltyard.errors import HostLacksError

COPY: Final = r"""
printf "\036%s\n" "$(uname -sm)"
read -r bytes || exit 0
find . ! -name . -prune -name "tiltyard-*-agent" -mmin +60 -exec rm -rf {} + 2>/dev/null
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
execute has status 126 (POSIX). A copy that was cut off in the middle, an hour ago, is nobody's."""


@functools.cache
def packed(engine: Path) -> bytes:
    """The engine as it is sent: a shell on the other host unpacks it."""
    return gzip.compress(engine.read_bytes(), compresslevel=1)


class Reach(Protocol):
    """How another host is reached, and what is told where it is not."""

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command of this host that runs a command there."""

    def is_lost(self, status: int, complaint: str) -> bool:
        """Whether a command ended so because the host was not reached."""

    def noise(self, said: str, where: str) -> HostLacksError:
        """The error of a host that prints something where an answer should be."""
