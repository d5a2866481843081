"""Everything about one workload, in the order of the laboratory; other styles take its parts."""

from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.report.document import Block, Fold, Paragraph, Section
from tiltyard.report.pictures import figures
from tiltyard.report.sections.cells import absolute, every_pair
from tiltyard.report.sections.course import course_tables
from tiltyard.report.sections.details import details
from tiltyard.report.sections.effects import effects
from tiltyard.report.sections.ends import ends
from tiltyard.report.sections.grid import grid_tables
from tiltyard.report.sections.latencies import latencies
from tiltyard.report.sections.losses import losses
from tiltyard.report.sections.observations import observations
from tiltyard.report.sections.overview import overview
from tiltyard.report.tables import judged_cells


def workload_section(findings: Findings, workload: WorkloadFindings, id: str) -> Section:
    """The whole section: answer first, every cell last."""
    parts = (
        ("observations", "What else the data show", observations(workload)),
        ("effects", "What each factor does", effects(findings, workload)),
        ("overview", "Overview", overview(findings, workload)),
        ("values", "Values", _values(findings, workload)),
        ("losses", "Wins and losses", losses(findings, workload)),
        ("ends", "What the two ends saw", ends(findings, workload)),
        ("figures", "In absolute figures", _figures(findings, workload)),
    )
    about = (Paragraph(workload.about, "quiet"),) if workload.about else ()
    return Section(
        id,
        workload.name,
        (Paragraph(workload.answer, "lead"), *about),
        tuple(Section(f"{id}-{name}", title, blocks) for name, title, blocks in parts if blocks),
    )


def _values(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Pictures of the grid, then its tables along a course, then single operations."""
    grids = grid_tables(findings, workload)
    folded = (Fold(f"The same in numbers ({len(grids)} tables)", grids),) if grids else ()
    return (
        *figures(findings, workload, "grid"),
        *folded,
        *course_tables(findings, workload),
        *latencies(findings, workload),
    )


def _figures(findings: Findings, workload: WorkloadFindings) -> tuple[Block, ...]:
    """Every block as a point, further measurements, and every cell."""
    cells = judged_cells(workload)
    blocks: list[Block] = [
        *figures(findings, workload, "values"),
        *details(findings, workload),
    ]
    if cells:
        blocks.append(
            Fold("Every cell and every system, in absolute figures", absolute(findings, workload))
        )
    if any(cell.comparisons for cell in cells):
        count = f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'}"
        blocks.append(
            Fold(
                f"Every cell and every pair, in figures and in words ({count})",
                every_pair(findings, workload),
            )
        )
    return tuple(blocks)
