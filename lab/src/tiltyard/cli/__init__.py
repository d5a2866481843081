"""The command line: one file a verb, one line in :data:`VERBS`.

A verb parses and calls; what it does lives in the rooms to its left. Verb modules import the heavy
rooms inside their functions, so that ``--help`` answers at once.
"""

import os
import sys
from collections.abc import Callable

from cyclopts import App, CycloptsError

from tiltyard import __version__
from tiltyard.cli.calibrate import calibrate
from tiltyard.cli.check import check
from tiltyard.cli.compare import compare
from tiltyard.cli.doctor import doctor
from tiltyard.cli.new import new
from tiltyard.cli.plan import plan
from tiltyard.cli.record import record
from tiltyard.cli.report import report
from tiltyard.cli.restore import restore
from tiltyard.cli.run import run
from tiltyard.cli.schema import schema
from tiltyard.cli.status import status
from tiltyard.cli.tuning import tuning
from tiltyard.cli.workloads import workloads
from tiltyard.errors import ExitCode, TiltyardError

VERBS: tuple[Callable[..., int | None], ...] = (
    compare,
    new,
    check,
    plan,
    run,
    status,
    report,
    workloads,
    tuning,
    doctor,
    record,
    calibrate,
    restore,
    schema,
)

app = App(
    name="tiltyard",
    version=__version__,
    help_format="markdown",
    help="""Compare systems honestly: file systems, kernels, settings, networks.

Tiltyard prepares each system, runs the same workloads on all of them in a fair order, and gives a
verdict with its interval: faster, slower, equivalent or undecided.

Begin with `tiltyard compare ext4 xfs btrfs` (root), or `tiltyard compare DIR_A DIR_B`.
""",
)
for verb in VERBS:
    app.command(verb)


def main() -> None:
    """Run the command line; the exit code is one of :class:`tiltyard.errors.ExitCode`."""
    try:
        code = app(exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        code = _fail(f"{error} (tiltyard --help)", ExitCode.USAGE)
    except TiltyardError as error:
        code = _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        code = _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): that is its right, not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = ExitCode.DONE
    except OSError as error:
        # A full disk, a lost mount, a missing right: the host's matter, not a defect of ours.
        place = f"{error.filename}: " if error.filename else ""
        code = _fail(f"{place}{error.strerror or error}", ExitCode.HOST_LACKS)
    sys.exit(int(code or ExitCode.DONE))


def _fail(message: str, code: ExitCode) -> ExitCode:
    """Print one line for people."""
    sys.stderr.write(f"tiltyard: {message}\n")
    return code
