"""``tiltyard audit``: what does not follow from a printed study's own numbers."""

from pathlib import Path


def audit(*studies: Path, json: bool = False, all: bool = False) -> None:
    """Recompute every derived number and every claim of printed studies, and list what fails.

    A study is a folder with `published.toml` (its tables) and `claims.toml` (its sentences). What
    its tables contradict, what holds only within rounding, and what nothing printed can decide is
    listed; of what follows, the count.

    ```
    tiltyard audit published/iozone-rhel6
    tiltyard audit published/*
    tiltyard audit published/* --json | jq '.[].audit[] | select(.outcome == "contradicted")'
    ```

    Args:
        studies: Folders of printed studies; by default this one.
        json: Print everything as JSON instead.
        all: List also what follows.
    """
    from json import dumps

    from tiltyard.cli.auditing import audit_page, audited, printed_or_fail
    from tiltyard.cli.console import emit_json, show
    from tiltyard.collected.published import read_publication

    folders = studies or (Path(),)
    for folder in folders:
        printed_or_fail(folder)
    found = {folder: read_publication(folder) for folder in folders}
    audits = {folder: audited(folder, publication) for folder, publication in found.items()}
    if json:
        listed = [
            {
                "study": str(folder),
                "title": found[folder].collection.origin.title,
                "audit": [one.model_dump() for one in own],
            }
            for folder, own in audits.items()
        ]
        emit_json(dumps(listed, indent=2, ensure_ascii=False))
        return
    for folder, own in audits.items():
        show(audit_page(found[folder].collection.origin.title, own, everything=all))
