"""``tiltyard report``: findings and report from the trials that are there."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tiltyard.cli.completers import Study, formats, styles
from tiltyard.cli.printing import WORDS, Printing


def report(
    study: Study = Path(),
    /,
    *,
    style: Annotated[str | None, Parameter(completer=styles)] = None,
    format: Annotated[
        tuple[str, ...], Parameter(consume_multiple=(1, None), completer=formats)
    ] = (),
    output: Path | None = None,
    seal: str | None = None,
    printing: Printing = WORDS,
) -> None:
    """Analyse what is there and write findings and report.

    The study may have been run here, imported (`tiltyard import`), or printed (a folder of
    `published/`); of a run that has not ended, what is there is reported. Styles: `study`
    (everything), `whitepaper` (conclusions first), `article` (method and results), `results` (a
    page to look things up). Formats: `html`, `pdf`, `xlsx`, `markdown`, `latex`, `csv`, `json`.

    ```
    tiltyard report spool
    tiltyard report spool --format pdf xlsx --style whitepaper
    tiltyard report published/netperf-rhel6 --format all
    tiltyard report spool --json | jq .answer
    tiltyard report spool --seal 5a1f…      # only if journal and trials are those that it names
    ```

    Args:
        study: A study folder; by default this one.
        style: How it is reported; by default `study`, of a printed study its own.
        format: Formats besides the page (`html`, always made), or `all`: `pdf xlsx` or `pdf,xlsx`.
        output: Folder for the report and its findings, so that nothing is written to the study's;
            by default that and `report/` in it, of a printed study a folder of its name here.
        seal: The seal that a run or a report of this study has printed: refuse to report if the
            journal or a trial is not what it was then.
        printing: Options of what is printed; the JSON document is that of the findings.
    """
    from tiltyard.app.report import concluded, formats_of, require_seal, write_report
    from tiltyard.cli.console import show
    from tiltyard.report.terminal import verdicts

    printing.begin()
    formats = formats_of(format)
    found = concluded(study, style, output)
    if seal is not None:
        require_seal(study, found.findings, seal)
    pages = write_report(found, formats)
    if not printing.emit(found.findings):
        show(verdicts(found.findings, *pages))
