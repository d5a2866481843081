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
    figures: Annotated[tuple[str, ...], Parameter(consume_multiple=(1, None))] = (),
    output: Path | None = None,
    seal: str | None = None,
    redact: bool = False,
    with_: Path | None = None,
    strict: bool = False,
    printing: Printing = WORDS,
) -> None:
    """Analyse what is there and write findings and report.

    The study may have been run here, imported (`tiltyard import`), or printed (a folder of
    `published/`); of a run that has not ended, what is there is reported. Styles: `study`
    (everything), `whitepaper` (conclusions first), `article` (method and results), `results` (a
    page to look things up). Formats: `html`, `pdf`, `xlsx`, `pptx`, `markdown`, `latex`, `csv`,
    `json`.

    ```
    tiltyard report spool
    tiltyard report spool --format pdf xlsx --style whitepaper
    tiltyard report published/netperf-rhel6 --format all
    tiltyard report spool --json | jq .answer
    tiltyard report spool --seal 5a1f…      # only if journal and trials are those that it names
    tiltyard report spool --figures svg,png # each figure also as files, at print size
    tiltyard report spool --redact          # for others: spool/redacted/index.html
    tiltyard report spool --with house.toml # title, logo, own text, cost: docs/guides/own-name.md
    ```

    Args:
        study: A study folder; by default this one.
        style: How it is reported; by default `study`, of a printed study its own.
        format: Formats besides the page (`html`, always made), or `all`: `pdf xlsx` or `pdf,xlsx`.
        figures: Write each figure to `figures/` too, with its title: `svg`, `png` (300 dpi, 169 mm
            wide) or both.
        output: Folder for the report and its findings, so that nothing is written to the study's;
            by default that and `report/` in it, of a printed study a folder of its name here.
        seal: The seal that a run or a report of this study has printed: refuse to report if the
            journal or a trial is not what it was then.
        redact: For others: without host names, addresses, serial numbers, users, paths,
            environment variables and secrets, in all formats. What was taken out is listed here;
            the report goes to the folder `redacted` of the study, or to `--output`.
        with_: A file with the keys of `report.toml`: title, authors, own text, notes, choice of
            sections and figures, logo, colours, weights, cost. By default that of the study's
            folder, if it has one. Numbers and directions in own text that the report does not bear
            out are warnings.
        strict: Such warnings are errors, and nothing is written.
        printing: Options of what is printed; the JSON document is that of the findings.
    """
    from tiltyard.app.report import concluded, figures_of, formats_of, require_seal, write_report
    from tiltyard.cli.console import remark, show
    from tiltyard.report.terminal import verdicts

    printing.begin()
    formats, pictures = formats_of(format), figures_of(figures)
    found = concluded(study, style, output, redact=redact, edition=with_)
    if seal is not None:
        require_seal(study, found.findings, seal)
    pages = write_report(found, formats, pictures, strict=strict)
    for line in found.taken_out:
        remark(line)
    if not printing.emit(found.findings):
        show(verdicts(found.findings, *pages))
