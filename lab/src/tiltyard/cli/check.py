"""``tiltyard check``: everything that would go wrong, before anything runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from tiltyard.folder import StudyFolder
    from tiltyard.plan.model import Plan


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
    from tiltyard.cli.session import frozen, rehearsal_of
    from tiltyard.executors.engine import Engine
    from tiltyard.study.scaling import parse_scale

    fraction = None if scale is None else parse_scale(scale)
    with rehearsal_of(study) as (source, folder):
        plan = frozen(source, Engine.find(), fraction)
        return _check(plan, folder, bring_up=rehearse, only_tell=dry_run)


def _check(plan: "Plan", folder: "StudyFolder", *, bring_up: bool, only_tell: bool) -> int:
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
    say(f"Looks     after {looks} blocks of {trials} trials")
    if number := boots(plan):
        say(f"Boots     this host is booted before each turn, up to {number} times")
    for limit in prospects(plan):
        say(f"Limit     {limit}")
    refresh = any((workload.spec.trials or 1) > 1 for workload in plan.workloads)
    if only_tell:
        return _tell(folder, plan)
    found = rehearse_systems(folder, plan.systems, bring_up=bring_up, refresh=refresh)
    for line in found.recovered:
        say(f"Restored  {line}")
    here = host_facts(host_record(folder.root, plan.engine))
    for line in told(differences(found.facts, plan.systems, here)):
        say(line)
    for system, problems in found.problems.items():
        for problem in problems:
            remedy = f". Mend: {problem.remedy}" if problem.remedy else ""
            say(f"{problem.severity.capitalize():9} {system}: {problem.text}{remedy}")
    if any(problem.severity == "error" for each in found.problems.values() for problem in each):
        return ExitCode.HOST_LACKS
    say("Ready     nothing would go wrong that can be seen from here")
    return ExitCode.DONE


def _tell(folder: "StudyFolder", plan: "Plan") -> int:
    """What would be executed, as a shell would show it."""
    from tiltyard.cli.console import say
    from tiltyard.errors import ExitCode
    from tiltyard.run.dry_run import dry_run

    parts = dry_run(folder, plan.systems)
    for told in parts:
        say(f"Dry run   {told.system}{': ' if told.system else ''}{told.part}")
        for line in told.lines:
            say(f"          {line}")
        for remark in filter(None, (told.refused, told.untold)):
            say(f"          … {remark}")
    return ExitCode.HOST_LACKS if any(told.refused for told in parts) else ExitCode.DONE
