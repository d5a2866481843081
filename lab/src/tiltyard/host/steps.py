"""Steps that change a host, as data, and what executes them.

A step is a model with a ``kind``; it names no Python object and can be written as JSON. It says
what a dry run prints (:attr:`Step.line`) and which changes it makes (:meth:`Step.changes`): these
are in the ledger before it is executed, and each knows its way back. What only execution yields,
such as the number of a loop device, is the *output* of a step: later steps contain the name of
the output, and get its value when they are executed.

To print the steps is the dry run (:mod:`tiltyard.run.dry_run`); to execute them is the run
(:class:`Steps`).
"""

import contextlib
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, SerializeAsAny

from tiltyard.address import THIS_HOST, Address
from tiltyard.errors import HostLacksError
from tiltyard.frozen import Frozen
from tiltyard.host import commands
from tiltyard.host.changes import MadeByOp
from tiltyard.host.ledger import Ledger, last_row
from tiltyard.host.place import HERE, Place
from tiltyard.host.recorder import Recorder
from tiltyard.phases import Phase, phase
from tiltyard.recipe import Recipe, output, resolved
from tiltyard.wire import HostDid, HostProgress, HostSkipped, HostStarted

Text = Callable[[str | Path], object]


class Step(Frozen):
    """Base of all steps; the generic ones follow, the others are beside what they do."""

    kind: str
    output: str = ""
    """Name of what it yields, unmistakable in a text: ``/dev/loopN``. Empty: nothing."""
    lasts: Literal["turn", "run"] = "turn"
    """When its changes are taken back: at the end of the turn, or of the run."""

    @property
    @abstractmethod
    def line(self) -> str:
        """What a dry run prints: a command, or words behind a ``#``."""

    @property
    def script(self) -> str:
        """The same for a runbook (:mod:`tiltyard.recipe`)."""
        return output(self.output, self.line) if self.output else self.line

    def changes(self) -> Sequence[MadeByOp]:
        """What it changes, with what takes that back; only looks."""
        return ()

    @abstractmethod
    def execute(self, host: "Steps") -> str:
        """Execute it. What it yields.

        Raises:
            TiltyardError: if it fails.
        """

    def with_outputs(self, outputs: dict[str, str]) -> Self:
        """The same with the values of outputs in place of their names."""
        if not outputs:
            return self
        values = {name: resolved(getattr(self, name), outputs) for name in type(self).model_fields}
        return self.model_copy(update={**values, "output": self.output})


def _of_its_kind(value: Any) -> Any:
    """A step of the class that its ``kind`` names."""
    if not isinstance(value, dict):
        return value
    return _kinds(Step)[value["kind"]].model_validate(value)  # type: ignore[type-abstract]


def _kinds(base: type[Step]) -> dict[str, type[Step]]:
    """All classes of steps, by kind."""
    kinds: dict[str, type[Step]] = {}
    for derived in base.__subclasses__():
        kinds |= {derived.model_fields["kind"].default: derived, **_kinds(derived)}
    return kinds


AnyStep = Annotated[SerializeAsAny[Step], BeforeValidator(_of_its_kind)]
"""A step of any kind, as JSON has it."""


class Op(Step):
    """A step that the host's agent executes, and takes back: there it is in the ledger first."""

    outlasts_boot: ClassVar[bool] = False
    """Whether what it changes is there after a boot, for a run that goes on then."""

    @abstractmethod
    def op(self, text: Text) -> dict[str, object]:
        """As the agent is told (``HostOp`` of the wire).

        Args:
            text: makes a text of it in which names stand for what earlier ops of a list yield.
        """

    @property
    def of_machine(self) -> str:
        """What of this whole machine it sets, as a person calls it; empty: nothing."""
        return ""

    def yields(self, did: HostDid) -> dict[str, str]:  # noqa: ARG002  most yield no more
        """What its answer has beside the outputs, by names that later steps may contain."""
        return {}

    @property
    def way_back(self) -> str:
        """How it is taken back, as :attr:`line` has it; empty: it changes nothing."""
        return ""

    @property
    def back_script(self) -> str:
        """The same for a runbook."""
        return self.way_back

    def made(self, address: Address = THIS_HOST) -> MadeByOp:
        """What it changes."""
        return MadeByOp(
            op=json.dumps(self.op(str)),
            back=self.way_back,
            back_script=self.back_script,
            address=address,
            outlasts_boot=self.outlasts_boot,
        )

    def changes(self) -> Sequence[MadeByOp]:
        """For who tells of them: the agent records them."""
        return (self.made(),) if self.way_back else ()

    def began(self, host: "Steps", told: HostStarted) -> None:  # noqa: ARG002  most begin nothing
        """It has started what stays."""
        raise HostLacksError(f"{self.line}: the agent says that it has started a process")

    def execute(self, host: "Steps") -> str:
        """It goes to the agent in a list of its own."""
        host.take([self])
        return host.outputs.get(self.output, "")


