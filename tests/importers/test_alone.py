"""One system alone has nothing to be compared with; its report tells its values all the same."""

import pytest

from support.imports import GENUINE, collected
from tiltyard.analysis.collected import analyse_collection
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style

FILES = {file.name: file for file in GENUINE}


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
@pytest.mark.parametrize("name", ["iozone/four-columns.txt", "netperf/rr.txt"])
def test_of_a_grid_and_of_one_value(name: str, style: Style) -> None:
    findings = analyse_collection(collected(FILES[name].read()))
    document = style.compose(findings)
    assert [system.name for system in findings.systems] == ["a"]
    assert document.sections
