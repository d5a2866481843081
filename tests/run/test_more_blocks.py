"""`tiltyard run STUDY --blocks N`: the same study with so many blocks, in a folder beside it."""

import shutil
from pathlib import Path

import pytest

from tiltyard.app.freeze import open_study
from tiltyard.errors import UsageError

FACTORS = '[factors]\ndirectory = { a = "../a", b = "/srv" }\n'
TABLES = {
    "": "\n[precision]\nblocks = 40\n",
    '[precision] # mine\nprofile = "quick"\nbudget = "5 min"\nstrict = true\n[noise]\n': (
        "[precision]\nblocks = 40\nstrict = true\n[noise]\n"
    ),
    "[precision]\nblocks = 7": "[precision]\nblocks = 40\n",
    "[precision]": "[precision]\nblocks = 40\n",
    "  [precision]\n  blocks = 7\n  [noise]\n  budget = 1\n": (
        "[precision]\nblocks = 40\n  [noise]\n  budget = 1\n"
    ),
}


@pytest.mark.parametrize(("table", "becomes"), TABLES.items())
def test_the_number_is_written_and_what_ends_it_earlier_goes(
    tmp_path: Path, table: str, becomes: str
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "study.toml").write_text(FACTORS + table)
    made = open_study(spool, None, None, 40)
    assert made.root == tmp_path / "spool-40"
    assert made.study.read_text() == FACTORS + becomes
    assert made.origin == "../spool"
    assert (spool / "study.toml").read_text() == FACTORS + table
    assert open_study(spool, None, None, 40) == made, "the same command goes on"


def test_a_file_has_its_folder_named_after_it_too(tmp_path: Path) -> None:
    (tmp_path / "mail.toml").write_text(FACTORS)
    assert open_study(tmp_path / "mail.toml", None, None, 40).root == tmp_path / "mail-40"


def test_what_another_folder_would_lack_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spool/disk").mkdir(parents=True)
    study = tmp_path / "spool/study.toml"
    study.write_text('[factors]\ndirectory = { a = "disk", b = "/srv" }\n')
    with pytest.raises(UsageError, match=f'"disk" lies in .* Fix: write "{tmp_path}/spool/disk"'):
        open_study(tmp_path / "spool", None, None, 40)
    long = f"[systems]\nsetup = '{'x' * 300}'\n"
    study.write_text(long)
    assert open_study(tmp_path / "spool", None, None, 40).study.read_text().startswith(long)
    shutil.rmtree(tmp_path / "spool-40")
    study.write_text('precision = { profile = "quick" }\n')
    with pytest.raises(UsageError, match=r"Fix: write blocks = 40 there"):
        open_study(tmp_path / "spool", None, None, 40)
    assert [path.name for path in tmp_path.iterdir()] == ["spool"]
