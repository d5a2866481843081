"""``tiltyard doctor``: what this host can and cannot do."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tiltyard.cli.printing import WORDS, Printing

if TYPE_CHECKING:
    from rich.table import Table

    from tiltyard.host.doctor import Check


def doctor(
    *,
    all_: Annotated[bool, Parameter(name="--all")] = False,
    printing: Printing = WORDS,
) -> int:
    """Say what this host lacks, and the command that fixes each lack.

    ```
    tiltyard doctor
    tiltyard doctor --all
    tiltyard doctor --json | jq '.checks[] | select(.status != "ok")'
    ```

    Args:
        all_: Show also what is in order; in JSON it always stands.
        printing: Options of what is printed.
    """
    from tiltyard.app.plugins import examined
    from tiltyard.cli.console import say, show
    from tiltyard.errors import ExitCode
    from tiltyard.executors.engine import Engine
    from tiltyard.host.doctor import Examined, examine
    from tiltyard.systems.tools import tools

    printing.begin()
    checks = examine(tools(), lambda: Engine.find().describe().engine, Path())
    found = Examined(checks=(*checks, *examined()))
    code = ExitCode.HOST_LACKS if found.count("missing") else ExitCode.DONE
    if printing.emit(found):
        return code
    if shown := [check for check in found.checks if all_ or check.status != "ok"]:
        show(table(shown))
    more = "" if all_ else " (tiltyard doctor --all shows them)"
    missing, limited, ok = map(found.count, ("missing", "limited", "ok"))
    say(f"\n{missing} missing, {limited} limited, {ok} ok{more}")
    return code


def table(checks: "Iterable[Check]") -> "Table":
    """A line for each."""
    from rich.text import Text

    from tiltyard.report.stacking import StackingTable

    made = StackingTable("What", "", "Meaning", "Fix")
    for check in checks:
        status = check.status.upper() if check.status == "missing" else check.status
        made.add_row(check.name, status, Text(check.meaning), Text(check.remedy or ""))
    return made
