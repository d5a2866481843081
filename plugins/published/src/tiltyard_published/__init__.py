"""Studies as they were printed: a folder of tables and claims, and the audit of both.

A package beside Tiltyard, in the same distribution: Tiltyard finds its verb and its kind of study
as entry points, and knows nothing else of it.
"""
