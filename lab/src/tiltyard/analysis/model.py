"""Findings: everything that the analysis states. A report prints these and computes nothing."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from tiltyard.analysis.clients import ClientLine
from tiltyard.analysis.disturbed_model import DisturbedBlocks
from tiltyard.analysis.rows import MADE_WHEN_READ
from tiltyard.analysis.session_model import Sessions
from tiltyard.analysis.verdict import OtherAnalysis, OverStudies, Verdict
from tiltyard.collected.audited import Audited
from tiltyard.collected.model import Kept, Origin, PrintedAs
from tiltyard.frozen import Frozen
from tiltyard.plan.model import Design
from tiltyard.recipe import Recipe
from tiltyard.run.differences import Difference
from tiltyard.run.record import CalibrationNote
from tiltyard.study.model import Clock

FORMAT = 1


class Summary(Frozen):
    """One system's values of one metric at one point of the grid, one value a block."""

    system: str
    blocks: tuple[int, ...]
    values: tuple[float, ...]
    median: float
    median_low: float | None
    """95 % order-statistic interval of the median; ``None`` below 6 blocks."""
    median_high: float | None
    mean: float
    sd: float | None
    cv: float | None
    """sd / mean."""
    beside_ratio: float | None = None
    """What is printed beside ratios where that is not the median: the baseline's value times the
    ratio to it; of results from elsewhere, without a ratio, the mean."""
    percentiles: dict[str, float]
    """Of operations (``p50`` … ``p999``), median over blocks, in s; empty: not timed singly."""
    percentile_intervals: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """95 % order-statistic interval of each, with what the bins of a histogram leave open; those of
    fewer than 6 blocks have none."""
    se: float | None = None
    """Standard error of the mean, where the values come from elsewhere."""
    n: int | None = None
    """Values behind the mean, where they come from elsewhere and it is told."""

    @property
    def value(self) -> float:
        """What is printed beside ratios, so that both multiply out."""
        return self.median if self.beside_ratio is None else self.beside_ratio


class Comparison(Frozen):
    """System A against system B, paired within blocks."""

    system: str
    against: str
    blocks: int
    """Blocks, or sessions, in which both were measured; the interval rests on them (a look)."""
    ratio: float | None
    """Typical-block ratio of the metric, system / against (Hodges–Lehmann, D3)."""
    low: float | None
    """Repeated confidence interval of the ratio, holding over all looks (D4)."""
    high: float | None
    open_low: bool = False
    """Whether the interval ends at 1 and does not hold it: Holm's procedure shows more than
    intervals that hold together do."""
    open_high: bool = False
    extended: bool = False
    """Whether it was widened to 1, because it is not significant among all its comparisons."""
    rounding: float = 0.0
    """By how much the interval was widened on either side, on the log scale, because the values are
    percentiles that are known to the bins of a histogram."""
    level: float = 0.95
    """Of the interval by itself, over all looks: 0.95 for one alone; more for differences picked
    among many (FCR), and 1 − 0.05/m for the m indices of workloads (together 95 %)."""
    p: float | None
    """Sequential p-value."""
    p_adjusted: float | None
    """After Benjamini–Hochberg over its family; Holm for a workload's index and its only cell."""
    verdict: Verdict
    futile: bool = False
    """Stopped, undecided, because it could hardly be decided by the last look."""
    at_least: float | None
    """For faster and slower: the bound of the interval nearest to 1, as a ratio."""
    geometric_mean_ratio: float | None
    """Secondary estimate; far from ``ratio`` means that the tails differ."""
    ahead: float | None
    """Share of blocks in which ``system`` was the better one."""
    sentence: str
    """The verdict in words, with its interval and number of blocks."""
    more_needed: int | None = None
    """Further blocks of this study that likely bring a decision; ``None``: it is decided, or none
    of its later looks likely decides it."""
    new_study_needs: int | None = None
    """Blocks of a new study, in which none of these counts, that likely bring a decision, or an
    interval, where the plan has too few for any; ``None``: ``more_needed`` do, or very many."""
    differences: tuple[float, ...]
    """Ratio in each block, in order; those beyond ``blocks`` came later or wait for a look."""
    unpaired: bool = False
    """Two heaps of values from elsewhere (Welch): ``blocks`` counts those of the smaller one."""
    beside: OtherAnalysis | None = None
    over: OverStudies | None = None

    @property
    def is_open(self) -> bool:
        """Whether more blocks may decide it."""
        return self.verdict == "undecided" and not self.futile


