"""``tiltyard import``: results of other tools, compared and reported as results of Tiltyard are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from tiltyard.importers.assemble import ReadFile
    from tiltyard.importers.gather import Given
    from tiltyard.importers.importer import Importer


def import_(
    folder: Path,
    /,
    *files: str,
    as_: Annotated[str | None, Parameter(name="--as")] = None,
    question: str | None = None,
    factors: tuple[str, ...] = (),
    blocks: bool = False,
    order: Literal["given"] | None = None,
    mapping: Path | None = None,
    json: bool = False,
) -> None:
    """Read result files of other tools into a study folder, and report on them.

    Files of one system with the same cells are repetitions of each other; what one file repeats
    counts as one value. What the files did not keep (order, repetitions, the state of caches)
    limits every verdict, in words. The files are kept in the folder as they are.

    ```
    tiltyard import mail ext4=ext4-*.txt xfs=xfs-*.txt
    tiltyard import mail ext4=run?/ext4.txt xfs=run?/xfs.txt --blocks --order given
    tiltyard import disks composite.xml
    tiltyard import spool --factors filesystem,kernel ext4/3.12=a.txt ext4/3.13=b.txt
    tiltyard import rates results.csv --mapping map.toml
    ```

    Args:
        folder: The study folder to make.
        files: `NAME=FILE`, the name of a system and a file (or a pattern) with its results, as
            often as there are; `FILE` alone where the file names its systems itself.
        as_: What kind of files they are, as `fio` or `iozone`, by default recognised: all kinds
            are in `docs/reference/importers.md`.
        question: The question that the comparison answers, for the head of the report.
        factors: What the parts of the names, between slashes, are levels of:
            `--factors filesystem,kernel` with names like `ext4/3.13`.
        blocks: The i-th files of all systems were made in one round, taking turns: compare them as
            pairs.
        order: `given`: the files stand in the order in which they were made.
        mapping: The files are CSV; this TOML file says what each of their columns is.
        json: Print the findings as JSON instead of the verdict table.
    """
    from tiltyard.app.collect import place_collection
    from tiltyard.app.report import concluded, write_report
    from tiltyard.cli.console import emit_json, show
    from tiltyard.importers.assemble import ImportOptions, assemble
    from tiltyard.importers.gather import given
    from tiltyard.report.terminal import verdicts

    wanted = given(files)
    options = ImportOptions(
        question=question,
        factors=tuple(part for word in factors for part in word.split(",") if part),
        order_given=order == "given",
        blocks=blocks,
    )
    read = _read(wanted, _named(as_, mapping))
    place_collection(folder, assemble(read, options), {file.name: file.data for file in read})
    found = concluded(folder, None, None)
    pages = write_report(found)
    if json:
        emit_json(found.findings.model_dump_json(indent=2))
    else:
        show(verdicts(found.findings, *pages))


def _named(kind: str | None, mapping: Path | None) -> "Importer | None":
    """The one importer that all files are for; ``None`` where each is to be recognised."""
    from tiltyard.errors import UsageError
    from tiltyard.importers import IMPORTERS, csv_table

    if mapping is None:
        return IMPORTERS.named(kind) if kind else None
    if kind not in (None, csv_table.IMPORTER.name):
        raise UsageError(f"--mapping is for CSV files, not for those of {kind}")
    return csv_table.importer(mapping)


def _read(wanted: "list[Given]", importer: "Importer | None") -> "list[ReadFile]":
    """Every file, read; names as they are kept: by themselves, with a number where two are alike.

    Raises:
        UsageError: if one of them cannot be read.
    """
    from tiltyard.importers import IMPORTERS
    from tiltyard.importers.assemble import ReadFile
    from tiltyard.importers.gather import contents
    from tiltyard.importers.sniff import importer_of, read_with

    alike = [one.path.name for one in wanted]
    found = []
    for place, one in enumerate(wanted, 1):
        data = contents(one.path)
        reader = importer or importer_of(data, str(one.path), IMPORTERS)
        name = one.path.name
        found.append(
            ReadFile(
                name=f"{place}-{name}" if alike.count(name) > 1 else name,
                data=data,
                system=one.system,
                importer=reader.name,
                imported=read_with(reader, data, str(one.path)),
                left_out=reader.left_out,
                plugin=IMPORTERS.plugin(reader.name),
            )
        )
    return found
