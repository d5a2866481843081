"""Studies on the command line of ``compare``: nothing is run, two are held against each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tiltyard.app.studies import named_studies
from tiltyard.cli.console import show
from tiltyard.cli.printing import Printing
from tiltyard.cli.run import decided
from tiltyard.errors import UsageError


def studies_of(words: Sequence[str], *, pool: bool) -> list[Path]:
    """The studies that are compared; none where systems are.

    Raises:
        UsageError: if some of the words are studies and others are not, or none is to be pooled.
    """
    found = named_studies(words)
    if pool and not found:
        raise UsageError(
            "--pool goes with studies, and none is named. Fix: tiltyard compare --pool "
            "last-month this-month"
        )
    return found


def studies_compared(
    studies: Sequence[Path],
    folder: Path | None,
    given: Mapping[str, object],
    printing: Printing,
    *,
    pool: bool,
    require_decision: bool,
) -> int:
    """Compare them, print it, and write a page where a folder is named for it.

    Args:
        studies: of which results are there.
        folder: of the comparison; ``None``: nothing is written.
        given: options that say how to measure, with their values.
        printing: what is printed.
        pool: pool two of them as well.
        require_decision: whether a comparison without a decision has an exit code of its own.
    """
    from tiltyard.analysis.collected import analyse_collection
    from tiltyard.app.across import across
    from tiltyard.app.collect import place_collection
    from tiltyard.app.report import concluded, write_report
    from tiltyard.report.terminal import verdicts

    if unfit := next((name for name, value in given.items() if value not in (None, ())), ""):
        raise UsageError(f"{unfit}: studies are compared as they were measured. Fix: leave it out")
    collection = across(studies, pool=pool)
    if folder is None:
        findings, pages = analyse_collection(collection), []
    else:
        place_collection(folder, collection, {})
        found = concluded(folder, None, None)
        findings, pages = found.findings, write_report(found)
    if not printing.emit(findings):
        show(verdicts(findings, *pages))
    return decided(findings, require_decision)
