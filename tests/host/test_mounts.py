from pathlib import Path

import pytest

from tiltyard.errors import HostLacksError
from tiltyard.host.mounts import mount_over, parse_mounts
from tiltyard.host.place import HERE, Place

TABLE = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
42 27 7:0 / /a\040b rw,noatime shared:5 master:1 - ext4 /dev/loop0 rw,stripe=4
43 27 0:39 /vol /a\040b/c rw,relatime - btrfs /dev/loop1 rw,relatime,subvolid=5
44 27 0:40 / /a\040b/c rw - tmpfs none\134 rw,size=4k
""".strip()


MOUNTS = parse_mounts(TABLE)


def test_fields_of_the_table() -> None:
    ext4 = MOUNTS[2]
    assert (ext4.device, ext4.target, ext4.type) == ("7:0", Path("/a b"), "ext4")
    assert ext4.source == "/dev/loop0"
    assert ext4.options == "rw,noatime,stripe=4"
    assert MOUNTS[-1].source == "none\\"


@pytest.mark.parametrize(
    ("path", "type"),
    [("/etc", "ext4"), ("/a b/x", "ext4"), ("/a b/c/deep/er", "tmpfs"), ("/a bc", "ext4")],
)
def test_the_mount_under_a_path(path: str, type: str) -> None:
    mount = mount_over(MOUNTS, Path(path))
    assert mount is not None
    assert mount.type == type


def test_the_kernel_of_this_host_is_understood() -> None:
    assert HERE.mount_of(Path("/proc/self")).type == "proc"


def test_a_chroot_that_is_no_mount_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the kernel shows what is mounted below the root, and no root."""
    table = parse_mounts("36 35 0:22 / /proc rw - proc proc rw")
    monkeypatch.setattr(Place, "mounts", lambda _: table)
    with pytest.raises(HostLacksError, match=r"Fix: .*mount --bind ROOT ROOT$"):
        HERE.mount_of(Path("/usr"))
