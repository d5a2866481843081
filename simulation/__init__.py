"""How often each way to compare is wrong, in simulation: ours beside those of others.

``python -m simulation --write docs/error-rates.md`` writes it down.
"""

from simulation.document import PATHS, SEED, Results, document, simulate, with_section

__all__ = ["PATHS", "SEED", "Results", "document", "simulate", "with_section"]
