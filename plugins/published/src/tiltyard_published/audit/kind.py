"""What a kind of claim is, and what it hands back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tiltyard.collected.audited import Outcome
from tiltyard.frozen import Frozen
from tiltyard_published.audit.scene import Scene

S = TypeVar("S", bound=Frozen)


@dataclass(frozen=True)
class Held:
    """A claim held against the numbers; see :class:`tiltyard.collected.audited.Audited`."""

    outcome: Outcome
    stated: str
    found: str
    sentence: str


@dataclass(frozen=True)
class Kind(Generic[S]):
    """One line of the registry."""

    name: str
    """What stands in a file of claims: ``kind = "advantage"``."""
    about: str
    """What such a claim states, and how it is recomputed."""
    states: type[S]
    """Its keys; descriptions are the reference page."""
    hold: Callable[[S, Scene], Held]
    """Pure.

    Raises:
        UnfitError: if the claim names something that the study does not have.
    """
