"""What a tool says not to count is not judged."""

import pytest

from support.imported import imported
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.sniff import read_with

PGBENCH = (
    "transaction type: <builtin: TPC-B (sort of)>\nnumber of clients: 8\n"
    "number of failed transactions: {} ({}%)\ntps = 90.5 (without initial connection time)\n"
)
STRESSOR = "stress-ng: metrc: [7] {}  100  10.00  1.00  0.10  10.00  90.91\n"


def test_a_run_in_which_most_transactions_failed_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^x:3: 91.000 % of its transactions failed"):
        read_with(IMPORTERS.named("pgbench"), PGBENCH.format(910, "91.000").encode(), "x")
    found = read_with(IMPORTERS.named("pgbench"), PGBENCH.format(9, "0.900").encode(), "x")
    assert {one.metric for one in found.workloads[0].measured} == {"transactions", "failed"}


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("pgbench", "pgbench: error: Run was aborted; the above results are incomplete."),
        ("dbench", "Child failed with status 1"),
        ("sockperf", "sockperf: ERROR: No messages were received from the server"),
    ],
)
def test_the_line_by_which_a_tool_takes_it_back_is_quoted(kind: str, line: str) -> None:
    text = f"{PGBENCH.format(0, '0.000')}{line}\n"
    with pytest.raises(UsageError, match=rf"^x:5: {kind} says: {line[:20]}.*; run it again$"):
        read_with(IMPORTERS.named(kind), text.encode(), "x")


def test_stressors_whose_figures_do_not_count_are_left_out() -> None:
    text = STRESSOR.format("cpu") + STRESSOR.format("vm")
    said = "stress-ng: info:  [7] metrics untrustworthy: 1: vm (1)\n"
    found = read_with(IMPORTERS.named("stress-ng"), f"{text}{said}".encode(), "x")
    assert {one.at["stressor"] for one in found.workloads[0].measured} == {"cpu"}
    assert "vm left out: stress-ng says of it: metrics untrustworthy." in found.limits
    whole = said.replace("1: vm (1)", "2: cpu (1) vm (1)")
    with pytest.raises(UsageError, match="no result of stress-ng in it: cpu left out: stress-ng"):
        read_with(IMPORTERS.named("stress-ng"), f"{text}{whole}".encode(), "x")


@pytest.mark.parametrize("codes", ["[1, 1]", "[null, null]"])
def test_a_command_that_never_worked_is_left_out(codes: str) -> None:
    text = (
        '{"results": [{"command": "good", "mean": 1, "median": 1, "times": [1, 1]}, {"command": '
        f'"bad", "mean": 2, "median": 2, "times": [2, 2], "exit_codes": {codes}}}]}}\n'
    )
    found = imported("hyperfine/x.json", text.encode())
    assert {one.system for one in found.workloads[0].measured} == {"good"}
    assert "All 2 runs of bad ended with an error, so it is left out." in found.limits
