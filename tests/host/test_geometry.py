"""What mkfs made, as the file system's own tool tells it: on real images."""

import subprocess
from pathlib import Path

import pytest

from support.looks import find_program
from tiltyard.host.record.geometry import geometry, geometry_told
from tiltyard.host.record.section import ABSENT


@pytest.mark.parametrize(
    ("type_", "options", "size", "facts"),
    [
        ("ext4", ("-q", "-b", "4096", "-I", "512"), "64M", {"inode size": "512"}),
        ("ext2", ("-q",), "16M", {"RAID stride": None, "journal": None}),
        ("btrfs", ("-q", "-n", "4096"), "160M", {"node size": "4096", "sector size": "4096"}),
    ],
)
def test_a_fresh_image(
    type_: str, options: tuple[str, ...], size: str, facts: dict[str, str | None], tmp_path: Path
) -> None:
    image = tmp_path / "image"
    subprocess.run(("truncate", "-s", size, image), check=True)
    program = find_program(f"mkfs.{type_}")
    assert program is not None, "make setup-dev"
    subprocess.run((program, *options, image), check=True, capture_output=True)
    found = geometry(type_, str(image))
    assert "features" in found
    assert {fact: found.get(fact) for fact in facts} == facts


XFS = """\
meta-data=/dev/loop0             isize=512    agcount=4, agsize=25600 blks
         =                       sectsz=512   attr=2, projid32bit=1
data     =                       bsize=4096   blocks=102400, imaxpct=25
naming   =version 2              bsize=4096   ascii-ci=0, ftype=1
log      =internal log           bsize=4096   blocks=16384, version=2
"""


def test_what_xfs_info_prints() -> None:
    assert geometry_told("xfs", XFS) == {
        "meta-data": "isize=512 agcount=4 agsize=25600 sectsz=512 attr=2 projid32bit=1",
        "data": "bsize=4096 blocks=102400 imaxpct=25",
        "naming": "bsize=4096 ascii-ci=0 ftype=1",
        "log": "bsize=4096 blocks=16384 version=2",
    }


def test_a_device_that_cannot_be_asked(tmp_path: Path) -> None:
    assert geometry("ext4", str(tmp_path / "nothing")) == {"geometry": ABSENT}
    assert geometry("tmpfs", "tmpfs") == {}
