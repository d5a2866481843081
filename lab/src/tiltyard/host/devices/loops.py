"""Loop devices, as sysfs shows them. Only reads; ops do the rest."""

from pathlib import Path

from tiltyard.host.place import HERE, Place

NAME = "loopN"
"""Output: which loop device it is."""
ANY = f"/dev/{NAME}"
"""Stands for a loop device that is not there yet."""
_BLOCK = Path("/sys/block")
_CLASS = Path("/sys/class/block")


def backing_file(device: str, place: Place = HERE) -> Path | None:
    """The file behind ``/dev/loopN``, or ``None`` if nothing is attached."""
    text = place.read(_BLOCK / Path(device).name / "loop" / "backing_file")
    return None if text is None else _file_behind(text)


def _file_behind(text: str) -> Path:
    return Path(text.removesuffix(" (deleted)"))


def devices_of(image: Path) -> list[str]:
    """The loop devices of this host that an image is attached to."""
    files = HERE.ask(lambda host: host.read(files=[f"{_BLOCK}/loop*/loop/backing_file"])).files
    behind = ((Path(path).parts[3], text.strip()) for path, text in files.items())
    return [f"/dev/{name}" for name, text in behind if _file_behind(text) == image]


def does_direct_io(device: str, place: Place = HERE) -> bool:
    """Whether the loop driver passes the host's page cache by."""
    return place.read(_BLOCK / Path(device).name / "loop" / "dio") == "1"


def queue_setting(device: str, name: str, place: Place = HERE) -> Path:
    """The file of a setting of a block device's queue, such as ``scheduler``.

    A partition has the queue of its disk.
    """
    if Path(device).name.startswith("loop"):
        return _BLOCK / Path(device).name / "queue" / name
    entry = str(_CLASS / Path(device).name)
    found = Path(place.find_all([entry]).get(entry, entry))
    disk = found if place.read(f"{entry}/partition") is None else found.parent
    return _BLOCK / disk.name / "queue" / name
