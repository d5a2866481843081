"""How often each way to compare is wrong, in simulation: ours beside those of others.

``python -m tiltyard.simulation --write docs/error-rates.md`` writes it down.
"""

from tiltyard.simulation.document import PATHS, SEED, Results, document, simulate

__all__ = ["PATHS", "SEED", "Results", "document", "simulate"]
