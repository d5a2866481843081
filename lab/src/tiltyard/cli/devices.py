"""``tiltyard devices``: disks, what is on them, and which a study could have."""

from tiltyard.cli.printing import WORDS, Printing


def devices(*, printing: Printing = WORDS) -> None:
    """List the block devices of this host, and print what a study says to use the blank ones.

    Looks only; nothing is changed. Only root can look into devices. A device is blank if no
    signature is on it and what is looked at is zero; a used one is never touched.

    ```
    tiltyard devices
    tiltyard devices --json | jq -r '.devices[] | select(.usable) | .toml'
    ```

    Args:
        printing: Options of what is printed.
    """
    from rich.text import Text

    from tiltyard.app.devices import devices as found_devices
    from tiltyard.cli.console import say, show, tell
    from tiltyard.report.stacking import StackingTable
    from tiltyard.units import format_size

    printing.begin()
    found = found_devices()
    if printing.emit(found):
        return
    table = StackingTable("Device", "Size", "What", "For a study")
    for disk in found.devices:
        use = "blank: could be used" if disk.usable else f"no: {disk.reason}"
        table.add_row(Text(disk.node), format_size(disk.size_bytes), Text(disk.model), Text(use))
    show(table)
    for disk in found.devices:
        if disk.usable:
            say(f"\n# {disk.node}: all that is on it after the study is gone; it is left blank")
            say(disk.toml)
    if not any(disk.usable for disk in found.devices):
        say("")
        tell("Blank    none; a file system can be made on an image: backing = { image = … }")
