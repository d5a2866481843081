"""Programs that are expected to print the same: a fast wrong answer is no result.

Over a study, the first trial of a workload that is done says what all others print, on every
system. Within a trial the engine compares, also where a command of the study does; then it is told
what is expected.
"""

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Literal

from pydantic import JsonValue

from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.journal import TrialFinished
from tiltyard.run.stream import Stream, in_study, read_stream
from tiltyard.study.problems import shown
from tiltyard.wire import Output


def outcome_of(
    folder: StudyFolder,
    plan: Plan,
    earlier: Iterable[TrialFinished],
    key: TrialKey,
    stream: Stream,
) -> tuple[Literal["done", "failed"], str | None]:
    """How a trial went, and why if it is not done.

    Args:
        folder: of the study.
        plan: says of which workloads the output is compared.
        earlier: trials that were finished before it, in order.
        key: of the trial.
        stream: what it left.
    """
    if stream.too_slow:
        return "failed", in_study(folder, plan, key.workload, stream.too_slow)
    outcome, reason = stream.outcome
    if outcome == "done" and (odd := _odd_output(folder, plan, earlier, key, stream)):
        return "failed", odd
    return outcome, reason


def is_compared(program: Mapping[str, JsonValue]) -> bool:
    """Whether a command of the study compares what a program prints."""
    expected = program.get("expect")
    return isinstance(expected, dict) and bool(expected.get("compare"))


def expected_output(
    folder: StudyFolder, plan: Plan, earlier: Iterable[TrialFinished], key: TrialKey
) -> Output | None:
    """What a trial is to print, where a command of the study compares it and that is known."""
    if not is_compared(plan.workload(key.workload).program or {}):
        return None
    first = _first_done(earlier, key)
    return None if first is None else _printed_in(folder, first)


def _first_done(earlier: Iterable[TrialFinished], key: TrialKey) -> TrialFinished | None:
    done = (e for e in earlier if e.outcome == "done" and e.file)
    return next((event for event in done if event.key.workload == key.workload), None)


def _printed_in(folder: StudyFolder, finished: TrialFinished) -> Output | None:
    return _printed(read_stream((folder.root / finished.file).read_bytes()))


def _odd_output(
    folder: StudyFolder,
    plan: Plan,
    earlier: Iterable[TrialFinished],
    key: TrialKey,
    stream: Stream,
) -> str | None:
    """What is odd about what a program printed, if anything is."""
    program = plan.workload(key.workload).program or {}
    expected = program.get("expect")
    if not isinstance(expected, dict) or expected.get("stdout") != "same":
        return None
    first = _first_done(earlier, key)
    if first is None:
        return None
    before = _printed_in(folder, first)
    now = _printed(stream)
    if before is None or now is None or before.sha256 == now.sha256:
        return None
    where = f"block {first.key.block}'s {first.key.system}"
    return f"it printed something else than {where}{_difference(before, now)}"


def _printed(stream: Stream) -> Output | None:
    """What the first measured execution printed."""
    executions, outputs = stream.executions, stream.outputs
    return outputs.get(executions[0].stdout) if executions else None


def _difference(before: Output, now: Output) -> str:
    """The first line that differs, where both are text and kept that far."""
    if before.text is None or now.text is None:
        return f": {now.bytes} bytes instead of {before.bytes}, not the same"
    lines = zip_longest(before.text.splitlines(), now.text.splitlines())
    for number, (was, found) in enumerate(lines, start=1):
        if was != found:
            told = ("nothing" if line is None else shown(line) for line in (was, found))
            return ": line {} was {} and is {}".format(number, *told)
    return f": {now.bytes} bytes instead of {before.bytes}"
