"""What a claim is: a sentence that says nothing which no table says."""

from tiltyard.study.model import Frozen


class Claim(Frozen):
    """One sentence made of findings, with the numbers in it."""

    kind: str
    """What sort of claim: ``lead``, ``ahead``, ``average`` …"""
    workload: str
    """That it is about; empty: the whole study."""
    row: str = ""
    """Of the summary, where the sentence is about one."""
    sentence: str
    figures: tuple[str, ...]
    """Every number in the sentence as it is printed there and in a table, in order, unsigned."""
