"""What a program printed, read while a study runs: metrics of its executions.

A pure function of the trial: the same file gives the same numbers again.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import cast

from tiltyard.errors import UsageError
from tiltyard.study.program import Metrics, MetricTable
from tiltyard.wire import Execution, MetricCard, Output, Sample, Unit


def cards(
    read: str | None, metrics: Metrics, own: Sequence[MetricCard]
) -> tuple[tuple[MetricCard, ...], tuple[str, ...]]:
    """Metric cards and grid of a program workload.

    Args:
        read: name of a reader.
        metrics: of the study.
        own: what the engine measures.

    Raises:
        UsageError: if there is no such reader or unit.
    """
    if read is not None:
        raise UsageError(f'there is no reader "{read}"')
    named = {card.name: card for card in own}
    found = []
    for name, metric in metrics.items():
        if isinstance(metric, str):
            update = {"name": name, "label": name, "role": "headline"}
            found.append(named[metric].model_copy(update=update))
        else:
            found.append(
                MetricCard(
                    name=name,
                    label=metric.label or name,
                    unit=metric.unit,
                    direction=metric.better,
                    role="headline" if metric.headline else "detail",
                    about=f"As the program prints it: {metric.regex}",
                )
            )
    taken = {card.name for card in found}
    details = [card for card in own if card.name not in taken]
    if found:
        details = [card.model_copy(update={"role": "detail"}) for card in details]
    return (*found, *details), ()


def readings(
    read: str | None,
    metrics: Metrics,
    executions: Sequence[Execution],
    outputs: Mapping[str, Output],
) -> list[Sample]:
    """Derived samples of the measured executions: means over them.

    Raises:
        UsageError: if something is not printed, with what was expected.
    """
    del read
    samples = []
    for name, metric in metrics.items():
        if isinstance(metric, MetricTable):
            values = [_printed(name, metric, execution, outputs) for execution in executions]
            samples.append(_sample(name, metric, values, executions))
    return samples


def _printed(
    name: str, metric: MetricTable, execution: Execution, outputs: Mapping[str, Output]
) -> float:
    text = outputs[execution.stdout].text or ""
    found = re.findall(metric.regex or "", text)
    if not found:
        raise UsageError(f"{name}: no line of the output matches {metric.regex}")
    return float(found[-1])


def _sample(
    name: str, metric: MetricTable, values: Sequence[float], executions: Sequence[Execution]
) -> Sample:
    return Sample(
        metric=name,
        value=fmean(values),
        unit=cast(Unit, metric.unit),
        direction=metric.better,
        operations=len(values),
        bytes=0,
        elapsed_s=sum(execution.elapsed_s for execution in executions),
        at={},
    )
