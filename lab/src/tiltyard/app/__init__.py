"""Use cases: what the verbs of the command line and a calibration both do; nothing is printed."""
