"""Runs in which something is planted, from fixed seeds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from support.counted import counted_study
from support.cpu_times import timed_study
from support.network_studies import network_study
from support.observed import observed_study
from support.runs import NOISE_LIMITS
from support.shapes import SHAPES, Shape, card
from support.synthetic import factorial_study, synthetic_study
from support.turns import in_turns, sliced
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import Look, Plan, TrialKey
from tiltyard.run.record import Reason, RunRecord, TrialRecord
from tiltyard.run.samples import Samples
from tiltyard.stats.sequential import looks
from tiltyard.study.program import Readings

Study = tuple[Plan, RunRecord]
TWO: Final = ("ext4", "xfs")
KIB: Final = 1024
GRID: Final = Shape(
    metrics=(card("write", "write", "B/s"), card("read", "read", "B/s")),
    typical={"write": 1.1e9, "read": 4.1e9},
    grid=("record",),
    points=tuple({"record": size * KIB} for size in (4, 64, 1024)),
)
"""Two rates over three sizes."""
CHORE: Final = Shape((card("time", "total time", "s", "lower"),), {"time": 3.0})
"""A time: less is better."""
RESPONSE: Final = Shape(
    metrics=(card("latency", "latency", "s", "lower"),),
    typical={"latency": 8e-5},
    timed={"latency": None},
)
"""A time of single operations, with percentiles."""
OWN: Final = {**SHAPES, "grid": GRID, "chore": CHORE, "response": RESPONSE}


def study(**options: Any) -> Study:
    """A made-up study of these shapes, of two systems unless others are named."""
    return synthetic_study(**{"systems": TWO, "shapes": OWN, **options})


def changed(made: Study, factor: Callable[[TrialRecord], float]) -> Study:
    """The same study with the values of each trial multiplied."""
    plan, run = made
    trials = []
    for trial in run.trials:
        by = factor(trial)
        samples = Samples.of([replace(one, value=one.value * by) for one in trial.samples])
        trials.append(trial.model_copy(update={"samples": samples}))
    return plan, run.model_copy(update={"trials": tuple(trials)})


def keys(system: str, blocks: Collection[int], workload: str = "postmark") -> list[TrialKey]:
    """The trials of a system in some blocks."""
    return [TrialKey(block=block, system=system, workload=workload) for block in blocks]


def without_noise(systems: Sequence[str] = TWO, blocks: int = 20, **options: Any) -> Study:
    """Every value of a system is the same."""
    return study(systems=systems, blocks=blocks, noise=0.0, **options)


def following(rho: float = 0.85, sd: float = 0.03) -> Study:
    """Each trial resembles the one before it, whatever its system."""
    rng = np.random.default_rng(5)
    last = [0.0]

    def factor(_: TrialRecord) -> float:
        last[0] = rho * last[0] + sd * (1 - rho**2) ** 0.5 * float(rng.normal())
        return float(np.exp(last[0]))

    return changed(study(blocks=20, noise=0.002, effects={"xfs": 1.01}), factor)


def two_modes() -> Study:
    """One system is now and then a fifth slower, and has two values that are far off."""

    def factor(trial: TrialRecord) -> float:
        block = trial.key.block
        if trial.key.system != "xfs":
            return 1.0
        return 0.3 if block in (6, 15) else 0.8 if block % 3 == 0 else 1.0

    return changed(study(blocks=20, noise=0.01), factor)


def with_zeros(blocks: Collection[int]) -> Study:
    """A rate of nothing in some blocks of one system."""
    return changed(
        study(blocks=20),
        lambda one: 0.0 if one.key.system == "xfs" and one.key.block in blocks else 1.0,
    )


def of_sizes(effects: Mapping[int, float]) -> Study:
    """A system that is ahead by another factor at each size."""
    plan, run = study(workloads=("grid",), blocks=14, seed=8)
    trials = []
    for trial in run.trials:
        own = effects if trial.key.system == "xfs" else {}
        samples = [
            replace(one, value=one.value * own.get(int(one.at["record"]) // KIB, 1.0))
            for one in trial.samples
        ]
        trials.append(trial.model_copy(update={"samples": Samples.of(samples)}))
    return plan, run.model_copy(update={"trials": tuple(trials)})


def cliff() -> Study:
    """Both fall by half from one size to the next, one of them a size earlier."""
    rng = np.random.default_rng(12)
    logs = rng.normal(0, 0.02, (14, 2, 5))
    logs[:, 0, 3:] -= np.log(2)
    logs[:, 1, 2:] -= np.log(2)
    return observed_study(logs)


def left_out(after: int = 10) -> Study:
    """Of three systems a look has left out one, so that the others have more blocks."""
    effects = {"xfs": 1.012, "btrfs": 0.4}
    plan, run = study(systems=(*TWO, "btrfs"), blocks=20, effects=effects, noise=0.02, seed=6)
    trials = tuple(one for one in run.trials if one.key.block <= after or one.key.system != "btrfs")
    active = {after + 1: frozenset((name, "postmark") for name in TWO)}
    update = {"trials": trials, "active_pairs": active, "stopped": "the last look"}
    return plan, run.model_copy(update=update)


def adjusted(
    verdict: str,
    factor: float = 0.92,
    systems: Sequence[str] = TWO,
    *,
    made: Mapping[str, float] | None = None,
    unknown: Collection[int] = (),
    steal: float = 0.0,
) -> Study:
    """Others cost up to half of the speed of each trial; one system is slower by a factor.

    Args:
        verdict: the analysis that decides.
        factor: of the speed of xfs.
        systems: their names.
        made: what a system makes others take, as a share beside what they take anyway.
        unknown: blocks in which the host does not tell what others took.
        steal: largest share that the hypervisor takes.
    """
    rng = np.random.default_rng(4)
    plan, run = study(systems=systems, blocks=20, noise=0.01)
    names = ("external_cpu", "steal")
    design = plan.design.model_copy(update={"verdict": verdict, "adjust_for": names})
    trials = []
    for trial in run.trials:
        share = rng.uniform(0, 0.008) + (made or {}).get(trial.key.system, 0.0)
        stolen = rng.uniform(0, steal) if steal else 0.0
        seen = Telemetry(
            elapsed_s=1e3,
            cpus=(1,),
            external_cpus=1,
            external_s=1e3 * share,
            external_steal_s=1e3 * stolen,
        )
        by = (1 - share - stolen) ** 80 * (factor if trial.key.system == "xfs" else 1.0)
        samples = Samples.of([replace(one, value=one.value * by) for one in trial.samples])
        told = None if trial.key.block in unknown else seen
        trials.append(trial.model_copy(update={"telemetry": told, "samples": samples}))
    return plan.model_copy(update={"design": design}), run.model_copy(
        update={"trials": tuple(trials)}
    )


def futile() -> Study:
    """So much noise that a comparison is given up before the last look."""
    plan, run = study(blocks=40, effects={"xfs": 1.02}, noise=0.25, profile="rigorous")
    design = plan.design.model_copy(update={"futility": True})
    return plan.model_copy(update={"design": design}), run


def disturbed(
    fate: str, blocks: Collection[int], slowed: float = 0.9, systems: Sequence[str] = TWO
) -> Study:
    """Sixteen blocks and four replacement blocks; some are disturbed, and slow one system."""
    made = study(
        systems=systems, blocks=20, fixed_blocks=20, profile="fixed", effects={"xfs": 1.02}, seed=9
    )
    plan, run = changed(
        made,
        lambda one: slowed if one.key.block in blocks and one.key.system == "xfs" else 1.0,
    )
    taken = tuple(Look(blocks=n, c=c) for n, c in looks("fixed", False, 16))
    replaced = fate != "keep"
    plan = plan.model_copy(
        update={
            "noise_limits": NOISE_LIMITS.model_copy(update={"disturbed": fate}),
            "design": plan.design.model_copy(update={"looks": taken}),
            "blocks": plan.blocks[:16],
            "spares": plan.blocks[16:] if replaced else (),
        }
    )
    reason = Reason(
        signal="foreign_cpu", system="ext4", workload="postmark", value=0.2, limit=0.03,
        text="other processes used 20 % of a core (limit 3 %)",
    )  # fmt: skip
    trials = tuple(one for one in run.trials if replaced or one.key.block <= 16)
    update = {"disturbed": dict.fromkeys(blocks, (reason,)), "trials": trials}
    return plan, run.model_copy(update={**update, "stopped": "the last look"})


def printed(name: str) -> Study:
    """What fio printed: a percentile is known to a bin of a histogram, a mean exactly."""
    shape = Shape((card(name, "latency", "s", "lower"),), {name: 1e-4})
    plan, run = synthetic_study(
        ("a", "b"), ("work",), blocks=20, shapes={"work": shape}, effects={"b": 1.01}, noise=1e-4
    )
    own = plan.workloads[0].model_copy(update={"readings": Readings(read="fio")})
    return plan.model_copy(update={"workloads": (own,)}), run


def counted(effect: float) -> Study:
    """Counts of instructions, which do not vary, as its clock has them."""
    options = {"systems": ("6.1", "6.12"), "effects": {"6.12": effect}, "noise": 0.0, "blocks": 7}
    plan, _ = counted_study(**options)
    return plan, synthetic_study(**options)[1]  # type: ignore[arg-type]


def slices() -> Study:
    """Time slices within each trial, of which the first ones are slow."""
    rng = np.random.default_rng(3)
    rates = rng.normal(1000, 15, (24, 40))
    rates[:, :6] *= np.linspace(0.5, 0.95, 6)
    return sliced(rates)


PLANTED: Final[Mapping[str, Callable[[], Study]]] = {
    "no difference": lambda: study(systems=(*TWO, "btrfs"), blocks=20),
    "no difference, wide": lambda: study(blocks=20, noise=0.2),
    "small": lambda: study(blocks=20, effects={"xfs": 1.03}),
    "smaller than the margin": lambda: study(blocks=20, effects={"xfs": 1.012}, noise=0.004),
    "large": lambda: study(systems=(*TWO, "btrfs"), blocks=20, effects={"xfs": 2, "btrfs": 0.1}),
    "exactly equal": without_noise,
    "exactly apart": lambda: without_noise(effects={"xfs": 1.25}),
    "less is better": lambda: study(workloads=("chore",), blocks=20, effects={"xfs": 1.1}),
    "other baseline": lambda: study(
        systems=(*TWO, "btrfs"), blocks=14, effects={"xfs": 1.1, "btrfs": 0.95}, baseline="xfs"
    ),
    "drift": lambda: study(blocks=20, drift=0.4, effects={"xfs": 1.02}),
    "trials follow each other": following,
    "two modes and values far off": two_modes,
    "at the first look": lambda: study(blocks=7, effects={"xfs": 1.1}),
    "between two looks": lambda: study(blocks=9, effects={"xfs": 1.01}),
    "before the first look": lambda: study(blocks=5, effects={"xfs": 1.5}),
    "nothing yet": lambda: study(blocks=0),
    "quick": lambda: study(blocks=10, effects={"xfs": 1.06}, profile="quick"),
    "rigorous": lambda: study(blocks=40, effects={"xfs": 1.02}, profile="rigorous"),
    "strict": lambda: study(blocks=14, effects={"xfs": 1.05}, strict=True),
    "five fixed blocks": lambda: study(
        blocks=5, fixed_blocks=5, profile="fixed", effects={"xfs": 1.5}
    ),
    "six fixed blocks": lambda: study(
        blocks=6, fixed_blocks=6, profile="fixed", effects={"xfs": 1.5}
    ),
    "failures on one side": lambda: study(
        blocks=20, effects={"xfs": 1.1}, failed=keys("xfs", (2, 3, 7, 11, 13, 17))
    ),
    "few failures on either side": lambda: study(
        blocks=20, effects={"xfs": 1.1}, failed=[*keys("xfs", (2, 9)), *keys("ext4", (5,))]
    ),
    "one system never works": lambda: study(
        systems=(*TWO, "btrfs"), blocks=10, failed=keys("btrfs", range(1, 11))
    ),
    "zero now and then": lambda: with_zeros((4, 9, 16)),
    "zero always": lambda: with_zeros(range(1, 21)),
    "other numbers of blocks": left_out,
    "grid": lambda: study(
        systems=(*TWO, "btrfs"), workloads=("grid",), blocks=14,
        effects={("xfs", "write"): 1.2, ("btrfs", "read"): 0.9},
    ),
    "grid that turns": lambda: of_sizes({4: 0.8, 64: 1.0, 1024: 1.3}),
    "grid with a cliff": cliff,
    "percentiles": lambda: study(workloads=("response",), blocks=20, effects={"xfs": 1.1}),
    "percentiles in bins": lambda: printed("read_completion_latency_p99"),
    "mean beside percentiles in bins": lambda: printed("read_completion_latency"),
    "several workloads": lambda: study(
        systems=(*TWO, "btrfs"), workloads=("postmark", "chore", "grid"), blocks=14,
        effects={"xfs": 1.06, "btrfs": 0.97}, noise=0.03,
    ),
    "factors": lambda: factorial_study(
        {"filesystem": TWO, "kernel": ("3.12", "3.13")},
        {("xfs",): 1.1, ("3.13",): 0.9, ("xfs", "3.13"): 1.25},
        blocks=14,
    ),
    "scan": lambda: factorial_study(
        {"depth": ("1", "2", "4", "8")}, {("2",): 1.3, ("4",): 1.5, ("8",): 1.5}, blocks=10
    ),
    "CPU time": lambda: timed_study(1.02, 1.05),
    "CPU time of nothing": lambda: timed_study(1.2, None, 0.05),
    "CPU time apart": lambda: timed_study(0.9, 1.3, 0.05),
    "adjusted decides": lambda: adjusted("adjusted"),
    "adjusted beside": lambda: adjusted("unadjusted", systems=(*TWO, "btrfs")),
    "adjusted, one makes others work": lambda: adjusted("adjusted", 0.98, made={"xfs": 0.01}),
    "adjusted, not known everywhere": lambda: adjusted("adjusted", unknown=(3, 4, 9)),
    "adjusted for two": lambda: adjusted("unadjusted", steal=0.004),
    "given up": futile,
    "disturbed, kept": lambda: disturbed("keep", (3, 8, 11)),
    "disturbed, replaced": lambda: disturbed("replace", (3, 8, 11)),
    "disturbed, replaced as long as there are blocks": lambda: disturbed(
        "adapt", (2, 3, 5, 8, 11, 12), systems=(*TWO, "btrfs")
    ),
    "disturbed too often": lambda: disturbed("replace", range(1, 9)),
    "path lengths": lambda: counted(1 / 0.971),
    "path lengths, the same": lambda: counted(1.0),
    "trials in a turn": lambda: in_turns(
        trials=3, blocks=14, shared=0.02, between=0.03, within=0.01
    ),
    "warm-up": slices,
    "network": lambda: network_study(
        workloads=("udp_stream", "one_exchange"), effects={"optimized": 1.2}
    ),
}  # fmt: skip
"""What is planted → a study with it."""
