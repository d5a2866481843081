"""Ready profiles with their real programs, small: expanded, executed by the engine, read."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine, Job, JobRefused
from tiltyard.folder import StudyFolder
from tiltyard.importers import fio
from tiltyard.importers.live import cards, readings
from tiltyard.plan.program import split, told_variables
from tiltyard.wire import (
    Card,
    EndEvent,
    ExecutionEvent,
    OutputEvent,
    Sample,
    SampleEvent,
    WarningNote,
    read_events,
)
from tiltyard.workloads.catalogue import ProfileCard, catalogue_of
from tiltyard.workloads.load import lacking

ROOT: Final = Path(__file__).resolve().parents[2]
UNTRIED: Final = {"kernel-build": "its source is a package of 140 MB"}
"""Ready profiles that are expanded only, and why."""
FURTHER: Final[list[tuple[str, dict[str, JsonValue]]]] = [
    ("pgbench", {"mode": "tpcb-like", "options": ["--synchronous_commit=off"]}),
    ("zstd", {"operation": "decompress"}),
    ("xz", {"operation": "decompress"}),
    ("git", {"operation": "status"}),
    ("git", {"operation": "checkout"}),
    ("git", {"operation": "gc"}),
    ("rsync", {"operation": "update"}),
    ("sqlite", {"journal": "wal"}),
    ("redis-benchmark", {"fsync": "always"}),
]
"""What else a profile does, by parameters beside those of its smoke test."""

CARDS = {card.name: card for card in catalogue_of(Engine.find()).whole().workloads}
READY = {name: card for name, card in CARDS.items() if isinstance(card, ProfileCard)}


@pytest.fixture
def directory() -> Iterator[Path]:
    """One that every user can reach: servers do not run as root."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as path:
        Path(path).chmod(0o755)
        yield Path(path)


def executed(
    card: Card,
    parameters: dict[str, JsonValue],
    directory: Path,
    warnings: list[WarningNote] | None = None,
) -> list[Sample]:
    """The samples of one trial, the engine's and those that the lab reads."""
    assert isinstance(card, ProfileCard)
    read, program = split(card.expand({**card.smoke, **parameters}))
    program |= {"at_least": 0}
    job = Job(
        workload="program",
        parameters=program,
        target=directory,
        variables=told_variables(program),
    )
    done = subprocess.run(
        [Engine.find().path, "run"], input=job.message(), capture_output=True, check=False
    )
    events = list(read_events(done.stdout.splitlines()))
    end = events[-1]
    assert isinstance(end, EndEvent)
    assert end.data.failure is None, end.data.failure.message
    executions = [event.data for event in events if isinstance(event, ExecutionEvent)]
    outputs = {one.data.sha256: one.data for one in events if isinstance(one, OutputEvent)}
    samples = [event.data for event in events if isinstance(event, SampleEvent)]
    return [*samples, *readings(read.read, read.metrics, executions, outputs, warnings)]


@pytest.mark.parametrize(("name", "parameters"), FURTHER, ids=str)
def test_what_else_it_does(name: str, parameters: dict[str, JsonValue], directory: Path) -> None:
    assert executed(READY[name], parameters, directory)
    assert not list(directory.iterdir()), "nothing is left"


def test_all_but_these_are_executed() -> None:
    """In comparisons: run/test_ready_compared.py."""
    assert UNTRIED.keys() < READY.keys()
    for name in UNTRIED:
        card = READY[name]
        assert card.profile.file.long
        assert card.expand(card.smoke)["command"]


@pytest.mark.parametrize("name", READY)
def test_usual_parameters_are_some_that_the_engine_accepts(name: str) -> None:
    card = READY[name]
    if lacking(card.profile, card.usual, card.roots):
        assert name in UNTRIED
        return
    _, program = split(card.expand(card.usual))
    Engine.find().validate("program", program, told_variables(program))


def test_a_page_has_the_paragraphs_of_the_file_but_not_its_lines() -> None:
    paragraphs = CARDS["fio"].description.split("\n\n")
    assert [text.split()[0] for text in paragraphs] == ["fio", "Checked:"]
    assert not any("\n" in text for text in paragraphs)


