"""The fair order: randomised complete blocks.

Every system meets every workload once in each block, in an order drawn for that block alone, so
that drift, heat and neighbours fall on all systems alike, and so that the signs of paired
differences are fair coins whatever the noise is (R. A. Fisher, *The Design of Experiments*, 1935).
"""

from collections.abc import Sequence

import numpy as np

from tiltyard.plan.model import Block, Turn


def draw_blocks(
    systems: Sequence[str], workloads: Sequence[str], count: int, seed: int
) -> tuple[Block, ...]:
    """Blocks 1 to ``count``.

    Systems are permuted in each block, workloads within each turn; all permutations are equally
    likely and independent. Block b depends on the seed and b only, so a longer plan begins with
    the shorter one. A plan is drawn once and kept in its file: a later NumPy may draw otherwise.

    Args:
        systems: Names of the systems.
        workloads: Names of the workloads.
        count: Number of blocks.
        seed: Not negative.
    """
    seeds = np.random.SeedSequence(seed).spawn(count)
    return tuple(
        _block(number, systems, workloads, np.random.default_rng(own))
        for number, own in enumerate(seeds, start=1)
    )


def _block(
    number: int, systems: Sequence[str], workloads: Sequence[str], random: np.random.Generator
) -> Block:
    """One block in an order of its own."""
    return Block(
        number=number,
        turns=tuple(
            Turn(system=system, workloads=_permuted(workloads, random))
            for system in _permuted(systems, random)
        ),
    )


def _permuted(names: Sequence[str], random: np.random.Generator) -> tuple[str, ...]:
    """The names in a random order."""
    return tuple(names[place] for place in random.permutation(len(names)))
