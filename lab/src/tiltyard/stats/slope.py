"""The slope of each block's own course.

Source: Matthews, Altman, Campbell and Royston, "Analysis of serial measurements in medical
research", BMJ 300 (1990): one summary of each course, then a plain analysis of the summaries.
"""

import numpy as np

from tiltyard.stats.types import FloatArray


def slopes(values: FloatArray, positions: FloatArray) -> FloatArray:
    """Ordinary least-squares slope of every row: change of the value for each unit of position.

    Args:
        values: shape (blocks, levels), no gaps.
        positions: of the levels, shape (levels,), not all alike.

    Returns:
        Shape (blocks,). Blocks are the unit of replication, so their slopes are a sample.
    """
    centred = positions - positions.mean()
    found: FloatArray = values @ centred / np.sum(centred**2)
    return found
