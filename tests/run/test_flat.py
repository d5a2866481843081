"""The lab's work for one more trial does not grow with the trials that there are."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from support.runs import SMOKE, directory_system, plan_of
from tiltyard.plan.model import Block, Plan, TrialKey
from tiltyard.run.estimate import expected_block_s, outlook
from tiltyard.run.history import History
from tiltyard.run.journal import BlockChecked, Entry, Event, TrialFinished, TrialStarted
from tiltyard.run.runner import ending_of

FEW, MANY = 40, 640
"""Blocks: sixteen times as much history."""
SLACK = 1.5
"""Heaps are as deep as the logarithm of what is in them."""


def steps(action: Callable[[], object]) -> int:
    """Instructions of the interpreter that an action takes."""
    taken = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal taken
        frame.f_trace_opcodes = True
        taken += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return taken


def add(history: History, *events: Event) -> None:
    """As the journal tells them."""
    for event in events:
        history.add(Entry(at="2026-01-01", t_s=1.0, event=event))


def events_of(key: TrialKey) -> tuple[TrialStarted, TrialFinished]:
    """One trial."""
    return (
        TrialStarted(key=key, slot=1),
        TrialFinished(
            key=key, slot=1, started="", elapsed_s=key.block % 7 + 1.0, outcome="done",
            reason=None, file="", sha256="",
        ),
    )  # fmt: skip


def run_so_far(plan: Plan) -> History:
    """All blocks but the last."""
    history = History()
    history.course(plan)
    for block in plan.blocks[:-1]:
        for key in plan.trials_of(block):
            add(history, *events_of(key))
        add(history, BlockChecked(block=block.number, reasons=()))
    return history


def one_more_block(plan: Plan, history: History, block: Block) -> None:
    """Everything that a run asks before, during and after the trials of a block."""
    course = history.course(plan)
    assert not course.is_begun(block)
    expected_block_s(plan, block, history)
    course.ahead(len(plan.blocks))
    for key in course.left_of(block):
        started, finished = events_of(key)
        add(history, started)
        outlook(plan, history)
        add(history, finished)
        outlook(plan, history)
    assert course.is_complete(block)
    add(history, BlockChecked(block=block.number, reasons=()))
    assert course.count_at(block) == len(plan.blocks)
    assert ending_of(course)


def work_of_the_last_block(tmp_path: Path, blocks: int) -> int:
    """Steps for the last block of a run."""
    plan = plan_of(
        tuple(directory_system(name, tmp_path / name) for name in "ab"),
        workloads=(SMOKE.model_copy(update={"trials": 2}),),
        blocks=blocks,
    )
    history = run_so_far(plan)
    outlook(plan, history)
    return steps(lambda: one_more_block(plan, history, plan.blocks[-1]))


def test_a_block_costs_the_same_after_many_as_after_few(tmp_path: Path) -> None:
    few, many = (work_of_the_last_block(tmp_path, blocks) for blocks in (FEW, MANY))
    assert many < SLACK * few


def test_reading_costs_the_same_for_each_block(tmp_path: Path) -> None:
    """A run that goes on, and status: in proportion to the journal."""

    def work(blocks: int) -> float:
        plan = plan_of((directory_system("a", tmp_path / "a"),), blocks=blocks)
        entries = [
            Entry(at="", t_s=1.0, event=event)
            for block in plan.blocks[:-1]
            for key in plan.trials_of(block)
            for event in events_of(key)
        ]

        def resume() -> None:
            history = History(entries)
            for block in plan.sequence:
                course = history.course(plan)
                course.left_of(block)
                course.count_at(block)
            outlook(plan, history)

        return steps(resume) / blocks

    assert work(MANY) < SLACK * work(FEW)