class UndoTemporarily(Step):
    """Take a change back that is made again at once: the ledger has it all the time."""

    kind: Literal["undo-temporarily"] = "undo-temporarily"
    change: MadeByOp

    @property
    def line(self) -> str:
        """The way back."""
        return self.change.back

    @property
    def script(self) -> str:
        """The way back."""
        return self.change.back_script

    def execute(self, host: "Steps") -> str:
        """Take it back."""
        host.ledger.undo(self.change, still=True)
        return ""


class TakeBack(Step):
    """Take back what the turn has changed: the last change, or all."""

    kind: Literal["take-back"] = "take-back"
    everything: bool = True

    @property
    def line(self) -> str:
        """The changes say it."""
        return ""

    def execute(self, host: "Steps") -> str:
        """Last one first."""
        if self.everything:
            host.undo()
        else:
            host.undo_last()
        return ""


class Say(Step):
    """Tell the person who waits."""

    kind: Literal["say"] = "say"
    text: str

    @property
    def line(self) -> str:
        """Nothing is done."""
        return ""

    def execute(self, host: "Steps") -> str:
        """Tell."""
        host.note(self.text)
        return ""


def _named_in(names: Set[str]) -> Text:
    """Makes texts in which names of outputs stand for what earlier ops of a list yield."""
    if not names:
        return str
    parted = re.compile("|".join(f"({re.escape(name)})" for name in sorted(names)))

    def text(value: str | Path) -> object:
        parts = [part for part in parted.split(str(value)) if part]
        if not names & {*parts}:
            return str(value)
        return {"cat": [{"of": part} if part in names else part for part in parts]}

    return text


class _Shown:
    """The phase of the op that is being executed."""

    def __init__(self, lines: Sequence[str]) -> None:
        """None yet."""
        self._lines = lines
        self._at = -1
        self._phase: Phase | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def tell(self, progress: HostProgress) -> None:
        """What an agent says of it."""
        if progress.at != self._at and progress.at < len(self._lines):
            self._stack.close()
            shown = phase(self._lines[progress.at], progress.of_bytes)
            self._at, self._phase = progress.at, self._stack.enter_context(shown)
        if self._phase:
            self._phase.done_bytes = progress.done_bytes


