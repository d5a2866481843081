"""What the original programs did, as data: one file for each in ``tests/oracle/recorded``.

A file names the program, its version, source and machine, then holds command lines with the calls,
exit code and printed form of each. Where ours differs on purpose, a ``difference`` says what the
recorded text becomes, and why; the result must be ours exactly.
"""

import os
import re
import shlex
import shutil
import socket
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from support.sequences import by_file, compress, expand, in_order, without_random_offsets
from support.sockets import exchanged, trace_pair
from support.strace import Call, Execution, trace
from tiltyard.executors.engine import Engine

RECORDED: Final = Path(__file__).parents[1] / "oracle/recorded"

_DATE = re.compile(r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]+ )?\d{4}")
_NUMBER = re.compile(r"(?P<space> *)(?<![\w.])[-+]?\d+(?:\.\d+)?(?!\d|\.\d)")
_WIDTH_MIN = 10
"""Of a column among words; a number with fewer blanks is as wide as it happens to be."""
_WORD = re.compile(r"[A-Za-z]{2}")


@dataclass(frozen=True)
class Difference:
    """What ours does otherwise on purpose.

    Attributes:
        of: "calls", "server" (the calls of the server), "prints", or "paths": files whose calls are
            left out of both.
        theirs: expression over the recorded text.
        ours: what replaces each match.
        why: the reason, for the reader.
    """

    of: str
    theirs: str
    ours: str
    why: str


@dataclass(frozen=True)
class Recording:
    """One command line of an original; see `Original` for what all of them share."""

    original: "Original"
    argv: str
    exit: int = 0
    calls: str = ""
    server: str = ""
    prints: str = ""
    input: str = ""
    by_file: bool = False
    files: dict[str, str] = field(default_factory=dict)
    on_disk: bool = False
    is_timed: bool = False
    ours: str = ""
    """Options added to our command line."""
    why: str = ""
    """Why ours does something else altogether; what it does is in those that follow."""
    ours_exit: int = 0
    ours_calls: str = ""
    ours_server: str = ""
    ours_prints: str = ""

    def execute(
        self, program: Sequence[str | Path], server: Sequence[str | Path] = ()
    ) -> Execution:
        """The command line in a new directory, with this in place of the name of the program."""
        with _directory(in_memory=not self.on_disk) as directory:
            for name, content in self.files.items():
                path = directory / name
                if name.endswith("/"):
                    path.mkdir(parents=True)
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content)
            words = [*program, *shlex.split(self.argv)[1:]]
            return (
                trace_pair(words, server, directory)
                if server
                else trace(words, directory, self.input)
            )

    def words(self, calls: Sequence[Call]) -> list[str]:
        """The normal form of calls of either."""
        if self.original.server:
            return exchanged(calls, is_timed=self.is_timed)
        calls = self.compared(calls)
        if self.original.random_offsets:
            calls = without_random_offsets(calls)
        return by_file(calls) if self.by_file else in_order(calls)

    def compared(self, calls: Sequence[Call]) -> list[Call]:
        """The calls of either without those on files that are left out of both."""
        left_out = [each.theirs for each in self.original.differences if each.of == "paths"]
        return [call for call in calls if not any(re.search(each, call.path) for each in left_out)]

    def form(self, printed: str) -> str:
        """What was printed, without what changes from one execution to the next."""
        lines = printed.splitlines()
        if self.original.prints_from:
            begins = re.compile(self.original.prints_from)
            first = next((at for at, line in enumerate(lines) if begins.search(line)), len(lines))
            lines = lines[first:]
        forms = [_form(line, is_loose=bool(self.original.server)) for line in lines]
        if self.is_timed:
            # How many interim lines there are is a matter of time.
            forms = [form for form, following in pairwise([*forms, ""]) if form != following]
        return "".join(f"{form}\n" for form in forms)

    @property
    def expected_exit(self) -> int:
        """The exit code of ours."""
        return self.ours_exit if self.why else self.exit

    @cached_property
    def expected_words(self) -> list[str]:
        """The recorded calls with the differences of ours."""
        if self.why:
            return expand(self.ours_calls.splitlines())
        text = "".join(f"{word}\n" for word in expand(self.calls.splitlines()))
        return expand(self.original.apply("calls", text).splitlines())

    @cached_property
    def expected_server(self) -> list[str]:
        """The recorded calls of the server with the differences of ours."""
        if self.why:
            return expand(self.ours_server.splitlines())
        text = "".join(f"{word}\n" for word in expand(self.server.splitlines()))
        return expand(self.original.apply("server", text).splitlines())

    @cached_property
    def expected_form(self) -> str:
        """The recorded form with the differences of ours."""
        if self.why:
            return self.ours_prints
        return self.original.apply("prints", self.prints)


