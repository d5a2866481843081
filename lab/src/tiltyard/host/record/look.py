"""Ask a host what the sections want to know: files and links first, then commands."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tiltyard.host.place import Place
from tiltyard.host.record.section import Command, RecordRequest, Section, Seen


def look(sections: Sequence[Section], subject: RecordRequest, place: Place) -> Seen:
    """What a host answers to all that the sections ask.

    Raises:
        TiltyardError: if the host cannot be reached.
    """
    files = sorted({pattern for section in sections for pattern in section.files})
    links = sorted({pattern for section in sections for pattern in section.links})
    limits = sorted({name for section in sections for name in section.limits})
    first = replace(_seen(place, files, links, limits), subject=subject)
    commands = list(dict.fromkeys(c for section in sections for c in section.ask(first)))
    return replace(first, answers=_answers(place, commands))


def _seen(place: Place, files: Iterable[str], links: Iterable[str], limits: Iterable[str]) -> Seen:
    """Files and links of a host."""
    found = place.ask(lambda host: host.read(files=files, links=links, limits=limits))
    whole = {path: text.strip().rstrip("\0") for path, text in found.files.items()}
    return Seen({path: text for path, text in whole.items() if text}, found.links)


def _answers(place: Place, commands: Sequence[Command]) -> dict[Command, str]:
    """What commands of a host print that succeed; some tell their version as an error."""
    if not commands:
        return {}
    told = place.ask(lambda host: host.read(outputs=commands)).outputs
    answers = {tuple(one.argv): one.stdout or one.stderr for one in told if one.status == 0}
    return {command: text.strip() for command, text in answers.items() if text.strip()}
