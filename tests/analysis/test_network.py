"""What is said of a network: words, latency, loss, buffers, what the ends saw."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from support.network_studies import MESSAGES, network_study
from support.synthetic import synthetic_study
from tiltyard.analysis.decision import all_comparisons
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Cell, Findings, WorkloadFindings
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import Samples
from tiltyard.wire import Side

FASTER = {"optimized": 1.2}


def only(findings: Findings) -> WorkloadFindings:
    (workload,) = findings.workloads
    return workload


def texts(plan: Plan, run: RunRecord) -> str:
    return "\n".join(notice.text for notice in analyse(plan, run).notices)


def with_ends(run: RunRecord, change: Callable[[str, Side], Side]) -> RunRecord:
    """The same run in which the ends saw something else."""

    def changed(trial: TrialRecord) -> TrialRecord:
        assert trial.end is not None
        network = trial.end.network
        assert network is not None
        ends = {end: change(end, getattr(network, end)) for end in ("near", "far")}
        seen = trial.end.model_copy(update={"network": network.model_copy(update=ends)})
        return trial.model_copy(update={"end": seen})

    return run.model_copy(update={"trials": tuple(map(changed, run.trials))})


def test_throughput_is_told_as_more_of_it_over_all_messages() -> None:
    answer = analyse(*network_study(workloads=("tcp_stream",), effects=FASTER)).answer
    assert answer.startswith("optimized has 1")
    assert (
        " % higher tcp_stream throughput than out-of-box over messages of 32 B to 65,507 B (95 % "
        in answer
    )
    assert answer.endswith(", 7 blocks) on this host.")


@pytest.mark.parametrize(
    ("effect", "words"), [(4.0, "times the tcp_stream throughput of"), (1.2, "% higher")]
)
def test_a_large_difference_is_told_as_a_factor(effect: float, words: str) -> None:
    answer = analyse(
        *network_study(workloads=("tcp_stream",), effects={"optimized": effect})
    ).answer
    assert words in answer


def test_transactions_are_counted_and_their_sizes_come_last() -> None:
    answer = analyse(*network_study(workloads=("tcp_rr",), effects=FASTER)).answer
    assert " % more tcp_rr transactions per second than out-of-box over requests and " in answer


def test_between_hosts_the_answer_and_the_limits_say_so() -> None:
    plan, run = network_study(workloads=("tcp_stream",), effects=FASTER)
    apart = tuple(system.model_copy(update={"kind": "hosts"}) for system in plan.systems)
    findings = analyse(plan.model_copy(update={"systems": apart}), run)
    assert findings.answer.endswith(" between these hosts.")
    assert any("Two machines and the path between them" in n.text for n in findings.notices)


def test_on_one_host_the_limits_say_what_is_not_on_the_path() -> None:
    found = texts(*network_study(workloads=("tcp_stream",)))
    assert "Both ends are on this host: no network card, cable or switch" in found
    assert "One machine, one device" not in found


def test_values_stay_in_base_units_and_say_how_they_are_read() -> None:
    workload = only(analyse(*network_study(workloads=("tcp_stream",))))
    assert {(cell.unit, cell.shown_in) for cell in workload.cells} == {("B/s", "bit/s")}
    assert (workload.index.unit, workload.index.shown_in) == ("B/s", "bit/s")
    shown = {cell.metric: (cell.unit, cell.shown_in) for cell in workload.details}
    assert shown["service_demand_near"] == ("s/B", "s/B")
    assert shown["cpu_far"] == ("1", "1")
    assert shown["connect_time"] == ("s", "µs")


def test_a_loss_of_nothing_is_a_value() -> None:
    workload = only(analyse(*network_study(workloads=("udp_stream",))))
    losses = [cell for cell in workload.details if cell.metric == "loss"]
    assert len(losses) == len(MESSAGES)
    assert all(len(s.values) == 10 for cell in losses for s in cell.summaries)
    assert losses[0].summaries[0].median == 0
    assert losses[0].summaries[0].cv is None


def test_latency_is_compared_and_kept_out_of_the_index() -> None:
    findings = analyse(*network_study(workloads=("tcp_rr",), effects=FASTER))
    workload = only(findings)
    found = workload.latencies
    assert found is not None
    assert {cell.metric for cell in workload.cells} == {"transactions"}
    assert workload.index.cells == len(workload.cells)
    assert [c.verdict for cell in found.cells for c in cell.comparisons] == ["faster"] * 6
    assert found.index.comparisons[0].ratio == pytest.approx(1 / 1.2, rel=0.02)
    assert found.index.comparisons[0].sentence.startswith("optimized takes 16.1 % less time than ")
    assert findings.family == 2 * len(workload.cells) + 1
    assert set(found.index.comparisons) <= set(all_comparisons(findings))


def test_the_average_over_sizes_is_arithmetic_with_its_ratios() -> None:
    found = only(analyse(*network_study(workloads=("tcp_rr",), effects=FASTER))).latencies
    assert found is not None
    ours, theirs = found.averages
    assert ours.value == pytest.approx(mean_of_medians(found.cells, "out-of-box"))
    assert theirs.ratios == {"out-of-box": pytest.approx(theirs.value / ours.value)}


def test_a_time_that_is_rounded_to_zero_has_no_mean() -> None:
    """As dbench prints a fast operation: 0.000 ms."""
    plan, run = network_study(workloads=("tcp_rr",))

    def rounded(trial: TrialRecord) -> TrialRecord:
        is_fast = trial.key.system == "optimized"
        samples = (
            replace(one, value=0.0) if is_fast and one.metric == "latency" else one
            for one in trial.samples
        )
        return trial.model_copy(update={"samples": Samples.of(samples)})

    trials = tuple(map(rounded, run.trials))
    workload = only(analyse(plan, run.model_copy(update={"trials": trials})))
    assert workload.latencies is not None
    assert [own.system for own in workload.latencies.index.standings] == ["out-of-box"]
    assert {own.median for own in workload.latencies.cells[0].summaries} > {0}


def mean_of_medians(cells: tuple[Cell, ...], system: str) -> float:
    medians = [s.median for cell in cells for s in cell.summaries if s.system == system]
    return sum(medians) / len(medians)


def test_percentiles_are_medians_over_blocks() -> None:
    found = only(analyse(*network_study(workloads=("tcp_rr",)))).latencies
    assert found is not None
    summary = found.cells[0].summaries[0]
    assert list(summary.percentiles) == ["p50", "p90", "p99", "p999"]
    assert summary.percentiles["p50"] == pytest.approx(0.95 * summary.median, rel=1e-3)
    assert summary.percentiles["p999"] == pytest.approx(6 * summary.median, rel=1e-3)


def with_times(run: RunRecord, change: Callable[[int], dict[str, object]]) -> RunRecord:
    """The same run with other histograms of latency, by block."""

    def changed(trial: TrialRecord) -> TrialRecord:
        samples = tuple(
            replace(sample, latency_ns=replace(sample.latency_ns, **change(trial.key.block)))
            if sample.latency_ns
            else sample
            for sample in trial.samples
        )
        return trial.model_copy(update={"samples": Samples.of(samples)})

    return run.model_copy(update={"trials": tuple(map(changed, run.trials))})


def test_a_percentile_that_a_block_does_not_have_is_not_told() -> None:
    plan, run = network_study(workloads=("tcp_rr",))
    found = only(analyse(plan, with_times(run, lambda block: {"p999": None} if block == 1 else {})))
    assert found.latencies is not None
    assert list(found.latencies.cells[0].summaries[0].percentiles) == ["p50", "p90", "p99"]


def test_a_handful_of_operations_has_no_percentiles() -> None:
    plan, run = network_study(workloads=("tcp_rr",))
    found = only(analyse(plan, with_times(run, lambda block: {"count": 20})))
    assert found.latencies is not None
    assert found.latencies.cells[0].summaries[0].percentiles == {}


def test_a_storage_workload_has_no_ends_and_no_latencies() -> None:
    workload = only(analyse(*synthetic_study()))
    assert (workload.ends, workload.latencies) == ({}, None)


def test_loss_is_told_with_its_worst_place_and_the_counter() -> None:
    found = texts(*network_study(workloads=("udp_stream",)))
    assert "udp_stream lost data: out-of-box up to 1" in found
    assert "B message)" in found
    assert "107,320 times in the typical trial (UdpRcvbufErrors)" in found
    assert "lost data" not in texts(*network_study(workloads=("tcp_stream",)))


def asked_for(plan: Plan, size: object) -> Plan:
    workloads = (
        workload.model_copy(update={"effective": {"receive_buffer": ["auto", size]}})
        for workload in plan.workloads
    )
    return plan.model_copy(update={"workloads": tuple(workloads)})


def test_a_buffer_that_was_capped_is_told() -> None:
    plan, run = network_study(workloads=("tcp_stream",))
    found = texts(asked_for(plan, 4 << 20), run)
    assert (
        "tcp_stream asked for a receive buffer of 4 MiB; the kernel granted out-of-box 64 KiB, "
        "optimized 64 KiB." in found
    )


@pytest.mark.parametrize("size", [64 << 10, "auto"])
def test_a_buffer_as_asked_for_is_not_told(size: object) -> None:
    plan, run = network_study(workloads=("tcp_stream",))
    assert "asked for" not in texts(asked_for(plan, size), run)


def test_the_ends_tell_what_they_saw() -> None:
    ends = only(analyse(*network_study(workloads=("tcp_stream",)))).ends
    assert list(ends) == ["near", "far"]
    near = {fact: values["optimized"] for fact, values in ends["near"].items()}
    assert near["CPUs busy"] == "41.0 %"
    assert near["sent"] == "8.754 GiB in 2,300,000 calls"
    assert near["round-trip time"] == "41.0 µs"
    assert near["congestion window"] == "12 segments"
    assert near["options granted"] == "nodelay off"
    assert "received" not in near
    far = {fact: values["optimized"] for fact, values in ends["far"].items()}
    assert far["receive buffer"] == "128 KiB"
    assert far["TcpRetransSegs"] == "3"
    assert "round-trip time" not in far


def test_counters_of_mere_traffic_are_not_told() -> None:
    ends = only(analyse(*network_study(workloads=("udp_stream",)))).ends
    assert "UdpRcvbufErrors" in ends["far"]
    assert "UdpInDatagrams" not in ends["far"]


def test_what_was_granted_differently_is_told_as_all_of_it() -> None:
    plan, run = network_study(("a", "b"), workloads=("tcp_stream",))
    sizes = iter(range(1, 100))

    def other(end: str, side: Side) -> Side:
        size = next(sizes) << 20
        granted = {"receive_buffer": size, "congestion": "bbr" if size % (2 << 20) else "reno"}
        return side.model_copy(update={"granted": granted})

    far = only(analyse(plan, with_ends(run, other))).ends["far"]
    first, last = far["receive buffer"]["a"].split(" to ")
    assert first != last
    assert set(far["options granted"].values()) <= {
        "congestion bbr or reno",
        "congestion bbr",
        "congestion reno",
    }


def test_an_advantage_is_of_one_factor_within_the_levels_of_the_other() -> None:
    levels = {"kernel": ("6.1", "6.18"), "tuning": ("default", "tuned")}
    systems = [f"{kernel} {tuning}" for kernel in levels["kernel"] for tuning in levels["tuning"]]
    findings = analyse(*network_study(systems, ("tcp_rr",), blocks=7, factors=levels))
    told = {
        (found.factor, found.level, found.over): [
            (pair.system, pair.against, pair.within) for pair in found.pairs
        ]
        for found in findings.advantages
    }
    assert told == {
        ("kernel", "6.18", "6.1"): [
            ("6.18 default", "6.1 default", "default"),
            ("6.18 tuned", "6.1 tuned", "tuned"),
        ],
        ("tuning", "tuned", "default"): [
            ("6.1 tuned", "6.1 default", "6.1"),
            ("6.18 tuned", "6.18 default", "6.18"),
        ],
    }


def test_with_one_factor_every_other_level_has_its_advantage() -> None:
    systems = ("reno", "cubic", "bbr")
    findings = analyse(*network_study(systems, ("tcp_rr",), blocks=7))
    assert [(found.level, found.over) for found in findings.advantages] == [
        ("cubic", "reno"),
        ("bbr", "reno"),
    ]
    assert {pair.within for found in findings.advantages for pair in found.pairs} == {""}
