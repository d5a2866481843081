"""How often each way to compare is wrong, in simulation: ours beside those of others.

``python -m tiltyard.simulation --write docs/error-rates.md`` writes it down.
"""

from tiltyard.simulation.document import document
from tiltyard.simulation.results import PATHS, QUICK_PATHS, SEED, Results, simulate

__all__ = ["PATHS", "QUICK_PATHS", "SEED", "Results", "document", "simulate"]
