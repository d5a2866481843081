"""A study of one program, made up: what it takes by the clock, and of CPUs."""

import numpy as np
from msgspec.structs import replace

from support.shapes import Shape, card
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord
from tiltyard.run.samples import Samples
from tiltyard.wire import MetricCard

TIME = card("time", "time", "s", "lower")
CPU = card("cpu_time", "CPU time", "s", "lower", "detail")


def timed_study(
    time: float = 1.0,
    cpu: float | None = 1.0,
    noise: float = 0.2,
    cpu_noise: float = 0.01,
    *,
    systems: tuple[str, ...] = ("a", "b"),
    metrics: tuple[MetricCard, ...] = (TIME, CPU),
    seed: int = 1,
    **options: object,
) -> tuple[Plan, RunRecord]:
    """The last system takes so many times as much time and CPU time as the others.

    Args:
        time: ratio of wall-clock times.
        cpu: ratio of CPU times; ``None``: it is zero, where nobody counts it.
        noise: standard deviation of the logarithm of a time.
        cpu_noise: the same of a CPU time, independent of it.
        systems: their names.
        metrics: the cards of ``time`` and ``cpu_time``.
        seed: of the noise.
        options: as :func:`synthetic_study` takes them.
    """
    shape = Shape(metrics, dict.fromkeys((one.name for one in metrics), 0.02))
    options = {"blocks": 20, **options}
    plan, run = synthetic_study(
        systems, ("program",), shapes={"program": shape}, noise=noise,
        effects={(systems[-1], "time"): 1 / time}, seed=seed, **options,  # type: ignore[arg-type]
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    trials = []
    for trial in run.trials:
        factor = (cpu or 0.0) if trial.key.system == systems[-1] or not cpu else 1.0
        value = 0.01 * factor * float(np.exp(rng.normal(0, cpu_noise)))
        own = [
            replace(one, value=value) if one.metric == CPU.name else one for one in trial.samples
        ]
        trials.append(trial.model_copy(update={"samples": Samples.of(own)}))
    return plan, run.model_copy(update={"trials": tuple(trials)})


def timed(*ratios: float | None, **options: object) -> Findings:
    """The findings of such a study."""
    return analyse(*timed_study(*ratios, **options))  # type: ignore[arg-type]
