"""Makes ``sequential_table.json``: the joint null distribution of the p-values at all looks.

``python -m tiltyard.stats.sequential_table`` writes it anew (8 million paths, half a minute).

The signed-rank statistics at the looks are those of growing pieces of one sequence, so their joint
law is not the product of the known single ones. It is free of the noise's law as long as that does
not change over the session, therefore simulated once with normal noise.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np

from tiltyard.stats.sequential import LOOKS
from tiltyard.stats.signed_rank import attainable_p, nominal_p
from tiltyard.stats.types import FloatArray

PATHS: Final = 8_000_000
SEED: Final = 20_261_120
_CHUNK: Final = 100_000


def simulate_p(paths: int, blocks: tuple[int, ...], seed: int) -> FloatArray:
    """Exact p-values at growing numbers of blocks under the null, shape (paths, looks)."""
    rng = np.random.default_rng(seed)
    chunks = [min(_CHUNK, paths - start) for start in range(0, paths, _CHUNK)]
    return np.concatenate([_simulate_chunk(rng, size, blocks) for size in chunks])


def _simulate_chunk(rng: np.random.Generator, paths: int, blocks: tuple[int, ...]) -> FloatArray:
    """One chunk of paths. Each new difference adds the positive Walsh averages it takes part in."""
    noise = rng.standard_normal((blocks[-1], paths))
    positive = np.zeros(paths, dtype=np.int64)
    p_values = []
    for last in range(blocks[-1]):
        positive += np.count_nonzero(noise[: last + 1] + noise[last] > 0, axis=0)
        n = last + 1
        if n in blocks:
            smaller = np.minimum(positive, n * (n + 1) // 2 - positive)
            p_values.append(attainable_p(n)[smaller])
    return np.stack(p_values, axis=1)


def tabulate(p_values: FloatArray, looks: tuple[tuple[int, int], ...]) -> dict[str, object]:
    """The table of one profile from simulated p-values of its looks, shape (paths, looks).

    Far in the tail, where few paths go, the estimate is held between its exact bounds: the largest
    and the sum of the looks' own probabilities (the union bound).
    """
    attainable = [attainable_p(n) for n, _ in looks]
    support = np.unique(np.concatenate(attainable))
    smallest = np.sort(p_values.min(axis=1))
    paths = len(smallest)
    estimated = (np.searchsorted(smallest, support, side="right") + 1) / (paths + 1)
    single = np.stack([_largest_attained(own, support) for own in attainable])
    held = np.clip(estimated, single.max(axis=0), np.minimum(1.0, single.sum(axis=0)))
    levels = np.array([nominal_p(n, c) for n, c in looks])
    return {
        "alpha": round(float(np.mean((p_values <= levels).any(axis=1))), 5),
        "minimum_p": [float(f"{value:.12g}") for value in support],
        "sequential_p": [float(f"{value:.6g}") for value in held],
    }


def _largest_attained(own: FloatArray, support: FloatArray) -> FloatArray:
    """``P(p <= x)`` of one look at each x: the largest p-value it attains up to there, else 0."""
    place = np.searchsorted(own, support, side="right") - 1
    return np.where(place >= 0, own[place], 0.0)


def make_table(paths: int, seed: int) -> dict[str, object]:
    """The whole document. All profiles look at the same paths."""
    blocks = tuple(n for n, _ in LOOKS["rigorous"])
    p_values = simulate_p(paths, blocks, seed)
    profiles = {}
    for name, looks in LOOKS.items():
        columns = [blocks.index(n) for n, _ in looks]
        profiles[name] = tabulate(p_values[:, columns], looks)
    return {"paths": paths, "seed": seed, "profiles": profiles}


def main() -> None:
    """Write the table beside this file."""
    path = Path(str(files("tiltyard.stats").joinpath("sequential_table.json")))
    document = json.dumps(make_table(PATHS, SEED), separators=(",", ":"))
    path.write_text(document.replace('],"', '],\n"').replace('},"', '},\n"') + "\n", "utf-8")


if __name__ == "__main__":
    main()
