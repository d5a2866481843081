"""The plan as a file: written once, read by every later stage."""

from collections.abc import Iterator

from pydantic import ValidationError

from tiltyard import __version__
from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import StudyFolder, sha256, write_whole
from tiltyard.frozen import flaw, read_json
from tiltyard.plan.model import FORMAT, Design, Plan
from tiltyard.stats.looks import FIXED, TABULATED
from tiltyard.study.bounds import TRIALS_MAX
from tiltyard.study.problems import shown
from tiltyard.units import count_of


def write_plan(folder: StudyFolder, plan: Plan) -> None:
    """Write the plan of a folder that has none.

    Raises:
        RefusedError: if there is a plan, on which trials may rest; or if another user has a hand in
            the folder.
    """
    folder.require_own()
    if folder.plan.exists():
        raise RefusedError(
            f"{folder.plan}: this study has a plan already, and a plan is frozen once. "
            "Start a new folder for another one"
        )
    write_whole(folder.plan, plan.document())


def read_plan(folder: StudyFolder) -> Plan:
    """The plan of a folder, provided that it is still the plan of the study that is there.

    Raises:
        UsageError: if there is no plan, it is not one of this format, or the study was changed.
    """
    try:
        text = folder.plan.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"{folder.plan}: this study has no plan yet; tiltyard run {folder.root} makes it"
        ) from None
    plan = _parsed(folder, text)
    if not folder.study.is_file():
        raise UsageError(f"{folder.study}: the study that the plan was made from is gone")
    if sha256(folder.study.read_bytes()) != plan.study_sha256:
        raise UsageError(
            f"{folder.study}: was changed after the plan was frozen. "
            "Put it back, or start a new folder with it"
        )
    return plan


def _parsed(folder: StudyFolder, text: bytes) -> Plan:
    """The plan in a text; its format is looked at first, so that a newer one is called that."""
    damaged = "Put it back from a copy, or start a new folder"
    try:
        document = read_json(text)
        written = document["format"]
    except (ValueError, TypeError, LookupError) as error:
        raise UsageError(f"{folder.plan}: not a plan: {error}. {damaged}") from error
    if written != FORMAT:
        by = document.get("tiltyard", "of another version")
        raise UsageError(
            f"{folder.plan}: a plan of format {shown(written)}, written by Tiltyard {by}; this "
            f"one, {__version__}, reads format {FORMAT}. Fix: use that version for this folder, or "
            "begin the study in another one: tiltyard run STUDY --folder ANOTHER"
        )
    try:
        plan = Plan.model_validate(document)
    except ValidationError as error:
        raise UsageError(f"{folder.plan}: {flaw(error)}. {damaged}") from error
    for contradiction in _contradictions(plan):
        raise UsageError(f"{folder.plan}: {contradiction}. {damaged}")
    return plan


def _contradictions(plan: Plan) -> Iterator[str]:
    """What no plan says that was frozen here, key first: later stages rely on it."""
    systems = [system.name for system in plan.systems]
    workloads = [workload.spec.name for workload in plan.workloads]
    for key, names in (("systems", systems), ("workloads", workloads)):
        if not names or len({*names}) < len(names):
            yield f"{key}: {'two have one name' if names else 'there is none'}"
    factors = {tuple(system.levels) for system in plan.systems}
    if len(factors) > 1:
        yield "systems: not all have levels of the same factors"
    if plan.baseline not in systems:
        yield f"baseline: {shown(plan.baseline)} is none of the systems"
    if plan.asks is not None and not any(plan.asks in own for own in factors):
        yield f"asks: {shown(plan.asks)} is none of the factors"
    yield from _of_design(plan.design)
    last = 0
    for block in plan.sequence:
        if block.number <= last:
            yield f"blocks: {block.number} comes after {last}"
        last = block.number
        for turn in block.turns:
            if turn.system not in systems or not {*turn.workloads} <= {*workloads}:
                yield f"blocks: {last} has a system or a workload that is none of the plan's"
                return
    in_a_turn = plan.trials_in_a_turn
    turns = (turn for block in plan.blocks for turn in block.turns)
    trials = sum(in_a_turn[name] for turn in turns for name in turn.workloads)
    if trials > TRIALS_MAX or min(in_a_turn.values(), default=1) < 1:
        yield f"workloads: {count_of(trials, 'trial')} in all, or less than one in a turn"


def _of_design(design: Design) -> Iterator[str]:
    """Of the statistical rules."""
    known = {name: len(own) for name, own in TABULATED.items()} | {FIXED: 1}
    if known.get(design.profile) != len(design.looks):
        number = count_of(len(design.looks), "look")
        yield f"design: there is no profile {shown(design.profile)} of {number}"
    before = 0
    for look in design.looks:
        if look.blocks <= before or not 0 <= look.c <= look.blocks * (look.blocks + 1) // 4:
            yield f"design.looks: {look.c} of {look.blocks} are cut off"
        before = look.blocks
