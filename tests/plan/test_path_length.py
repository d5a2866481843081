"""Path lengths are made of what the engine sent; nothing that it called a time is kept."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from msgspec.structs import replace
from pydantic import JsonValue

from support.catalogue import CATALOGUE
from support.synthetic import synthetic_study
from tiltyard.analysis.quantity import is_complete, read_trials
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.freeze import freeze
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.plan.path_length import (
    doubled,
    path_length_cards,
    path_length_samples,
    slope_samples,
)
from tiltyard.plan.prospect import prospects
from tiltyard.run.journal import Journal, TrialFinished
from tiltyard.run.read import counted_in_instructions, read_run
from tiltyard.run.record import TrialRecord
from tiltyard.run.stream import file_of, kept
from tiltyard.study.load import load_study
from tiltyard.study.problems import StudyFileError
from tiltyard.systems import KINDS
from tiltyard.wire import PROTOCOL, Conditions, Hello, Latency, MetricCard, Native, Sample

NOW = datetime(2026, 11, 21, tzinfo=UTC)

CARDS = {card.name: card for card in CATALOGUE.workloads}
LATENCY = Latency(count=1000, min=1, max=9, mean=2.0, p50=2, p90=3, p99=4, buckets=[(2, 1000)])


def accept(workload: str, parameters: dict[str, JsonValue]) -> Hello:
    """An engine that takes parameters as they are."""
    return Hello(
        protocol=PROTOCOL,
        engine="0.0.0",
        workload=workload,
        effective=dict(parameters),
        hash=sha256(repr(parameters).encode()),
        timing="pass",
        conditions=Conditions(cpus=[], awake=[]),
    )


def sample(metric: str, **of_it: object) -> Sample:
    told: dict[str, object] = {
        "value": 2e9,
        "unit": "B/s",
        "direction": "higher",
        "operations": 1000,
        "bytes": 4096_000,
        "elapsed_s": 5.608e-3,
    }
    return Sample(metric=metric, **{**told, **of_it})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CARDS)
def test_each_headline_rate_becomes_a_path_length(name: str) -> None:
    rates = [
        card.name
        for card in CARDS[name].metrics
        if card.role == "headline" and card.unit in ("B/s", "1/s")
    ]
    made = path_length_cards(CARDS[name].metrics)
    assert [card.name for card in made] == rates
    assert rates
    assert {(card.unit, card.direction) for card in made} == {("instr/op", "lower")}


def test_a_path_length_is_the_elapsed_nanoseconds_over_the_operations() -> None:
    (headline, *_) = path_length_cards(CARDS["iozone"].metrics)
    (found,) = path_length_samples(
        [sample(headline.name, latency_ns=LATENCY, native=Native(value=1, unit="KB/s"))],
        [headline],
    )
    assert found.value == pytest.approx(5608)
    assert (found.unit, found.direction) == ("instr/op", "lower")
    assert found.latency_ns is None
    assert found.native is None


EACH, ONCE = 5492, 31_337
READS = MetricCard(
    name="random_read", label="random read", unit="1/s", direction="higher", role="headline",
    about="Reads a second.",
)  # fmt: skip
SCHEMA = {
    "properties": {
        "file": {"amount": "bytes"},
        "block": {},
        "operations": {"amount": "count"},
        "runtime_s": {"amount": "seconds"},
    }
}


def amounts(metric: str, *counts: int) -> list[Sample]:
    """What trials of so many operations tell, where each costs EACH and a file ONCE."""
    return [
        sample(metric, operations=n, bytes=4096 * n, elapsed_s=(EACH * n + ONCE) / 1e9)
        for n in counts
    ]


@pytest.mark.parametrize("count", [500, 2_000, 5_000, 20_000])
def test_a_path_length_does_not_depend_on_the_amount_of_work(count: int) -> None:
    cards = path_length_cards([READS], {"backend": "sync"}, twice=True)
    usual, twice = amounts("random_read", count, 2 * count)
    found = {s.metric: s for s in slope_samples([usual], [twice], None, cards)}
    assert found["random_read"].value == pytest.approx(EACH - 4096, rel=1e-9)
    assert found["random_read_with_string_moves"].value == pytest.approx(EACH, rel=1e-9)
    assert found["random_read_once"].value == pytest.approx(ONCE, rel=1e-6)
    assert found["random_read_string_moves"].value == 4096
    assert {name: s.unit for name, s in found.items()} == {
        "random_read": "instr/op",
        "random_read_once": "instr",
        "random_read_string_moves": "instr/op",
        "random_read_with_string_moves": "instr/op",
    }


def test_a_plan_of_before_has_the_whole_count() -> None:
    cards = path_length_cards([READS], {"backend": "sync"}, twice=True)
    old = [card for card in cards if not card.name.endswith("_with_string_moves")]
    usual, twice = amounts("random_read", 1000, 2000)
    found = {s.metric: s for s in slope_samples([usual], [twice], None, old)}
    assert found["random_read"].value == pytest.approx(EACH, rel=1e-9)
    assert "random_read_with_string_moves" not in found


def test_fewer_instructions_than_bytes_were_not_moved_one_by_one() -> None:
    cards = path_length_cards([READS], {"backend": "sync"}, twice=True)
    usual, twice = amounts("random_read", 1000, 2000)
    moving = [replace(one, bytes=100 * one.bytes) for one in (usual, twice)]
    found = {s.metric: s.value for s in slope_samples([moving[0]], [moving[1]], None, cards)}
    assert found["random_read"] == found["random_read_with_string_moves"] == pytest.approx(EACH)


def test_what_was_not_done_more_often_is_counted_as_it_is() -> None:
    cards = path_length_cards([READS], {"backend": "mmap"}, twice=True)
    usual, twice = amounts("random_read", 1000, 1000)
    (found,) = slope_samples([usual], [twice], None, cards)
    assert found.value == pytest.approx(EACH + ONCE / 1000)


def test_amounts_are_doubled_and_what_is_asked_about_stays() -> None:
    effective = {"file": [2**21], "block": [4096], "operations": 500, "runtime_s": None}
    typed: dict[str, JsonValue] = {"file": "2M", "operations": 500}
    assert doubled(typed, effective, SCHEMA) == {"file": "2M", "operations": 1000}
    assert doubled({}, {**effective, "operations": None}, SCHEMA) == {"file": [2**22]}
    assert doubled({}, {}, SCHEMA) is None


def test_what_has_no_card_or_no_operation_is_left_out() -> None:
    (headline, *_) = path_length_cards(CARDS["iozone"].metrics)
    others = [sample("close_time", unit="s"), sample(headline.name, operations=0)]
    assert path_length_samples(others, [headline]) == ()


def counted(folder: StudyFolder) -> Plan:
    """The plan of the folder's study, were its systems guests whose clock counts instructions."""
    study = load_study(folder.study, CATALOGUE, KINDS)
    systems = [system.model_copy(update={"clock": "instructions"}) for system in study.systems]
    counting = study.model_copy(update={"systems": tuple(systems)})
    return freeze(counting, folder.study, CATALOGUE, accept, NOW)


