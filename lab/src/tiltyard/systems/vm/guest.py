"""A guest: started, spoken to, switched off."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from pydantic import JsonValue

from tiltyard.errors import TiltyardError
from tiltyard.folder import open_to_change
from tiltyard.host.commands import Command
from tiltyard.systems.vm.channel import Channel, Ended, Hello, Lost

_ANSWERS_S = 60.0
_ENDS_S = 20.0
_TAIL_BYTES = 1 << 16
_CAUSES: Final = ("Kernel panic", "tiltyard-engine: ", "ALERT!")
"""Words of whoever knows why a guest cannot go on: the kernel, the engine as its first process, the
initramfs of an operating system. What is said after them is of the end alone."""
_FAREWELLS: Final = ("reboot: ", "Rebooting automatically")
"""What a kernel says as it ends, whyever it does."""


class BootFailedError(TiltyardError):
    """A machine that was started and is no guest: it has ended, and is not there any more."""


class Guest:
    """A machine that runs; it does not hold the ledger's lock, so that it may outlive us."""

    def __init__(self, channel: Path, console: Path, check: Callable[[], None]) -> None:
        """Nothing is started yet.

        Args:
            channel: path of the pipes, in a directory of ours.
            console: file that what the kernel says is added to.
            check: called while waiting; raises if a person has asked to stop.
        """
        self._channel = Channel(channel, check, self._has_ended)
        self._console = console
        self._said_before = console.stat().st_size if console.exists() else 0
        self._process: subprocess.Popen[bytes] | None = None

    def boot(
        self,
        command: Callable[[int, int], Sequence[str]],
        environment: Mapping[str, str],
        limit_s: float,
    ) -> tuple[Command, Hello]:
        """Start the machine and wait until the guest is ready.

        Args:
            command: makes the command from the descriptors of the pipes into the guest and out.
            environment: carries the mark of the change that is recorded of it.
            limit_s: how long it may take.

        Raises:
            BootFailedError: if it has ended, and the pipes are gone; another boot may do better.
            TiltyardError: if it says nothing; the message has its last words, too.
        """
        pipes = self._channel.make()
        argv = tuple(command(*pipes))
        began = time.monotonic()
        try:
            with self._opened_console() as console:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    env=dict(environment),
                    pass_fds=pipes,
                    start_new_session=True,
                )
        finally:
            # The machine alone keeps them open, so that its end is the end of what can be heard.
            for pipe in pipes:
                os.close(pipe)
        try:
            hello = self._channel.hello(limit_s)
        except Lost as lost:
            why = f"the guest did not boot: it {lost}{self._last_words()}"
            if not isinstance(lost, Ended):
                raise TiltyardError(why) from None
            self.switch_off()
            self._channel.remove()
            raise BootFailedError(why) from None
        return Command(argv=argv, elapsed_s=time.monotonic() - began), hello

    def ask(self, what: JsonValue) -> dict[str, str]:
        """Ask for something and wait until it is done; what was found.

        Raises:
            TiltyardError: if it is refused, or there is no guest any more.
        """
        try:
            return self._channel.ask(what, _ANSWERS_S)
        except Lost as lost:
            raise TiltyardError(f"the guest {lost}{self._last_words()}") from None

    def read(self, *paths: str) -> dict[str, str]:
        """Small files of the guest by path, those that cannot be read left out."""
        return self.ask({"read": {"paths": list(paths)}})

    def switch_off(self) -> None:
        """Switch it off, if it still listens, and wait for the end of its process."""
        if self._process is None:
            return
        if self._process.poll() is None:
            try:
                self._channel.ask("power_off", _ENDS_S)
                self._process.wait(_ENDS_S)
            except (Lost, subprocess.TimeoutExpired):
                self._process.kill()
        self._process.wait()
        self._process = None

    @property
    def pid(self) -> int:
        """The process that is the machine."""
        assert self._process is not None
        return self._process.pid

    def _has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _opened_console(self) -> BinaryIO:
        """A file of ours, whatever somebody has laid in its place."""
        return os.fdopen(open_to_change(self._console, os.O_APPEND), "a+b")

    def _last_words(self) -> str:
        """Why it ended, as far as this boot has said."""
        with self._opened_console() as console:
            size_bytes = console.seek(0, os.SEEK_END)
            console.seek(max(self._said_before, size_bytes - _TAIL_BYTES))
            text = console.read(_TAIL_BYTES).decode(errors="replace")
        file = f"{self._console.parent.name}/{self._console.name}"
        return f"; its last words: {cause(text) or 'nothing'} ({file})"


def cause(text: str) -> str | None:
    """Why a guest has ended, in the words of whoever knew, else the last line before the farewell.

    The engine picks them likewise for a guest that dies in a trial (``engine/guest/src/into.rs``).
    """
    lines = [line.strip() for line in reversed(text.splitlines()) if line.strip()]
    told = [line for mark in _CAUSES for line in lines if mark in line]
    others = [line for line in lines if not any(word in line for word in _FAREWELLS)]
    return next(iter((*told, *others, *lines)), None)
