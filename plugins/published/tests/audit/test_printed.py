"""The printed studies: exactly these contradictions, and what a changed digit does to a claim.

Each contradiction was looked up in the text of its study by hand before it was written down here.
"""

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree

import pytest

from support.publications import PUBLISHED, STUDIES
from tiltyard.collected.audited import Audited, Outcome
from tiltyard_published.audit.audit import GENERAL
from tiltyard_published.read import read_publication
from tiltyard_published.study import audited

Audits = Mapping[str, tuple[Audited, ...]]

CONTRADICTED: dict[str, dict[str, tuple[str, str]]] = {
    "iozone-magazine": {
        "records-of-1-kb": ("1,000,000", "16,777,216"),
        "third-record-size": ("28M", "8M"),
    },
    "iozone-rhel6": {
        "in-cache-ext4-optimized": ("38.4 %", "33.4 %"),
        "direct-xfs-out-of-box": ("7.8 %", "6.8 %"),
        "compilation-for-32-bits": ("CC = cc -m32", "CC = cc"),
        "thirteen-fields": (
            "13 fields",
            "13 ranges after the first 2, 33-40, 41-49, 40-58 overlap",
        ),
    },
    "linux-3.13": {},
    "netperf-rhel6": {
        "tcp-nearly-two-times": (
            "nearly 2, taken as 1.7 to 2 times more",
            "2.90 to 3.69 times as much; 1.90 to 2.69 times more",
        ),
        "udp-nearly-three-times": (
            "nearly 3, taken as 2.55 to 3 times as much",
            "3.68 times as much",
        ),
        "target-of-the-windows-tests": (
            "to the server under test (192.168.41.234)",
            "to the traffic generator (192.168.41.236)",
        ),
        "up-to-two-times": (
            "up to 2, its largest taken as 1.7 to 2 times more",
            "1.01 to 3.69 times as much; 0.01 to 2.69 times more",
        ),
        "memory-under-test": ("128 GB", "64 GB"),
        "memory-traffic-generator": ("64 GB", "32 GB"),
        "kernel-of-step-2": ("2.6.32-358.6.1.el6.x86_64", "2.6.32-358.1.1.el6.x86_64"),
    },
    "postmark-systems": {"btrfs-among-the-tested": ("BTRFS", "NTFS, XFS, EXT4")},
}
ROUNDING: dict[str, set[str]] = {
    "iozone-magazine": {
        "records-of-the-example",
        "records-of-1-mb",
        "records-of-4-mb",
        "records-of-8-mb",
        "records-of-16-mb",
    },
    "iozone-rhel6": {
        "figure-1-ext4-ntfs-in-cache-ext4-out-of-box",
        "figure-1-ext4-ntfs-out-of-cache-ext4-out-of-box",
        "figure-1-ext4-ntfs-out-of-cache-ntfs-out-of-box",
        "figure-1-ext4-ntfs-out-of-cache-ntfs-optimized",
        "figure-1-xfs-refs-direct-refs-out-of-box",
        # Rounded twice: 65.146 and 15.248.
        "figure-1-ext4-ntfs-in-cache-delta-out-of-box",
        "figure-1-xfs-refs-direct-delta-optimized",
        "in-cache-ext4-out-of-box",
        "direct-xfs-optimized",
        "as-much-as-ext4-out-of-box",
    },
    "linux-3.13": set(),
    "netperf-rhel6": {
        "largest-tcp-message",
        "up-to-three-times",
    },
    "postmark-systems": set(),
}
FOLLOWING = {
    "iozone-magazine": 31,
    "iozone-rhel6": 74,
    "linux-3.13": 8,
    "netperf-rhel6": 130,
    "postmark-systems": 6,
}


def of(found: tuple[Audited, ...], outcome: Outcome) -> dict[str, Audited]:
    return {one.id: one for one in found if one.outcome == outcome}


@pytest.mark.parametrize("study", STUDIES)
def test_exactly_these_contradictions(audits: Audits, study: str) -> None:
    found = of(audits[study], "contradicted")
    assert {id: (one.stated, one.found) for id, one in found.items()} == CONTRADICTED[study]


@pytest.mark.parametrize("study", STUDIES)
def test_exactly_these_within_rounding(audits: Audits, study: str) -> None:
    assert set(of(audits[study], "rounding")) == ROUNDING[study]


@pytest.mark.parametrize("study", STUDIES)
def test_everything_else_follows_or_is_open(audits: Audits, study: str) -> None:
    assert len(of(audits[study], "follows")) == FOLLOWING[study]
    assert GENERAL in of(audits[study], "open")


@pytest.mark.parametrize("study", STUDIES)
def test_every_audited_claim_has_a_name_of_its_own(audits: Audits, study: str) -> None:
    names = [one.id for one in audits[study]]
    assert len(names) == len(set(names))


def test_every_derived_number_is_among_them(audits: Audits) -> None:
    for study in STUDIES:
        derived = {one.id for one in read_publication(PUBLISHED / study).derived}
        assert derived <= {one.id for one in audits[study]}


def test_the_first_paper_says_where_it_prints_the_right_number(audits: Audits) -> None:
    found = of(audits["iozone-rhel6"], "contradicted")
    assert "figure 1 prints 33.4 %" in found["in-cache-ext4-optimized"].sentence
    assert "figure 1 prints 6.8 %" in found["direct-xfs-out-of-box"].sentence


def test_no_chart_of_the_result_page_separates_all_its_bars(audits: Audits) -> None:
    charts = [one for one in audits["linux-3.13"] if one.id.startswith("chart-")]
    assert len(charts) == 13
    assert all(one.outcome == "open" for one in charts)
    kernels = next(one for one in audits["linux-3.13"] if one.id == "kernel-against-kernel")
    assert kernels.found == "13 of 39 pairs separated"
    assert {one.stated for one in charts} == {"6 values"}, "what the bars state; no difference"


@pytest.mark.parametrize(
    ("study", "table", "printed", "changed", "fallen"),
    [
        (
            "netperf-rhel6",
            "figure-2.csv",
            "512,8607.41",
            "512,6107.41",
            {"figure-2-512-advantage-out-of-box", "tcp-over-three-times"},
        ),
        (
            "netperf-rhel6",
            "figure-4.csv",
            "32,261.20",
            "32,61.20",
            {"figure-4-32-advantage-out-of-box"},
        ),
        (
            "iozone-magazine",
            "table-2.csv",
            "53709.90",
            "53709.91",
            {"random-write-ext3-1-mb"},
        ),
        ("iozone-magazine", "table-1.csv", "91.14", "191.14", {"deviations-below-1-percent"}),
        (
            "iozone-rhel6",
            "figure-27.csv",
            "619722",
            "719722",
            # The mean alone: its delta follows from the means that are printed beside it.
            {"figure-1-ext4-ntfs-out-of-cache-ext4-optimized"},
        ),
        ("linux-3.13", "postmark.csv", "6881", "6818", {"overview-linux-3-12-xfs"}),
    ],
)
def test_a_changed_number_contradicts_what_rests_on_it(
    tmp_path: Path,
    audits: Audits,
    study: str,
    table: str,
    printed: str,
    changed: str,
    fallen: set[str],
) -> None:
    folder = tmp_path / study
    copytree(PUBLISHED / study, folder)
    text = (folder / table).read_text()
    assert text.count(printed) == 1
    (folder / table).write_text(text.replace(printed, changed))
    found = of(audited(folder, read_publication(folder)), "contradicted")
    assert set(found) - set(of(audits[study], "contradicted")) == fallen
