"""``tiltyard gallery``: several studies as a folder of pages for a web server."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def gallery(
    studies: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    output: Path,
    style: str | None = None,
    unredacted: bool = False,
) -> None:
    """Write a page for each study and one over all of them, ready for any web server.

    The pages need no server program and fetch nothing. A study's address is made of its question
    and of the hash of its plan, so links stay good when the gallery is made again. Host names,
    addresses, serial numbers, users, paths, environment variables and secrets are taken out, as
    `tiltyard report --redact` does.

    ```
    tiltyard gallery spool published/* --output public
    ```

    Args:
        studies: Study folders, in the order in which they are shown.
        output: Folder of the gallery; pages of other studies in it stay.
        style: How all are reported; by default each study's own style.
        unredacted: Leave everything in: for readers in the house.
    """
    from tiltyard.cli.console import say
    from tiltyard_press.gallery import write_gallery

    say(str(write_gallery(studies, output, style, redact=not unredacted)))
