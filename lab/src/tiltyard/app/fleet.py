"""A study that the hosts of a placement carry out: each a session, all at the same time.

Each session has a thread, in which it runs as it does where nothing is placed; some dozens share a
process, for a process costs more memory than all that a session needs. This one holds the nodes
and begins anew what a lost host has begun.
"""

import contextlib
import ctypes
import gc
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from threading import Thread
from typing import Any, Final

from tiltyard.app.run import run_until_decided, when_whole
from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.host.ledger import Ledger, recover
from tiltyard.phases import phase
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.interrupt import SIGNALS, Interrupt
from tiltyard.run.lock import hold_lock
from tiltyard.run.nodes import Nodes
from tiltyard.run.observer import Decision, Outlook
from tiltyard.run.read import read_history
from tiltyard.run.record import TrialRecord
from tiltyard.run.retry import WAIT_S
from tiltyard.run.sessions import Session, sessions_of
from tiltyard.units import count_of

_PR_SET_PDEATHSIG: Final = 1
_OF_A_PROCESS: Final = 64
"""Sessions that share one, at most: each has ten files open, of the usual limit of 1024."""


def run_placed(
    folder: StudyFolder,
    engine: Engine,
    note: Callable[[str], None],
    wait_s: float | None,
    **options: Any,
) -> None:
    """Carry all sessions of a placed study out, or go on with them.

    Args:
        folder: the study, whose plan says where.
        engine: measures.
        note: gets a line of what goes on.
        wait_s: how long to wait for nodes, and for what others hold; 10 minutes if not said.
        options: of :func:`tiltyard.app.run.run_until_decided`.

    Raises:
        InterruptedRunError: after Ctrl-C or SIGTERM; everything is taken down.
        HostLacksError: if a session could not be ended; the others are.
    """
    go_on = f"Everything finished is kept. Go on with: tiltyard run {folder.study_root}"
    with hold_lock(folder, folder.placed_lock), Interrupt(go_on) as interrupt:
        left = [
            (session, history.starts[-1].node if history.starts else "")
            for session in sessions_of(folder)
            if not (history := read_history(session.folder, session.plan)).stopped
        ]
        if not left:
            return
        placement = left[0][0].plan.placement
        assert placement is not None
        for line in recover():
            note(line)
        with Ledger(note) as ledger:
            nodes = Nodes(placement, ledger, interrupt.check)
            with phase(f"waiting for {count_of(len(left), 'host')}"):
                patience_s = WAIT_S if wait_s is None else wait_s
                nodes.take({node for _, node in left if node}, len(left), patience_s)
            fleet = _Fleet(nodes, engine, note, {"wait_s": wait_s, **options})
            with interrupt.stops(fleet.stop):
                fleet.carry_out(left)
            interrupt.check()
    if fleet.open:
        raise HostLacksError(f"{'; '.join(fleet.open)}. {go_on}")


@dataclass
class _Runner:
    """A session that is being carried out."""

    session: Session
    node: str
    said: Connection
    tell: Connection
    """The end of its thread."""
    is_done: bool = False
    why: str = "its process ended"
    """Why it is not."""


