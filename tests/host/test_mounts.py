from pathlib import Path

import pytest

from tiltyard.errors import HostLacksError
from tiltyard.host import mounts as module
from tiltyard.host.mounts import mount_of, mounts, mounts_at, mounts_in

TABLE = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
42 27 7:0 / /a\040b rw,noatime shared:5 master:1 - ext4 /dev/loop0 rw,stripe=4
43 27 0:39 /vol /a\040b/c rw,relatime - btrfs /dev/loop1 rw,relatime,subvolid=5
44 27 0:40 / /a\040b/c rw - tmpfs none\134 rw,size=4k
""".strip()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mountinfo"
    path.write_text(TABLE + "\n")
    monkeypatch.setattr(module, "_MOUNTINFO", path)


@pytest.mark.usefixtures("table")
def test_fields_of_the_table() -> None:
    ext4 = mounts()[2]
    assert (ext4.device, ext4.target, ext4.type) == ("7:0", Path("/a b"), "ext4")
    assert ext4.source == "/dev/loop0"
    assert ext4.options == "rw,noatime,stripe=4"


@pytest.mark.usefixtures("table")
def test_the_topmost_of_stacked_mounts_is_last() -> None:
    assert [mount.type for mount in mounts_at(Path("/a b/c"))] == ["btrfs", "tmpfs"]
    assert mounts()[-1].source == "none\\"


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("path", "type"),
    [("/etc", "ext4"), ("/a b/x", "ext4"), ("/a b/c/deep/er", "tmpfs"), ("/a bc", "ext4")],
)
def test_the_mount_under_a_path(path: str, type: str) -> None:
    assert mount_of(Path(path)).type == type


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("directory", "types"),
    [
        ("/a b", ["ext4", "btrfs", "tmpfs"]),
        ("/a b/c", ["btrfs", "tmpfs"]),
        ("/a", []),
        ("/a b/c/d", []),
    ],
)
def test_what_is_mounted_in_a_directory(directory: str, types: list[str]) -> None:
    assert [mount.type for mount in mounts_in(Path(directory))] == types


def test_the_kernel_of_this_host_is_understood() -> None:
    assert mount_of(Path("/proc/self")).type == "proc"


def test_a_chroot_that_is_no_mount_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the kernel shows what is mounted below the root, and no root."""
    table = tmp_path / "mountinfo"
    table.write_text("36 35 0:22 / /proc rw - proc proc rw\n")
    monkeypatch.setattr(module, "_MOUNTINFO", table)
    with pytest.raises(HostLacksError, match=r"Fix: .*mount --bind ROOT ROOT$"):
        mount_of(Path("/usr"))
