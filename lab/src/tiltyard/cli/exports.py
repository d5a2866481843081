"""Files of the times of commands, in the forms of hyperfine."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from tiltyard.analysis.model import Findings
    from tiltyard.folder import StudyFolder


@Parameter(name="*")
@dataclass(frozen=True)
class Exports:
    """Where they are written.

    Attributes:
        export_json: Write the times of all executions as hyperfine does, here.
        export_markdown: Write a table as hyperfine does, with intervals, here.
        export_csv: The same as CSV.
        export_asciidoc: The table for AsciiDoc.
        export_orgmode: The table for Org mode.
        time_unit: Unit of the times in these tables; by default one that suits them.
    """

    export_json: Path | None = None
    export_markdown: Path | None = None
    export_csv: Path | None = None
    export_asciidoc: Path | None = None
    export_orgmode: Path | None = None
    time_unit: Annotated[
        Literal["microsecond", "millisecond", "second"] | None,
        Parameter(name=["--time-unit", "-u"]),
    ] = None

    @property
    def given(self) -> dict[str, object]:
        """Option → its value, of all of them."""
        return {f"--{own.name.replace('_', '-')}": getattr(self, own.name) for own in fields(self)}

    def files(self, *, of_commands: bool) -> dict[str, Path]:
        """The files that are asked for, each by its format; of commands only.

        Raises:
            UsageError: if one cannot be written, or no commands are compared.
        """
        from tiltyard.cli.commands import require_writable
        from tiltyard.errors import UsageError

        asked = {own.name: getattr(self, own.name) for own in fields(self)}
        files = {
            form.removeprefix("export_"): path
            for form, path in asked.items()
            if isinstance(path, Path)
        }
        require_writable({f"export-{form}": path for form, path in files.items()})
        if files and not of_commands:
            raise UsageError(
                f"--export-{next(iter(files))} goes with --command (-c); others: export"
            )
        return files


NO_EXPORTS: Final = Exports()


def write_executions(
    folder: "StudyFolder", findings: "Findings", files: Mapping[str, Path], unit: str | None
) -> None:
    """Write the executions as hyperfine does; format → file."""
    if not files:
        return
    from tiltyard.app.executions import contestants
    from tiltyard.exporters.hyperfine import FILES
    from tiltyard.folder import write_whole

    found = contestants(folder)
    for form, path in files.items():
        write_whole(path, FILES[form](found, findings, unit))
