"""``tiltyard new``: a commented study from a template."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tiltyard.cli.completers import templates


def new(
    folder: Path,
    /,
    *,
    template: Annotated[
        str, Parameter(name=["--template", "-t"], completer=templates)
    ] = "filesystems",
) -> None:
    """Write a commented study to start from.

    ```
    tiltyard new spool                      # file systems on a fresh image
    tiltyard new disks -t directories       # two directories, no root needed
    tiltyard new link -t network            # two ends of a network
    tiltyard new base -t database           # a ready study: tiltyard recommend lists them
    tiltyard check spool && tiltyard run spool
    ```

    Args:
        folder: The study folder to make.
        template: What is compared: filesystems, mount-options, directories, programs or network;
            or the name of a ready study.
    """
    from tiltyard.cli.console import tell
    from tiltyard.errors import RefusedError
    from tiltyard.folder import StudyFolder, write_whole
    from tiltyard.study.templates import new_study

    target = StudyFolder(folder)
    if target.study.exists():
        raise RefusedError(f"{target.study}: there is a study already; choose another folder")
    write_whole(target.study, new_study(template).encode())
    tell(f"Wrote {target.study}. Edit it, then: tiltyard check {folder} && tiltyard run {folder}")
