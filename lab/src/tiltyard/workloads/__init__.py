"""Workload profiles: programs that somebody else wrote, described as data.

A profile is one TOML file: what a program is, what must be installed, its parameters, and the
``program`` table that a person would type to run it (:mod:`tiltyard.workloads.file`). Expanded
with parameters it is that table (:mod:`tiltyard.workloads.expand`); to everything that asks what
can be run it is a workload like the engine's own (:mod:`tiltyard.workloads.catalogue`).
"""
