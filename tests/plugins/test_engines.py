"""A stranger's engine: a workload in a few lines of Rust, found and used by the real command."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.packages import install, tiltyard
from tiltyard.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
STUDY = """\
question = "Which directory renames faster?"

[factors]
directory = ["a", "b"]

[[workload]]
use = "turbo_renames"
renames = 200

[precision]
blocks = 6
"""


@pytest.fixture(scope="module")
def engine() -> Path:
    """Its binary; `cargo test --workspace` has made the same already."""
    build = ("cargo", "build", "--quiet", "--locked", "--offline", "--package", "turbo-engine")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return target / "debug/turbo-engine"


@pytest.fixture
def site(tmp_path: Path, engine: Path) -> Path:
    return package(tmp_path / "site", "turbo-bench", engine)


def package(site: Path, name: str, engine: Path) -> Path:
    module = name.replace("-", "_")
    files = {f"{module}.py": f"ENGINE = {str(engine)!r}\n"}
    install(site, name, files, {"engines": {module: f"{module}:ENGINE"}})
    return site


def stand_in(path: Path, does: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


def test_its_workload_is_planned_run_and_reported(site: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "study.toml").write_text(STUDY)
    told = tiltyard(site, tmp_path, "workloads", "turbo_renames")
    assert "a file is renamed, and back" in told.stdout
    for words in (("check", "."), ("run", ".", "--disturbed", "keep"), ("report", ".")):
        done = tiltyard(site, tmp_path, *words)
        assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["plugins"] == {"turbo-bench": "1.2"}
    findings = json.loads((tmp_path / "findings.json").read_text())
    assert findings["plugins"] == {"turbo-bench": "1.2"}
    assert (tmp_path / "report/index.html").exists()


def test_one_that_the_environment_names_stands_beside_ours(engine: Path, tmp_path: Path) -> None:
    from tiltyard.executors.engine import Engine

    named = f"{Engine.find().path}{os.pathsep}{engine}"
    before = f"import os; os.environ['TILTYARD_ENGINE'] = {named!r}"
    done = tiltyard(tmp_path, tmp_path, "workloads", "--json", before=before)
    assert done.returncode == 0, done.stderr
    names = [one["name"] for one in json.loads(done.stdout)["workloads"]]
    assert {"postmark", "turbo_renames"} <= {*names}
    assert len(names) == len({*names})


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("echo hello", "not an engine of this lab"),
        ("exit 1", "not an engine of this lab"),
        (
            """echo '{"protocol": 99, "engine": "9", "backends": [], "workloads": []}'""",
            "speaks protocol 99",
        ),
    ],
)
def test_one_that_does_not_describe_itself_is_named_and_harms_nothing(
    tmp_path: Path, does: str, says: str
) -> None:
    site = package(tmp_path / "site", "slow-bench", stand_in(tmp_path / "slow", does))
    done = tiltyard(site, tmp_path, "workloads", "postmark")
    assert done.returncode == 0, done.stderr
    assert "slow-bench 1.2" in done.stderr
    assert says in done.stderr
    assert done.stderr.count("slow-bench 1.2") == 1
    checks = json.loads(tiltyard(site, tmp_path, "doctor", "--json").stdout)["checks"]
    (found,) = [one for one in checks if one["name"] == "plug-in slow-bench"]
    assert found["status"] == "limited"
    assert says in found["meaning"]


def test_a_name_of_two_engines_is_refused_where_it_is_asked_for(
    site: Path, engine: Path, tmp_path: Path
) -> None:
    package(site, "nitro-bench", engine)
    (tmp_path / "study.toml").write_text(STUDY)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    done = tiltyard(site, tmp_path, "check", "study.toml")
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert "turbo-bench 1.2" in done.stderr
    assert "nitro-bench 1.2" in done.stderr
    assert "workload turbo_renames" in done.stderr
    other = STUDY.replace("turbo_renames", "random").replace("renames = 200", "operations = 100")
    (tmp_path / "study.toml").write_text(other)
    assert tiltyard(site, tmp_path, "check", "study.toml").returncode == 0


def test_it_is_not_for_guests(site: Path, tmp_path: Path) -> None:
    text = STUDY.replace('directory = ["a", "b"]', 'kernel = ["1", "2"]')
    (tmp_path / "study.toml").write_text(text)
    done = tiltyard(site, tmp_path, "check", "study.toml")
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert "not in a guest" in done.stderr


def test_none_is_looked_for_in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiltyard.executors import engine as module

    stand_in(tmp_path / "tiltyard-engine", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("TILTYARD_ENGINE", raising=False)
    assert tmp_path / "tiltyard-engine" not in [*module._places()]
