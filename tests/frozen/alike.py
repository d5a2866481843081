"""The same values through every door: what a run says of them, an import, two studies, the gate.

Each shape is a table of times of two systems, one a block. Where two doors say different things of
it, the file shows both; whether they should is for its reader to judge.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from frozen.elsewhere import imported
from frozen.judgement import Stated, stated_of, stated_of_combined, stated_of_gate
from frozen.planted import Study
from support.laid import laid
from support.shapes import Shape, card
from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.gate import gate
from tiltyard.app.across import across
from tiltyard.app.combine import combine
from tiltyard.app.report import findings_of
from tiltyard.plan.model import TrialKey
from tiltyard.run.samples import Samples
from tiltyard.stats.looks import FEWEST

Times = dict[str, list[float | None]]
"""System → its time in each block, in s; ``None``: no value there."""
SYSTEMS: Final = ("a", "b")
BLOCKS: Final = 12
WORK: Final = Shape((card("time", "time", "s", "lower"),), {"time": 1.0})
MARGIN: Final = 0.03
MAPPING: Final = """\
delimiter = ","
decimal = "."
workload = "work"
system = { column = "system" }
[metrics.time]
column = "time"
unit = "s"
direction = "lower"
"""
KEPT: Final = ("answer", "answer of work")
"""The texts that are of interest here."""


def drawn(
    ratio: float = 1.0, noise: float = 0.01, shared: float = 0.0, blocks: int = BLOCKS
) -> Times:
    """Times of about a second, of which those of the second system are so many times as long.

    Args:
        ratio: of the times.
        noise: standard deviation of the logarithm of each.
        shared: the same of what both have of a block.
        blocks: how many.
    """
    rng = np.random.default_rng(17)
    of_block = rng.normal(0, shared, blocks)
    logs = of_block + rng.normal(0, noise, (2, blocks)) + np.log([[1.0], [ratio]])
    return {name: np.exp(own).tolist() for name, own in zip(SYSTEMS, logs, strict=True)}


def without(times: Times, system: str, blocks: tuple[int, ...]) -> Times:
    """The same without some values of one system; blocks are counted from 1."""
    own = [None if n in blocks else one for n, one in enumerate(times[system], 1)]
    return {**times, system: own}


def along(times: Times, by: Callable[[int], float]) -> Times:
    """The same, each block multiplied."""
    return {name: [one and one * by(n) for n, one in enumerate(own)] for name, own in times.items()}


def replaced(times: Times, system: str, values: Mapping[int, float]) -> Times:
    """The same with some values of one system multiplied; blocks are counted from 1."""
    own = [one and one * values.get(n, 1.0) for n, one in enumerate(times[system], 1)]
    return {**times, system: own}


TABLES: Final[Mapping[str, Times]] = {
    "no difference": drawn(noise=0.006),
    "small": drawn(1.02),
    "small, blocks differ": drawn(1.02, shared=0.1),
    "large": drawn(3.0, noise=0.05),
    "exactly apart": drawn(1.25, noise=0.0),
    "exactly equal": drawn(noise=0.0),
    "drift": along(drawn(1.01), lambda n: 1 + 0.03 * n),
    "few": drawn(1.1, blocks=6),
    "few, one missing": without(drawn(1.1, blocks=6), "b", (2,)),
    "too few": drawn(1.1, blocks=3),
    "one": drawn(1.1, blocks=1),
    "one value far off": replaced(drawn(1.02), "b", {5: 4.0}),
    "one side missing now and then": without(drawn(1.05), "b", (2, 7)),
    "one side missing often": without(drawn(1.05), "b", (2, 5, 7, 9)),
    "zero now and then": replaced(drawn(1.05), "b", {3: 0.0}),
}


def run_of(times: Times) -> Study:
    """A study that was run, with these times; its time was up where they are few."""
    count, planned = len(times["a"]), max(FEWEST, len(times["a"]))
    failed = [
        TrialKey(block=n, system=name, workload="work")
        for name, own in times.items() for n, one in enumerate(own, 1) if one is None
    ]  # fmt: skip
    plan, run = synthetic_study(
        SYSTEMS, ("work",), blocks=count, profile="fixed", fixed_blocks=planned, noise=0.0,
        shapes={"work": WORK}, failed=failed,
    )  # fmt: skip
    trials = []
    for trial in run.trials:
        value = times[trial.key.system][trial.key.block - 1]
        samples = Samples.of([replace(one, value=value) for one in trial.samples])
        trials.append(trial.model_copy(update={"samples": samples}))
    return plan, run.model_copy(update={"trials": tuple(trials), "stopped": "the time is up"})


def doors(root: Path) -> Iterator[tuple[str, Stated]]:
    """All doors, shape by shape."""
    for place, (shape, times) in enumerate(TABLES.items()):
        for door, stated in _of(root / f"{place}", times):
            texts = {name: own for name, own in stated.get("texts", {}).items() if name in KEPT}
            yield f"{shape}: {door}", {**stated, "texts": texts, "values": {}, "counts": {}}


def _of(root: Path, times: Times) -> Iterator[tuple[str, Stated]]:
    plan, run = run_of(times)
    folder = laid(root / "run", plan, run)
    findings = findings_of(folder)
    yield "report", stated_of(findings)
    yield "gate", stated_of_gate(gate(findings, MARGIN))
    again = laid(root / "again", plan, run.model_copy(update={"began": "2026-11-21T10:00:00Z"}))
    yield "combine", stated_of_combined(combine([folder, again], {"again": 0.0}))
    yield "compare, pooled", stated_of(analyse_collection(across([folder, again], pool=True)))
    yield "compare, two", stated_of(analyse_collection(across(_one_each(root, times))))
    yield "import, rows", _as_rows(root / "rows", times, blocks=False)
    yield "import, rows with blocks", _as_rows(root / "blocks", times, blocks=True)
    files = _as_files(times)
    words = [f"{name[0]}={name}" for name in files]
    yield "import, files", imported(root / "files", files, words)
    if len({name[1:] for name in files}) * 2 == len(files):
        yield "import, files with --blocks", imported(root / "both", files, words, blocks=True)
    whole = {
        f"{name}.json": _hyperfine(own, place) for place, (name, own) in enumerate(times.items())
    }
    yield (
        "import, a file a side",
        imported(root / "whole", whole, [f"{name[0]}={name}" for name in whole]),
    )


def _one_each(root: Path, times: Times) -> list[Path]:
    """Two studies of one system of the same name: the times of a, and those of b."""
    plan, run = run_of(times)
    found = []
    for name in SYSTEMS:
        trials = tuple(one for one in run.trials if one.key.system == name)
        named = tuple(
            one.model_copy(update={"key": one.key.model_copy(update={"system": "a"})})
            for one in trials
        )
        alone = plan.model_copy(
            update={
                "systems": plan.systems[:1],
                "blocks": tuple(
                    block.model_copy(
                        update={"turns": tuple(t for t in block.turns if t.system == "a")}
                    )
                    for block in plan.blocks
                ),
            }
        )
        own = run.model_copy(update={"trials": named, "prepared": ()})
        found.append(laid(root / f"of-{name}", alone, own))
    return found


def _as_rows(root: Path, times: Times, *, blocks: bool) -> Stated:
    rows = ["system,block,time" if blocks else "system,time"]
    for name, own in times.items():
        for n, one in enumerate(own, 1):
            if one is not None:
                rows.append(f"{name},{n},{one!r}" if blocks else f"{name},{one!r}")
    mapping = root.with_suffix(".toml")
    mapping.write_text(MAPPING.replace("[metrics", 'block = { column = "block" }\n[metrics')
                       if blocks else MAPPING)  # fmt: skip
    return imported(
        root, {"times.csv": f"{chr(10).join(rows)}\n".encode()}, ["times.csv"], mapping=mapping
    )


def _as_files(times: Times) -> dict[str, bytes]:
    """A file for each value, in the order of blocks."""
    found = {}
    for n in range(len(times["a"])):
        for name, own in times.items():
            if own[n] is not None:
                found[f"{name}{n:02}.json"] = _hyperfine([own[n]], n + 0.5 * (name == "b"))
    return found


def _hyperfine(times: list[float | None], n: float = 0.0) -> bytes:
    """As hyperfine exports it; a time that nobody compares sets files apart that are alike."""
    kept = [one for one in times if one is not None]
    mean = float(np.mean(kept))
    result = {
        "command": "work", "mean": mean, "median": float(np.median(kept)), "stddev": None,
        "min": min(kept), "max": max(kept), "user": 0.0, "system": 1e-6 * n, "times": kept,
        "exit_codes": [0] * len(kept),
    }  # fmt: skip
    return json.dumps({"results": [result]}).encode()
