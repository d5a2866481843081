"""``tiltyard workloads``: what can be run."""

from typing import Annotated

from cyclopts import Parameter

from tiltyard.cli.completers import workload_names
from tiltyard.cli.printing import WORDS, Printing


def workloads(
    name: Annotated[str | None, Parameter(completer=workload_names)] = None,
    /,
    *,
    printing: Printing = WORDS,
) -> None:
    """List the workloads, or explain one: what it does, its parameters, its metrics, its timing.

    Beside the engine's own there are profiles: programs that others wrote, described in a file.
    They are looked for in `workloads/` here, in `~/.config/tiltyard/workloads`, in installed
    Python packages, and among the ready ones; of several of one name the first counts.

    ```
    tiltyard workloads
    tiltyard workloads iozone
    tiltyard workloads pgbench                  # a profile: what is executed, and what it needs
    tiltyard workloads --json | jq .workloads[].name
    ```

    Args:
        name: The workload to explain.
        printing: Options of what is printed; the JSON document is the whole catalogue.
    """
    from pathlib import Path

    from tiltyard.cli.catalogue import catalogue_table, workload_page
    from tiltyard.cli.console import show
    from tiltyard.errors import UsageError
    from tiltyard.executors.engine import Engine
    from tiltyard.folder import StudyFolder
    from tiltyard.study.problems import no_workload
    from tiltyard.workloads.catalogue import catalogue_of

    catalogue = catalogue_of(Engine.find(), StudyFolder(Path()))
    if printing.json:
        printing.emit(catalogue.whole())
        return
    if name is None:
        show(catalogue_table(catalogue))
        return
    card = catalogue.workload(name)
    if card is None:
        raise UsageError(no_workload(name, catalogue.names))
    show(workload_page(card))
