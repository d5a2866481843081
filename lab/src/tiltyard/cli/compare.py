"""``tiltyard compare``: the whole job in one command."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from tiltyard.cli.commands import NONE, Commands

if TYPE_CHECKING:
    from tiltyard.analysis.model import Findings
    from tiltyard.folder import StudyFolder


def compare(
    *systems: str,
    workload: Annotated[tuple[str, ...], Parameter(name=["--workload", "-w"])] = (),
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: Annotated[
        Literal["replace", "keep"] | None, Parameter(name=["--disturbed", "--spoiled"])
    ] = None,
    folder: Path | None = None,
    scale: str | None = None,
    require_decision: bool = False,
    export_json: Path | None = None,
    export_markdown: Path | None = None,
    export_csv: Path | None = None,
    export_asciidoc: Path | None = None,
    export_orgmode: Path | None = None,
    commands: Commands = NONE,
) -> int:
    """Compare commands, file systems, directories or network settings, without a study file.

    ```
    tiltyard compare -c old='./rg-13 foo tree' -c new='./rg-14 foo tree'
    tiltyard compare -c 'sort --parallel={n} big' --parameter-list n 1,2,4
    tiltyard compare ext4 xfs -c 'make -j2' --setup 'cp -a /src/project/. .'
    tiltyard compare ext4 xfs btrfs --workload postmark
    tiltyard compare ext4 xfs -w iozone -w postmark --budget "20 min"
    tiltyard compare /mnt/old /mnt/new          # directories: no root needed
    tiltyard compare mtu=1500 mtu=9000 -w tcp_stream
    tiltyard compare ext4 ext4                  # A/A test: false differences?
    ```

    A study folder is written, named after the workloads and systems; the same command again goes
    on with it. Commands that have been compared to the end are measured again, in a new folder;
    without systems they are executed in this directory, one after the other in random order. What
    is typed here, such as a tuning profile, is trusted as it is typed.

    Args:
        systems: File systems (made on a fresh loop-backed image in each block; needs root),
            existing directories, or a setting of a pair of network namespaces with its value
            (made fresh in each block; needs root). Commands need none.
        workload: A workload to run (see `tiltyard workloads`); may be given again. By default
            postmark, and tcp_stream over a network.
        blocks: Exactly so many blocks; by default 7 to 20, until everything is decided.
        budget: Begin no further block after this time: "45 min".
        seed: Seed of the random order; by default drawn.
        disturbed: What becomes of a block in which other programs used the host: "replace" (the
            default) runs a replacement block for it, "keep" (the default of commands) lets it
            count.
        folder: The study folder; by default named after the question.
        scale: Make sizes, counts and durations smaller by this fraction: more than 0, at most 1, as
            "1/8" or "0.125". Plan and report say what became of them.
        require_decision: Exit with code 6 if a comparison has no decision at the end.
        export_json: Write the times of all executions as hyperfine does, here.
        export_markdown: Write a table as hyperfine does, with intervals, here.
        export_csv: The same as CSV.
        export_asciidoc: The table for AsciiDoc.
        export_orgmode: The table for Org mode.
        commands: Options of commands.
    """
    from tiltyard.app.compare import typed_study
    from tiltyard.cli.commands import require_writable, understood
    from tiltyard.cli.console import remark
    from tiltyard.cli.run import carried_out, shown
    from tiltyard.errors import UsageError
    from tiltyard.exporters.hyperfine import FILES
    from tiltyard.study.scaling import parse_scale

    fraction = None if scale is None else parse_scale(scale)
    typed = understood(commands, systems)
    exports = (export_json, export_csv, export_markdown, export_asciidoc, export_orgmode)
    files = {form: path for form, path in zip(FILES, exports, strict=True) if path is not None}
    require_writable({f"export-{form}": path for form, path in files.items()})
    if files and typed is None:
        raise UsageError(f"--export-{next(iter(files))} goes with --command (-c); others: export")
    target = typed_study(
        systems,
        workload,
        folder,
        fraction,
        commands=typed,
        blocks=blocks,
        budget=budget,
        seed=seed,
        disturbed=disturbed,
    )
    remark(f"Study    {target.root}/")
    findings = carried_out(target, scale=fraction, show_output=commands.show_output)
    _export(target, findings, files)
    return shown(target, findings, require_decision=require_decision)


def _export(folder: "StudyFolder", findings: "Findings", files: Mapping[str, Path]) -> None:
    """Write the executions as hyperfine does; format → file."""
    from tiltyard.app.executions import contestants
    from tiltyard.exporters.hyperfine import FILES
    from tiltyard.folder import write_whole

    found = contestants(folder) if files else []
    for form, path in files.items():
        write_whole(path, FILES[form](found, findings))