class Cell(Frozen):
    """One metric at one point of the grid."""

    metric: str
    label: str
    unit: str
    shown_in: str
    """The unit in which people read it; see :func:`tiltyard.units.reading_unit`."""
    direction: Literal["higher", "lower"]
    at: dict[str, int | str]
    at_label: str
    """``64 MiB file, 4 KiB record``: what varies; empty where there is no grid."""
    summaries: Annotated[Sequence[Summary], MADE_WHEN_READ]
    comparisons: Annotated[Sequence[Comparison], MADE_WHEN_READ]
    """Every pair once, as (later, earlier) of the study's order, but against the baseline."""
    printed: PrintedAs | None = None
    """How its source prints it; ``None`` for what was run here."""


class Standing(Frozen):
    """One line of a ranked table."""

    rank: int
    """1 is best by estimate; a rank is not a verdict."""
    rank_best: int | None = None
    """1 + the systems with a verdict of being better."""
    rank_worst: int | None = None
    """Systems less those with a verdict of being worse; the data leave all ranks between."""
    system: str
    value: float
    """The baseline's own value times the ratio to it, in ``unit``; of the baseline, and without a
    ratio, its own."""
    own_value: float | None = None
    """Median over blocks (geometric mean over cells where there are several) where ``value`` is
    another one; of results from elsewhere the mean."""
    comparison: Comparison | None
    """Against the baseline; ``None`` for the baseline itself."""


class Index(Frozen):
    """Systems compared over several cells: per block the geometric mean, then one interval."""

    name: str
    label: str
    unit: str
    shown_in: str
    direction: Literal["higher", "lower"]
    cells: int
    standings: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]
    """Every pair."""
    printed: PrintedAs | None = None


class Loss(Frozen):
    """A cell in which the overall winner is worse."""

    label: str
    comparison: Comparison


class Average(Frozen):
    """A system's arithmetic mean, as papers print it: large values weigh most, no interval."""

    system: str
    value: float
    ratios: dict[str, float]
    """Of it to the averages of the other systems."""


class Latencies(Frozen):
    """The time of one operation, compared beside the headline."""

    cells: tuple[Cell, ...]
    """The mean over operations at each point, with verdicts; percentiles in its summaries."""
    index: Index
    """Geometric mean over the points."""
    averages: tuple[Average, ...]
    """Over the points, of the medians, in s; systems with values at all of them."""


class Effect(Frozen):
    """What a factor does over all levels of the others, or how it depends on another factor."""

    kind: Literal["main", "simple", "interaction"]
    factor: str
    level: str
    over: str
    """The level that it is relative to."""
    by: str | None
    """For a simple effect and an interaction: the other factor."""
    by_level: str | None
    by_over: str | None
    """For an interaction: the level of the other factor that it is relative to."""
    topic: str
    """What was measured."""
    blocks: int
    ratio: float | None
    """level / over, over all others; simple: at ``by_level``; interaction: ratio of two simple."""
    low: float | None
    high: float | None
    level_of_interval: float = 0.95
    extended: bool = False
    """Whether the interval was widened to 1, as of a comparison."""
    p_adjusted: float | None
    """After Benjamini–Hochberg over all effects of the study."""
    verdict: Verdict
    """Of an interaction, faster: the level gains more (or loses less) at ``by_level``."""
    sentence: str


class Observation(Frozen):
    """Something worth saying that a registered test has shown."""

    kind: str
    """Name of the test in the registry."""
    workload: str
    metric: str | None
    systems: tuple[str, ...]
    """The systems that it is about."""
    blocks: int
    size: float
    """How large the effect is at least, on the log scale: what sentences are ranked by."""
    p: float | None
    """``None`` for claims of sameness, which need no correction (intersection–union)."""
    p_adjusted: float | None
    sentence: str
    evidence: str
    """The test, in words, with its numbers."""


class Steadiness(Frozen):
    """Whether trials of one workload reached a steady state."""

    workload: str
    trials: int
    """That were long enough to tell."""
    flagged: int
    sentence: str


class Replication(Frozen):
    """Where the variance of one workload comes from."""

    workload: str
    trials: int
    """In each turn."""
    cv_blocks: float | None
    """Between turns of one system in different blocks, beyond what trials explain."""
    cv_trials: float | None
    """Between trials of one turn; ``None`` where each turn has one."""
    sentence: str


