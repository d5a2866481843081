"""Ask a host what the sections want to know: files and links first, then commands.

Another host is asked through its shell, with programs that every host has; each of the two
questions takes one connection.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tiltyard.host.host import here
from tiltyard.host.place import Place
from tiltyard.host.record.section import Command, Section, Seen, Subject

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
    found = here().read(files=files, links=links)
    whole = {path: text.strip().rstrip("\0") for path, text in found.files.items()}
    return Seen({path: text for path, text in whole.items() if text}, found.links)


def _answers_here(commands: Sequence[Command]) -> dict[Command, str]:
    """What commands of this host print that succeed; some tell their version as an error."""
    if not commands:
        return {}
    told = here().read(outputs=commands).outputs
    answers = {tuple(one.argv): one.stdout or one.stderr for one in told if one.status == 0}
    return {command: text.strip() for command, text in answers.items() if text.strip()}


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
