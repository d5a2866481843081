"""Trials to findings. Pure functions: no file, no clock, no host."""