class Steps:
    """Executes steps, and takes back what they have changed."""

    def __init__(
        self,
        ledger: Recorder,
        check: Callable[[], None] = lambda: None,
        note: Callable[[str], None] = lambda _: None,
        place: Place = HERE,
    ) -> None:
        """None taken yet.

        Args:
            ledger: keeps the changes; nothing can be executed on that of a dry run.
            check: called before each step; raises if a person has asked to stop.
            note: gets what a person should know while a step takes long.
            place: the host whose agent executes ops.
        """
        self._recorder = ledger
        self.place = place
        """The host whose agent executes ops."""
        self.check = check
        self.note = note
        self.outputs: dict[str, str] = {}
        """What steps have yielded, by name."""
        self.skipped: list[tuple[Op, HostSkipped]] = []
        """Those that have set nothing, and were allowed to."""
        self.started: dict[str, tuple[Op, HostStarted]] = {}
        """Processes that stay, by mark, with what has started them."""
        self._changes: list[MadeByOp] = []
        self._executed: list[commands.Command] = []
        self._script: list[str] = []
        self._once: list[tuple[str, Sequence[MadeByOp]]] = []

    def __bool__(self) -> bool:
        """Whether something is to be taken back."""
        return any(map(self._recorder.holds, self._changes))

    @property
    def ledger(self) -> Ledger:
        """Where the changes are recorded."""
        assert isinstance(self._recorder, Ledger), "a dry run executes nothing"
        return self._recorder

    @property
    def executed(self) -> tuple[commands.Command, ...]:
        """The commands since :meth:`begin`, in order."""
        return tuple(self._executed)

    def begin(self) -> None:
        """A turn begins: on another host, after what a killed run has left there is put back.

        Where an agent has ended since the last one, nothing is changed any more.
        """
        self._executed.clear()
        self._script.clear()
        self._once.clear()
        self.ledger.forget_lost(self.place)
        if self.place.is_remote and not (agent := self.place.host).has_recovered:
            for said in agent.recover(kept_for=self.ledger.earlier).done:
                self.note(f"{self.place}: an earlier run was killed: {commands.shown(said)}")

    @property
    def recipe(self) -> Recipe:
        """What was executed since :meth:`begin`, and its ways back, as lines of a script."""
        lasting = [change.back_script for _, changes in self._once for change in changes]
        return Recipe(
            once=tuple(line for line, _ in self._once),
            up=tuple(self._script),
            down=tuple(change.back_script for change in reversed(self._changes)),
            end=tuple(reversed(lasting)),
            outputs=dict(self.outputs),
        )

    def take(self, steps: Iterable[Step]) -> None:
        """Execute steps in order; ops in a row are one request.

        Any other one that is made when it is its turn may look at what is then.
        """
        row: list[Op] = []
        for planned in steps:
            if row and not (isinstance(planned, Op) and planned.lasts == row[0].lasts):
                self._carry_out(row)
                row = []
            self.check()
            if isinstance(planned, Op):
                row.append(planned)
                continue
            step = planned.with_outputs(self.outputs)
            with phase(step.line.removeprefix("# ")):
                text = step.execute(self)
            if step.output:
                self.outputs[step.output] = text
            if step.lasts == "run":
                self._once.append((planned.script, step.changes()))
            elif planned.script:
                self._script.append(planned.script)
        if row:
            self._carry_out(row)

    def _carry_out(self, row: Sequence[Op]) -> None:
        """Have the agent execute ops that last equally long."""
        for what in filter(None, (op.of_machine for op in row)):
            self.hold_machine(what)
        agent = self.place.host  # One that cannot be there has changed nothing.
        self.ledger.uses(self.place)
        known = [op.with_outputs(self.outputs) for op in row]
        text = _named_in({op.output for op in row if op.output})
        with _Shown([op.line.removeprefix("# ") for op in known]) as shown:
            wanted = [op.op(text) for op in known]
            did = agent.change(wanted, self.check, shown.tell)
        self.outputs |= did.outputs
        for op in known:
            self.outputs |= op.yields(did)
        done = [op.with_outputs(self.outputs) for op in known]
        for each in did.changes:
            made = done[each.at].made(self.place.address)
            made = made.model_copy(update={"ledger": did.ledger, "number": each.number})
            if row[0].lasts == "turn":
                self._changes.append(made)
            self.ledger.record(made)
        self._executed += [
            commands.Command(argv=tuple(ran.argv), elapsed_s=ran.elapsed_s) for ran in did.ran
        ]
        for started in did.started:
            done[started.at].began(self, started)
        skipped = {each.at: each for each in did.skipped}
        self.skipped += [(row[at], each) for at, each in skipped.items()]
        for at, (planned, op) in enumerate(zip(row, done, strict=True)):
            if at in skipped:
                continue
            if op.lasts == "run":
                self._once.append((planned.script, op.changes()))
            elif planned.script:
                self._script.append(planned.script)

    def hold_machine(self, what: str) -> None:
        """From now on only we change what is machine-wide there; called before one looks.

        Raises:
            BusyError: if another run does.
        """
        for line in self.ledger.hold_machine(what, self.place):
            self.note(line)

    def run(self, argv: tuple[str, ...]) -> commands.Output:
        """Run a command, and keep it for the record."""
        self.check()
        output = self.place.run(argv)
        self._executed.append(output.command)
        return output

    def keep(self, command: commands.Command) -> None:
        """Keep a command for the record that a step has executed in its own way."""
        self._executed.append(command)

    def undo_last(self) -> None:
        """Take back the last change alone."""
        self.ledger.undo(self._changes[-1])
        self._script.append(self._changes.pop().back_script)

    def undo(self) -> None:
        """Take the changes back, last one first; each undo verifies itself."""
        while self._changes:
            with phase(self._changes[-1].back.removeprefix("# ")):
                row = last_row(self._changes)
                self.ledger.undo_row(row)
                self._script += [self._changes.pop().back_script for _ in row]
        if isinstance(self._recorder, Ledger):
            self._recorder.let_go_of_machine(self.place)
        self.outputs.clear()
        self.started.clear()
