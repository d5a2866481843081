"""Which file a study means by a kernel."""

from pathlib import Path

from tiltyard.host.packages import find_program
from tiltyard.systems.vm.series import kernel_of_series


def kernel_named(name: str, root: Path) -> Path | None:
    """The file of a kernel: a path, a series, or a program's name; ``None`` if there is none.

    Args:
        name: as the study has it.
        root: what relative paths begin at.
    """
    if (path := kernel_of_series(name)) is not None:
        return path if path.is_file() else None
    if "/" in name:
        path = root / Path(name).expanduser()
        return path if path.is_file() else None
    program = find_program(name)
    return Path(program) if program else None
