"""Ask a host what the sections want to know: files and links first, then commands.

Another host is asked through its shell, with programs that every host has; each of the two
questions takes one connection.
"""

import glob
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.host.place import Place
from tiltyard.host.record.section import Command, Section, Seen, Subject

_ANSWER_S = 60.0
"""For a command that never answers, as of a disk that hangs; each takes some milliseconds where a
CPU is free, and a fact that is lacking because none was would be told as a change of the host."""
_AT_ONCE = 4
"""Commands at a time: they mostly wait for each other's pages."""
_END: Final = "\x1e"
"""Ends an answer on another host (ASCII record separator)."""
_FILES_THERE = "head -v -c 1000000 -- {} 2>/dev/null; printf '\\036\\n'; {}true"
"""Each file under a heading with its path: ``head`` goes on where one cannot be read."""
_HEADING = re.compile(r"^==> (/.*) <==$", re.MULTILINE)
_LINKS_THERE = (
    'for one in {}; do [ -e "$one" ] && printf "%s\\t%s\\n" "$one" "$(readlink -f "$one")"; done; '
)
_ADMIN = "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; "


def look(sections: Sequence[Section], subject: Subject, place: Place) -> Seen:
    """What a host answers to all that the sections ask.

    Raises:
        TiltyardError: if the host cannot be reached.
    """
    files = sorted({pattern for section in sections for pattern in section.files})
    links = sorted({pattern for section in sections for pattern in section.links})
    there = _there(files, links, place) if place.ssh else _here(files, links)
    first = replace(there, subject=subject)
    commands = list(dict.fromkeys(c for section in sections for c in section.ask(first)))
    answers = _answers_there(commands, place) if place.ssh else _answers_here(commands)
    return replace(first, answers=answers)


def _here(files: Iterable[str], links: Iterable[str]) -> Seen:
    """Files and links of this host."""
    found: dict[str, str] = {}
    for path in _expanded(files):
        try:
            text = Path(path).read_text(errors="replace").strip().rstrip("\0")
        except OSError:
            continue
        if text:
            found[path] = text
    return Seen(found, {path: os.path.realpath(path) for path in _expanded(links)})


def _expanded(patterns: Iterable[str]) -> list[str]:
    """Paths that exist; only directories are opened for it."""
    return sorted(path for pattern in patterns for path in glob.glob(pattern))  # noqa: PTH207  absolute ones


def _answers_here(commands: Sequence[Command]) -> dict[Command, str]:
    """What commands of this host print."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(_answer_here, commands)
        return {
            command: answer for command, answer in zip(commands, answers, strict=True) if answer
        }


def _answer_here(command: Command) -> str:
    """What it prints; nothing if it fails or is not there. Some tell their version as an error."""
    try:
        output = Place().run(command, timeout_s=_ANSWER_S)
    except (HostLacksError, TiltyardError):
        return ""
    return output.stdout or output.stderr


def _there(files: Sequence[str], links: Sequence[str], place: Place) -> Seen:
    """Files and links of another host: its shell knows the patterns."""
    script = _FILES_THERE.format(
        " ".join(files), _LINKS_THERE.format(" ".join(links)) if links else ""
    )
    text, _, leading = place.run(("sh", "-c", script)).stdout.partition(f"{_END}\n")
    _, *parts = _HEADING.split(text)
    whole = {
        path: body.strip().rstrip("\0") for path, body in zip(parts[::2], parts[1::2], strict=True)
    }
    pairs = (line.partition("\t") for line in leading.splitlines())
    return Seen(
        {path: text for path, text in whole.items() if text},
        {path: target for path, _, target in pairs},
    )


def _answers_there(commands: Sequence[Command], place: Place) -> dict[Command, str]:
    """The same of another host; each answer ends with the exit status."""
    if not commands:
        return {}
    end = f"printf '{_END}%d{_END}' $?"
    asked = (f"{shlex.join(command)} </dev/null 2>&1; {end}" for command in commands)
    told = place.run(("sh", "-c", _ADMIN + "; ".join(asked))).stdout.split(_END)
    return {
        command: text.strip()
        for command, text, status in zip(commands, told[::2], told[1::2], strict=False)
        if status == "0" and text.strip()
    }
