"""The command line: one file a verb, one line in :data:`VERBS`.

A verb parses and calls; what it does lives in the rooms to its left. A verb's file is loaded when
it is called, and imports the heavy rooms inside its functions, so that ``--help`` answers at once.
"""

import errno
import io
import os
import resource
import shlex
import sys
import threading
import time
import warnings
from inspect import signature
from typing import TYPE_CHECKING, Final

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnknownOptionError,
    UnusedCliTokensError,
)

from tiltyard import __version__
from tiltyard.cli.commands import instead_of, translated
from tiltyard.cli.console import broken, err, out, remark
from tiltyard.errors import ExitCode, HostLacksError, TiltyardError, UsageError, WrittenWarning
from tiltyard.installation import repair
from tiltyard.phases import Phase, listening
from tiltyard.printable import one_line, visible
from tiltyard.units import format_duration

if TYPE_CHECKING:
    from rich.live import Live

VERBS: Final = (
    "demo",
    "compare",
    "gate",
    "recommend",
    "new",
    "check",
    "plan",
    "run",
    "status",
    "report",
    "combine",
    "export",
    "import_",
    "workloads",
    "tuning",
    "devices",
    "doctor",
    "record",
    "restore",
    "clean",
    "explain",
    "schema",
    "completion",
)


_DIGITS_OF_TIME: Final = 11
"""Of seconds since 1970, until the year 5138."""
_LEAST: Final = (
    ("v", resource.RLIMIT_AS, 2**27, 2**10),
    ("n", resource.RLIMIT_NOFILE, 2**7, 1),
)
"""Of ulimit: a letter, what it limits, what a command takes of it, and the unit.

The library that draws reserves more than 64 GiB of addresses, or ends the process.
"""
_DRAW_NOTHING: Final = ("restore", "clean", "status", "check", "doctor")
_THREADS: Final = 32
"""That libraries and we start, at most."""


def _shown_default(default: object) -> str | None:
    """What a help page says of a default: nothing of one that leaves out or switches off."""
    return None if default in (None, (), False) else str(default)


app = App(
    name="tiltyard",
    version=__version__,
    help_format="markdown",
    # Else the parser of Markdown is loaded for it.
    version_format="plaintext",
    default_parameter=Parameter(negative=(), show_default=_shown_default),
    suppress_keyboard_interrupt=False,
    help="""Compare systems honestly: file systems, kernels, settings, networks.

Tiltyard prepares each system, runs the same workloads on all of them in a fair order, and gives a
verdict with its interval: faster, slower, equivalent or undecided.

Begin with `tiltyard compare ext4 xfs btrfs` (root), or `tiltyard compare DIR_A DIR_B`.
""",
)
for place, verb in enumerate(VERBS):
    app.command(f"{__name__}.{verb}:{verb}", sort_key=place)


def main() -> None:
    """Run the command line; the exit code is one of :class:`tiltyard.errors.ExitCode`."""
    _accept_any_terminal()
    warnings.showwarning = _warn
    try:
        _require_time()
        arguments = [*translated(sys.argv[1:])]
        _require_room(*arguments[:1])
        with listening(PhaseLine()):
            if arguments in ([], ["--help"], ["-h"]):
                add_verbs()
                _load_verbs()
            elif arguments[0] not in app:
                add_verbs(arguments[0])
            code = app(
                arguments,
                console=out(),
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
    except CycloptsError as error:
        verb = " ".join(("tiltyard", *(error.command_chain or ())))
        code = _fail(f"{_told(error)} ({verb} --help)", ExitCode.USAGE)
    except TiltyardError as error:
        code = _fail(one_line(str(error)), error.exit_code)
    except KeyboardInterrupt:
        code = _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): that is its right, not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = ExitCode.DONE
    except MemoryError:
        code = _fail("there is too little memory. Fix: free some", ExitCode.HOST_LACKS)
    except ModuleNotFoundError as error:
        code = _fail(
            f"the Python package {error.name} is not installed. Fix: {repair(error.name)}",
            ExitCode.HOST_LACKS,
        )
    except OSError as error:
        # A full disk, a lost mount, a missing right: the host's matter, not a defect of ours.
        place = f"{error.filename}: " if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        fix = ". Fix: make room there; tiltyard clean shows what may go" if full else ""
        code = _fail(f"{place}{error.strerror or error}{fix}", ExitCode.HOST_LACKS)
    sys.exit(int(code or ExitCode.DONE))


def _require_time() -> None:
    """Libraries that write documents take the time from the environment, and fail at another one.

    Raises:
        UsageError: if it is none before the year 5138.
    """
    told = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not (told.isascii() and told.isdigit() and len(told) <= _DIGITS_OF_TIME):
        raise UsageError(
            f'SOURCE_DATE_EPOCH: "{told[:40]}" is no number of seconds since 1970. Fix: unset it'
        )


