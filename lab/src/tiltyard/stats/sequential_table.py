"""Makes ``sequential_table.json``: the joint null distribution of the p-values at all looks.

``python -m tiltyard.stats.sequential_table`` writes it anew (8 million paths, two minutes).

The signed-rank statistics at the looks are those of growing pieces of one sequence, so their joint
law is not the product of the known single ones. It is free of the noise's law as long as that does
not change over the session, therefore simulated once with normal noise. Only the first look of the
``fast`` profile, a t-test, rests on that noise being normal.
"""

import json
from collections.abc import Set
from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np

from tiltyard.stats.looks import (
    FAMILY_LOOKS,
    FIRST_BY_T,
    LEVEL,
    LONG,
    LOOKS,
    TABULATED,
    nominal_levels_of,
    shares_of,
)
from tiltyard.stats.signed_rank import attainable_p
from tiltyard.stats.student import paired_ts
from tiltyard.stats.types import FloatArray

PATHS: Final = 8_000_000
SEED: Final = 20_261_120
_CHUNK: Final = 100_000


def simulate_p(
    paths: int, blocks: tuple[int, ...], seed: int, t_blocks: int | None = None
) -> FloatArray:
    """P-values at growing numbers of blocks under the null, shape (paths, looks).

    Those of signed ranks at each of ``blocks``, exact; before them that of a t-test after
    ``t_blocks``, where one is asked for.
    """
    rng = np.random.default_rng(seed)
    chunks = [min(_CHUNK, paths - start) for start in range(0, paths, _CHUNK)]
    return np.concatenate([_simulate_chunk(rng, size, blocks, t_blocks) for size in chunks])


def _simulate_chunk(
    rng: np.random.Generator, paths: int, blocks: tuple[int, ...], t_blocks: int | None
) -> FloatArray:
    """One chunk of paths. Each new difference adds the positive Walsh averages it takes part in."""
    noise = rng.standard_normal((blocks[-1], paths))
    positive = np.zeros(paths, dtype=np.int64)
    p_values = [paired_ts(noise[:t_blocks].T, LEVEL).p] if t_blocks else []
    for last in range(blocks[-1]):
        positive += np.count_nonzero(noise[: last + 1] + noise[last] > 0, axis=0)
        n = last + 1
        if n in blocks:
            smaller = np.minimum(positive, n * (n + 1) // 2 - positive)
            p_values.append(attainable_p(n)[smaller])
    return np.stack(p_values, axis=1)


def tabulate(p_values: FloatArray, profile: str) -> dict[str, object]:
    """The table of one profile from simulated p-values of its looks, shape (paths, looks).

    Far in the tail, where few paths go, the estimate is held between its exact bounds: the largest
    and the sum of the looks' own probabilities (the union bound).
    """
    by_t = profile in FIRST_BY_T
    shares = shares_of(profile)
    attainable = [
        attainable_p(n) / share
        for (n, _), share in zip(TABULATED[profile][by_t:], shares[by_t:], strict=True)
    ]
    support = np.unique(np.concatenate(attainable))
    single = [
        share * _largest_attained(own, support)
        for own, share in zip(attainable, shares[by_t:], strict=True)
    ]
    if by_t:
        single.insert(0, np.minimum(1.0, shares[0] * support))
    scaled = p_values / np.array(shares)
    smallest = np.sort(scaled.min(axis=1))
    paths = len(smallest)
    estimated = (np.searchsorted(smallest, support, side="right") + 1) / (paths + 1)
    bounds = np.stack(single)
    held = np.clip(estimated, bounds.max(axis=0), np.minimum(1.0, bounds.sum(axis=0)))
    levels = np.array(nominal_levels_of(profile, TABULATED[profile]))
    return {
        "alpha": round(float(np.mean((p_values <= levels).any(axis=1))), 5),
        "minimum_p": [float(f"{value:.12g}") for value in support],
        "sequential_p": [float(f"{value:.6g}") for value in held],
    }


def _largest_attained(own: FloatArray, support: FloatArray) -> FloatArray:
    """The largest value that one look attains up to each x, else 0."""
    place = np.searchsorted(own, support, side="right") - 1
    return np.where(place >= 0, own[place], 0.0)


def make_table(paths: int, seed: int) -> dict[str, object]:
    """The whole document. All profiles look at the same paths, but for ``long`` at longer ones."""
    longer = {LONG, *FAMILY_LOOKS[LONG]}
    others = TABULATED.keys() - longer
    tables = _tables(others, paths, seed) | _tables(longer, paths, seed)
    return {
        "paths": paths,
        "seed": seed,
        "profiles": {name: tables[name] for name in TABULATED},
    }


def _tables(names: Set[str], paths: int, seed: int) -> dict[str, dict[str, object]]:
    """Those of some profiles, from the same paths."""
    by_rank = {n for name in names for n, _ in TABULATED[name][name in FIRST_BY_T :]}
    by_t = [LOOKS[name][0][0] for name in FIRST_BY_T if name in names]
    blocks = tuple(sorted(by_rank))
    p_values = simulate_p(paths, blocks, seed, *by_t)
    columns = {n: place for place, n in enumerate((*by_t, *blocks))}
    return {
        name: tabulate(p_values[:, [columns[n] for n, _ in TABULATED[name]]], name)
        for name in names
    }


def main() -> None:
    """Write the table beside this file."""
    path = Path(str(files("tiltyard.stats").joinpath("sequential_table.json")))
    document = json.dumps(make_table(PATHS, SEED), separators=(",", ":"))
    path.write_text(document.replace('],"', '],\n"').replace('},"', '},\n"') + "\n", "utf-8")


if __name__ == "__main__":
    main()
