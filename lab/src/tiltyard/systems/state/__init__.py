"""The state that a file system is in when its turn begins: fresh, filled, or aged by a history.

A state other than fresh is made once, kept as a copy, and put back bit for bit in each block.
"""
