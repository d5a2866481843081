"""``tiltyard calibrate``: what this host and this instrument can show, found out on themselves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from tiltyard.calibration.subjects import OtherHost

_COMPARISONS = 10
_COMPARISONS_LONG = 60
_DELAYED = 20
"""Comparisons with known delays, however many there are without; --long has as many."""


def calibrate(
    *,
    workload: Annotated[tuple[str, ...], Parameter(name=["--workload", "-w"])] = (),
    systems: tuple[str, ...] = (),
    comparisons: int | None = None,
    minutes: float | None = None,
    long: bool = False,
    keep_spoiled: bool = False,
    folder: Path = Path("calibration"),
    host: str | None = None,
    ssh_options: Annotated[str, Parameter(allow_leading_hyphen=True)] = "",
    document: Path | None = None,
) -> int:
    """Let Tiltyard show its own error rates on this host.

    ```
    tiltyard calibrate                       # some twenty minutes
    tiltyard calibrate --long                # six times as many comparisons
    tiltyard calibrate -w random_read --systems directory --minutes 3
    tiltyard calibrate --host root@sut       # another host, from here
    ```

    One system is compared with itself again and again: how many verdicts are false? Known delays
    are injected, and known limits of bandwidth set: are they found? Reports of studies that are
    made here afterwards name this calibration and the smallest difference that it showed. Ctrl-C
    keeps what is finished; the same command goes on.

    Args:
        workload: What to calibrate on: random_read, random_write, tcp_rr (all three by default),
            or any workload of the engine (see `tiltyard workloads`), compared only with itself.
        systems: Kinds of systems: loop-image or directory, loopback or pair. By default an ext4
            image as root, else a directory in the folder; and the loopback.
        comparisons: How many of a system with itself, on each workload; rounded up to fives. By
            default 10. As many with each known delay, but not more than 20.
        minutes: Begin no further round of five comparisons that would not end within so many.
        long: 60 comparisons, with known delays as well.
        keep_spoiled: Count blocks that something disturbed, instead of replacing them.
        folder: Where to work, on the disk that studies will use; the results are there as well.
        host: Calibrate another host, as ssh knows it: what is compared is there, in the user's
            home. Studies of systems with that host name it.
        ssh_options: Options for ssh, as one would type them there.
        document: Write the calibration as a Markdown document too, without names or paths.
    """
    from tiltyard.calibration.calibrate import Wanted
    from tiltyard.calibration.calibrate import calibrate as carry_out
    from tiltyard.calibration.page import render_document, render_page
    from tiltyard.calibration.subjects import check_kinds, subjects
    from tiltyard.cli.calibrating import PartsDisplay, summary
    from tiltyard.cli.console import show
    from tiltyard.errors import ExitCode, InterruptedRunError, UsageError
    from tiltyard.executors.engine import Engine
    from tiltyard.folder import write_whole
    from tiltyard.host.calibrations import keep

    check_kinds(systems, elsewhere=host is not None)
    wanted_comparisons = comparisons or (_COMPARISONS_LONG if long else _COMPARISONS)
    if wanted_comparisons < 1 or (minutes is not None and minutes <= 0):
        raise UsageError("--comparisons and --minutes are numbers above zero")
    engine = Engine.find()
    wanted = Wanted(
        subjects=subjects(workload, engine.describe()),
        kinds=systems,
        comparisons=wanted_comparisons,
        delayed=wanted_comparisons if long else min(wanted_comparisons, _DELAYED),
        minutes=minutes,
        gates="keep" if keep_spoiled else "replace",
        host=_other(host, ssh_options),
    )
    try:
        with PartsDisplay() as display:
            found = carry_out(folder, wanted, engine, display)
    except InterruptedRunError:
        raise InterruptedRunError("everything finished is kept; the same command goes on") from None
    page = folder / "index.html"
    write_whole(folder / "calibration.json", found.document())
    write_whole(page, render_page(found).encode())
    if document is not None:
        write_whole(document, render_document(found).encode())
    keep(found.kept())
    show(summary(found, page, host or "this host"))
    return ExitCode.DONE if found.passed else ExitCode.REGRESSION


def _other(host: str | None, ssh_options: str) -> "OtherHost | None":
    """The host that is calibrated instead of this one."""
    import shlex

    from tiltyard.calibration.subjects import OtherHost
    from tiltyard.errors import UsageError

    if ssh_options and not host:
        raise UsageError("--ssh-options goes with --host")
    return OtherHost(host, tuple(shlex.split(ssh_options))) if host else None
