"""A ready study, scaled, from its file to its report, on real file systems."""

from fractions import Fraction
from pathlib import Path

import pytest

from support.hosts import nothing_is_left, state
from tiltyard.analysis.model import Findings
from tiltyard.app.freeze import at_scale
from tiltyard.cli.run import run
from tiltyard.errors import ExitCode, UsageError
from tiltyard.folder import StudyFolder

__all__ = ["nothing_is_left", "state"]
READY = Path(__file__).resolve().parents[2] / "studies/iozone-magazine.toml"
FEWER = {
    '["ext3", "ext4", "xfs"]': '["ext3", "ext4"]',
    'image = "18G"': 'image = "18G", at = "memory"',
    "blocks = 10": "blocks = 6",
    'access = "out-of-cache"': 'tests  = ["write", "read"]\naccess = "out-of-cache"',
}
"""The whole would take longer, and show no more of this."""


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """The study of the magazine with fewer systems, blocks and tests."""
    text = READY.read_text()
    for whole, part in FEWER.items():
        assert text.count(whole) == 1
        text = text.replace(whole, part)
    path = tmp_path / "magazine.toml"
    path.write_text(f'{text}\n[noise]\ndisturbed = "keep"\nreference_run = "0%"\n')
    return path


def test_a_scaled_run_says_so_everywhere(ready: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ready, scale="1/4096") == ExitCode.DONE
    folder = StudyFolder(ready.with_name("magazine-1-4096"))
    findings = Findings.model_validate_json(folder.findings.read_bytes())
    said = "iozone, file: 16 GiB → 4 MiB; iozone, record: 1 MiB … 16 MiB → 1 MiB, 4 MiB; "
    assert said in capsys.readouterr().err
    assert findings.question.endswith("(scaled by 1/4096)")
    assert any(said in notice.text for notice in findings.notices)
    assert (findings.blocks_done, findings.trials_kept, findings.trials_failed) == (6, 12, 0)
    assert {cell.at["record"] for cell in findings.workloads[0].cells} == {1 << 20, 1 << 22}
    page = (folder.report / "index.html").read_text()
    assert "(scaled by 1/4096)" in page
    assert "not comparable" in page
    assert at_scale(folder, None) == at_scale(folder, Fraction(1, 4096))
    with pytest.raises(UsageError, match=r"begun scaled by 1/4096, not at --scale 1/64\."):
        run(folder.root, scale="1/64")
    with pytest.raises(UsageError, match=r"begun scaled by 1/4096, not at --scale 1\."):
        run(folder.root, scale="1")
