"""Tuning profiles: settings of a host, set before a system is measured and restored after it."""
