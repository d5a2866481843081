"""What each of several clients had of one target, and who was left behind."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final, Literal

from tiltyard.frozen import Frozen
from tiltyard.run.record import TrialRecord

STRAGGLER: Final = 0.8
"""A client that has less than this of the median client's rate is one: with equal clients the sum
says little of what any of them gets below it."""


class ClientLine(Frozen):
    """One client on one system: medians over trials."""

    system: str
    client: str
    """Its number, with its host where that is another one."""
    trials: int
    value: float
    """Its rate over all timed regions of a trial, in ``unit``."""
    unit: Literal["B/s", "1/s"]
    of_median: float
    """The same, over the rate of the median client of the trial."""
    began_s: float
    """Since the first client began; of the regions of a trial the longest."""
    uncertainty_s: float
    """Of that, where the clocks of two hosts were compared."""
    elapsed_s: float
    """In timed regions."""
    straggled: int
    """Trials in which it had less than 0.8 of the median client's rate."""


def client_lines(trials: Sequence[TrialRecord]) -> tuple[ClientLine, ...]:
    """Each client of each system, in order of first sight; none where there are no clients."""
    shares = [share for trial in trials if trial.outcome == "done" for share in _shares(trial)]
    places = dict.fromkeys((share.system, share.client) for share in shares)
    return tuple(
        _line([one for one in shares if (one.system, one.client) == place]) for place in places
    )


def _shares(trial: TrialRecord) -> Iterator[ClientLine]:
    """What the clients of a trial had."""
    regions = [one.regions for one in trial.clients]
    in_bytes = any(region.bytes for own in regions for region in own)
    times_s = [sum(region.elapsed_s for region in own) for own in regions]
    amounts = [sum(r.bytes if in_bytes else r.operations for r in own) for own in regions]
    rates = [amount / s if s else 0.0 for amount, s in zip(amounts, times_s, strict=True)]
    middle = median(rates) if rates else 0.0
    for client, rate, elapsed_s in zip(trial.clients, rates, times_s, strict=True):
        of_median = rate / middle if middle else 1.0
        yield ClientLine(
            system=trial.key.system,
            client=client.name,
            trials=1,
            value=rate,
            unit="B/s" if in_bytes else "1/s",
            of_median=of_median,
            began_s=max(region.began_s for region in client.regions),
            uncertainty_s=max(region.uncertainty_s for region in client.regions),
            elapsed_s=elapsed_s,
            straggled=int(of_median < STRAGGLER),
        )


def _line(own: Sequence[ClientLine]) -> ClientLine:
    return ClientLine(
        system=own[0].system,
        client=own[0].client,
        trials=len(own),
        value=median(one.value for one in own),
        unit=own[0].unit,
        of_median=median(one.of_median for one in own),
        began_s=median(one.began_s for one in own),
        uncertainty_s=max(one.uncertainty_s for one in own),
        elapsed_s=median(one.elapsed_s for one in own),
        straggled=sum(one.straggled for one in own),
    )