def test_the_guides_own_workload_is_one(directory: Path) -> None:
    guide = (ROOT / "docs/guides/workloads.md").read_text()
    text = next(part for part in guide.split("```toml\n")[1:] if part.startswith("title"))
    path = directory / "workloads/sort.toml"
    path.parent.mkdir()
    path.write_text(text.partition("```")[0])
    card = catalogue_of(Engine.find(), StudyFolder(directory)).workload("sort")
    assert isinstance(card, ProfileCard)
    assert card.expand({})["command"] == [
        "sort", "-n", "--buffer-size=1048576K", "-T", "{dir}", "input", "-o", "output",
    ]  # fmt: skip
    work = directory / "work"
    work.mkdir()
    assert executed(card, {"unique": True}, work)


def test_a_direct_read_that_came_from_memory_is_a_failed_trial(directory: Path) -> None:
    """On a tmpfs nothing comes from a device, whatever a job says; fio itself may."""
    job = directory / "direct.fio"
    job.write_text("[read]\nsize=64M\nbs=1M\nrw=read\ndirect=1\n")
    says = r"read: direct=1, and of 67,108,864 B .* came from a device"
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as path,
        pytest.raises(UsageError, match=says),
    ):
        executed(READY["fio"], {"job": str(job)}, Path(path))


def test_what_a_job_drops_from_memory_comes_from_the_device(directory: Path) -> None:
    """On a tmpfs invalidate=1 drops nothing, and no counter sees a device."""
    job, warnings = directory / "cold.fio", list[WarningNote]()
    text = "[first]\nsize=32M\nbs=64k\nrw=read\n"
    job.write_text(text)
    says = (
        r"first: invalidate=1, and of 33,554,432 B that are read first only [\d,]+ B came from a "
    )
    parameters: dict[str, JsonValue] = {"job": str(job)}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as path:
        executed(READY["fio"], parameters, Path(path), warnings)
        assert [note.code for note in warnings] == ["fio_cache"]
        assert "first: invalidate=1, as by default, and of" in warnings.pop().message
        job.write_text(f"{text}invalidate=0\n")
        executed(READY["fio"], parameters, Path(path), warnings)
        job.write_text(f"{text}invalidate=1\n")
        with pytest.raises(UsageError, match=says):
            executed(READY["fio"], parameters, Path(path), warnings)
    assert executed(READY["fio"], parameters, directory, warnings)
    assert not warnings


@pytest.mark.parametrize(
    "path",
    ["filename=/etc/passwd", "FileName = a:/dev/null", "directory=../..", "opendir=a/../../b"],
)
def test_a_job_file_cannot_leave_the_system_under_test(path: str, directory: Path) -> None:
    (directory / "away.fio").write_text(f"[a]\nsize=4k\nrw=read\n  {path} \n")
    (directory / "job.fio").write_text("[a]\ninclude away.fio\n")
    says = rf"away\.fio:4: {re.escape(path)}: a path outside the system under test\. Fix: "
    for job in ("away.fio", "job.fio"):
        with pytest.raises(JobRefused, match=says):
            READY["fio"].expand({"job": str(directory / job)})


def test_a_job_file_is_executed_with_what_it_includes(directory: Path) -> None:
    """As it was when the plan was made, on any host: fio finds it in the trial's directory."""
    (directory / "job.fio").write_text("[a]\nrw=write\ninclude sub/job.fio\n")
    (directory / "sub").mkdir()
    (directory / "sub/job.fio").write_text("size=4k\ninclude more.fio\n")
    (directory / "sub/more.fio").write_text("bs=1k\n")
    work = directory / "work"
    work.mkdir()
    samples = executed(READY["fio"], {"job": str(directory / "job.fio")}, work)
    assert {one.at.get("job") for one in samples if one.metric == "write_operations"} == {"a"}
    assert not list(work.iterdir())


