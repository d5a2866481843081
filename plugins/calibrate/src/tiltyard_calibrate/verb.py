"""``tiltyard calibrate``: what this host and this instrument can show, found out on themselves."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tiltyard.cli.host_options import THIS, HostOptions

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
    keep_disturbed: bool = False,
    folder: Path = Path("calibration"),
    other: HostOptions = THIS,
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
    keeps what is finished; the same command goes on. On another host, what is compared is in the
    user's home there; studies of systems with that host name its calibration.

    Args:
        workload: What to calibrate on: random_read, random_write, tcp_rr (all three by default),
            or any workload of the engine (see `tiltyard workloads`), compared only with itself.
        systems: Kinds of systems: loop-image or directory, loopback or pair. By default an ext4
            image as root, else a directory in the folder; and the loopback.
        comparisons: How many of a system with itself, on each workload; rounded up to fives. By
            default 10. As many with each known delay, but not more than 20.
        minutes: Begin no further round of five comparisons that would not end within so many.
        long: 60 comparisons, with known delays as well.
        keep_disturbed: Count blocks that something disturbed, instead of replacing them.
        folder: Where to work, on the disk that studies will use; the results are there as well.
        other: The host, if it is not this one.
        document: Write the calibration as a Markdown document too, without names or paths.
    """
    from tiltyard.cli.console import show
    from tiltyard.errors import ExitCode, InterruptedRunError, UsageError
    from tiltyard.executors.engine import Engine
    from tiltyard.folder import write_whole
    from tiltyard.host.calibrations import keep
    from tiltyard_calibrate.calibrate import Wanted
    from tiltyard_calibrate.calibrate import calibrate as carry_out
    from tiltyard_calibrate.page import render_document, render_page
    from tiltyard_calibrate.subjects import check_kinds, subjects
    from tiltyard_calibrate.terminal import PartsDisplay, summary

    check_kinds(systems, is_remote=other.address.is_remote)
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
        disturbed="keep" if keep_disturbed else "replace",
        address=other.address,
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
    show(summary(found, page, str(other.address)))
    return ExitCode.DONE if found.passed else ExitCode.REGRESSION
