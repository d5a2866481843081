"""What the kernel says of a device's bandwidth (cgroup v1, blkio)."""

from pathlib import Path


def limits_of(device: str) -> set[int]:
    """Bytes per second that reads and writes of a device are limited to; 0 where there is none."""
    number = Path("/sys/class/block", Path(device).name, "dev").read_text().strip()
    found = set()
    for way in ("read", "write"):
        text = Path(f"/sys/fs/cgroup/blkio/blkio.throttle.{way}_bps_device").read_text()
        said = dict(line.split() for line in text.splitlines())
        found.add(int(said.get(number, 0)))
    return found