def test_each_of_two_scripts_has_its_own_figures(directory: Path) -> None:
    (directory / "pay.sql").write_text(
        "\\set a random(1, 100000 * :scale)\n"
        "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :a;\n"
    )
    (directory / "look.sql").write_text("SELECT count(*) FROM pgbench_branches;\n")
    work = directory / "work"
    work.mkdir()
    work.chmod(0o777)
    scripts: list[JsonValue] = [f"{directory}/pay.sql@3", f"{directory}/look.sql"]
    samples = executed(READY["pgbench"], {"mode": None, "scripts": scripts}, work)
    rates = {one.at["script"]: one.value for one in samples if one.metric == "script_transactions"}
    assert rates.keys() == {"pay.sql", "look.sql"}
    assert rates["pay.sql"] > rates["look.sql"], "it is chosen three times as often"
    (whole,) = (one.value for one in samples if one.metric == "transactions")
    assert sum(rates.values()) == pytest.approx(whole, rel=0.01)


def test_a_job_file_has_the_variables_of_its_study(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the shell are recorded; what they stand for may not lead outside either."""
    job = directory / "sized.fio"
    job.write_text("# ${NOTHING}\n[a]\nsize=${SIZE}\nrw=write\nfilename=${WHERE}data\n")
    card = READY["fio"]
    parameters: dict[str, JsonValue] = {"job": str(job)}
    with pytest.raises(JobRefused, match=r"sized\.fio:3: \$\{SIZE\} has no value"):
        card.expand(parameters)
    monkeypatch.setenv("SIZE", "64k")
    monkeypatch.setenv("WHERE", "")
    table = card.expand({**parameters, "env": ["WHERE=in-"]})
    assert table["env"] == {"SIZE": "64k", "WHERE": "in-"}
    assert sorted(card.from_shell(parameters)["env"]) == ["SIZE=64k", "WHERE="]
    work = directory / "work"
    work.mkdir()
    assert executed(card, parameters, work)
    monkeypatch.setenv("WHERE", "/tmp/")
    with pytest.raises(JobRefused, match=r"sized\.fio:5: filename=/tmp/data: a path outside"):
        card.expand(parameters)


def test_what_a_rate_leaves_to_measure_is_the_latency_live_and_imported(directory: Path) -> None:
    job, work = directory / "paced.fio", directory / "work"
    work.mkdir()
    job.write_text("[global]\nrate_iops=2000\n[a]\nsize=64k\nbs=4k\nrw=write\n")
    report = subprocess.run(
        ["fio", "--output-format=json", str(job)], cwd=work, capture_output=True, check=True
    ).stdout
    (imported,) = fio.read(report, "report").workloads
    headlines = {one.name for one in imported.metrics if one.headline}
    live, _ = cards("fio", {}, (), ["fio", "paced.fio"], directory)
    assert {card.name for card in live if card.role == "headline"} == headlines
    assert "write_completion_latency" in headlines
    assert "write" not in headlines
    by_option, _ = cards("fio", {}, (), ["fio", "--rate=1m", "--name=a"])
    assert [card.role for card in by_option if card.name == "write"] == ["detail"]
    unpaced, _ = cards("fio", {}, (), ["fio", "none.fio"], directory)
    assert [card.role for card in unpaced if card.name == "write"] == ["headline"]


def test_processes_of_a_job_have_percentiles_together(directory: Path) -> None:
    job = directory / "three.fio"
    job.write_text("[a]\nsize=64k\nrw=randrw\nnumjobs=3\n")
    work = directory / "work"
    work.mkdir()
    found = {one.metric for one in executed(READY["fio"], {"job": str(job)}, work)}
    lost = {"read_completion_latency_p99", "write_completion_latency_p99"}
    assert lost <= found
    assert not lost & {
        one.metric for one in executed(READY["fio"], {"job": str(job), "format": "json"}, work)
    }


def test_a_job_file_may_name_files_of_its_own(directory: Path) -> None:
    job = directory / "own.fio"
    job.write_text("[a]\nsize=8k\nrw=write\nfilename=a..b:.c\nfilename_format=$jobname/..x\n")
    work = directory / "work"
    work.mkdir()
    assert executed(READY["fio"], {"job": str(job)}, work)
