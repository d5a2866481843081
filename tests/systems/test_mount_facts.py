from pathlib import Path

import pytest

from tiltyard.host.mounts import Mount
from tiltyard.systems.filesystems import FILESYSTEMS
from tiltyard.systems.mount.facts import in_doubt


def doubts(asked: str, shown: str, synonyms: str = "ext4") -> list[str]:
    mount = Mount("0:1", Path("/m"), "x", "y", shown)
    return list(in_doubt(asked.split(), mount, FILESYSTEMS.named(synonyms).driver.synonyms))


@pytest.mark.parametrize(
    ("asked", "shown", "driver"),
    [
        ("noatime commit=60", "rw,noatime,commit=60", "ext4"),
        ("noatime,commit=60", "rw,noatime,commit=60", "ext4"),
        ("barrier=0", "rw,relatime,nobarrier", "ext4"),
        ("barrier=1", "rw,relatime", "ext4"),
        ("compress-force=zstd", "rw,compress-force=zstd:3", "btrfs"),
        ("compress", "rw,compress=zlib:3", "btrfs"),
        ("logbsize=256k", "rw,logbsize=256k", "xfs"),
        ("size=64M", "rw,size=65536k", "xfs"),
    ],
)
def test_what_the_kernel_shows_is_in_no_doubt(asked: str, shown: str, driver: str) -> None:
    assert doubts(asked, shown, driver) == []


@pytest.mark.parametrize(
    ("asked", "shown", "said"),
    [
        ("nobh", "rw,relatime", "nobh (the kernel does not show it: its own default, or ignored)"),
        ("commit=60", "rw,commit=5", "commit=60 (the kernel says commit=5)"),
        ("size=64M", "rw,size=32768k", "size=64M (the kernel says size=32768k)"),
        ("noatime", "rw,relatime", "noatime (the kernel does not show it: "),
        ("ro", "rw,relatime", "ro (the kernel does not show it: "),
    ],
)
def test_what_it_does_not_show_is_told(asked: str, shown: str, said: str) -> None:
    (doubt,) = doubts(asked, shown)
    assert doubt.startswith(said)
