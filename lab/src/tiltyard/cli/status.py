"""``tiltyard status``: how far a study is."""

from pathlib import Path


def status(study: Path = Path(), /) -> None:
    """Say how far a study is, what failed, and how to go on.

    ```
    tiltyard status spool
    ```

    Args:
        study: A study folder; by default this one.
    """
    from tiltyard.cli.console import say
    from tiltyard.cli.session import planned_or_fail
    from tiltyard.folder import StudyFolder
    from tiltyard.run.lock import running_pid
    from tiltyard.run.read import read_run

    folder = StudyFolder.of(study)
    plan = planned_or_fail(folder)
    record = read_run(folder, plan)
    finished = {trial.key for trial in record.trials}
    whole = sum(set(plan.trials_of(block)) <= finished for block in plan.blocks)
    failed = [trial for trial in record.trials if trial.outcome != "done"]
    pid = running_pid(folder)
    say(f"Question {plan.question}")
    say(f"Blocks   {whole} of at most {len(plan.blocks)} complete, {len(finished)} trials kept")
    say(f"Failed   {len(failed)}")
    for trial in failed:
        where = f"block {trial.key.block} {trial.key.system} {trial.key.workload}"
        say(f"         {where}: {trial.reason}")
    if pid is not None:
        say(f"State    running (process {pid})")
    elif record.stopped is not None:
        say(f"State    {record.stopped}")
    else:
        say(f"State    not finished; go on with: tiltyard run {folder.root}")