class WorkloadFindings(Frozen):
    """All that is stated about one workload."""

    name: str
    title: str = ""
    """As people read it; empty: by its name."""
    use: str
    about: str
    lineage: str
    timing: str
    effective: dict[str, object]
    grid: tuple[str, ...]
    answer: str
    index: Index
    """Over the headline cells that measure the same, see ``alike``."""
    by_metric: tuple[Index, ...]
    """One for each headline metric, over the grid; empty where there is one metric only."""
    cells: tuple[Cell, ...]
    """Headline metrics, with verdicts."""
    latencies: Latencies | None
    """Where the workload has the metric ``latency``."""
    cpu_time: Index | None = None
    """Compared beside the time that given work takes, and in no mean with it; its values are among
    the details. ``None`` where work is not given, or its CPU time is not known."""
    details: tuple[Cell, ...]
    """Other metrics: summaries without comparisons."""
    ends: dict[str, dict[str, dict[str, str]]]
    """What the ends of a network saw: end → fact → system → text (medians over blocks)."""
    clients: tuple[ClientLine, ...] = ()
    losses: tuple[Loss, ...]
    """Where the best system of the index is slower than another one."""
    tally: dict[Verdict, int]
    """How many cell comparisons got which verdict."""
    effects: tuple[Effect, ...] = ()
    """Factorial studies: of the index, then of each metric; main, simple, interactions."""
    observations: tuple[Observation, ...] = ()
    """The largest first."""
    steadiness: Steadiness | None = None
    replication: Replication | None = None
    averages: tuple[Average, ...] = ()
    """Over the cells, where they come from elsewhere."""
    commands: tuple[str, ...] = ()
    """Command lines, where the values come from elsewhere and it is told."""
    differing: tuple[str, ...] = ()
    """Means and advantages that the source prints with other digits, with both."""

    @property
    def display(self) -> str:
        """What people read: the title, else the name."""
        return self.title or self.name

    @property
    def compared(self) -> tuple[Cell | Index, ...]:
        """Every table with verdicts: index, metrics, cells, latencies; what is the index once."""
        return (self.index, *self.other_metrics, *self.other_cells, *self.latency_tables)

    @property
    def judged(self) -> tuple[Cell | Index, ...]:
        """The same, and what is compared beside it without a say in how far a study goes."""
        return self.compared if self.cpu_time is None else (*self.compared, self.cpu_time)

    @property
    def other_cells(self) -> tuple[Cell, ...]:
        """All but the first, where that alone is the index."""
        return self.cells[self.index.cells == 1 :]

    @property
    def other_metrics(self) -> tuple[Index, ...]:
        """All but that which is the index: the only one of its unit and direction."""
        whole = (self.index.unit, self.index.direction, self.index.cells)
        found = [(one.unit, one.direction, one.cells) for one in self.by_metric]
        return tuple(one for one, own in zip(self.by_metric, found, strict=True) if own != whole)

    @property
    def latency_tables(self) -> tuple[Cell | Index, ...]:
        """What is compared of the latencies: each point, and their mean where there are several."""
        found = self.latencies
        if found is None:
            return ()
        return found.cells if len(found.cells) == 1 else (*found.cells, found.index)


class TrialLine(Frozen):
    """One trial as the order plot and the appendix show it."""

    slot: int
    block: int
    system: str
    workload: str
    repeat: int = 1
    """Counted from 1 within the turn."""
    started: str
    elapsed_s: float
    outcome: str
    reason: str | None
    relative: float | None
    """Headline value(s) of the turn over this system's median (geometric mean over cells)."""
    foreign_share: float | None
    """CPU time of others, as a share of the trial's wall time."""
    access: str | None
    """Cache verdict in words."""
    file: str | None = None
    """Its verbatim stream, relative to the study folder."""


class Drift(Frozen):
    """Did values move with the place in the order?"""

    workload: str
    spearman: float
    p: float
    """Of the rank correlation by permutation; where that is small, the larger one of it and that
    of an autoregression, see :mod:`tiltyard.stats.autoregressive`."""
    change_percent: float
    """Theil–Sen slope over the whole run, in percent of the typical value."""
    sentence: str


class SystemFindings(Frozen):
    """A system as it was prepared."""

    name: str
    levels: dict[str, str]
    facts: dict[str, str]
    commands: tuple[str, ...]
    """The commands of its first turn, ready to paste."""
    recipe: Recipe | None = None
    """How its turn is done again by a script; ``None`` where that was not kept."""


class Pair(Frozen):
    """Two systems that differ in the level of one factor."""

    system: str
    against: str
    within: str
    """The levels that they share, ``optimized``; empty where there is one factor."""

    @property
    def sides(self) -> tuple[str, str]:
        """Which system against which."""
        return self.system, self.against


