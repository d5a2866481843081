"""Each ready profile in a comparison: its real program, small, on two systems, through a study."""

import io
from typing import Final

import pytest
from rich.console import Console

from support.hosts import needs_root
from support.runs import one_block
from support.said import said_in
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings, WorkloadFindings
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.report.terminal import verdicts
from tiltyard.run.record import RunRecord
from tiltyard.study.toml import toml_key, toml_value
from tiltyard.workloads.catalogue import ProfileCard, catalogue_of

FILES: Final = """\
question = "Which file system?"
[factors]
filesystem = ["ext4", "xfs"]
[systems]
backing = { image = "512M" }
"""
PAGES: Final = """\
question = "What do huge pages change?"
[factors]
tuning = { never = "./never.toml", always = "./always.toml" }
"""
NETWORK: Final = """\
question = "What does a faster path with jumbo frames change?"
[factors]
path = { "1500" = { mtu = 1500, rate = "50mbit" }, "9000" = { mtu = 9000, rate = "400mbit" } }
"""
COMPUTING: Final = ("openssl", "stress-ng", "sysbench-cpu", "sysbench-memory")
"""Profiles that need no file system."""
ENDS: Final = ("iperf3", "sockperf")
"""Those that have two ends."""
ELSEWHERE: Final = {
    "kernel-build": "conformance/test_kernel_build.py: its source is a package of 140 MB",
    "pgbench": "run/test_service_studies.py: studies/database.toml",
}
"""Ready profiles that are compared in another test, and where."""
TOO_SHORT: Final = {"bonnie": "prints +++++ for rates of less than half a second"}
"""Those whose smoke test is too short for their headlines, and why."""

CARDS = catalogue_of(Engine.find()).whole()
READY = {card.name: card for card in CARDS.workloads if isinstance(card, ProfileCard)}
ENGINES = {
    metric.name for card in CARDS.workloads if card.name == "program" for metric in card.metrics
}

pytestmark = needs_root


@pytest.fixture
def folder(open_folder: StudyFolder) -> StudyFolder:
    """Where a study is carried out."""
    return open_folder


def compared(folder: StudyFolder, head: str, names: tuple[str, ...]) -> tuple[RunRecord, Findings]:
    """One block of a study of profiles at their smoke sizes; all of its trials are done."""
    tables = []
    for name in names:
        keys = {"use": name, **READY[name].smoke}
        lines = (f"{toml_key(key)} = {toml_value(value)}" for key, value in keys.items())
        tables.append("\n".join(("[[workload]]", *lines)))
    folder.study.write_text("\n\n".join((head, *tables)))
    plan, record = one_block(folder)
    assert len(record.trials) == 2 * len(names)
    return record, analyse(plan, record)


def assert_compared(findings: Findings, names: tuple[str, ...]) -> None:
    """Every metric has a value on both systems, headlines among them, and a table names both."""
    systems = {system.name for system in findings.systems}
    assert len(systems) == 2
    assert [workload.use for workload in findings.workloads] == list(names)
    for workload in findings.workloads:
        measured = {cell.metric for cell in (*workload.cells, *workload.details)}
        for cell in (*workload.cells, *workload.details):
            valued = {one.system for one in cell.summaries if len(one.values) == 1}
            assert valued == systems, f"{workload.name}, {cell.metric} {cell.at_label}"
        assert "time" in measured
        assert_headlines(workload, measured)
    text = io.StringIO()
    Console(file=text, width=200).print(verdicts(findings))
    lines = text.getvalue().splitlines()
    for system in systems:
        rows = [line for line in lines if line.split()[:1] == [system]]
        assert len(rows) >= len({*names} - TOO_SHORT.keys()), f"{system}: {lines}"


def assert_headlines(workload: WorkloadFindings, measured: set[str]) -> None:
    """Those that a profile's card promises, in its unit."""
    cards = {metric.name: metric for metric in READY[workload.use].metrics}
    headlines = {name for name, metric in cards.items() if metric.role == "headline"}
    if workload.use in TOO_SHORT:
        headlines = cards.keys() - ENGINES
    assert measured & headlines, f"{workload.name}: {sorted(measured)} of {sorted(headlines)}"
    for cell in workload.cells:
        assert cell.unit == cards[cell.metric].unit
        assert all(one.mean > 0 for one in cell.summaries), f"{workload.name}, {cell.metric}"


def test_every_ready_profile_is_compared_here() -> None:
    """But those of ELSEWHERE: whatever is new and in no other list is one of files."""
    assert {*COMPUTING, *ENDS, *ELSEWHERE, *TOO_SHORT} <= READY.keys()


def test_profiles_of_files_on_two_file_systems(folder: StudyFolder) -> None:
    names = tuple(name for name in READY if name not in (*COMPUTING, *ENDS, *ELSEWHERE))
    assert len(names) >= 11
    record, findings = compared(folder, FILES, names)
    assert_compared(findings, names)
    for turn in record.prepared:
        assert turn.facts["file system"] == turn.system


def test_profiles_of_computing_with_two_settings(folder: StudyFolder) -> None:
    for value in ("never", "always"):
        text = f'about = "huge pages: {value}"\n[hugepages]\nenabled = "{value}"\n'
        (folder.root / f"{value}.toml").write_text(text)
    _, findings = compared(folder, PAGES, COMPUTING)
    assert_compared(findings, COMPUTING)


def test_profiles_of_two_ends_over_two_paths(folder: StudyFolder) -> None:
    """The server's address is only in its own namespace; segments and rates fit the path.

    A rate counts Ethernet headers, and a bucket that is full at first is 256 KiB.
    """
    record, findings = compared(folder, NETWORK, ENDS)
    assert_compared(findings, ENDS)
    for trial in record.trials:
        text = said_in(folder.root / str(trial.file)).decode()
        assert "198.18.0.2" in text
        if trial.key.workload == "iperf3":
            segment = int(text.partition('tcp_mss_default\\":\\t')[2].partition(",")[0])
            assert int(trial.key.system) - 60 <= segment < int(trial.key.system)
            bytes_s = {"1500": 50e6 / 8, "9000": 400e6 / 8}[trial.key.system]
            (got,) = (one.value for one in trial.samples if one.metric == "throughput")
            assert bytes_s / 3 < got <= bytes_s + 2**18
