"""Tuning profiles: what a host is told before a system is measured, and put back after it."""
