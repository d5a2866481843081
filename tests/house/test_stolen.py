"""A failing test is asked again if its host was taken away meanwhile, and only then."""

import pytest

PLUGIN = """
from pathlib import Path
from support.stolen import STAT

STAND_IN = Path(__file__).with_name("stat")

def pytest_configure(config):
    STAND_IN.write_text("cpu 1 2 3 4 5 6 7 1000 0 0\\n")
    config.stash[STAT] = STAND_IN
"""
TEST = """
from pathlib import Path
import pytest

tries = []

@pytest.fixture
def asked():
    tries.append(None)
    return len(tries)

def test_it(asked):
    Path(__file__).with_name("stat").write_text("cpu 1 2 3 4 5 6 7 {ticks} 0 0\\n")
    assert asked > {failures}
"""


@pytest.mark.parametrize(
    ("ticks", "failures", "expected"),
    [
        pytest.param(2000, 0, {"passed": 1}, id="stolen from, and passes"),
        pytest.param(2000, 1, {"rerun": 1, "passed": 1}, id="stolen from, fails once"),
        pytest.param(2000, 2, {"rerun": 1, "failed": 1}, id="stolen from, fails twice"),
        pytest.param(1000, 1, {"failed": 1}, id="nothing stolen"),
        pytest.param(1001, 1, {"failed": 1}, id="less stolen than any guest loses"),
    ],
)
def test_only_what_was_stolen_from_is_asked_again(
    ticks: int, failures: int, expected: dict[str, int], pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(PLUGIN)
    pytester.makepyfile(TEST.format(ticks=ticks, failures=failures))
    result = pytester.runpytest_inprocess("-p", "support.stolen", "-p", "no:cacheprovider")
    outcomes = result.parseoutcomes()
    assert {name: outcomes.get(name, 0) for name in expected} == expected
    assert set(outcomes) <= set(expected)
