"""The printed studies, read once, and a small one that tests may disturb."""

from pathlib import Path

import pytest

from support.publications import PUBLISHED, STUDIES
from tiltyard_published.read import Publication, read_publication

FILE = """\
question = "Which is faster?"
style = "article"
baseline = "a"
origin = { title = "A study" }

[[system]]
name = "a"
levels = { system = "a" }

[[system]]
name = "b"
levels = { system = "b" }

[[workload]]
name = "reads"
use = "iozone"
grid = { record = "KB", order = "text" }

[[workload.metric]]
name = "time"
label = "time"
unit = "s"
direction = "lower"
printed = { unit = "µs", factor = 1e-6, decimals = 1 }

[[table]]
file = "table.csv"
where = "table 1"
n = 3
fixed = { workload = "reads", metric = "time", order = "random" }
rows = { record = "record", what = "statistic" }
columns = "system"
averages = ["mean"]

[table.advantages]
"b ahead" = { system = "b", against = "a" }
"""
TABLE = """\
# Table 1
record,what,a,b,b ahead
4,mean,0.3,0.1,66.7
4,se,0.1,,
8,mean,1.7,,
mean,,0.5,,
"""


@pytest.fixture(scope="session")
def publications() -> dict[str, Publication]:
    """Every study of ``published/`` by name."""
    return {name: read_publication(PUBLISHED / name) for name in STUDIES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small study as it might be printed."""
    study = tmp_path / "small"
    study.mkdir()
    (study / "published.toml").write_text(FILE)
    (study / "table.csv").write_text(TABLE)
    return study
