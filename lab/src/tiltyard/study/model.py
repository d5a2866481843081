"""A study, lifted: every default resolved, factors multiplied out to systems."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from tiltyard.address import Address, By, HostName, Reached, SshOptions
from tiltyard.frozen import Frozen

Clock = Literal["time", "instructions"]
"""What the clock of a system counts. One that counts the instructions of a guest yields path
lengths, which repeat exactly and are no times."""

Covariate = Literal["external_cpu", "steal"]
"""What others did during a trial: CPU time of theirs on the CPUs that measure, time of these that
the hypervisor gave to others."""
Analysis = Literal["unadjusted", "adjusted"]
"""Of the differences as they are, or less what covariates explain."""


SlurmName = Annotated[str, StringConstraints(pattern=r"^([\w][\w.,:&|*@()\[\]-]*)?$")]
"""A name, or an expression of names, that salloc takes."""


class SystemSpec(Frozen):
    """One system under test: one combination of levels."""

    name: str
    """Unique within the study; the levels' names joined: ``ext4 noatime``."""
    levels: dict[str, str]
    """Factor → name of the level."""
    kind: str
    """Name of an entry in :data:`tiltyard.systems.KINDS`."""
    settings: dict[str, JsonValue]
    """What that kind needs, as its ``Settings`` model reads it."""
    redraws: str = ""
    """What each turn makes again, in words; empty: nothing that matters, or not known."""
    clock: Clock = "time"
    """The same for all systems of a study."""
    elsewhere: bool = False
    """Whether programs are those of another host, or of a guest, of which nothing here tells."""
    variables: dict[str, str | tuple[str, ...]] = Field({})
    """What stands as ``{name}`` in the commands of programs: text, or the words of a list."""


class ClientSpec(Reached, Frozen):
    """One of several that load the same system at once."""

    directory: str = ""
    """Its own path to the target; empty: that of the system."""
    inject_ns: int = 0
    """Delay in front of each of its calls."""


class WorkloadSpec(Frozen):
    """One workload of the study."""

    name: str
    """Unique within the study; the workload's own name unless the study gives another."""
    use: str
    """Name in the engine's catalogue."""
    parameters: dict[str, JsonValue]
    """Parameters as written; the engine resolves the rest."""
    trials: int | None = None
    """Trials in each turn, whose mean is the block's value; ``None``: as a pilot says, else 1."""
    clients: tuple[ClientSpec, ...] = ()
    """Each executes it at the same time as the others; none: one engine does, beside the system."""
    alternate: bool = True
    """Whether the executions of a program alternate between systems within a block, where they
    can."""


class Precision(Frozen):
    """When to stop, and what counts as the same."""

    profile: Literal["standard", "quick", "rigorous", "long", "fixed"]
    strict: bool
    """Use constants whose error rate holds even if the noise level drifts (method: union bound)."""
    blocks: int | None
    """Number of blocks of the ``fixed`` profile; ``None`` for the others."""
    equivalent_within: float
    """Half-width of the region of practical equivalence, as a fraction: 0.02."""
    false_discovery_rate: float
    """Level q of Benjamini–Hochberg over all cells of the study."""
    budget_s: float | None
    """Wall time after which no further block is begun; ``None`` for no limit."""
    futility: bool = False
    """Stop a comparison that is not likely to be decided by the last look."""
    sessions: int = 1
    """How often the blocks are carried out, on other days or in other boots."""
    adjust_for: tuple[Covariate, ...] = ()
    """Covariates of the adjusted analysis."""
    verdict: Analysis = "unadjusted"
    """The analysis whose verdicts are those of the study."""


class NoiseLimits(Frozen):
    """Limits on what else goes on while a block runs: on telemetry, never on a result.

    Frozen before the first trial. Shares are fractions.
    """

    disturbed: Literal["replace", "keep", "adapt"]
    """What becomes of a block beyond a limit: another one is made for it, or it counts; or another
    one as long as there are spares, and then it counts."""
    foreign_cpu: float
    """CPU time of other processes, as a share of one core."""
    foreign_io: float
    """Bytes that others moved on the device under test, as a share of ours."""
    pressure: float
    """Time in which tasks of others waited for CPU, disk or memory (PSI), as a share."""
    steal: float
    """CPU time that the hypervisor took."""
    frequency: float
    """Mean CPU frequency of a trial, off the median of its block."""
    temperature_k: float
    """Change of temperature inside a block."""
    reference_run: float
    """A fixed piece of work before and after each block, off the median of the session; 0: none."""


