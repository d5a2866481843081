"""The same study here and on another host gives the same verdicts: the way there adds nothing.

The other host is this one, through a real ssh: whatever differs is the work of the way, of what
prepares systems there, or chance.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import Watcher
from support.sshd import Sshd, sshd
from tiltyard.analysis.decision import decision
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Comparison
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.plan.freeze import freeze
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.load import load_study
from tiltyard.systems import KINDS

pytestmark = [pytest.mark.conformance, needs_root]

BLOCKS = 9
FILES = """\
question = "Is XFS faster than ext4, and than an ext4 whose calls take 50 us longer?"
seed = 1
[factors.system]
ext4    = {{ filesystem = "ext4" }}
xfs     = {{ filesystem = "xfs" }}
delayed = {{ filesystem = "ext4", inject_ns = 50_000 }}
[systems]
backing = {{ image = "320M", at = "memory" }}
{host}
[[workload]]
use = "postmark"
files = 500
transactions = 5_000
"""
NETWORK = """\
question = "What do 200 us before each call cost?"
seed = 1
[factors]
inject_ns = {{ plain = 0, delayed = 200_000 }}
[systems]
{host}
[[workload]]
use = "tcp_rr"
transactions = 5_000
"""
PRECISION = f"""\
[precision]
blocks = {BLOCKS}
[noise]
disturbed = "keep"
"""


def comparisons(root: Path, text: str) -> dict[tuple[str, str], Comparison]:
    """(system, against) → its comparison, of a study that is carried out."""
    root.mkdir()
    folder, engine = StudyFolder(root), Engine.find()
    write_whole(folder.study, (text + PRECISION).encode())
    catalogue = engine.describe()
    study = load_study(folder.study, catalogue, KINDS)
    plan = freeze(study, folder.study, catalogue, engine.validate, datetime.now(UTC))
    write_plan(folder, plan)
    run_study(folder, plan, engine, lambda run: decision(analyse(plan, run)), Watcher())
    findings = analyse(plan, read_run(folder, plan))
    assert (findings.look, findings.trials_failed) == (BLOCKS, 0)
    (workload,) = findings.workloads
    return {(one.system, one.against): one for one in workload.index.comparisons}


def require_same(here: Comparison, there: Comparison) -> None:
    """Neither claims the contrary of the other, and their intervals have a ratio in common."""
    assert {here.verdict, there.verdict} != {"faster", "slower"}, (here.sentence, there.sentence)
    assert here.low is not None
    assert here.high is not None
    assert there.low is not None
    assert there.high is not None
    assert max(here.low, there.low) <= min(here.high, there.high), (here.sentence, there.sentence)


def test_file_systems(tmp_path: Path) -> None:
    here = comparisons(tmp_path / "here", FILES.format(host=""))
    with sshd(tmp_path / "server", state=tmp_path / "state") as server:
        there = comparisons(tmp_path / "there", FILES.format(host=_host("host", server)))
    assert here.keys() == there.keys()
    for pair, comparison in here.items():
        require_same(comparison, there[pair])
        if "delayed" in pair:
            assert comparison.verdict == there[pair].verdict != "undecided"


def test_a_network(tmp_path: Path) -> None:
    (here,) = comparisons(tmp_path / "here", NETWORK.format(host='kind = "loopback"')).values()
    with sshd(tmp_path / "server") as server:
        host = f'kind = "hosts"\n{_host("server", server)}'
        (there,) = comparisons(tmp_path / "there", NETWORK.format(host=host)).values()
    require_same(here, there)
    assert here.verdict == there.verdict != "undecided"


def _host(key: str, server: Sshd) -> str:
    return f'{key} = "{server.far}"\nssh_options = {server.options}'
