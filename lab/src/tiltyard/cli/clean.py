"""``tiltyard clean``: what earlier runs have left and may go."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tiltyard.cli.printing import WORDS, Printing


def clean(
    *folders: Path,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"])] = False,
    printing: Printing = WORDS,
) -> int:
    """Remove images and unfinished files that killed runs have left; it asks first.

    Before anything is removed, what a killed run has changed on the host is put back, as every run
    does first. Study files, plans, journals, trials and findings are never removed.

    ```
    tiltyard clean                              # in this folder and those below it
    tiltyard clean /srv/studies --all --yes
    ```

    Args:
        folders: Study folders, or folders with some in them; by default this one.
        all_: Also what can be made again: reports, kernels of virtual machines.
        yes: Do not ask.
        printing: Options of what is printed.
    """
    import sys

    from rich.text import Text

    from tiltyard.app.clean import leftovers, remove
    from tiltyard.cli.console import remark, show, tell
    from tiltyard.errors import ExitCode
    from tiltyard.host.ledger import recover
    from tiltyard.report.stacking import StackingTable
    from tiltyard.units import format_size

    printing.begin()
    where = folders or (Path(),)
    found = leftovers(where, everything=all_)
    size = format_size(found.free_bytes)
    if found.leftovers and not printing.json:
        table = StackingTable("What", "Size", "Why it may go")
        for one in found.leftovers:
            table.add_row(Text(one.path), format_size(one.size_bytes), Text(one.what))
        show(table)
    if not found.leftovers:
        if not printing.emit(found):
            tell("Nothing to remove.")
        return ExitCode.DONE
    if not yes and sys.stdin.isatty() and not printing.json:
        sys.stderr.write(f"Remove all of it ({size})? [y/N] ")
        sys.stderr.flush()
        yes = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not yes:
        again = " ".join(("tiltyard clean", *map(str, folders), *(("--all",) if all_ else ())))
        if not printing.emit(found):
            tell(f"{size} may go; nothing was removed. To remove it: {again} --yes")
        return ExitCode.DONE
    for line in recover():
        remark(f"Restored {line}")
    removed = remove(leftovers(where, everything=all_))
    if not printing.emit(removed):
        tell(f"Removed  {size}")
    return ExitCode.DONE
