"""Readers of what other tools write, beside those of the core: one file a tool."""
