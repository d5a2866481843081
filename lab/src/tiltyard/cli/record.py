"""``tiltyard record``: what a host is, in every detail that could matter to a result."""

from pathlib import Path
from typing import TYPE_CHECKING

from tiltyard.cli.host_options import THIS, HostOptions

if TYPE_CHECKING:
    from tiltyard.host.place import Place
    from tiltyard.host.record import Record


def record(
    directory: Path | None = None,
    /,
    *,
    other: HostOptions = THIS,
    json: bool = False,
) -> int:
    """Print the system record of this host, or of another one.

    It is taken at each start of a run as well, and stands in the report. Nothing is changed, and
    no file is read that would act when it is read.

    ```
    tiltyard record
    tiltyard record /mnt/data --json
    tiltyard record --host root@server --ssh-options "-p 2222 -i key"
    ```

    Args:
        directory: A directory on the file system that will be worked on; here by default the
            current one, there the root.
        other: The host, if it is not this one.
        json: Print JSON: section, fact, value.
    """
    import json as documents

    from tiltyard.cli.console import emit_json, say
    from tiltyard.host.place import Place

    found = _taken(directory, Place(other.address))
    if json:
        emit_json(documents.dumps(found, indent=1, ensure_ascii=False))
        return 0
    for section, facts in found.items():
        say(f"{section[0].upper()}{section[1:]}")
        width = max(map(len, facts))
        for fact, value in facts.items():
            say(f"  {fact:{width}}  {value}")
        say("")
    return 0


def _taken(directory: Path | None, place: "Place") -> "Record":
    """The record with the versions of all that this installation knows."""
    from tiltyard.executors.engine import Engine
    from tiltyard.host.record import RecordRequest, take
    from tiltyard.run.host_record import own_versions
    from tiltyard.systems.tools import tools

    here = not place.is_remote
    given = directory or Path("." if here else "/")
    subject = RecordRequest(
        directory=given.resolve() if here else given,
        tools=tools(),
        own=own_versions(Engine.find().describe().engine) if here else {},
    )
    return take(subject, place)
