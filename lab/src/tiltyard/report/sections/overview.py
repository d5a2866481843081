"""All tests of a workload at a glance, and each as a ranked table."""

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.report.document import Block, Fold, Sentences
from tiltyard.report.pictures import figures
from tiltyard.report.sections.ids import place, slugs
from tiltyard.report.sections.standings import standings


def overview(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Pictures over all tests; then, folded, every test as a table with its pairs in words."""
    ids = slugs(index.name for index in workload.by_metric)
    own = place(findings, workload)
    tables = tuple(
        block
        for index in workload.by_metric
        for block in (
            *standings(findings, index, f"{own}-{ids[index.name]}-ranking", index.label),
            Sentences(tuple(pair.sentence for pair in index.comparisons)),
        )
    )
    folded = (Fold("All tests as tables, with every pair in words", tables),) if tables else ()
    return (*figures(findings, workload, "overview"), *folded)