class Advantage(Frozen):
    """What a level of a factor is worth, within each combination of the other factors."""

    factor: str
    level: str
    over: str
    """The level of the baseline."""
    pairs: tuple[Pair, ...]


class Notice(Frozen):
    """Something a sceptic would ask about, with what it means."""

    severity: Literal["note", "warning", "problem"]
    text: str
    advice: str | None = None
    deviation: bool = False
    """It tells of something that did not go as the plan has it."""
    above: bool = False
    """It stands above the headline, in every style; see ``statements.warnings``."""


class Findings(Frozen):
    """The whole analysis of one study."""

    format: int
    tiltyard: str
    engine: str
    plan_hash: str
    seal: str = ""
    """Hash that stands for the journal and all trials; empty of results from elsewhere."""
    seed: int
    question: str
    decide: str | None
    answer: str
    """The headline: what the verdicts say of the question, see ``statements.headline``."""
    systems: tuple[SystemFindings, ...]
    baseline: str
    differences: tuple[Difference, ...]
    """Facts that differ between systems, the least expected first."""
    advantages: tuple[Advantage, ...]
    """Factor by factor, the one that the question is about first."""
    design: Design
    design_sentence: str
    """Order, looks, interval, correction: how it was judged, in words."""
    blocks_done: int
    blocks_planned: int
    look: int
    """Blocks of the look that the verdicts rest on; 0 before the first."""
    family: int
    """Comparisons that were corrected for together."""
    trials_kept: int
    trials_failed: int
    trials_alternated: int = 0
    """Whose executions took turns with those of the other systems of their block."""
    trials_replaced: int = 0
    """Of those that are kept, in blocks that others took the place of: they count for nothing."""
    trials_later: int = 0
    """Of those that are kept, in blocks after the look that the verdicts rest on."""
    resolution_percent: float | None
    """The smallest difference that 80 % of such studies find, by the median of the intervals."""
    stopped: str | None
    conditions_sentence: str
    noise_limits_sentence: str = ""
    """By what limits a block counts as disturbed; empty for plans without any."""
    workloads: tuple[WorkloadFindings, ...]
    overall: tuple[Comparison, ...] = ()
    """Every pair in the geometric mean over the tests that are alike; empty where one is alone."""
    trials: tuple[TrialLine, ...]
    drifts: tuple[Drift, ...]
    notices: tuple[Notice, ...]
    under_load: str = ""
    """The mark of verdicts that rest on disturbed blocks: how many; empty if none does."""
    disturbed: DisturbedBlocks | None = None
    sessions: Sessions | None = None
    """``None`` for a study of one session."""
    calibration: CalibrationNote | None = None
    where: str = "this host"
    """Where it was measured, as a sentence has it."""
    host: dict[str, str]
    clock: Clock = "time"
    """What the clock of the systems counted."""
    record: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The system record: section → fact → value."""
    other_hosts: dict[str, dict[str, dict[str, str]]] = Field(default_factory=dict)
    """The same of other hosts that systems are on, or have their servers on."""
    complete: bool
    """Every comparison is decided, or the last look is reached."""
    unit: Literal["block", "session", "value", "study"]
    """What is replicated: verdicts count it."""
    provenance: Origin | None = None
    """Where values come from that were not measured here."""
    kept: Kept | None = None
    """What that source kept; all else limits the verdicts."""
    audit: tuple[Audited, ...] = ()
    """What a printed study claims, held against its own numbers."""
    plugins: dict[str, str] = Field(default_factory=dict)
    """Packages that had a part in what was measured or is stated → their versions."""

    @property
    def planned(self) -> bool:
        """Whether it was measured by a plan; else there is no seed, trial or record either."""
        return bool(self.design.looks)

    @property
    def centre(self) -> str:
        """What the values are, as captions begin."""
        return "Medians over blocks" if self.planned else "Values of the source"

    @cached_property
    def by_workload(self) -> Mapping[str, tuple[TrialLine, ...]]:
        """Workload → its trials, in the order in which they were run."""
        found: dict[str, list[TrialLine]] = {}
        for trial in self.trials:
            found.setdefault(trial.workload, []).append(trial)
        return {name: tuple(trials) for name, trials in found.items()}

    @cached_property
    def workload_names(self) -> tuple[str, ...]:
        """Of all workloads, in the order of the study."""
        return tuple(workload.name for workload in self.workloads)

    @cached_property
    def first_slots(self) -> Mapping[int, int]:
        """Block → the place of its first trial in the order of the run."""
        found: dict[int, int] = {}
        for trial in self.trials:
            found.setdefault(trial.block, trial.slot)
        return found
