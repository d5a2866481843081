"""The table ``[placement]``: what is wrong with it."""

from pathlib import Path

import pytest

from tiltyard.executors.engine import Engine
from tiltyard.study.load import read_study
from tiltyard.study.problems import StudyFileError
from tiltyard.systems import KINDS


@pytest.mark.parametrize(
    ("placement", "more", "flaw"),
    [
        ('engine = "slurm"', "", "placement.nodes: .*needs nodes"),
        ("nodes = 2", "", "placement.hosts: .*needs hosts"),
        ('hosts = ["a", "a"]', "", "placement.hosts: names a host twice"),
        ('hosts = ["a", "b"]\nnodes = 2', "", "placement.nodes: is not for"),
        ('hosts = ["-oProxyCommand=x"]', "", "placement.hosts"),
        ('engine = "slurm"\nnodes = 2\npartition = "-x"', "", "placement.partition"),
        ('hosts = ["a", "b"]', '[systems]\nreset = "reboot"\n', "placement: does not boot its"),
        ('hosts = ["a", "b"]', '[systems]\nhost = "c"\n', "placement: says which hosts"),
        ('hosts = ["a", "b"]', "[precision]\nsessions = 3\nblocks = 3\n", "sessions: a host"),
        ('hosts = ["a", "b"]', "[precision]\nblocks = 2\n", "blocks: 2 is too small: at least 3"),
    ],
)
def test_flaws(placement: str, more: str, flaw: str) -> None:
    kind = 'filesystem = ["ext4", "xfs"]' if "systems" in more else 'directory = ["o", "n"]'
    text = f"""question = "?"
[factors]
{kind}
[[workload]]
use = "random"
{more}[placement]
{placement}
"""
    with pytest.raises(StudyFileError, match=flaw):
        read_study(text, Path("study.toml"), Engine.find().describe(), KINDS)
