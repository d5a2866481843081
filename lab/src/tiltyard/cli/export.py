"""``tiltyard export``: findings in the formats of other tools."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tiltyard.cli.completers import Study, export_formats

if TYPE_CHECKING:
    from tiltyard.exporters.exporter import Exporter


def export(
    study: Study = Path(),
    /,
    *,
    to: Annotated[str, Parameter(completer=export_formats)],
    output: Annotated[
        str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)
    ] = None,
    redact: bool = False,
) -> None:
    """Write what was measured in the format of another tool.

    The study may have been run here, imported (`tiltyard import`), or printed (a folder of
    `published/`). Formats: `csv` and `parquet` (every value), `phoronix` (composite.xml),
    `bencher` (medians with intervals), `openmetrics` (the same and ratios), `runbook` (a shell
    script that does what was done).

    ```
    tiltyard export spool --to parquet
    tiltyard export spool --to bencher --output - | jq keys
    tiltyard export published/linux-3.13 --to phoronix --output composite.xml
    ```

    Args:
        study: A study folder; by default this one.
        to: The format.
        output: File to write, `-` for stdout; by default a file in the study's folder `report/`, of
            a printed study here.
        redact: For others: without names, addresses, paths and secrets, as `tiltyard report
            --redact` makes it.
    """
    from tiltyard.app.report import findings_of, free_file, redacted_here
    from tiltyard.app.studies import kind_of
    from tiltyard.cli.console import emit, say
    from tiltyard.exporters import EXPORTERS
    from tiltyard.folder import write_together

    exporter = EXPORTERS.named(to)

    def made() -> bytes:
        found = findings_of(study)
        return exporter.render(redacted_here(found).findings if redact else found)

    if output == "-":
        _refuse_terminal(exporter)
        emit(made())
        return
    if output is not None:
        path = free_file(Path(output))
        home, name = path.parent, path.name
    elif (folder_of := kind_of(study).folder) is None:
        home, name = Path(), exporter.file
    else:
        folder = folder_of(study)
        folder.require_own()
        home, name = folder.root, f"{folder.report.name}/{exporter.file}"
    write_together(home, {name: made()})
    say(str(home / name))


def _refuse_terminal(exporter: "Exporter") -> None:
    """Bytes that are no text would only upset a terminal."""
    import sys

    from tiltyard.errors import UsageError

    if not exporter.text and sys.stdout.isatty():
        raise UsageError(
            f"{exporter.name} is no text and stdout is a terminal: name a file with --output"
        )