def test_a_plan_of_instructions_promises_path_lengths_and_no_gates(folder: StudyFolder) -> None:
    plan = counted(folder)
    assert plan.clock == "instructions"
    assert {m.unit for workload in plan.workloads for m in workload.metrics} == {"instr/op"}
    assert plan.noise_limits is None
    assert plan.spares
    assert Plan.model_validate_json(plan.document()) == plan


@pytest.mark.parametrize("access", ["direct", "out-of-cache"])
def test_what_waits_for_a_device_cannot_be_counted(folder: StudyFolder, access: str) -> None:
    text = folder.study.read_text()
    folder.study.write_text(f'{text}access = "{access}"\n')
    line = len(text.splitlines()) + 1
    with pytest.raises(StudyFileError) as caught:
        counted(folder)
    assert f'study.toml:{line}: workload.access: with clock = "instructions"' in str(caught.value)


def test_the_verbatim_stream_stays_and_is_read_as_path_lengths(folder: StudyFolder) -> None:
    plan = counted(folder)
    key = TrialKey(block=1, system="xfs", workload="postmark")
    (headline,) = plan.workload("postmark").metrics
    end = synthetic_study(blocks=1)[1].trials[0].end
    assert end is not None
    lines = (
        {"type": "interval", "data": {"t_s": 0.5, "operations": 500, "bytes": 1}},
        {
            "type": "sample",
            "data": {
                "metric": headline.name,
                "value": 20_000.0,
                "unit": "1/s",
                "direction": "higher",
                "operations": 1000,
                "bytes": 1,
                "elapsed_s": 0.05,
            },
        },
        {"type": "end", "data": end.model_dump()},
    )
    stream = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    folder.trials.mkdir()
    (folder.root / file_of(key)).write_bytes(kept(stream))
    finished = TrialFinished(
        key=key, slot=1, started="", elapsed_s=9.0, outcome="done", reason=None,
        file=file_of(key), sha256=sha256(kept(stream)),
    )  # fmt: skip
    journal, _ = Journal.open(folder.journal)
    with journal:
        journal.append(finished)
    (trial,) = read_run(folder, plan).trials
    (found,) = trial.samples
    assert (found.value, found.unit) == (pytest.approx(50_000), "instr/op")
    assert trial.intervals == ()
    assert (folder.root / file_of(key)).read_bytes() == kept(stream)