@dataclass
class _Fleet:
    nodes: Nodes
    engine: Engine
    note: Callable[[str], None]
    options: dict[str, Any]
    open: list[str] = field(default_factory=list)
    """Sessions that were not ended, and why."""
    _runners: list[_Runner] = field(default_factory=list)
    _begun: list[_Runner] = field(default_factory=list)
    """Those of them that have no thread yet."""
    _processes: list[ForkProcess] = field(default_factory=list)
    _waiting: list[tuple[Session, str]] = field(default_factory=list)
    """Sessions for which no host is free, each with the one that it was begun on."""
    _used: set[str] = field(default_factory=set)
    """Hosts that have begun a session."""
    _stopped: bool = False

    def stop(self) -> None:
        """Have all of them take down what is up, and end; safe to call from a signal handler."""
        self._stopped = True
        for process in self._processes:
            process.terminate()

    def carry_out(self, sessions: Sequence[tuple[Session, str]]) -> None:
        """All of them, each on its host, until none goes on.

        Args:
            sessions: each with the host that it was begun on; empty: none yet.
        """
        try:
            self._begin_all(sessions)
            while self._runners:
                self._start()
                for said in wait([runner.said for runner in self._runners]):
                    runner = next(one for one in self._runners if one.said is said)
                    try:
                        self._hear(runner, *runner.said.recv())
                    except (EOFError, OSError):
                        self._end(runner)
        finally:
            # What they have up is taken down before their nodes are let go.
            self.stop()
            for process in self._processes:
                process.join()
        for session, _ in self._waiting:
            self.open.append(f"session {session.number}: no host is left for it")

    def _begin_all(self, sessions: Sequence[tuple[Session, str]]) -> None:
        """Those that have their host first: what is free for the others is known then."""
        here = {*self.nodes.places} - self.nodes.lost
        for session, node in sessions:
            if node in here:
                self._take_turns(session, node)
        for session, node in sessions:
            if not node:
                self._place(session)
            elif node not in here:
                self._begin_anew(session, node, "it is not among the hosts that there are now")

    @property
    def _busy(self) -> set[str]:
        return {runner.node for runner in self._runners}

    def _take_turns(self, session: Session, node: str) -> None:
        """Begin it on its host, or when the one that is there has ended: never two at once."""
        if node in self._busy:
            self._waiting.append((session, node))
        else:
            self._begin(session, node)

    def _place(self, session: Session) -> None:
        """Begin it on a host that nobody is on, or on the first that is done."""
        if another := self.nodes.another(self._busy):
            self._begin(session, another)
        else:
            self._waiting.append((session, ""))

    def _begin(self, session: Session, node: str) -> None:
        if self._stopped:
            self.open.append(f"session {session.number}: stopped before it began")
            return
        said, tell = multiprocessing.Pipe(duplex=False)
        runner = _Runner(session, node, said, tell)
        self._runners.append(runner)
        self._begun.append(runner)
        again = ", one more here: what this host carries out counts once"
        self.note(f"{node}: session {session.number}{again if node in self._used else ''}")
        self._used.add(node)

    def _start(self) -> None:
        """Give those that have begun a thread each, in as few processes as will do."""
        processes = -(-len(self._begun) // _OF_A_PROCESS)
        batches = [self._begun[number::processes] for number in range(processes)]
        self._begun.clear()
        for batch in batches:
            process = multiprocessing.get_context("fork").Process(target=self._child, args=(batch,))
            # What is not looked at by the collector of garbage stays shared.
            gc.freeze()
            # A signal waits until the process is one of those that are stopped by it.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            try:
                process.start()
                self._processes.append(process)
                if self._stopped:
                    process.terminate()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                gc.unfreeze()
            for runner in batch:
                runner.tell.close()

    def _child(self, batch: Sequence[_Runner]) -> None:
        """In a process of their own, which ends in the usual way when this one dies."""
        # Nothing is up yet, and the handlers of the one that began it are not ours.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        parent = multiprocessing.parent_process()
        if parent is None or os.getppid() != parent.pid:
            return
        own = set(map(id, batch))
        for runner in self._runners:
            runner.said.close()
            if id(runner) not in own:
                # The end of a session of another process would not be heard while we hold it.
                runner.tell.close()
        with Interrupt(""):
            threads = [Thread(target=self._carry_out_one, args=(runner,)) for runner in batch]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _carry_out_one(self, runner: _Runner) -> None:
        """A session, in a thread of its own."""
        session = runner.session
        whole = when_whole("the blocks of the session are done")
        place = self.nodes.places[runner.node]
        # Its end is told by the end of the pipe: then everything is taken down.
        with runner.tell:
            relay = _Relay(runner.tell, session.plan.sequence[0].number)
            try:
                run_until_decided(
                    session, self.engine, relay, decide=whole, place=place, **self.options
                )
                relay.say("done", "")
            except (TiltyardError, OSError) as error:
                relay.say("failed", str(error))

    def _hear(self, runner: _Runner, what: str, text: str) -> None:
        if what == "note":
            self.note(f"{runner.node}: {text}")
        else:
            runner.is_done, runner.why = what == "done", text

    def _end(self, runner: _Runner) -> None:
        """A session is over, or open; a host that is lost has another take its place."""
        self._runners.remove(runner)
        runner.said.close()
        session, node = runner.session, runner.node
        if not runner.is_done and not self._stopped and not self.nodes.is_reached(node):
            self._begin_anew(session, node, runner.why)
            return
        if runner.is_done:
            self.note(f"{node}: session {session.number} is done")
        else:
            self.open.append(f"session {session.number} on {node}: {runner.why}")
        waiting = next((one for one in self._waiting if one[1] in ("", node)), None)
        if waiting and not self._stopped:
            self._waiting.remove(waiting)
            self._begin(waiting[0], node)

    def _begin_anew(self, session: Session, node: str, why: str) -> None:
        """Put aside what there is of it, and give it to another host, at once or later."""
        self.nodes.lost.add(node)
        self.note(f"{node} is lost: {why}")
        _put_aside(session, node, why)
        self._place(session)
        for others in [one for one in self._waiting if one[1] == node]:
            self._waiting.remove(others)
            self._begin_anew(others[0], node, why)


def _put_aside(session: Session, node: str, why: str) -> None:
    """What a lost host has measured of a session is kept, and counts for nothing."""
    folder = session.folder
    history = read_history(folder, session.plan)
    aside = folder.lost / f"{len([*folder.lost.glob('*')]) + 1}"
    aside.mkdir(parents=True)
    trials = len(history.finished)
    told = f"{node} was lost after {count_of(trials, 'trial')} of session {session.number}: {why}"
    write_whole(aside / "why", f"{told}; they are kept in {aside}".encode())
    for path in (folder.trials, folder.journal):
        if path.exists():
            shutil.move(path, aside / path.name)


@dataclass
class _Relay:
    """An observer that passes on what a person should know."""

    _tell: Connection
    _first: int
    """Number of the session's first block."""

    def say(self, what: str, text: str) -> None:
        """Whoever would hear it may be dead; the signal of that ends us."""
        with contextlib.suppress(BrokenPipeError):
            self._tell.send((what, text))

    def started(self, plan: Plan, outlook: Outlook) -> None:
        """Its host is told already."""

    def note(self, text: str) -> None:
        """Passed on."""
        self.say("note", text)

    def block_started(self, block: int, of: int) -> None:
        """Passed on."""
        self.say("note", f"block {1 + block - self._first} of {1 + of - self._first}")

    def preparing(self, system: str) -> None:
        """Too brief to be told."""

    def trial_started(self, key: TrialKey, slot: int, outlook: Outlook) -> None:
        """Too brief to be told."""

    def progress(self, fraction: float, what: str) -> None:
        """Too brief to be told."""

    def trial_finished(self, record: TrialRecord, outlook: Outlook) -> None:  # noqa: ARG002
        """What has failed is told."""
        if record.outcome != "done":
            self.say("note", f"{record.key.system}, {record.key.workload}: {record.reason}")

    def looked(self, blocks: int, decision: Decision) -> None:
        """Sessions are judged together."""
