"""hyperfine's JSON: each command is a system, its times in the order in which they were taken.

Commands of one name (``-n``) are told apart by their parameters.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tiltyard.importers.importer import ForPeople, Imported, Importer, Measured, single
from tiltyard.importers.json_file import Node, result_of
from tiltyard.importers.quantities import SECONDS, metric

METRICS: Final = (
    metric("time", SECONDS, None),
    metric("user", SECONDS, None, headline=False, label="user time"),
    metric("system", SECONDS, None, headline=False, label="system time"),
)
_ORDER: Final = (
    "hyperfine times one command to its end before the next one begins, so whatever drifted on the "
    "host meanwhile counts as a difference between commands."
)
_FAILED: Final = "{} of {} runs of {} ended with an error and were timed all the same."


def read(data: bytes, name: str) -> Imported:
    """One file of ``hyperfine --export-json``."""
    results = result_of(data, name)["results"].entries()
    commands = tuple(dict.fromkeys(result["command"].text() for result in results))
    return single(
        use="hyperfine",
        metrics=METRICS,
        measured=tuple(
            replace(one, apart={"system": apart})
            for result, apart in zip(results, _parameters(results), strict=True)
            if not _all_failed(result)
            for one in _measured(result)
        ),
        commands=commands,
        limits=(_ORDER, *(limit for result in results for limit in _limits(result))),
    )


def _parameters(results: list[Node]) -> Iterator[tuple[str, ...]]:
    """What tells commands of one name apart: their parameters, or else the place among them."""
    seen = Counter[tuple[str, ...]]()
    for result in results:
        own = result.get("parameters")
        told = tuple(f"{key}={node.text()}" for key, node in own.items()) if own else ()
        seen[result["command"].text(), *told] += 1
        yield (*told, str(seen[result["command"].text(), *told]))


def _measured(result: Node) -> Iterator[Measured]:
    command = result["command"].text()
    times = result.get("times")
    runs = [result["mean"]] if times is None else times.entries()
    yield Measured("time", values=tuple(SECONDS.value(one.value()) for one in runs), system=command)
    for key in ("user", "system"):  # means over the runs: one value of a file
        mean = result.get(key)
        if mean is not None:
            yield Measured(key, values=(SECONDS.value(mean.value()),), system=command)


def _limits(result: Node) -> Iterator[str]:
    """What is to be said of one command."""
    command = result["command"].text()
    failed, runs = _failures(result)
    if _all_failed(result):
        yield f"All {runs} runs of {command} ended with an error, so it is left out."
    elif failed:
        yield _FAILED.format(failed, runs, command)


def _failures(result: Node) -> tuple[int, int]:
    """How many runs ended with an error, or by a signal; and of how many that is told."""
    codes = result.get("exit_codes")
    ended = codes.entries() if codes else []
    return sum(one.content is None or one.value(signed=True) != 0 for one in ended), len(ended)


def _all_failed(result: Node) -> bool:
    failed, runs = _failures(result)
    return 0 < runs == failed


IMPORTER: Final = Importer(
    name="hyperfine",
    about="hyperfine --export-json; its commands are the systems",
    left_out="what follows from the times, such as deviation, median and range; memory",
    cut_off="refused, as it is no JSON then",
    recognises=lambda head: '"results"' in head and '"command"' in head and '"median"' in head,
    read=read,
    for_people=ForPeople(
        r"^ *Time \(mean ± σ\): |^\| Command \| Mean \[",
        "add --export-json FILE to its command line",
    ),
    metrics=METRICS,
    grid=("command",),
)
