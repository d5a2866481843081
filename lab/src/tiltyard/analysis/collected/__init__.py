"""Findings about results that were not run here: the same documents, with less in them."""

from tiltyard.analysis.collected.findings import analyse_collection

__all__ = ["analyse_collection"]
