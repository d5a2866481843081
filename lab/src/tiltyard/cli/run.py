"""``tiltyard run``: carry a study out, or go on with it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltyard.folder import StudyFolder


def run(
    study: Path,
    /,
    *,
    folder: Path | None = None,
    stop_on_failure: bool = False,
    require_decision: bool = False,
) -> int:
    """Carry a study out; the same command again goes on where it stopped.

    ```
    tiltyard run spool                       # a folder with a study.toml
    tiltyard run studies/demo.toml --folder /var/tmp/demo
    ```

    Each trial is on disk before the next one starts. Ctrl-C takes down what was brought up and
    keeps every finished trial.

    Args:
        study: A study folder or a study file.
        folder: Where to carry it out; by default in the study's own folder.
        stop_on_failure: Stop at the first failed trial; without it the failure is recorded and
            the study goes on.
        require_decision: Exit with code 6 if a comparison is still undecided at the end.
    """
    from tiltyard.cli.session import open_study

    return carry_out(
        open_study(study, folder),
        stop_on_failure=stop_on_failure,
        require_decision=require_decision,
    )


def carry_out(
    folder: "StudyFolder", *, stop_on_failure: bool = False, require_decision: bool = False
) -> int:
    """Run a placed study to its end, show the verdicts, write findings and report."""
    from tiltyard.analysis.decision import decision
    from tiltyard.analysis.findings import analyse
    from tiltyard.cli.console import show
    from tiltyard.cli.display import LiveDisplay
    from tiltyard.cli.session import conclude, planned
    from tiltyard.errors import ExitCode
    from tiltyard.executors.engine import Engine
    from tiltyard.report.terminal import verdicts
    from tiltyard.run.runner import run_study

    engine = Engine.find()
    plan = planned(folder, engine)
    with LiveDisplay() as display:
        run_study(
            folder,
            plan,
            engine,
            lambda record: decision(analyse(plan, record)),
            display,
            stop_on_failure=stop_on_failure,
        )
    findings = conclude(folder)
    show(verdicts(findings, folder.report / "index.html"))
    if findings.trials_kept == 0:
        return ExitCode.TRIALS_FAILED
    if require_decision and any(
        comparison.verdict == "undecided"
        for workload in findings.workloads
        for comparison in workload.index.comparisons
    ):
        return ExitCode.UNDECIDED
    return ExitCode.TRIALS_FAILED if findings.trials_failed else ExitCode.DONE
