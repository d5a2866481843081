"""One thing that a profile sets: read it, say what it shall be, set it, verify it."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from tiltyard.errors import InterruptedRunError, TiltyardError
from tiltyard.host.place import HERE, Place
from tiltyard.host.steps import Op, Step, Steps

Stage = Literal["host", "devices", "engine"]
"""What is set: the host, before a system comes up; what the system has there when it is up, its
devices and servers; how the measuring engine is started."""


@dataclass(frozen=True)
class Scene:
    """A host, and those of its devices that the system under test uses."""

    place: Place = HERE
    devices: tuple[str, ...] = ()
    """Block devices, topmost first: ``/dev/loop0``."""
    interfaces: tuple[str, ...] = ()
    """Network devices: ``eth0``."""
    servers: Callable[[], tuple[int, ...]] = lambda: ()
    """Asks for the processes that serve the system now."""


FILES = "files"
"""The row of files of the kernel that do not depend on each other."""
ABSENT = "not on this host"
"""What is in force where that is all that is wanted."""


class LackError(Exception):
    """Why something cannot be set on this host; what a report says of it."""


class Setting(ABC):
    """One thing that is set. Settings of one name (each CPU's governor) are reported as one."""

    name: str
    """As a person calls it: ``vm.dirty_ratio``, ``loop0 scheduler``."""

    @abstractmethod
    def read(self) -> str:
        """What is in force now.

        Raises:
            LackError: if there is no such thing here.
        """

    @abstractmethod
    def wanted(self, now: str) -> str:
        """What shall be in force, where that is now.

        Raises:
            LackError: if that cannot be had here.
        """

    @abstractmethod
    def step(self, before: str, wanted: str) -> Step:
        """What sets it, with its way back."""

    def why_not_set(self, now: str, wanted: str, said: str) -> str:  # noqa: ARG002
        """Why it could not be set, and what is in force now; ``said``: what was complained."""
        return said.rpartition(": ")[2] if said else f'it stays "{now}"'

    @property
    def is_machine_wide(self) -> bool:
        """Whether all of a machine share it."""
        return getattr(self, "place", None) is not None

    @property
    def row(self) -> str:
        """Settings of one row do not depend on each other; empty: it is set alone."""
        return ""

    @property
    def files(self) -> tuple[str, ...]:
        """What is read of it, and changes when it is set."""
        return ()

    def holds(self, now: str, wanted: str) -> bool:
        """Whether what is in force is what is wanted."""
        return now == wanted


@dataclass(frozen=True)
class Absent(Setting):
    """A place holder for what cannot even be looked for here."""

    name: str
    reason: str
    row: ClassVar = FILES

    def read(self) -> str:
        """Says why.

        Raises:
            LackError: always.
        """
        raise LackError(self.reason)

    def wanted(self, now: str) -> str:
        """Nothing is."""
        return now

    def step(self, before: str, wanted: str) -> Step:  # noqa: ARG002  the base's names
        """Nothing is changed."""
        raise AssertionError(f"{self.name}: there is nothing to set")


class Launch(Setting):
    """How the measuring engine is started: nothing on the host changes."""

    command: tuple[str, ...]
    """What starts it."""

    def step(self, before: str, wanted: str) -> "Launched":  # noqa: ARG002  the base's names
        """Says it."""
        return Launched(argv=self.command)


class Launched(Step):
    """A command that each trial will be started by."""

    kind: Literal["launched"] = "launched"
    argv: tuple[str, ...]

    @property
    def line(self) -> str:
        """In words."""
        return f"# start the workload by: {shlex.join(self.argv)}"

    def execute(self, host: Steps) -> str:  # noqa: ARG002  trials do it
        """Nothing: it says what trials do."""
        return ""


@dataclass(frozen=True)
class Outcome:
    """What became of a setting, or would become of it."""

    name: str
    status: Literal["set", "unchanged", "skipped"]
    value: str = ""
    before: str = ""
    reason: str = ""
    """Why it was skipped."""


def look(setting: Setting) -> Outcome:
    """What would become of a setting; changes nothing."""
    try:
        before = setting.read()
        wanted = setting.wanted(before)
    except LackError as lack:
        return Outcome(setting.name, "skipped", reason=str(lack))
    held = setting.holds(before, wanted)
    return Outcome(setting.name, "unchanged" if held else "set", wanted, before)


def look_at(settings: Iterable[Setting], place: Place) -> list[Outcome]:
    """The same of many, in one exchange with their host."""
    known = list(settings)
    with place.looking(files=[file for setting in known for file in setting.files]):
        return [look(setting) for setting in known]


def apply(settings: Iterable[Setting], steps: Steps) -> list[Outcome]:
    """Set them, unless they are so already; what cannot be set here is skipped.

    Those of a row are looked at in one exchange with their host, and set in one.

    Raises:
        BusyError: if another run has the machine.
        TiltyardError: if one can neither be set nor put back.
    """
    return [outcome for row in _rows(settings) for outcome in _apply(row, steps)]


def _rows(settings: Iterable[Setting]) -> Iterator[list[Setting]]:
    """Those in a row that do not depend on each other."""
    row: list[Setting] = []
    for setting in settings:
        same = row and setting.row and setting.row == row[-1].row
        files = {file for one in row for file in one.files}
        if row and (not same or files & {*setting.files}):
            yield row
            row = []
        row.append(setting)
    if row:
        yield row


def _apply(row: Sequence[Setting], steps: Steps) -> list[Outcome]:
    """Set a row."""
    steps.check()
    # Also of what is so already: another run would put it back in the middle of our turn.
    for setting in row:
        if setting.is_machine_wide:
            steps.hold_machine(setting.name)
    outcomes = look_at(row, steps.place)
    made = {
        at: setting.step(outcome.before, outcome.value)
        for at, (setting, outcome) in enumerate(zip(row, outcomes, strict=True))
        if outcome.status == "set"
    }
    if not all(isinstance(step, Op) for step in made.values()):
        return [_apply_alone(row[0], outcomes[0], made[0], steps)]
    told = len(steps.skipped)
    steps.take(made.values())
    for op, skipped in steps.skipped[told:]:
        at = next(at for at, step in made.items() if step is op)
        reason = row[at].why_not_set(skipped.now, outcomes[at].value, skipped.text)
        outcomes[at] = replace(outcomes[at], status="skipped", reason=reason)
    return outcomes


def _apply_alone(setting: Setting, outcome: Outcome, step: Step, steps: Steps) -> Outcome:
    """Set what is no op."""
    failed = ""
    try:
        steps.take((step,))
    except InterruptedRunError:
        raise
    except TiltyardError as error:
        failed = str(error)
    now = setting.read()
    if setting.holds(now, outcome.value):
        return outcome
    if step.changes():
        steps.undo_last()
    reason = setting.why_not_set(now, outcome.value, failed)
    return replace(outcome, status="skipped", reason=reason)


def launched_by(settings: Iterable[Setting]) -> tuple[list[Outcome], tuple[str, ...]]:
    """What becomes of settings of the engine's start, and the command that starts it."""
    outcomes: list[Outcome] = []
    command: tuple[str, ...] = ()
    for setting in settings:
        outcomes.append(look(setting))
        if isinstance(setting, Launch) and outcomes[-1].status == "set":
            command = (*command, *setting.command)
    return outcomes, command


def told(names: Sequence[str], outcomes: Iterable[Outcome]) -> dict[str, str]:
    """Facts of a system that was tuned: one for all, and one for each thing that was asked for.

    Args:
        names: of the profiles.
        outcomes: of their settings; those of one name are told together.
    """
    by_name = grouped(outcomes)
    done, held, skipped = counts(by_name)
    absent = [name for name, group in by_name.items() if group[0].value == ABSENT]
    facts = {
        f"tuning {name}": sentence(group) for name, group in by_name.items() if name not in absent
    }
    if absent:
        facts[f"tuning, {ABSENT}"] = ", ".join(absent)
    total = f"{done} set, {held} as they were, {skipped} skipped"
    return {"tuning": f"{' + '.join(names)}: {total}", **facts}


def counts(by_name: Mapping[str, Sequence[Outcome]]) -> tuple[int, int, int]:
    """How many things are set (if only on some CPUs), as they were, and skipped."""
    count = {"set": 0, "skipped": 0, "unchanged": 0}
    for group in by_name.values():
        statuses = {outcome.status for outcome in group}
        count[next(each for each in count if each in statuses)] += 1
    return count["set"], count["unchanged"], count["skipped"]


def grouped(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by what they are of: each CPU has a governor, and that is one thing."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.name, []).append(outcome)
    return found


def sentence(outcomes: Sequence[Outcome]) -> str:
    """What became of one thing: ``40 (was 20)``; where it is many, each answer with its count."""
    said = [_one(outcome) for outcome in outcomes]
    distinct = dict.fromkeys(said)
    if len(distinct) == 1:
        return said[0] + (f", {len(said)} times" if len(said) > 1 else "")
    return "; ".join(f"{text}, {said.count(text)} times" for text in distinct)


def _one(outcome: Outcome) -> str:
    """One answer."""
    if outcome.status == "skipped":
        return f"skipped: {outcome.reason}"
    if outcome.status == "unchanged":
        return f"{outcome.value}, as it was"
    return f"{outcome.value} (was {outcome.before})" if outcome.before else outcome.value
