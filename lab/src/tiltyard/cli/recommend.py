"""``tiltyard recommend``: ready studies by purpose."""

from typing import Annotated

from cyclopts import Parameter

from tiltyard.cli.completers import purposes
from tiltyard.cli.printing import WORDS, Printing


def recommend(
    *,
    for_: Annotated[str | None, Parameter(name="--for", completer=purposes)] = None,
    printing: Printing = WORDS,
) -> None:
    """List the ready studies for a purpose, with the commands that run one.

    ```
    tiltyard recommend --for database
    tiltyard recommend                          # all of them, by purpose
    ```

    Args:
        for_: What the host is for: database, mail, build, files, web, network, kernel, program.
        printing: Options of what is printed.
    """
    from rich.text import Text

    from tiltyard.app.recommend import recommended
    from tiltyard.cli.console import say, show
    from tiltyard.report.stacking import StackingTable

    printing.begin()
    found = recommended(for_)
    if printing.emit(found):
        return
    if for_ is None:
        table = StackingTable("Study", "For", "Question")
        for study in found.studies:
            table.add_row(study.name, ", ".join(study.purposes), Text(study.question))
        show(table)
        say("\nMore: tiltyard recommend --for PURPOSE")
        return
    for study in found.studies:
        name = study.name
        show(Text.assemble((name, "bold"), f"  {study.question}"))
        show(Text(study.about))
        say(f"  tiltyard new {name} -t {name} && tiltyard check {name}")
        say(f"  tiltyard run {name}\n")
