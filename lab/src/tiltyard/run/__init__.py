"""Carrying out a plan: each trial is on disk before the next one starts."""
