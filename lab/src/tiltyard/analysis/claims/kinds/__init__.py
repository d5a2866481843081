"""Kinds of claims: one file a kind, and one line in the list of :mod:`tiltyard.analysis.claims`."""
