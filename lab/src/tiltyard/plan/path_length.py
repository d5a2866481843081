"""Path lengths: instructions per operation, where a guest's clock counts instructions.

The clock of such a guest goes on by one nanosecond with each instruction that it executes, so what
the engine takes for elapsed time is how many there were: all of the guest's, its kernel's and the
engine's. A workload is measured at two amounts, in two trials of a turn: as the study has it, and
with its amounts of work doubled. With *t* and *t'* seconds for *n* and *n'* operations,

    path length = (t' - t) · 10⁹ / (n' - n)     instructions per operation
    once        = t · 10⁹ - path length · n     instructions, however many operations there are

An emulator counts a repeated string move once for each byte, where a processor has one for all: the
copy of a large block would be most of its path length, and hide what else differs. So the bytes
that the kernel moves are taken off, and the count with them stands beside it.

What is paid once for a file, a page or a boot is therefore not divided among operations. It is not
a time, and nothing that the guest calls one is kept: latencies, time slices, connections, and
metrics that are times.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace
from pydantic import JsonValue

from tiltyard.study.amounts import amounts_in_force
from tiltyard.units import parse_size
from tiltyard.wire import End, MetricCard, Sample, Unit

INSTRUCTIONS_PER_S: Final = 10**9
PATH_LENGTH: Final[Unit] = "instr/op"
INSTRUCTIONS: Final[Unit] = "instr"
ONCE: Final = "_once"
STRING_MOVES: Final = "_string_moves"
WHOLE: Final = "_with_string_moves"
FIRST_TOUCHES: Final = "first_touches"
_COUNTER: Final = "FirstTouchesNs"
"""As the engine calls it."""
_RATES: Final = frozenset({"B/s", "1/s"})
_COPIED_BY_US: Final = frozenset({"mmap", "null"})
"""Backends whose kernel copies nothing."""


def doubled(
    parameters: Mapping[str, JsonValue], effective: Mapping[str, Any], schema: Mapping[str, Any]
) -> dict[str, JsonValue] | None:
    """A workload's parameters for twice the work; ``None`` where no amount of it is in force.

    Args:
        parameters: as the study has them.
        effective: what the engine makes of them.
        schema: of the workload's parameters, which says what is an amount.
    """
    found = {
        name: _twice(effective[name], each["amount"])
        for name, each in amounts_in_force(effective, schema).items()
    }
    return {**parameters, **found} if found else None


def _twice(value: Any, sort: str) -> JsonValue:
    """An amount, or each of several that make a grid."""
    if isinstance(value, list):
        return [_twice(one, sort) for one in value]
    amount: float = parse_size(value) if sort == "bytes" else value
    return 2 * amount


def path_length_cards(
    cards: Iterable[MetricCard], effective: Mapping[str, Any] | None = None, *, twice: bool = False
) -> tuple[MetricCard, ...]:
    """What a workload yields by such a clock: of each headline rate the path length.

    Args:
        cards: of the workload.
        effective: its parameters, which say whether the kernel copies what is moved.
        twice: whether it is measured at two amounts.
    """
    rates = [card for card in cards if card.role == "headline" and card.unit in _RATES]
    of_each = [card for rate in rates for card in _cards_of(rate, effective or {}, twice=twice)]
    return (*of_each, _first_touches_card()) if twice else tuple(of_each)


def _cards_of(
    rate: MetricCard, effective: Mapping[str, Any], *, twice: bool
) -> Iterator[MetricCard]:
    """The path length of a rate, and what stands beside it."""
    left_out = ", without repetitions of string moves" if twice and _is_copied(effective) else ""
    made = rate.model_copy(
        update={
            "unit": PATH_LENGTH,
            "direction": "lower",
            "about": f"Instructions of the guest for each operation{left_out}. By time: "
            f"{rate.about}",
        }
    )
    yield made
    if not twice:
        return

    def beside(suffix: str, label: str, about: str, unit: str = PATH_LENGTH) -> MetricCard:
        return made.model_copy(
            update={
                "name": rate.name + suffix,
                "label": f"{rate.label}, {label}",
                "unit": unit,
                "role": "detail",
                "about": about,
            }
        )

    yield beside(
        ONCE,
        "once",
        "Instructions of the guest beside those of each operation, however many operations there "
        "are: a file, a page, the beginning and the end.",
        INSTRUCTIONS,
    )
    if _is_copied(effective):
        yield beside(
            WHOLE,
            "string moves included",
            "Instructions of the guest for each operation, with the repetitions of string moves "
            "that the path length leaves out.",
        )
        yield beside(
            STRING_MOVES,
            "string moves",
            "Repetitions of string moves, which the path length leaves out: an emulator counts one "
            "for each byte that the kernel copies.",
        )


def _is_copied(effective: Mapping[str, Any]) -> bool:
    """Whether the kernel copies what is moved."""
    return effective.get("backend") not in _COPIED_BY_US


def _first_touches_card() -> MetricCard:
    return MetricCard(
        name=FIRST_TOUCHES,
        label="first reads of cached pages",
        unit=INSTRUCTIONS,
        direction="lower",
        role="detail",
        about="Instructions of the guest that the first reads of all pages of the files cost "
        "beyond later ones; before the timed region.",
    )


def path_length_samples(
    samples: Iterable[Sample], cards: Iterable[MetricCard]
) -> tuple[Sample, ...]:
    """Path lengths of one trial alone, what is paid once among them.

    Args:
        samples: of the trial.
        cards: of the metrics that are kept, where any operation was done.
    """
    names = {card.name for card in cards}
    return tuple(
        _counted(sample, sample.elapsed_s * INSTRUCTIONS_PER_S / sample.operations)
        for sample in samples
        if sample.metric in names and sample.operations
    )


def slope_samples(
    usual: Sequence[Sample], twice: Sequence[Sample], end: End | None, cards: Iterable[MetricCard]
) -> tuple[Sample, ...]:
    """Path lengths of two trials, of which the second did twice the work of the first.

    A metric whose operations were not more in the second trial is that of the first alone.

    Args:
        usual: samples of the first.
        twice: those of the second.
        end: the last line of the first.
        cards: of the metrics that are kept.
    """
    by_name = {card.name: card for card in cards}
    found = [made for pair in _pairs(usual, twice) for made in _slope(*pair, by_name)]
    touches = end.counters.get(_COUNTER) if end else None
    if found and touches is not None and FIRST_TOUCHES in by_name:
        whole = replace(found[0], metric=FIRST_TOUCHES, at={}, operations=1, bytes=0)
        found.append(_counted(whole, float(touches), INSTRUCTIONS))
    return tuple(found)


def _pairs(usual: Sequence[Sample], twice: Sequence[Sample]) -> Iterator[tuple[Sample, Sample]]:
    """What was measured at the same place: in the second, a grid of files has larger ones."""
    for name in dict.fromkeys(sample.metric for sample in usual):
        own, others = ([s for s in side if s.metric == name] for side in (usual, twice))
        if len(own) == len(others):
            yield from zip(own, others, strict=True)


def _slope(one: Sample, two: Sample, cards: Mapping[str, MetricCard]) -> Iterator[Sample]:
    """The samples that both make."""
    more = two.operations - one.operations
    if one.metric not in cards or not one.operations:
        return
    taken = one.elapsed_s * INSTRUCTIONS_PER_S
    if more <= 0:
        yield from _path_length(one, taken / one.operations, cards)
    else:
        each = (two.elapsed_s - one.elapsed_s) * INSTRUCTIONS_PER_S / more
        yield from _path_length(one, each, cards)
        once = replace(one, metric=one.metric + ONCE)
        yield _counted(once, taken - each * one.operations, INSTRUCTIONS)


def _path_length(one: Sample, each: float, cards: Collection[str]) -> Iterator[Sample]:
    """The path length of so many instructions, and what stands beside it.

    A plan that was frozen without the card of the whole count has the whole count as its metric.
    Where there are fewer instructions than bytes, these were not moved one by one.
    """
    moved = one.bytes / one.operations
    is_left_out = bool(one.bytes) and one.metric + WHOLE in cards
    yield _counted(one, each - moved if is_left_out and each > moved else each)
    if is_left_out:
        yield _counted(replace(one, metric=one.metric + WHOLE), each)
    if one.bytes and one.metric + STRING_MOVES in cards:
        yield _counted(replace(one, metric=one.metric + STRING_MOVES), moved)


def _counted(sample: Sample, value: float, unit: Unit = PATH_LENGTH) -> Sample:
    """A sample without anything that would be taken for a time."""
    return replace(sample, value=value, unit=unit, direction="lower", native=None, latency_ns=None)
