"""``tiltyard report``: findings and report from the trials that are there."""

from pathlib import Path


def report(study: Path = Path(), /, *, json: bool = False) -> None:
    """Analyse what is there and write findings and report anew.

    ```
    tiltyard report spool
    tiltyard report spool --json | jq .answer
    ```

    Args:
        study: A study folder; by default this one.
        json: Print the findings as JSON instead of the verdict table.
    """
    from tiltyard.cli.console import say, show
    from tiltyard.cli.session import conclude, planned_or_fail
    from tiltyard.folder import StudyFolder
    from tiltyard.report.terminal import verdicts

    folder = StudyFolder.of(study)
    planned_or_fail(folder)
    findings = conclude(folder)
    if json:
        say(findings.model_dump_json(indent=2))
    else:
        show(verdicts(findings, folder.report / "index.html"))
