"""The page's script in a real browser: sorting, searching, copying, hiding, telling, colours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.browser import needs_chromium, opened, without_policy
from tiltyard.analysis.model import Findings
from tiltyard.charts.theme import DARK

ACTIONS = (Path(__file__).parent / "actions.js").read_text()

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def done(page: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The demonstration, used."""
    acted = without_policy(page).replace("</body>", f"<script>{ACTIONS}</script></body>")
    found: dict[str, Any] = json.loads(opened(acted, tmp_path_factory.mktemp("browser")))
    return found


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_a_column_sorts_both_ways_by_value(done: dict[str, Any], findings: Findings) -> None:
    values = sorted(round(s.value) for s in findings.workloads[1].index.standings)
    way, shown = done["ascending"]
    assert way == "ascending"
    assert [number(text) for text in shown] == pytest.approx(values, rel=0.01)
    assert done["descending"] == ["descending", shown[::-1]]
    assert done["by_name"] == sorted(done["by_name"])


def test_the_signs_of_sorting_widen_no_table(done: dict[str, Any]) -> None:
    assert done["sortable"] > 5
    assert done["widened_by_signs"] == 0


def test_long_tables_sort_and_can_be_searched(done: dict[str, Any], findings: Findings) -> None:
    assert [number(text) for text in done["relative"]] == sorted(map(number, done["relative"]))
    own = [t for t in findings.trials if (t.workload, t.system) == ("postmark", "btrfs")]
    assert done["searched"] == len(own) > 0
    assert done["counted"] == f"{len(own)} of {len(findings.trials)}"


def test_a_table_can_be_taken_along(done: dict[str, Any], findings: Findings) -> None:
    head, *lines = done["csv"].splitlines()
    assert head.startswith('rank,System,Verdict,"baseline × ratio, 1/s",relative to ext4,')
    assert len(lines) == len(findings.systems)
    first = findings.workloads[1].index.standings[0]
    (line,) = (line for line in lines if first.system in line)
    assert float(line.split(",")[3]) == pytest.approx(first.value, rel=1e-5)


def test_a_system_can_be_hidden_and_shown(done: dict[str, Any]) -> None:
    name, pressed, left = done["hidden"]
    assert pressed == "false"
    assert left
    assert name not in left
    assert float(done["faint"]) < 0.1
    assert done["shown_again"] == len(left) + 1


def test_marks_tell_their_values_by_keyboard(done: dict[str, Any]) -> None:
    tag, told, focused = done["told"]
    assert tag == "OUTPUT"
    assert re.search(r"system: \w+", told)
    assert re.search(r"\d\.\d", told)
    assert focused


def test_colours_can_be_chosen_and_the_typeface_is_there(done: dict[str, Any]) -> None:
    dark = DARK["paper"]
    assert done["paper"] == "rgb({}, {}, {})".format(
        *(int(dark[at : at + 2], 16) for at in (1, 3, 5))
    )
    assert done["typeface"].startswith('"Tiltyard Sans"')
    assert done["faces"] == 1


def test_the_policy_lets_our_script_run_and_no_other(page: str, tmp_path: Path) -> None:
    other = "<script>document.body.textContent = 'another script has run'</script>"
    shown = opened(page.replace("</body>", other + "</body>"), tmp_path)
    assert "another script has run" not in re.sub(r"<script>.*?</script>", "", shown, flags=re.S)
    assert 'class="sort"' in shown


def test_without_scripts_everything_is_there(page: str, tmp_path: Path) -> None:
    bare = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    shown = opened(bare, tmp_path)
    assert shown.count("<tr>") == page.count("<tr>")
    assert 'class="tools"' not in shown