def test_two_trials_of_a_turn_make_one_measurement(folder: StudyFolder) -> None:
    """The first has the work of the study, the second twice as much; both stay as they were."""
    plan = counted(folder)
    (planned, *others) = plan.workloads
    twice = planned.model_copy(
        update={
            "doubled": {"transactions": 1000},
            "metrics": path_length_cards(CARDS["postmark"].metrics, {}, twice=True),
        }
    )
    plan = plan.model_copy(update={"workloads": (twice, *others)})
    assert twice.parameters(1) == twice.spec.parameters
    assert twice.parameters(2) == {"transactions": 1000}
    name = twice.spec.name
    keys = [key for key in plan.trials_in(1, plan.blocks[0].turns[0]) if key.workload == name]
    assert [key.repeat for key in keys] == [1, 2]
    metric = twice.metrics[0].name
    first, second = (
        record(key, tuple(amounts(metric, count)))
        for key, count in zip(keys, (500, 1000), strict=True)
    )
    found = list(counted_in_instructions([first, second], plan))
    assert [len(trial.samples) for trial in found] == [0, 4]
    assert found[1].samples[0].value == pytest.approx(EACH - 4096)
    assert is_complete(found, twice)
    cells = read_trials({(0,): found}, twice, np.ones(1, dtype=np.bool_))
    assert cells[0].values == pytest.approx(EACH - 4096)
    assert not is_complete(found[1:], twice)
    alone = list(counted_in_instructions([second], plan))
    assert not alone[0].samples


def record(key: TrialKey, samples: tuple[Sample, ...]) -> TrialRecord:
    """A trial that is done."""
    return TrialRecord(
        key=key, slot=1, started="", elapsed_s=9.0, outcome="done", reason=None, hello=None,
        samples=samples, intervals=(), connections=(), warnings=(), end=None, file="",
    )  # fmt: skip


def test_what_may_wait_is_said_before_the_run(folder: StudyFolder) -> None:
    """PostMark declares no access; the other workload reads from the cache."""
    text = folder.study.read_text()
    folder.study.write_text(f'{text}access = "in-cache"\n')
    said = [limit for limit in prospects(counted(folder)) if "may not be exact" in limit]
    assert len(said) == 1
    assert said[0].startswith("postmark may wait for the disk")
    timed = load_study(folder.study, CATALOGUE, KINDS)
    plan = freeze(timed, folder.study, CATALOGUE, accept, NOW)
    assert not any("may not be exact" in limit for limit in prospects(plan))
