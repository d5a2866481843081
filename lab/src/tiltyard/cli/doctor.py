"""``tiltyard doctor``: what this host can and cannot do."""

from pathlib import Path


def doctor() -> int:
    """Say what this host can and cannot do, and the command that fixes each lack.

    ```
    tiltyard doctor
    ```
    """
    from rich.table import Table

    from tiltyard.cli.console import say, show
    from tiltyard.errors import ExitCode
    from tiltyard.executors.engine import Engine
    from tiltyard.host.doctor import examine
    from tiltyard.systems.tools import TOOLS

    checks = examine(TOOLS, lambda: Engine.find().describe().engine, Path())
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "What", "Meaning", "Fix"):
        table.add_column(heading)
    marks = {"ok": "ok", "limited": "limited", "missing": "MISSING"}
    for check in checks:
        table.add_row(marks[check.status], check.name, check.meaning, check.remedy or "")
    show(table)
    missing = [check for check in checks if check.status == "missing"]
    limited = sum(check.status == "limited" for check in checks)
    say(f"\n{len(missing)} missing, {limited} limited, {len(checks) - len(missing) - limited} ok")
    return ExitCode.HOST_LACKS if missing else ExitCode.DONE
