"""``tiltyard check``: everything that would go wrong, before anything runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from tiltyard.cli.completers import Study
from tiltyard.cli.printing import WORDS, Printing
from tiltyard.units import count_of

if TYPE_CHECKING:
    from tiltyard.app.check import Checked, Outline

_REFUSED: Final = (
    "Refused   This study brings programs, options that start them, or what it hands on: "
    "nothing of them was executed. Fix: look at each line above that begins with Brings; then "
    "tiltyard run with --trust"
)


def check(
    study: Study = Path(),
    /,
    *,
    rehearse: Annotated[bool, Parameter(negative="--no-rehearse")] = True,
    dry_run: bool = False,
    scale: str | None = None,
    printing: Printing = WORDS,
) -> int:
    """Find everything that would go wrong, before anything runs.

    Reads the study, lets the engine check every parameter, says what so many blocks cannot decide,
    asks each system what it lacks, brings each one up and takes it down again, and says what
    differs between them beyond the factors.

    What the study itself brings, programs and options that start one, is named, and not executed:
    systems that need it are not asked and not brought up.

    ```
    tiltyard check spool
    tiltyard check spool --no-rehearse          # touch nothing on the host
    tiltyard check spool --dry-run              # nor that, but tell what would be executed
    tiltyard check studies/disk-filesystems.toml
    tiltyard check spool --json | jq .problems
    ```

    Args:
        study: A study folder or a study file.
        rehearse: Bring each system up once and take it down.
        dry_run: Print each command that bringing each system up, refreshing it and taking it down
            would execute, in order, and execute none of them.
        scale: Check the study as a run with this `--scale` would carry it out: "1/64".
        printing: Options of what is printed.
    """
    from tiltyard.app.check import asked, outline, rehearsed, told_only
    from tiltyard.app.freeze import frozen, rehearsal_of
    from tiltyard.cli.console import say, tell
    from tiltyard.executors.engine import Engine
    from tiltyard.run.trust import UntrustedInputs
    from tiltyard.study.scaling import parse_scale
    from tiltyard.workloads.catalogue import catalogue_of

    printing.begin()
    fraction = None if scale is None else parse_scale(scale)
    with rehearsal_of(study) as (source, folder):
        engine = Engine.find()
        plan = frozen(source, engine, fraction, folder)
        bringing = UntrustedInputs.of(plan, catalogue_of(engine, folder), folder)
        begun = outline(plan, bringing, folder)
        for line in () if printing.json else _outlined(begun):
            tell(line)
        systems = asked(plan, bringing)
        found = (
            told_only(begun, plan, folder, systems)
            if dry_run
            else rehearsed(begun, plan, folder, systems, bring_up=rehearse)
        )
    if not printing.emit(found):
        for line in _found(found):
            # What is indented are commands.
            (say if line.startswith(" ") else tell)(line)
    return _exit_code(found)


def _outlined(begun: "Outline") -> Iterator[str]:
    """What the study would do."""
    from tiltyard.cli.catalogue import with_key

    looks = ", ".join(map(str, begun.looks))
    each = f" in each of {count_of(begun.sessions, 'session')}" if begun.sessions > 1 else ""
    yield f"Question  {begun.question}"
    if begun.scaled:
        yield f"Scale     {begun.scaled}"
    yield f"Systems   {', '.join(begun.systems)}"
    shown = (with_key(name, begun.titles[name]) for name in begun.workloads)
    yield f"Workloads {', '.join(shown)}"
    yield (
        f"Looks     after {count_of(looks, 'block')} of "
        f"{count_of(begun.trials_per_block, 'trial')}{each}"
    )
    yield f"Disk      {_footprint(begun)}"
    for host, times in begun.boots.items():
        yield f"Boots     {host} is booted before turns, up to {times} times"
    for limit in begun.limits:
        yield f"Limit     {limit}"
    for twin in begun.twins:
        yield f"Equal     {twin}"
    for item in begun.brings:
        yield f"Brings    {item.key}: {item.what} ({', '.join(item.owners)})"


def _footprint(begun: "Outline") -> str:
    """``4 GiB for images; about 61 GiB are written up to the last look``."""
    from tiltyard.units import format_size

    images = f"{format_size(begun.disk_bytes)} for images" if begun.disk_bytes else "no image"
    if begun.written_bytes is None:
        return f"{images}; what trials write is known after a pilot: tiltyard plan STUDY --pilot"
    return f"{images}; about {format_size(begun.written_bytes)} are written up to the last look"


def _found(found: "Checked") -> Iterator[str]:
    """What would go wrong, or be executed, and the answer."""
    from tiltyard.run.differences import owners

    for part in found.dry_run:
        yield f"Dry run   {part.system}{': ' if part.system else ''}{part.part}"
        yield from (f"          {line}" for line in part.lines)
        if part.refused:
            yield f"          … {part.refused}"
    for line in found.restored:
        yield f"Restored  {line}"
    yield from found.differences
    of: dict[tuple[str, str], list[str]] = {}
    for problem in found.problems:
        fix = f". Fix: {problem.fix}" if problem.fix else ""
        of.setdefault((problem.severity, f"{problem.text}{fix}"), []).append(problem.system)
    for (severity, text), names in of.items():
        yield f"{severity.capitalize():9} {owners(names, len(found.systems))}: {text}"
    if not found.trusted:
        if not any(problem.severity == "error" for problem in found.problems):
            yield _REFUSED
    elif not found.dry_run and not found.is_lacking:
        untried = "; what the study brings was not tried" if found.brings else ""
        yield f"Ready     no problems found{untried}"


def _exit_code(found: "Checked") -> int:
    """What was found, to a script; what was held back comes last, but in a dry run first."""
    from tiltyard.errors import ExitCode

    if found.is_lacking and (found.trusted or not found.dry_run):
        return ExitCode.HOST_LACKS
    return ExitCode.DONE if found.trusted else ExitCode.REFUSED