def _require_room(verb: str = "") -> None:
    """Libraries end the process, or panic, where a limit is too small.

    Args:
        verb: what is to be done; putting back and looking draw nothing.

    Raises:
        HostLacksError: at a limit of the shell, or of a batch system.
    """
    for letter, which, least, unit in _LEAST:
        limit = resource.getrlimit(which)[0]
        is_needed = letter != "v" or verb not in _DRAW_NOTHING
        if is_needed and limit != resource.RLIM_INFINITY and limit < least * unit:
            raise HostLacksError(
                f"ulimit -{letter} is {limit // unit}, and a command takes {least}. Fix: ulimit "
                f"-{letter} {least}, or let that of the batch system be as large"
            )
    ends = threading.Event()
    threads = [threading.Thread(target=ends.wait) for _ in range(_THREADS)]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError:
        raise HostLacksError(
            f"not even {_THREADS} threads can be started. Fix: raise ulimit -u, or pids.max of the "
            "control group"
        ) from None
    finally:
        ends.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def add_verbs(asked: str = "") -> None:
    """The verbs of packages: where help lists all, or one is asked for that is none of ours.

    Args:
        asked: the one; by default all.

    Raises:
        UsageError: if several have its name.
        PluginError: if it cannot be used.
    """
    from tiltyard.cli.installed import verbs

    for place, (name, verb) in enumerate(verbs(asked), len(VERBS)):
        if name not in app:
            app.command(verb, name=name, sort_key=place)


def _load_verbs() -> None:
    """The list of verbs has the first line of each; of a file that is not loaded it has none."""
    for verb in app:
        app[verb].help  # noqa: B018


def _told(error: CycloptsError) -> str:
    """What is wrong with a command line, in our words where there are better ones."""
    if isinstance(error, UnusedCliTokensError):
        return f"{shlex.join(error.unused_tokens or ())}: more than this command takes"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name, verb = error.argument.name, " ".join(error.command_chain or ())
        return f"{verb} needs {name}" if name.startswith("--") else str(error)
    unknown = error.token if isinstance(error, UnknownOptionError) else None
    if unknown is None:
        return str(error)
    option = (unknown.keyword or unknown.value or "").partition("=")[0]
    return instead_of(option) or _of_others(option) or str(error)


def _of_others(option: str) -> str:
    """Which verbs have an option that this one has not; empty if none has."""
    name = option.removeprefix("--").replace("-", "_")
    calls = ((verb.strip("_"), app[verb.strip("_")].default_command) for verb in VERBS)
    has = [
        verb
        for verb, call in calls
        if call
        and (taken := signature(call).parameters.get(name))
        and taken.kind is not taken.POSITIONAL_ONLY
    ]
    return f"{option} is an option of {' and '.join(has)}, not of this command" if has else ""


def _warn(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """A warning about what a person wrote, for people; those of libraries are for developers."""
    if issubclass(category, WrittenWarning):
        remark(f"Warning  {message}")


def _fail(message: str, code: ExitCode) -> ExitCode:
    """Print a message for people; nothing in it is for their terminal."""
    lines = broken(f"tiltyard: {visible(message)}", err())
    sys.stderr.writelines(f"{line}\n" for line in lines)
    return code


def _accept_any_terminal() -> None:
    """Show a character that the terminal's encoding lacks as "?"."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


_SILENT_S: Final = 0.9
"""What is shorter needs no words."""
_STEP_S: Final = 0.5
_COUNTED_S: Final = 3.0
"""From then on it is said for how long."""


class PhaseLine:
    """Shows the innermost phase by a thread of its own.

    It ends when it has seen no phase: those around short trials come faster than it can be
    started and waited for.
    """

    def __init__(self) -> None:
        """Nothing is shown yet."""
        self._phases: list[Phase] = []
        self._told: set[int] = set()
        self._thread: threading.Thread | None = None
        self._drawing = threading.Lock()
        self._line: Live | None = None

    def began(self, phase: Phase) -> None:
        """It may be shown from now on."""
        with self._drawing:
            self._phases.append(phase)
            if self._thread is None:
                self._thread = threading.Thread(target=self._show, daemon=True)
                self._thread.start()

    def ended(self, phase: Phase) -> None:
        """With the last one the line goes."""
        with self._drawing:
            self._phases.remove(phase)
            self._told.discard(id(phase))
            if not self._phases and self._line is not None:
                self._line.stop()
                self._line = None

    def _show(self) -> None:
        while True:
            time.sleep(_STEP_S)
            with self._drawing:
                if not self._phases:
                    self._thread = None
                    return
                self._tell(self._phases[-1])

    def _tell(self, phase: Phase) -> None:
        if phase.elapsed_s < _SILENT_S:
            return
        words = one_line(str(phase))
        if not err().is_terminal:
            if id(phase) not in self._told:
                self._told.add(id(phase))
                remark(f"Phase    {words}")
            return
        if phase.elapsed_s >= _COUNTED_S:
            words = f"{words}, {format_duration(phase.elapsed_s)}"
        from rich.live import Live
        from rich.text import Text

        if self._line is None:
            self._line = Live(console=err(), transient=True, auto_refresh=False)
            self._line.start()
        # What does not fit in one line would be left behind when the line moves.
        self._line.update(Text(words, no_wrap=True, overflow="ellipsis"), refresh=True)