class ConditionsSpec(Frozen):
    """Conditions of measurement, as asked."""

    cpus: tuple[int, ...]
    """CPUs to pin the measuring threads to; empty: the engine chooses."""
    unpinned: bool
    keep_awake: bool
    numa: int | None = None
    """Node whose CPUs and memory are used; ``None``: any."""
    isolate: bool = False
    """Keep others off :attr:`cpus`."""


class Placement(Frozen):
    """Hosts that carry a study out, each a session of it."""

    engine: By = Field("ssh", description="What starts the work there: ssh to each host, or Slurm.")
    hosts: tuple[HostName, ...] = Field(
        (),
        description='ssh: the hosts as ssh knows them, "user@host". One is a session; more than '
        "there are sessions take the place of hosts that are lost.",
    )
    ssh_options: SshOptions = ()
    nodes: int = Field(0, ge=0, le=100, description="Slurm: so many whole nodes.")
    partition: SlurmName = Field("", description="Slurm: the partition; by default Slurm's own.")
    account: SlurmName = Field("", description="Slurm: the account that pays.")
    constraint: SlurmName = Field("", description='Slurm: features of the nodes: "rome&nvme".')
    licenses: SlurmName = Field(
        "", description='Slurm: licences that the study holds, such as of a shared target: "nas:1".'
    )
    directory: str = Field(
        "",
        pattern=r"^([^-\n][^\n]*)?$",
        description="Where programs work on a host, if no system names a directory; a relative "
        "path begins at the user's home, as that of a system does. By default the home.",
    )

    @property
    def addresses(self) -> list[Address]:
        """Of the hosts that it names; Slurm names none before it gives them."""
        return [Address(host, self.ssh_options) for host in self.hosts]


class ScaledValue(Frozen):
    """One amount of work that was made smaller."""

    where: str
    """The workload's name, or ``systems``."""
    key: str
    was: str
    now: str
    """Both in words: ``1 MiB … 2 GiB``."""
    least: str = ""
    """What is still that workload, where the scale would have gone below it."""


class Scaled(Frozen):
    """By how much the amounts of a study were made smaller, and which."""

    by: str
    """A fraction: ``1/64``."""
    changes: tuple[ScaledValue, ...]

    @property
    def sentence(self) -> str:
        """What was made smaller, and what that means."""
        told = "; ".join(
            f"{one.where}, {one.key}: {one.was} → {one.now}"
            for one in self.changes
            if one.was != one.now
        )
        held = "; ".join(
            f"{one.where}, {one.key}: {one.least}" for one in self.changes if one.least
        )
        kept = f"Not scaled below what is still that workload: {held}. " if held else ""
        return (
            f"Scaled by {self.by}: {told or 'nothing is large enough to be made smaller'}. {kept}"
            "Smaller work meets caches, journals and start-up otherwise: these results are not "
            "comparable with those of the whole study, nor with printed ones."
        )


class Study(Frozen):
    """The whole question."""

    question: str
    decide: str | None
    asks: str | None = None
    """The factor that the question is about; ``None``: see ``analysis.systems.asked_factor``."""
    systems: tuple[SystemSpec, ...]
    target: Literal["directory", "far"] = "directory"
    """What trials on its systems work on."""
    baseline: str
    """Name of the system that tables are relative to."""
    workloads: tuple[WorkloadSpec, ...]
    precision: Precision
    conditions: ConditionsSpec
    noise_limits: NoiseLimits
    placement: Placement | None = None
    """``None``: it is carried out by this host."""
    seed: int | None
    """``None``: drawn when the plan is frozen."""
    scale: str = "1"
    """The fraction of its amounts that it asks for itself: ``1/64``."""
    scaled: Scaled | None = None
    """What was made smaller when it was read; ``None``: nothing."""
