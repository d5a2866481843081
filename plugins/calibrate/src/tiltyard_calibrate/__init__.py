"""Calibration: what this host and this instrument can show, found out on themselves."""
