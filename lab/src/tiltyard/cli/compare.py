"""``tiltyard compare``: the whole job in one command."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from tiltyard.cli import completers
from tiltyard.cli.commands import NONE, Commands
from tiltyard.cli.printing import WORDS, Printing

if TYPE_CHECKING:
    from tiltyard.analysis.model import Findings
    from tiltyard.folder import StudyFolder
    from tiltyard.study.compare import Asked, TypedCommands


def compare(
    *systems: Annotated[str, Parameter(completer=completers.systems)],
    workload: Annotated[
        tuple[str, ...],
        Parameter(name=["--workload", "-w"], completer=completers.workloads),
    ] = (),
    vary: tuple[str, ...] = (),
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: Annotated[
        Literal["adapt", "replace", "keep"] | None, Parameter(name=["--disturbed", "--spoiled"])
    ] = None,
    folder: Path | None = None,
    scale: str | None = None,
    require_decision: bool = False,
    export_json: Path | None = None,
    export_markdown: Path | None = None,
    export_csv: Path | None = None,
    export_asciidoc: Path | None = None,
    export_orgmode: Path | None = None,
    time_unit: Annotated[
        Literal["microsecond", "millisecond", "second"] | None,
        Parameter(name=["--time-unit", "-u"]),
    ] = None,
    commands: Commands = NONE,
    printing: Printing = WORDS,
) -> int:
    """Compare commands, file systems, directories, hosts, kernels or settings, without a file.

    ```
    tiltyard compare -c old='./rg-13 foo tree' -c new='./rg-14 foo tree'
    tiltyard compare -c 'sort --parallel={n} big' --parameter-list n 1,2,4
    tiltyard compare ext4 xfs -c 'make -j2' --setup 'cp -a /src/project/. .'
    tiltyard compare ext4 xfs btrfs --workload postmark
    tiltyard compare ext4 xfs -w iozone -w postmark --budget "20 min"
    tiltyard compare ext4 ext4:noatime ext4+vm.dirty_ratio=5 xfs@/dev/disk/by-id/nvme-…
    tiltyard compare /mnt/old /mnt/new          # directories: no root needed
    tiltyard compare /srv bench@srv1:/srv -w random:block=4k,depth=8
    tiltyard compare ext4 xfs --vary scheduler=none,mq-deadline
    tiltyard compare linux-6.1.uml linux-6.12.uml
    tiltyard compare mtu=1500 mtu=9000 -w tcp_stream
    tiltyard compare ext4 ext4                  # A/A test: false differences?
    ```

    A study folder is written, named after the workloads and systems; the same command again goes
    on with it. Its study.toml is the whole comparison: elsewhere it gives the same plan. Commands
    that have been compared to the end are measured again, in a new folder; without systems they
    are executed in this directory, one after the other in random order. What is typed here, such
    as a tuning profile, is trusted as it is typed.

    Args:
        systems: `KIND[:option,…][+key=value…][@device]`, where KIND is a file system (made on a
            fresh loop-backed image in each block, or on a blank device; needs root), `tmpfs`, or
            `host`, which is this host as it is; an existing directory; `[user@]host:/directory`
            by ssh; a kernel (a file, or a series such as 6.12) or a disk image, which boots in a
            virtual machine; or `key=value` alone: a setting of a pair of network namespaces
            (needs root), or of this host. A key is a setting of that kind of system, a kernel
            parameter, or a key of a tuning profile. Commands need no system.
        workload: A workload to run (see `tiltyard workloads`), `NAME` or `NAME:key=value,…`; may
            be given again. By default postmark, and tcp_stream over a network.
        vary: A setting, kernel parameter or key of a tuning profile, with its values:
            `scheduler=none,mq-deadline`. Given again, each value meets each of the others.
        blocks: Exactly so many blocks, 6 or more; by default 7 to 20, until everything is decided.
        budget: Begin no further block after this time: "45 min".
        seed: Seed of the random order; by default drawn.
        disturbed: What becomes of a block in which other programs used the host: "replace" runs a
            replacement block for it, "keep" (the default of commands) lets it count; "adapt" (the
            default) replaces one in five and lets further ones count. A verdict that rests on
            disturbed blocks is marked "under load".
        folder: The study folder; by default named after the question.
        scale: Make sizes, counts and durations smaller by this fraction: more than 0, at most 1, as
            "1/8" or "0.125". Plan and report say what became of them.
        require_decision: Exit with code 6 if a comparison has no decision at the end.
        export_json: Write the times of all executions as hyperfine does, here.
        export_markdown: Write a table as hyperfine does, with intervals, here.
        export_csv: The same as CSV.
        export_asciidoc: The table for AsciiDoc.
        export_orgmode: The table for Org mode.
        time_unit: Unit of the times in exported tables; by default one that suits them.
        commands: Options of commands.
        printing: Options of what is printed; the JSON document is that of the findings.
    """
    from tiltyard.cli.contestants import understood
    from tiltyard.cli.run import shown

    printing.begin()
    typed = understood(commands, systems)
    exports = (export_json, export_csv, export_markdown, export_asciidoc, export_orgmode)
    files = _files(typed, exports)
    # A desktop and a CI runner are never idle, and so many executions were asked for.
    disturbed = disturbed or ("keep" if typed else "adapt")
    asked = _asked(blocks, budget, seed, disturbed, scale)
    target, findings = _compared(
        systems, workload, folder, vary, typed, asked, show_output=commands.show_output
    )
    _export(target, findings, files, time_unit)
    return shown(target, findings, printing, require_decision=require_decision, again=_again)


def _asked(
    blocks: int | None, budget: str | None, seed: int | None, disturbed: str, scale: str | None
) -> "Asked":
    """What is asked of any study, as it stands in its file."""
    from tiltyard.study.compare import Asked
    from tiltyard.study.scaling import parse_scale

    fraction = None if scale is None else parse_scale(scale)
    by = None if fraction in (None, 1) else str(fraction)
    return Asked(blocks=blocks, budget=budget, seed=seed, disturbed=disturbed, scale=by)


def _files(commands: "TypedCommands | None", exports: Sequence[Path | None]) -> dict[str, Path]:
    """The files that are asked for, each by its format; of commands only."""
    from tiltyard.cli.commands import require_writable
    from tiltyard.errors import UsageError
    from tiltyard.exporters.hyperfine import FILES

    files = {form: path for form, path in zip(FILES, exports, strict=True) if path is not None}
    require_writable({f"export-{form}": path for form, path in files.items()})
    if files and commands is None:
        raise UsageError(f"--export-{next(iter(files))} goes with --command (-c); others: export")
    return files


def _compared(
    systems: Sequence[str],
    workloads: Sequence[str],
    folder: Path | None,
    vary: Sequence[str],
    commands: "TypedCommands | None",
    asked: "Asked",
    *,
    show_output: bool,
) -> "tuple[StudyFolder, Findings]":
    """Write the study and carry it out; what is refused leaves no folder."""
    from tiltyard.app.compare import kept_if_begun, typed_study
    from tiltyard.cli.console import remark
    from tiltyard.cli.run import carried_out
    from tiltyard.errors import UsageError
    from tiltyard.study.problems import StudyFileError
    from tiltyard.study.scaling import parse_scale

    existed = folder is not None and folder.exists()
    scale = parse_scale(asked.scale) if asked.scale else None
    try:
        target, amendment = typed_study(
            systems, workloads, folder, vary=vary, commands=commands, asked=asked
        )
        remark(f"Study    {target.root}/")
        with kept_if_begun(target, existed=existed):
            findings = carried_out(
                target, scale=scale, amendment=amendment, show_output=show_output
            )
        return target, findings
    except StudyFileError as error:
        if error.source.exists():
            raise
        # What was typed is wrong, and there is no file to look into.
        raise UsageError(error.text) from error


def _again(blocks: int) -> str:
    """This command with so many blocks; its study is another one, in a folder of its own."""
    words, kept = iter(sys.argv[1:]), ["tiltyard"]
    for word in words:
        option, equals, _ = word.partition("=")
        if option in ("--blocks", "--runs", "-r", "--folder"):
            if not equals:
                next(words, None)
        else:
            kept.append(word)
    return shlex.join((*kept, "--blocks", str(blocks)))


def _export(
    folder: "StudyFolder",
    findings: "Findings",
    files: Mapping[str, Path],
    unit: str | None,
) -> None:
    """Write the executions as hyperfine does; format → file."""
    from tiltyard.app.executions import contestants
    from tiltyard.exporters.hyperfine import FILES
    from tiltyard.folder import write_whole

    found = contestants(folder) if files else []
    for form, path in files.items():
        write_whole(path, FILES[form](found, findings, unit))