@dataclass(frozen=True)
class Original:
    """A program, where it came from and what was recorded of it.

    Attributes:
        path: the file of the recordings.
        facts: everything that the file says but the command lines.
    """

    path: Path
    facts: dict[str, Any]

    @property
    def program(self) -> str:
        """Its name on PATH."""
        return str(self.facts["program"])

    @property
    def prints_from(self) -> str:
        """What begins the first line that is compared; what precedes it is prose."""
        return str(self.facts.get("prints_from", ""))

    @property
    def server(self) -> str:
        """The program that it needs at the other end, if any."""
        return str(self.facts.get("server", ""))

    @property
    def random_offsets(self) -> bool:
        """Whether it draws offsets by the time of day."""
        return bool(self.facts.get("random_offsets", False))

    @property
    def differences(self) -> list[Difference]:
        """In the order in which they are applied."""
        return [Difference(**each) for each in self.facts.get("difference", [])]

    @cached_property
    def recordings(self) -> list[Recording]:
        """All command lines."""
        return [Recording(self, **line) for line in self.facts["line"]]

    def apply(self, of: str, text: str) -> str:
        """A recorded text as ours should be."""
        for difference in self.differences:
            if difference.of == of:
                text = re.sub(difference.theirs, difference.ours, text, flags=re.M)
        return text

    def printed(self, execution: Execution) -> str:
        """What the original printed its table on."""
        on_stderr = self.facts.get("prints_on") == "stderr"
        return execution.stderr if on_stderr else execution.stdout

    @property
    def fails_by_chance_with(self) -> str:
        """What it prints when it fails for another reason than what it was asked to do."""
        return str(self.facts.get("fails_by_chance_with", "\0"))

    def is_installed(self) -> bool:
        """Whether the version that was recorded is on PATH."""
        if shutil.which(self.program) is None:
            return False
        with TemporaryDirectory() as directory:
            done = subprocess.run(
                shlex.split(self.facts["identify"]),
                cwd=directory,
                input="quit\n",
                capture_output=True,
                text=True,
                check=False,
            )
        return str(self.facts["identified_by"]) in done.stdout + done.stderr


def missing(*programs: str) -> str:
    """What a test lacks that needs these programs, to be said where it is skipped."""
    lacking = [name for name in programs if shutil.which(name) is None]
    if lacking:
        return f"not on PATH: {', '.join(lacking)}"
    if "strace" in programs and subprocess.call(["strace", "-o", "/dev/null", "true"]):
        return "strace may not trace here: ptrace(2) is forbidden, as in some containers"
    return ""


def originals() -> list[Original]:
    """All that were recorded."""
    return [load(path) for path in sorted(RECORDED.glob("*.toml"))]


def load(path: Path) -> Original:
    """One of them."""
    return Original(path, tomllib.loads(path.read_text()))


def ours(recording: Recording) -> Execution:
    """The command line as the engine executes it."""
    classic = [Engine.find().path, "classic"]
    client = [*classic, recording.original.program, *shlex.split(recording.ours)]
    server = recording.original.server
    return recording.execute(client, [*classic, server] if server else ())


def theirs(recording: Recording) -> Execution:
    """The command line as the program on PATH executes it."""
    server = recording.original.server
    return recording.execute([recording.original.program], [server] if server else ())


def compressed(words: Sequence[str]) -> str:
    """As recordings hold it."""
    return "".join(f"{line}\n" for line in compress(words))


def _form(line: str, *, is_loose: bool) -> str:
    """A number becomes ``#``; where columns are aligned by blanks, at the end of its column.

    Those of netperf are aligned to the left, and wider where a number is.
    """
    line = re.sub(r"\t+", "\t", _DATE.sub("<date>", line))
    line = re.sub(rf"\b{re.escape(socket.gethostname())}\.\d+", "<host>.<pid>", line)
    if is_loose or "|" in line or line.startswith('"'):
        line = _NUMBER.sub(lambda match: " #" if match["space"] else "#", line)
        return re.sub(r"# +", "# ", line).rstrip()
    width_min = _WIDTH_MIN if _WORD.search(line) else 0

    def placeholder(match: re.Match[str]) -> str:
        if match["space"] and len(match[0]) >= width_min:
            return "#".rjust(len(match[0]))
        return " #" if match["space"] else "#"

    return _NUMBER.sub(placeholder, line).rstrip()


@contextmanager
def _directory(*, in_memory: bool) -> Iterator[Path]:
    """An empty one inside another that programs may write logs to.

    In memory what others ask of a disk meanwhile does not count; direct access needs a disk.
    """
    shared = Path("/dev/shm") if in_memory and os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(prefix="tiltyard-oracle-", dir=shared) as parent:
        directory = Path(parent) / "work"
        directory.mkdir()
        yield directory
