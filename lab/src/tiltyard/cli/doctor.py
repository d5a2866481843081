"""``tiltyard doctor``: what this host can and cannot do."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def doctor(*, all_: Annotated[bool, Parameter(name="--all")] = False) -> int:
    """Say what this host lacks, and the command that fixes each lack.

    ```
    tiltyard doctor
    tiltyard doctor --all
    ```

    Args:
        all_: Show also what is in order.
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
        if all_ or check.status != "ok":
            table.add_row(marks[check.status], check.name, check.meaning, check.remedy or "")
    if table.row_count:
        show(table)
    counts = {status: sum(check.status == status for check in checks) for status in marks}
    more = "" if all_ else " (tiltyard doctor --all shows them)"
    missing, limited, ok = counts["missing"], counts["limited"], counts["ok"]
    say(f"\n{missing} missing, {limited} limited, {ok} ok{more}")
    return ExitCode.HOST_LACKS if missing else ExitCode.DONE
