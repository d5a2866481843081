"""Programs in a plan: portable as it is written, whole when a job is made of it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from support.catalogue import WITH_PROGRAM
from tiltyard.app.freeze import open_study
from tiltyard.executors.engine import JobRefused
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.freeze import freeze
from tiltyard.plan.model import Plan
from tiltyard.plan.program import AT_LEAST_S, job_parameters, job_variables
from tiltyard.study.load import load_study
from tiltyard.study.problems import StudyFileError
from tiltyard.systems import KINDS
from tiltyard.wire import PROTOCOL, Conditions, Hello

STUDY = """\
question = "q"
[factors]
build = { old = { path = "/bin/echo" }, new = { path = "bin/echo", more = ["-n", "{execution}"] } }
[systems]
more = []
[[workload]]
use = "program"
command = ["{path}", "{more}", "x{path}"]
prepare = [["{path}"], ["sync"]]
where = "tree"
metrics = { tps = { regex = "([0-9]+)", unit = "1/s", better = "higher" } }
"""


class Asked:
    """An engine that takes what it is asked, and remembers it."""

    def __init__(self) -> None:
        self.jobs: list[tuple[dict[str, JsonValue], dict[str, str]]] = []

    def __call__(
        self,
        workload: str,
        parameters: Mapping[str, JsonValue],
        variables: Mapping[str, str] | None = None,
        *,
        elsewhere: bool = False,
    ) -> Hello:
        if "refuse" in (variables or {}).get("path", ""):
            raise JobRefused("command", "there is no program of that name")
        self.jobs.append((dict(parameters), dict(variables or {})))
        return Hello(
            protocol=PROTOCOL,
            engine="0.0.0",
            workload=workload,
            effective=dict(parameters),
            hash=sha256(repr(parameters).encode()),
            timing="pass",
            conditions=Conditions(cpus=[], awake=[]),
        )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A study file beside the program that it names; it is carried out in a folder of its own."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/echo").write_text("")
    (tmp_path / "tree").mkdir()
    path = tmp_path / "echo.toml"
    path.write_text(
        STUDY.replace("\n[systems]\nmore = []", "").replace('/echo" }', '/echo", more = [] }')
    )
    return path


def frozen(path: Path, asked: Asked) -> Plan:
    folder = StudyFolder(path.with_suffix(""), written_in=path.parent)
    study = load_study(path, WITH_PROGRAM, KINDS)
    return freeze(study, path, WITH_PROGRAM, asked, datetime.now(UTC), folder)


def test_the_plan_is_portable_and_the_job_is_not(written: Path) -> None:
    asked = Asked()
    plan = frozen(written, asked)
    here = str(written.parent)
    assert here not in plan.model_dump_json()
    assert plan.paths_from == ".."
    _, (new, variables) = asked.jobs
    assert variables == {"path": f"{here}/bin/echo", "more": "-n '{execution}'"}
    assert new["command"] == ["{path}", "-n", "{execution}", "x{path}"]
    assert new["where"] == f"{here}/tree"
    assert asked.jobs[0][0]["command"] == ["{path}", "x{path}"]
    assert not {"metrics", "read"} & new.keys()


def test_a_plan_of_programs_is_read_back(written: Path) -> None:
    plan = frozen(written, Asked())
    again = Plan.model_validate_json(plan.document())
    assert again == plan
    assert again.hash == plan.hash
    (workload,) = again.workloads
    assert workload.readings is not None
    assert [card.name for card in workload.metrics if card.role == "headline"] == ["tps"]


def test_what_is_short_is_repeated(written: Path) -> None:
    (workload,) = frozen(written, Asked()).workloads
    assert workload.program is not None
    assert workload.program["at_least"] == AT_LEAST_S
    written.write_text(written.read_text().replace("where =", "executions = 3\nwhere ="))
    (workload,) = frozen(written, Asked()).workloads
    assert "at_least" not in (workload.program or {})


def test_what_the_engine_refuses_is_said_of_a_system_and_a_line(written: Path) -> None:
    written.write_text(written.read_text().replace('"bin/echo"', '"bin/refused"'))
    with pytest.raises(StudyFileError) as caught:
        frozen(written, Asked())
    assert str(caught.value).endswith(
        "echo.toml:6: workload.command: there is no program of that name (new)"
    )


def test_a_word_without_a_slash_is_no_path(written: Path) -> None:
    plan = frozen(written, Asked())
    system = plan.systems[1].model_copy(update={"variables": {"path": "bin", "to": "no/such"}})
    assert job_variables(system, written.parent) == {"path": "bin", "to": "no/such"}
    assert job_parameters({"where": "{path}"}, system, written.parent) == {"where": "{path}"}


@pytest.mark.parametrize("name", ["bench.toml", "study.toml"])
def test_relative_paths_begin_where_the_file_lies_whatever_it_is_called(
    written: Path, name: str
) -> None:
    """A file called study.toml makes a study folder of its directory; the study goes elsewhere."""
    file = written.rename(written.with_name(name))
    target = open_study(file, written.parent / "out")
    assert (target.written_in or target.root).resolve() == file.parent.resolve()
    assert target.origin == ".."
