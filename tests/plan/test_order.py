"""The order is fair: complete, balanced by chance, and drawn from the seed alone."""

from collections import Counter
from itertools import pairwise, permutations

from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tiltyard.plan.model import Block
from tiltyard.plan.order import draw_blocks

NAMES = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6, unique=True)
SEEDS = st.integers(0, 2**63 - 1)
COUNTS = st.integers(1, 12)
SEED = 4711
REJECT_BELOW = 1e-3
"""With a fixed seed these tests always say the same; a biased order is far below this."""


def orders(blocks: tuple[Block, ...]) -> list[tuple[str, ...]]:
    return [tuple(turn.system for turn in block.turns) for block in blocks]


@given(NAMES, NAMES, COUNTS, SEEDS)
def test_every_system_meets_every_workload_once_in_each_block(
    systems: list[str], workloads: list[str], count: int, seed: int
) -> None:
    blocks = draw_blocks(systems, workloads, count, seed)
    assert [block.number for block in blocks] == list(range(1, count + 1))
    for block in blocks:
        assert sorted(turn.system for turn in block.turns) == sorted(systems)
        for turn in block.turns:
            assert sorted(turn.workloads) == sorted(workloads)


@given(NAMES, NAMES, COUNTS, COUNTS, SEEDS)
def test_a_block_depends_on_the_seed_and_its_number_only(
    systems: list[str], workloads: list[str], count: int, more: int, seed: int
) -> None:
    longer = draw_blocks(systems, workloads, count + more, seed)
    assert longer[:count] == draw_blocks(systems, workloads, count, seed)


def test_another_seed_is_another_order() -> None:
    names = [f"system {number}" for number in range(5)]
    assert len({draw_blocks(names, ["w"], 3, seed) for seed in range(200)}) == 200


def test_all_orders_of_systems_are_equally_likely() -> None:
    found = Counter(orders(draw_blocks("ABC", ["w"], 6000, SEED)))
    counts = [found[order] for order in permutations("ABC")]
    assert sum(counts) == 6000
    assert stats.chisquare(counts).pvalue > REJECT_BELOW


def test_all_orders_of_workloads_are_equally_likely_whatever_the_system() -> None:
    found = Counter(
        (turn.system, turn.workloads)
        for block in draw_blocks("AB", "xyz", 6000, SEED)
        for turn in block.turns
    )
    counts = [found[system, order] for system in "AB" for order in permutations("xyz")]
    assert stats.chisquare(counts).pvalue > REJECT_BELOW


def test_the_order_of_a_block_tells_nothing_of_the_next() -> None:
    drawn = orders(draw_blocks("AB", ["w"], 6001, SEED))
    found = Counter(pairwise(drawn))
    table = [
        [found[first, second] for second in permutations("AB")] for first in permutations("AB")
    ]
    assert stats.chi2_contingency(table).pvalue > REJECT_BELOW


def test_the_order_of_workloads_tells_nothing_of_the_order_of_systems() -> None:
    found = Counter(
        (block.turns[0].system, block.turns[0].workloads, block.turns[1].workloads)
        for block in draw_blocks("AB", "xy", 8000, SEED)
    )
    assert len(found) == 8
    assert stats.chisquare(list(found.values())).pvalue > REJECT_BELOW
