"""Ready studies by purpose."""

from tiltyard.errors import UsageError
from tiltyard.frozen import Frozen
from tiltyard.study.problems import not_a
from tiltyard.study.ready import ready_studies


class Recommended(Frozen):
    """One ready study."""

    name: str
    purposes: tuple[str, ...]
    question: str
    about: str


class Recommendations(Frozen):
    """Those for a purpose, or all."""

    studies: tuple[Recommended, ...]


def recommended(purpose: str | None) -> Recommendations:
    """The ready studies for a purpose; ``None``: all.

    Raises:
        UsageError: if none is for it; the message lists the purposes.
    """
    known = ready_studies()
    purposes = dict.fromkeys(own for study in known for own in study.purposes)
    if purpose is not None and purpose not in purposes:
        raise UsageError(not_a(purpose, "purpose", purposes))
    return Recommendations(
        studies=tuple(
            Recommended(
                name=one.name, purposes=one.purposes, question=one.question, about=one.about
            )
            for one in known
            if purpose is None or purpose in one.purposes
        )
    )
