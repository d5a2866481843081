"""The studies that a calibration is made of, as study files that a person could have written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from tiltyard.study.toml import toml_key, toml_value
from tiltyard_calibrate.subjects import Place, Subject

BLOCKS_EACH: Final = 20
"""Blocks of one comparison: the last look of the standard rules."""
COMPARISONS_EACH: Final = 5
"""Comparisons that one study is cut into."""
SHARES: Final = (0.02, 0.05, 0.10)
"""Delays, as shares of the time of an operation."""
RATES_MBIT: Final = (500, 495, 490, 475, 450)
"""Limits of the network: the full one, then 1, 2, 5 and 10 % less."""
LIMITS_MB: Final = (50, 45, 40)
"""Limits of the disk in MB/s: the full one, then 10 and 20 % less."""
_SENSITIVITY_BLOCKS: Final = 10
_OVERHEAD_BLOCKS: Final = 40
_LIMIT_BLOCKS: Final = 7


@dataclass(frozen=True)
class Part:
    """One study of a calibration."""

    name: str
    """Of its folder."""
    text: str
    """The study file."""
    directories: tuple[str, ...]
    """That its systems need, in the study folder."""


@dataclass(frozen=True)
class Workload:
    """A ``[[workload]]``."""

    name: str
    use: str
    parameters: dict[str, JsonValue]


def same_part(subject: Subject, place: Place, number: int, disturbed: str) -> Part:
    """One system under two names; blocks for several comparisons."""
    return _part(
        f"{subject.name}-same-{number}",
        f"Does one system differ from itself in {subject.name}?",
        place,
        (place.same,),
        (),
        [Workload(subject.name, subject.use, subject.parameters)],
        BLOCKS_EACH * COMPARISONS_EACH,
        disturbed,
    )


def delays_part(
    subject: Subject, place: Place, number: int, operation_ns: float, disturbed: str
) -> Part:
    """No delay, and each of the known ones, in every block."""
    levels = {f"{share:.0%}": max(1, round(share * operation_ns)) for share in SHARES}
    return _part(
        f"{subject.name}-delays-{number}",
        f"Are known delays found in {subject.name}?",
        place,
        (_injected({"none": 0, **levels}),),
        (place.alone, _into(subject)),
        [Workload(subject.name, subject.use, subject.parameters)],
        BLOCKS_EACH * COMPARISONS_EACH,
        disturbed,
    )


def sensitivity_part(subject: Subject, place: Place, operation_ns: float, disturbed: str) -> Part:
    """Operations that take their time once, and twice."""
    return _part(
        f"{subject.name}-sensitivity",
        f"Does {subject.name} measure what it claims to?",
        place,
        (_injected({"once": 0, "twice": max(1, round(operation_ns))}),),
        (place.alone, _into(subject)),
        [Workload(subject.name, subject.use, subject.parameters)],
        _SENSITIVITY_BLOCKS,
        disturbed,
    )


def overhead_part(place: Place, sizes: Sequence[str], disturbed: str) -> Part:
    """Reads with a reading of the clock around all of them, and for each of them."""
    parameters: dict[str, JsonValue] = {"file": "4M", "operations": 4000}
    return _part(
        "overhead",
        "What does it cost to read the clock for each operation?",
        place,
        (place.same,),
        (),
        [
            Workload(f"{timing}-{size}", "random", {**parameters, "block": size, "timing": timing})
            for size in sizes
            for timing in ("pass", "operation")
        ],
        _OVERHEAD_BLOCKS,
        disturbed,
    )


def network_steps_part(place: Place, disturbed: str) -> Part:
    """A token bucket of the kernel at several rates."""
    rates = [f"{rate}mbit" for rate in RATES_MBIT]
    return _part(
        "steps-network",
        "Are known steps of a network's rate found?",
        place,
        (f"rate = {toml_value(rates)}",),
        (place.alone,),
        [Workload("tcp_stream", "tcp_stream", {"message": "16k", "seconds": 0.5})],
        BLOCKS_EACH,
        disturbed,
    )


def disk_steps_part(place: Place, disturbed: str) -> Part:
    """A limit of the kernel on the bandwidth of a disk, at several heights.

    The kernel hands a limit out in slices of a tenth of a second, the first one or two in
    advance, and not as many for each limit. So trials last for many slices, and end by time.
    """
    limits = {f"{rate} MB/s": rate * 10**6 for rate in LIMITS_MB}
    listed = ", ".join(f"{toml_key(name)} = {value}" for name, value in limits.items())
    parameters: dict[str, JsonValue] = {
        "file": "4M",
        "block": "64k",
        "operations": 1_000_000,
        "runtime_s": 6,
        "access": "direct",
        "timing": "pass",
    }
    return _part(
        "steps-disk",
        "Are known steps of a disk's bandwidth found?",
        place,
        (f"bandwidth = {{ {listed} }}",),
        (place.alone,),
        [Workload("random", "random", parameters)],
        _LIMIT_BLOCKS,
        disturbed,
    )


def _injected(levels: dict[str, int]) -> str:
    """The factor of the delays; their order is that of the study's systems."""
    listed = ", ".join(f"{toml_key(name)} = {delay_ns}" for name, delay_ns in levels.items())
    return f"inject_ns = {{ {listed} }}"


def _into(subject: Subject) -> str:
    """Which calls are delayed."""
    return f"inject_into = {toml_value([subject.call or ''])}"


def _part(
    name: str,
    question: str,
    place: Place,
    factors: Iterable[str],
    settings: Iterable[str],
    workloads: Iterable[Workload],
    blocks: int,
    disturbed: str,
) -> Part:
    """A study file with one look at its end."""
    lines = [
        f"question = {toml_value(question)}",
        "",
        "[factors]",
        *factors,
        "",
        "[systems]",
        f"kind = {toml_value(place.kind)}",
        *filter(None, (place.settings, *settings)),
        "",
        "[precision]",
        f"blocks = {blocks}",
        "",
        "[noise]",
        f"disturbed = {toml_value(disturbed)}",
        # It would take longer than the block that it is to watch over.
        'reference_run = "0%"',
    ]
    for workload in workloads:
        lines += ["", "[[workload]]", f"use = {toml_value(workload.use)}"]
        lines += [f"name = {toml_value(workload.name)}"]
        lines += [
            f"{toml_key(key)} = {_inline(value)}" for key, value in workload.parameters.items()
        ]
    return Part(name, "\n".join(lines) + "\n", place.directories)


def _inline(value: JsonValue) -> str:
    """A parameter as TOML; tables become inline ones."""
    if isinstance(value, dict):
        inside = ", ".join(f"{toml_key(key)} = {_inline(inner)}" for key, inner in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    assert value is not None, "the engine's usual parameters are all set"
    return toml_value(value)
