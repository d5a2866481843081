"""Journals that are edited, with a chain that fits what was made of them."""

import re
from collections.abc import Iterable
from pathlib import Path

from tiltyard.run.chain import Chain


def unchained(journal: Path) -> list[bytes]:
    """The lines of a journal, each with its end, without their hashes."""
    text = re.sub(rb',"chain":"[0-9a-f]{64}"}\n', b"}\n", journal.read_bytes())
    return text.splitlines(keepends=True)


def chained(lines: Iterable[bytes]) -> bytes:
    """A journal of lines without hashes, as whoever knows how would write it."""
    chain, found = Chain(), b""
    for line in lines:
        linked, seal = chain.link(line.rstrip(b"\n"))
        chain.lengthen(seal)
        found += linked + b"\n"
    return found
