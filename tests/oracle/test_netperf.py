"""netperf and netserver: the original at one end, ours at the other, over loopback.

What both ends count must agree, and what our client prints must read as what the original prints.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.netperf import (
    Ends,
    original_netperf,
    original_netserver,
    our_netperf,
    our_netserver,
)
from support.recordings import missing

pytestmark = pytest.mark.oracle
if lacking := missing("netperf", "netserver"):
    pytest.skip(lacking, allow_module_level=True)

STREAMS = ("TCP_STREAM", "TCP_MAERTS", "TCP_SENDFILE", "UDP_STREAM")
EXCHANGES = ("TCP_RR", "UDP_RR", "TCP_CRR")
SENT_AND_RECEIVED = tuple(
    f"{end}_{what}_{which}"
    for end in ("LOCAL", "REMOTE")
    for what, which in (("BYTES", "SENT"), ("BYTES", "RECVD"), ("SEND", "CALLS"))
)


@pytest.fixture(params=["our-netserver", "our-netperf"])
def ends(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ends]:
    """One of them is ours, the other the original."""
    if request.param == "our-netserver":
        with our_netserver(tmp_path) as port:
            yield Ends(original_netperf(), port)
    else:
        with original_netserver() as port:
            yield Ends(our_netperf(tmp_path), port)


@pytest.fixture
def originals() -> Iterator[Ends]:
    with original_netserver() as port:
        yield Ends(original_netperf(), port)


@pytest.mark.parametrize("test", ["TCP_STREAM", "TCP_MAERTS"])
def test_bytes_of_a_stream(ends: Ends, tmp_path: Path, test: str) -> None:
    """The amount asked for is reached by whole messages, and all of it arrives."""
    asked, message = 1_000_000, 4_096
    found = ends.selected(tmp_path, test, -asked, SENT_AND_RECEIVED, "-m", f"{message},{message}")
    sender, receiver = ("LOCAL", "REMOTE") if test == "TCP_STREAM" else ("REMOTE", "LOCAL")
    moved = -(-asked // message) * message
    assert found[f"{sender}_BYTES_SENT"] == moved
    assert found[f"{receiver}_BYTES_RECVD"] == moved
    assert found[f"{sender}_SEND_CALLS"] == moved // message


def test_bytes_of_datagrams(ends: Ends, tmp_path: Path) -> None:
    """So few that the receiver's buffer holds them all, and the end that follows them: the
    original waits for ever where that is lost and there is no time limit.
    """
    datagrams, message = 100, 64
    asked = datagrams * message
    specific = ["-m", f"{message}", "-R", "1"]
    found = ends.selected(tmp_path, "UDP_STREAM", -asked, SENT_AND_RECEIVED, *specific)
    assert found["LOCAL_BYTES_SENT"] == found["REMOTE_BYTES_RECVD"] == asked
    assert found["LOCAL_SEND_CALLS"] == datagrams


@pytest.mark.parametrize("test", EXCHANGES)
def test_bytes_of_transactions(ends: Ends, tmp_path: Path, test: str) -> None:
    """As many as asked for, each of a request and a response."""
    asked, request, response = 200, 5, 7
    specific = ["-r", f"{request},{response}"]
    found = ends.selected(tmp_path, test, -asked, SENT_AND_RECEIVED, *specific)
    assert found == {
        "LOCAL_BYTES_SENT": asked * request,
        "LOCAL_BYTES_RECVD": asked * response,
        "LOCAL_SEND_CALLS": asked,
        "REMOTE_BYTES_SENT": asked * response,
        "REMOTE_BYTES_RECVD": asked * request,
        "REMOTE_SEND_CALLS": asked,
    }


def test_transactions_in_flight(ends: Ends, tmp_path: Path) -> None:
    """For a time: the original's two ends stumble over each other at the end of a count."""
    names = ("LOCAL_BYTES_SENT", "LOCAL_BYTES_RECVD", "BURST_SIZE")
    found = ends.selected(tmp_path, "TCP_RR", 1, names, "-b", "3")
    assert found["BURST_SIZE"] == 3
    assert 0 <= found["LOCAL_BYTES_SENT"] - found["LOCAL_BYTES_RECVD"] <= 4


@pytest.mark.parametrize("test", [*STREAMS, *EXCHANGES])
@pytest.mark.parametrize("cpu", [(), ("-c", "-C")], ids=["plain", "cpu"])
def test_table(
    ends: Ends, originals: Ends, tmp_path: Path, test: str, cpu: tuple[str, ...]
) -> None:
    """The same title and header as between two originals, and as many numbers in each line."""
    length = -200 if test in EXCHANGES else -6_400
    specific = ("--", "-R", "1", "-m", "64") if test == "UDP_STREAM" else ()
    ours, theirs = (
        _lines(each.run(tmp_path, test, length, *cpu, *specific)) for each in (ends, originals)
    )
    assert ours == theirs


@pytest.mark.parametrize("test", [*STREAMS, *EXCHANGES])
def test_timed(ends: Ends, tmp_path: Path, test: str) -> None:
    """For the second that was asked for, with something done in it."""
    words = ("-P", "0", "--", "-R", "1") if test == "UDP_STREAM" else ("-P", "0")
    first, *_ = ends.run(tmp_path, test, 1, *words).splitlines()
    cells = [float(cell) for cell in first.split()]
    # UDP_STREAM has two counts between its time and its rate.
    elapsed_s = cells[2] if test == "UDP_STREAM" else cells[-2]
    # Without a time both would take ten seconds; a machine may stand still for some of the rest.
    assert 0.9 < elapsed_s < 9
    assert cells[-1] > 0


def _lines(printed: str) -> list[str]:
    """Each line with a word for each number; of the first, which tells who and where, the title."""
    title, *rest = printed.splitlines()
    return [title.partition(" from ")[0], *map(_shape, rest)]


def _shape(line: str) -> str:
    return " ".join("number" if _is_number(word) else word for word in line.split())


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
