"""A study as a check of ReFrame and as a plan of tmt: both hand back its verdict.

Both are installed for these tests, in a folder of theirs.
"""

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.conformance

EXAMPLES = Path(__file__).resolve().parents[2] / "share/doc/tiltyard/examples"
TILTYARD = Path(sys.executable).parent / "tiltyard"
STUDY = """question = "Is new slower?"
[factors]
build = {{ old = {{ s = "0.4" }}, new = {{ s = "{new}" }} }}
[[workload]]
use = "program"
command = ["{command}", "{{s}}"]
executions = 1
[precision]
blocks = 7
[noise]
disturbed = "keep"
reference_run = "0%"
"""
STUDIES = {
    "faster": STUDY.format(new=0.02, command="sleep"),
    "slower": STUDY.format(new=1.2, command="sleep"),
    "failing": STUDY.format(new=0.2, command="false"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ``reframe`` and ``tmt``."""
    folder = tmp_path_factory.mktemp("programs")
    venv.create(folder, with_pip=True)
    wanted = ("ReFrame-HPC==4.10.4", "tmt==1.78.0")
    subprocess.run((folder / "bin/pip", "install", "--quiet", *wanted), check=True)
    return folder / "bin"


@pytest.fixture(params=STUDIES)
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One that passes, one that does not, and one that cannot say."""
    path = tmp_path / f"{request.param}.toml"
    path.write_text(STUDIES[request.param])
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    own = {"HOME": tmp_path, "RFM_PREFIX": tmp_path / "reframe", "TILTYARD_STATE": tmp_path / "own"}
    return {**os.environ, **{name: str(path) for name, path in own.items()}}


def test_reframe(programs: Path, study: Path, environment: dict[str, str]) -> None:
    options = (f"study={study}", "within=50%", f"tiltyard={TILTYARD}")
    words = ("-c", EXAMPLES / "reframe_study.py", "-r", "--report-file=report.json")
    done = subprocess.run(
        (programs / "reframe", *words, *(word for each in options for word in ("-S", each))),
        cwd=study.parent, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    report = json.loads((study.parent / "report.json").read_text())
    (case,) = report["runs"][0]["testcases"]
    wanted = {"faster": "pass", "slower": "fail", "failing": "fail"}[study.stem]
    assert (case["result"], done.returncode) == (wanted, 0 if wanted == "pass" else 1)
    told = {"slower": "regression: see", "failing": "invalid: trials failed"}.get(study.stem, "")
    assert told in done.stdout
    if wanted == "pass":
        (ratio,) = case["perfvalues"].values()
        assert ratio[0] < -50


def test_tmt(programs: Path, study: Path, environment: dict[str, str]) -> None:
    given = (f"STUDY={study}", "WITHIN=50%", f"TILTYARD={TILTYARD}")
    words = ("--feeling-safe", "run", "--id", study.parent / "run")
    done = subprocess.run(
        (programs / "tmt", *words, *(word for each in given for word in ("--environment", each))),
        cwd=EXAMPLES / "tmt", env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    wanted = {"faster": ("passed", 0), "slower": ("failed", 1), "failing": ("error", 2)}[study.stem]
    assert (re.findall(r"total: 1 .*(passed|failed|error)", done.stderr), done.returncode) == (
        [wanted[0]], wanted[1],
    )  # fmt: skip
    assert [*(study.parent / "run").rglob("gate.md")]
