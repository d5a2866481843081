"""What is stated of sessions: the level above the block."""

from tiltyard.analysis.verdict import Verdict
from tiltyard.frozen import Frozen
from tiltyard.plan.model import Unit


class SessionLine(Frozen):
    """One session as it was carried out."""

    number: int
    """Counted from 1."""
    planned: bool
    """Part of the plan; else it was added to a study that was finished."""
    began: str
    """UTC, ISO 8601; empty where it has not begun."""
    boots: tuple[str, ...]
    """The boots of the host that it lay in; none where they are not known."""
    apart: str
    """What sets it apart from the one before: ``another boot, 23 h later``; empty for the first."""
    blocks: int
    """Complete ones that count."""
    state: str
    """Why it ended, or how far it is."""
    seal: str
    """Of its journal."""
    node: str = ""
    """The host of a placement that carried it out; empty: this one."""


class SessionValue(Frozen):
    """One comparison in one session."""

    session: int
    blocks: int
    """In which both systems have a value."""
    ratio: float
    """Geometric mean over these blocks, system / against: what a verdict over sessions counts."""


class SessionApart(Frozen):
    """One session that surely lies apart from the others, beyond the equivalence margin."""

    session: int
    ratio: float
    """Its mean / that of the sessions that do not lie apart."""
    low: float
    """95 % interval, simultaneous over all sessions and comparisons."""
    high: float
    turned: bool = False
    """Of a comparison: whether it surely is the other way round there."""


class SessionLevel(Frozen):
    """How far the values of a workload differ between sessions, whatever the system."""

    workload: str
    topic: str
    apart: tuple[SessionApart, ...]
    sd_between: float
    """Standard deviation of log values of sessions, without what their blocks explain."""
    sd_between_low: float
    """95 % interval of it, as of :class:`OverSessions`."""
    sd_between_high: float
    sentence: str


class OverSessions(Frozen):
    """One comparison over sessions: the verdict, and the spread between and within them."""

    workload: str
    topic: str
    """What was measured."""
    system: str
    against: str
    values: tuple[SessionValue, ...]
    sessions: int
    """That the interval rests on; 0 while they are too few."""
    ratio: float | None
    """Typical session's ratio, system / against (Hodges–Lehmann)."""
    low: float | None
    """Repeated confidence interval over the looks at sessions, simultaneous over the workloads."""
    high: float | None
    level: float = 0.95
    p_adjusted: float | None
    """Sequential, after Holm's correction over the workloads."""
    verdict: Verdict
    sentence: str
    """Spread and verdict in words."""
    sd_within: float | None
    """Standard deviation of a block about its session, of log ratios; ``None``: not known."""
    sd_between: float | None
    """Standard deviation of sessions, without what their blocks explain; ``None`` for one."""
    sd_between_low: float | None
    """95 % interval of it (Thomas and Hultquist; Williams)."""
    sd_between_high: float | None
    apart: tuple[SessionApart, ...] = ()
    """Sessions that disagree with the others."""
    following: str = ""
    """That sessions which follow each other resemble each other, where they do."""


class Sessions(Frozen):
    """The sessions of a study."""

    planned: int
    unit: Unit
    """What the verdicts of the study rest on: blocks of the planned sessions, or sessions."""
    sentence: str
    """What the verdicts hold for."""
    lines: tuple[SessionLine, ...]
    comparisons: tuple[OverSessions, ...]
    """Of the headline of each workload, every pair once."""
    levels: tuple[SessionLevel, ...] = ()
    """Of each workload; none where fewer than two sessions have values."""
