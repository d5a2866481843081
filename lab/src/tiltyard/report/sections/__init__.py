"""Sections of reports: each file turns findings into blocks on one topic, for every style.

They arrange and print; every figure and sentence is one of the findings. What does not exist (an
order of trials where nothing was run here) gives no blocks, and a style leaves its heading out.
"""
