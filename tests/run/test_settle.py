"""Settling: what a host's agent is asked before a trial; how it waits is tested in the engine."""

import pytest

from support.places import behind
from tiltyard.errors import UnreachableError
from tiltyard.host.host import Host
from tiltyard.host.place import HERE, Place
from tiltyard.run import settle


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it; other tests do not wait."""
    monkeypatch.setattr(settle, "_LIMIT_S", 2.0)


@pytest.mark.parametrize(
    ("trial_s", "patience_s"), [(None, 2.0), (600.0, 2.0), (1.0, 0.1), (0.0, 0.0)]
)
def test_patience_is_a_tenth_of_a_trial(trial_s: float | None, patience_s: float) -> None:
    assert settle.Settling.before(trial_s) == (patience_s, True)


def test_before_a_brief_trial_nothing_is_written_or_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    answer = Host.settle

    def seen(host: Host, limit_s: float, *, sync: bool = True) -> object:
        asked.append((limit_s, sync))
        return answer(host, limit_s, sync=sync)

    monkeypatch.setattr(Host, "settle", seen)
    found = settle.settle(settle.Settling.before(0.5, brief=True))
    assert asked == [(0, False)]
    assert (found.dirty_bytes >= 0, found.waiting_share) == (True, None)


@pytest.mark.parametrize("place", [HERE, behind("sh", "-c")], ids=["here", "there"])
def test_a_host_settles(place: Place) -> None:
    """A shell of this host stands for another one."""
    found = settle.settle(settle.Settling.before(0.1), place)
    assert found.elapsed_s >= 0.05
    assert found.waiting_share is None or 0 <= found.waiting_share <= 1


@pytest.mark.parametrize("ends", ["exit 255", "kill -9 $$"])
def test_a_host_that_is_not_reached_does_not_settle(ends: str) -> None:
    """ssh itself fails, or is killed."""
    with pytest.raises(UnreachableError, match="cannot reach"):
        settle.settle(settle.Settling.before(None), behind("sh", "-c", ends))
