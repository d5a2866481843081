"""``tiltyard demo``: a first verdict on this host."""

from pathlib import Path

from tiltyard.cli.printing import WORDS, Printing
from tiltyard.ownership import home


def demo(*, folder: Path = Path("tiltyard-demo"), printing: Printing = WORDS) -> int:
    """Compare ext4, XFS and btrfs on fresh images, or directories without root: about 4 minutes.

    ```
    sudo tiltyard demo
    tiltyard demo --folder /var/tmp/demo
    ```

    Args:
        folder: Where the study folder is made.
        printing: Options of what is printed; the JSON document is that of the findings.
    """
    import os
    import tempfile

    from tiltyard.app.freeze import place_study
    from tiltyard.cli.compare import compare
    from tiltyard.cli.console import remark
    from tiltyard.cli.measuring import Measuring
    from tiltyard.cli.run import carried_out, shown
    from tiltyard.folder import StudyFolder
    from tiltyard.study.ready import ready_study

    printing.begin()
    if os.geteuid() == 0:
        target = StudyFolder(folder / "file-systems")
        place_study(target, ready_study("demo").text.encode())
        remark(f"Folder   {target.root}/")
        return shown(target, carried_out(target), printing, require_decision=False)
    remark(
        "Note     you are not root, so directories on the mounts that are there are compared; as "
        "root fresh ext4, XFS and btrfs images would be made, mounted in each block, and compared"
    )
    memory = Path("/dev/shm")
    second = memory if os.access(memory, os.W_OK) else home()
    return compare(
        tempfile.gettempdir(),
        str(second),
        workload=("postmark", "iozone"),
        measuring=Measuring(budget="4 min", disturbed="keep"),
        folder=folder / "directories",
        printing=printing,
    )
