"""``tiltyard compare``: the whole job in one command."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from tiltyard.cli import completers
from tiltyard.cli.commands import NONE, Commands
from tiltyard.cli.measuring import AS_USUAL, Measuring
from tiltyard.cli.printing import WORDS, Printing
from tiltyard.cli.typed import Typed

if TYPE_CHECKING:
    from tiltyard.analysis.model import Findings
    from tiltyard.folder import StudyFolder
    from tiltyard.study.compare import Asked, TypedCommands


@Parameter(name="*")
@dataclass(frozen=True)
class Exports:
    """Where the times of commands are written, in the forms of hyperfine.

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


def compare(
    *systems: Annotated[str, Parameter(completer=completers.systems)],
    workload: Annotated[
        tuple[str, ...],
        Parameter(name=["--workload", "-w"], completer=completers.workloads),
    ] = (),
    vary: tuple[str, ...] = (),
    measuring: Measuring = AS_USUAL,
    folder: Path | None = None,
    require_decision: bool = False,
    pool: bool = False,
    exports: Exports = NO_EXPORTS,
    commands: Commands = NONE,
    printing: Printing = WORDS,
) -> int:
    """Compare commands, file systems, directories, hosts, kernels, settings, or whole studies.

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
    tiltyard compare last-month this-month      # two studies, which did not take turns
    tiltyard compare srv1 srv2 srv3             # three or more: pooled, with a forest plot
    ```

    A study folder is written, named after the workloads and systems; the same command again goes
    on with it. Its study.toml is the whole comparison: elsewhere it gives the same plan. Commands
    that have been compared to the end are measured again, in a new folder; without systems they
    are executed in this directory, one after the other in random order. What is typed here, such
    as a tuning profile, is trusted as it is typed.

    Study folders that were run, imported or printed are compared as they are; nothing is run. Two
    are held against each other, workload by workload on each system; of three and more the
    comparisons within each are pooled. Their page is written with `--folder` only.

    Args:
        systems: `KIND[:option,…][+key=value…][@device]`, where KIND is a file system (made on a
            fresh loop-backed image in each block, or on a blank device; needs root), `tmpfs`, or
            `host`, which is this host as it is; an existing directory; `[user@]host:/directory`
            by ssh; a kernel (a file, or a series such as 6.12) or a disk image, which boots in a
            virtual machine; or `key=value` alone: a setting of a pair of network namespaces
            (needs root), or of this host. A key is a setting of that kind of system, a kernel
            parameter, or a key of a tuning profile. Commands need no system. Or: study folders.
        workload: A workload to run (see `tiltyard workloads`), `NAME` or `NAME:key=value,…`; may
            be given again. By default postmark, and tcp_stream over a network.
        vary: A setting, kernel parameter or key of a tuning profile, with its values:
            `scheduler=none,mq-deadline`. Given again, each value meets each of the others.
        measuring: How much is measured.
        folder: The study folder, which is taken as it is; by default named after the question, in
            which nothing may lie that you have not made here.
        require_decision: Exit with code 6 if a comparison has no decision at the end.
        pool: Of studies: pool two of them as well.
        exports: Files with the times of commands.
        commands: Options of commands.
        printing: Options of what is printed; the JSON document is that of the findings.
    """
    from tiltyard.cli.contestants import understood
    from tiltyard.cli.run import shown
    from tiltyard.cli.studies import studies_compared, studies_of

    printing.begin()
    if studies := studies_of(systems, pool=pool):
        given = {"--workload": workload, "--vary": vary, **measuring.given, **exports.given}
        given["--command and its options"] = None if commands == NONE else commands
        return studies_compared(
            studies, folder, given, printing, pool=pool, require_decision=require_decision
        )
    read = understood(commands, systems)
    files = exports.files(of_commands=read is not None)
    asked = measuring.asked(of_commands=read is not None)
    target, findings = _compared(Typed(systems, workload, vary, commands), read, folder, asked)
    write_executions(target, findings, files, exports.time_unit)
    return shown(target, findings, printing, require_decision=require_decision, again=again)


def _compared(
    typed: Typed, commands: "TypedCommands | None", folder: Path | None, asked: "Asked"
) -> "tuple[StudyFolder, Findings]":
    """Write the study and carry it out; what is refused leaves no folder."""
    from tiltyard.app.compare import typed_study
    from tiltyard.app.freeze import rollback_unless_started
    from tiltyard.cli.console import remark
    from tiltyard.cli.run import carried_out
    from tiltyard.study.scaling import parse_scale

    existed = folder is not None and folder.exists()
    scale = parse_scale(asked.scale) if asked.scale else None
    with typed.blamed():
        begun = typed_study(
            typed.systems, typed.workloads, folder, vary=typed.vary, commands=commands, asked=asked
        )
        remark(f"Folder   {begun.folder.root}/")
        with rollback_unless_started(begun.folder, existed=existed):
            findings = carried_out(
                begun.folder,
                begun.engine,
                begun.study,
                scale=scale,
                amendment=begun.amendment,
                show_output=typed.commands.show_output,
            )
    return begun.folder, findings


def again(blocks: int) -> str:
    """This command with so many blocks; its study is another one, in a folder of its own."""
    words, kept = iter(sys.argv[1:]), ["tiltyard"]
    for word in words:
        option, equals, _ = word.partition("=")
        if option in ("--blocks", "--runs", "-r", "--folder", "--budget"):
            if not equals:
                next(words, None)
        else:
            kept.append(word)
    return shlex.join((*kept, "--blocks", str(blocks)))
