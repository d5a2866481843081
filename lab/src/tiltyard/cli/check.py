"""``tiltyard check``: everything that would go wrong, before anything runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tiltyard.folder import StudyFolder
    from tiltyard.plan.model import Plan
    from tiltyard.run.trust import Bringing
    from tiltyard.study.model import SystemSpec


def check(
    study: Path = Path(),
    /,
    *,
    rehearse: Annotated[bool, Parameter(negative="--no-rehearse")] = True,
    dry_run: bool = False,
    scale: str | None = None,
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
    tiltyard check studies/filesystems.toml
    ```

    Args:
        study: A study folder or a study file.
        rehearse: Bring each system up once and take it down.
        dry_run: Print each command that bringing each system up, refreshing it and taking it down
            would execute, in order, and execute none of them.
        scale: Check the study as a run with this `--scale` would carry it out: "1/64".
    """
    from tiltyard.app.freeze import frozen, rehearsal_of
    from tiltyard.executors.engine import Engine
    from tiltyard.run.trust import Bringing
    from tiltyard.study.scaling import parse_scale
    from tiltyard.workloads.catalogue import catalogue_of

    fraction = None if scale is None else parse_scale(scale)
    with rehearsal_of(study) as (source, folder):
        engine = Engine.find()
        plan = frozen(source, engine, fraction, folder)
        bringing = Bringing.of(plan, catalogue_of(engine, folder), folder)
        return _check(plan, folder, bringing, bring_up=rehearse, only_tell=dry_run)


def _check(
    plan: "Plan", folder: "StudyFolder", bringing: "Bringing", *, bring_up: bool, only_tell: bool
) -> int:
    """What would go wrong with a study, said line by line; an exit code."""
    from tiltyard.cli.console import say
    from tiltyard.errors import ExitCode
    from tiltyard.host.facts import host_facts
    from tiltyard.plan.prospect import prospects
    from tiltyard.run.boot import boots
    from tiltyard.run.differences import differences, told
    from tiltyard.run.host_record import host_record
    from tiltyard.run.rehearsal import rehearse as rehearse_systems

    looks = ", ".join(str(look.blocks) for look in plan.design.looks)
    say(f"Question  {plan.question}")
    if plan.scaled:
        say(f"Scale     {plan.scaled.sentence}")
    say(f"Systems   {', '.join(system.name for system in plan.systems)}")
    say(f"Workloads {', '.join(workload.spec.name for workload in plan.workloads)}")
    trials = sum(1 for _ in plan.trials_of(plan.blocks[0]))
    sessions = plan.design.sessions
    each = f" in each of {sessions} sessions" if sessions > 1 else ""
    say(f"Looks     after {looks} blocks of {trials} trials{each}")
    if number := boots(plan):
        say(f"Boots     this host is booted before each turn, up to {number} times")
    for limit in prospects(plan):
        say(f"Limit     {limit}")
    for item, owners in bringing.items.items():
        say(f"Brings    {item.key}: {item.what} ({', '.join(owners)})")
    trusted = bringing.is_trusted
    systems = [system for system in plan.systems if system.name not in bringing.by_system]
    if only_tell:
        return _refused(_tell(folder, systems), trusted=trusted)
    refresh = any(workload.trials > 1 for workload in plan.workloads)
    found = rehearse_systems(folder, systems, bring_up=bring_up, refresh=refresh)
    for line in found.recovered:
        say(f"Restored  {line}")
    here = host_facts(host_record(folder.root, plan.engine))
    for line in told(differences(found.facts, plan.systems, here)):
        say(line)
    for system, problems in found.problems.items():
        for problem in problems:
            remedy = f". Fix: {problem.remedy}" if problem.remedy else ""
            say(f"{problem.severity.capitalize():9} {system}: {problem.text}{remedy}")
    if any(problem.severity == "error" for each in found.problems.values() for problem in each):
        return ExitCode.HOST_LACKS
    if trusted:
        untried = "; what the study brings was not tried" if bringing.items else ""
        say(f"Ready     no problems found{untried}")
    return _refused(ExitCode.DONE, trusted=trusted)


def _refused(code: int, *, trusted: bool) -> int:
    """The exit code, if nothing was held back; else that of a refusal, and why."""
    from tiltyard.cli.console import say
    from tiltyard.errors import ExitCode

    if trusted:
        return code
    say(
        "Refused   This study brings programs, or options that start them: nothing of them was "
        "executed. Fix: look at each line above that begins with Brings; then "
        "tiltyard run with --trust"
    )
    return ExitCode.REFUSED


def _tell(folder: "StudyFolder", systems: "Sequence[SystemSpec]") -> int:
    """What would be executed, as a shell would show it."""
    from tiltyard.cli.console import say
    from tiltyard.errors import ExitCode
    from tiltyard.run.dry_run import dry_run

    parts = dry_run(folder, systems)
    for part in parts:
        say(f"Dry run   {part.system}{': ' if part.system else ''}{part.part}")
        for line in part.lines:
            say(f"          {line}")
        if part.refused:
            say(f"          … {part.refused}")
    return ExitCode.HOST_LACKS if any(part.refused for part in parts) else ExitCode.DONE
