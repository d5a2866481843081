"""Several studies as one decision, and a study as objects and tables."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from jsonschema import Draft202012Validator

import tiltyard
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.weighted import Gain, together
from tiltyard.app.combine import combine
from tiltyard.cli.commands import Commands
from tiltyard.cli.compare import compare
from tiltyard.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def studies() -> Iterator[tuple[Path, Path]]:
    """Two studies of one system that is clearly slower: six blocks, and eight."""
    with TemporaryDirectory(dir="/dev/shm") as name, pytest.MonkeyPatch.context() as patch:
        place = Path(name)
        patch.chdir(place)
        patch.setenv("TILTYARD_STATE", str(place / "state"))
        commands = ("a=sleep 0.002", "b=sleep 0.06")
        compare(commands=Commands(command=commands, runs=6), folder=place / "few")
        compare(commands=Commands(command=commands, runs=8), folder=place / "more")
        yield place / "few", place / "more"


def test_verdicts_are_corrected_over_all_studies(studies: tuple[Path, Path]) -> None:
    few, _ = studies
    alone = tiltyard.load(few).findings.workloads[0].index.comparisons
    assert [pair.verdict for pair in alone] == ["slower"]  # p = 2 / 2^6, the only one of its family
    found = combine(studies, {})
    (row,) = found.systems
    assert (found.family, found.baseline, row.system) == (2, "a", "b")
    assert row.purposes["few"].verdict == "undecided"
    assert row.purposes["more"].verdict == "slower"
    assert row.purposes["more"].ratio is not None
    assert row.purposes["more"].ratio < 0.7  # a longer time is a smaller gain
    assert row.together.verdict == "undecided"


def test_weights_decide_what_counts(studies: tuple[Path, Path]) -> None:
    found = combine(studies, {"few": 0.0, "more": 3.0})
    (row,) = found.systems
    assert [purpose.weight for purpose in found.purposes] == [0.0, 1.0]
    assert row.together.ratio == pytest.approx(row.purposes["more"].ratio)
    assert row.together.verdict == "slower"
    with pytest.raises(UsageError, match='Did you mean "more"'):
        combine(studies, {"mor": 1.0})
    with pytest.raises(UsageError, match="two studies"):
        combine(studies[:1], {})
    shutil.copytree(studies[0], copy := studies[0].with_name("copy"))
    with pytest.raises(UsageError, match="copy: is a copy of few"):
        combine([*studies, copy], {})


def test_the_mean_is_weighted_and_judged_by_the_margin_first() -> None:
    gains = {
        "a": Gain(ratio=2.0, low=1.5, high=3.0, verdict="faster"),
        "b": Gain(ratio=1.0, low=0.8, high=1.2, verdict="undecided"),
    }
    mostly_a = together(gains, {"a": 0.75, "b": 0.25}, 0.02)
    assert mostly_a.ratio == pytest.approx(2**0.75)
    assert mostly_a.low == pytest.approx(1.5**0.75 * 0.8**0.25)
    assert mostly_a.high == pytest.approx(3**0.75 * 1.2**0.25)
    assert mostly_a.verdict == "faster"
    assert together(gains, {"a": 0.25, "b": 0.75}, 0.02).verdict == "undecided"
    slightly = Gain(ratio=1.01, low=1.001, high=1.019, verdict="equivalent")
    assert together({"c": slightly}, {"c": 1.0}, 0.02).verdict == "equivalent"
    assert together({"c": slightly}, {"c": 1.0}, 0.01).verdict == "faster"


def test_the_matrix_is_printed(studies: tuple[Path, Path]) -> None:
    words = ("combine", *map(str, studies), "--weight", "more=3", "--as", "Which?")
    done = subprocess.run(
        [Path(sys.executable).parent / "tiltyard", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "Question Which?"
    assert any(line.startswith("more") and "75 %" in line and "▼" in line for line in lines)
    assert any(line.startswith("together") for line in lines)


def test_json_is_the_document_of_its_schema(studies: tuple[Path, Path]) -> None:
    words = ("combine", *map(str, studies), "--json", "--quiet")
    done = subprocess.run(
        [Path(sys.executable).parent / "tiltyard", *words], capture_output=True, check=True
    )
    schema = json.loads((ROOT / "schema/combine.schema.json").read_text())
    document = json.loads(done.stdout)
    Draft202012Validator(schema).validate(document)
    assert [purpose["name"] for purpose in document["purposes"]] == ["few", "more"]
    assert document == json.loads(combine(studies, {}).model_dump_json())


@pytest.mark.parametrize("others", [0, 1, 5])
def test_other_comparisons_count_in_correction_and_intervals(others: int) -> None:
    plan, run = synthetic_study(
        ("ext4", "xfs"), blocks=20, effects={"xfs": 1.3}, profile="fixed", fixed_blocks=20
    )
    alone = analyse(plan, run).workloads[0].index.comparisons[0]
    among = analyse(plan, run, others).workloads[0].index.comparisons[0]
    assert alone.p is not None
    assert among.p_adjusted == pytest.approx(alone.p * (1 + others))
    assert among.level == pytest.approx(1 - 0.05 / (1 + others))
    assert among.low is not None
    assert alone.low is not None
    assert among.low <= alone.low


def test_a_study_is_objects_and_tables(studies: tuple[Path, Path]) -> None:
    study = tiltyard.load(studies[0])
    trials = study.trials.to_pandas()
    assert len(trials) == 12
    assert set(trials["system"]) == {"a", "b"}
    assert trials.groupby("system")["block"].nunique().to_dict() == {"a": 6, "b": 6}
    assert {"workload", "outcome", "elapsed_s", "started"} <= set(trials.columns)
    values = study.values.to_pylist()
    assert {row["metric"] for row in values} >= {"time"}
    assert study.findings.blocks_done == 6


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, tiltyard; print(sorted({'numpy', 'pydantic', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
