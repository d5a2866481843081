"""A study that uses profiles: what is asked, what is trusted, what is run."""

import os
import pwd
from fractions import Fraction
from pathlib import Path

import pytest

from tiltyard.app.freeze import planned
from tiltyard.errors import HostLacksError, RefusedError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.scratch_dir import scratch_dir
from tiltyard.run.trust import UntrustedInputs
from tiltyard.study.compare import compare_study, study_text
from tiltyard.workloads.catalogue import catalogue_of

STUDY = """\
question = "Which?"

[factors]
directory = {{ a = "a", b = "b" }}

[[workload]]
use = "{use}"
{parameters}
"""
OWN = """\
about = "a"
description = "b"
lineage = "c"

[parameters.text]
type = "text"
help = "What is printed."
default = "hello"

[program]
command = ["echo", "{text}"]
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TILTYARD_STATE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def study(root: Path, use: str, parameters: str = "") -> StudyFolder:
    folder = StudyFolder(root / "spool")
    for name in ("a", "b"):
        (folder.root / name).mkdir(parents=True)
    folder.study.write_text(STUDY.format(use=use, parameters=parameters))
    return folder


def test_a_ready_profile_is_planned_as_its_program_and_brings_nothing(tmp_path: Path) -> None:
    folder = study(tmp_path, "zstd", 'level = 9\nsize = "1M"')
    plan = planned(folder, Engine.find())
    (workload,) = plan.workloads
    assert workload.program is not None
    assert workload.program["command"] == [
        "zstd", "-qkf", "-9", "-T1", "input", "-o", "packed",
    ]  # fmt: skip
    assert workload.spec.parameters == {"level": 9, "size": "1M"}


def test_a_profile_of_the_study_is_trusted_like_its_commands(tmp_path: Path) -> None:
    folder = study(tmp_path, "own")
    (folder.root / "workloads").mkdir()
    (folder.root / "workloads/own.toml").write_text(OWN)
    with pytest.raises(RefusedError, match=r"command: .* echo hello\. Fix: "):
        planned(folder, Engine.find())
    assert planned(folder, Engine.find(), trust=True)


def test_a_plan_that_was_changed_behind_a_ready_profile_is_asked_about(tmp_path: Path) -> None:
    folder = study(tmp_path, "zstd")
    plan = planned(folder, Engine.find())
    (workload,) = plan.workloads
    evil = workload.model_copy(update={"program": {"command": ["touch", "/evil"]}})
    folder.plan.unlink()
    write_plan(folder, Plan.model_validate(plan.model_copy(update={"workloads": (evil,)})))
    assert read_plan(folder).workloads[0].program == {"command": ["touch", "/evil"]}
    with pytest.raises(RefusedError, match=r"command: .* touch /evil\. Fix: "):
        planned(folder, Engine.find())


def test_a_job_file_is_brought_with_its_contents_and_planned_with_them(tmp_path: Path) -> None:
    job, common = tmp_path / "mail.fio", tmp_path / "common.fio"
    job.write_text("[a]\nsize=1M\ninclude common.fio\n")
    common.write_text("bs=4k\n")
    folder = study(tmp_path, "fio", 'job = "mail.fio"')
    with pytest.raises(RefusedError, match=r"start programs: \S*/mail\.fio and 1 more\. Fix: "):
        planned(folder, Engine.find())
    plan = planned(folder, Engine.find(), trust=True)
    program = plan.workloads[0].program
    assert program is not None
    assert program["command"] == ["fio", "--output-format=json+", "mail.fio"]
    assert program["inputs"] == {"mail.fio": job.read_text(), "common.fio": "bs=4k\n"}
    catalogue = catalogue_of(Engine.find(), folder)
    assert UntrustedInputs.of(plan, catalogue, folder).is_trusted
    common.write_text("bs=4k\nexec_prerun=touch /evil\n")
    assert not UntrustedInputs.of(plan, catalogue, folder).is_trusted
    program["inputs"] = {"mail.fio": "[a]\nexec_prerun=touch /evil\n"}
    common.write_text("bs=4k\n")
    changed = UntrustedInputs.of(plan, catalogue, folder)
    assert not changed.is_trusted, "the plan was changed"
    changed.trust()
    assert UntrustedInputs.of(plan, catalogue, folder).is_trusted
    program["inputs"] = {"mail.fio": "[a]\nexec_prerun=touch /more\n"}
    assert not UntrustedInputs.of(plan, catalogue, folder).is_trusted, "and once more"


def test_a_job_file_that_is_not_there_has_the_line_of_the_study(tmp_path: Path) -> None:
    folder = study(tmp_path, "fio", 'job = "mail.fio"')
    says = (
        rf"study\.toml:8: workload\.job: mail\.fio: there is no such file in "
        rf"{tmp_path}/spool or {tmp_path}\. Fix: "
    )
    with pytest.raises(UsageError, match=says):
        planned(folder, Engine.find())
    (tmp_path / "mail.fio").write_text("[a]\ninclude common.fio\n")
    with pytest.raises(
        UsageError, match=r"study\.toml:8: workload\.job: \S*/mail\.fio:2: common\.fio: there is no"
    ):
        planned(folder, Engine.find())
    assert not folder.plan.exists()


def test_a_wrong_parameter_has_the_line_of_the_study(tmp_path: Path) -> None:
    folder = study(tmp_path, "zstd", 'level = 99\nsize = "1M"')
    with pytest.raises(UsageError, match=r"study.toml:8: workload.level: 99 is too large: at most"):
        planned(folder, Engine.find())


def test_what_is_not_installed_is_said_first(tmp_path: Path) -> None:
    folder = study(tmp_path, "own")
    (tmp_path / "workloads").mkdir()
    needs = 'needs = { no-such-tool = "some-tools" }\n'
    (tmp_path / "workloads/own.toml").write_text(needs + OWN)
    with pytest.raises(HostLacksError, match=r"no-such-tool\. Fix: apt install some-tools"):
        planned(folder, Engine.find())
    assert not folder.plan.exists()


def test_what_stands_after_a_colon_is_what_the_profile_asks_for(tmp_path: Path) -> None:
    catalogue = catalogue_of(Engine.find())
    systems = [(name, {"filesystem": name}) for name in ("ext4", "xfs")]
    with pytest.raises(
        UsageError, match=r"^fio:\S*/my\.fio: \S*/my\.fio: there is no such file\. Fix"
    ):
        compare_study(systems, [f"fio:{tmp_path}/my.fio"], catalogue)
    (tmp_path / "my.fio").write_text("[a]\nsize=1M\n")
    document = compare_study(systems, [f"fio:{tmp_path}/my.fio"], catalogue)
    assert f'use = "fio"\njob = "{tmp_path}/my.fio"' in study_text(document)
    with pytest.raises(
        UsageError, match=r"zstd takes nothing after a colon but parameters.* -w zstd:level="
    ):
        compare_study(systems, ["zstd:9"], catalogue)


def test_a_duration_is_scaled_however_it_is_typed(tmp_path: Path) -> None:
    folder = study(tmp_path, "openssl", 'seconds = "1 min"')
    (workload,) = planned(folder, Engine.find(), Fraction("1/10")).workloads
    assert workload.program is not None
    assert "6" in workload.program["command"]  # type: ignore[operator]


def test_only_the_user_of_its_programs_gets_through_the_scratch_folder(tmp_path: Path) -> None:
    plan = planned(study(tmp_path, "zstd"), Engine.find())
    (workload,) = plan.workloads
    folder = StudyFolder(tmp_path / "spool")

    def mode(*users: str) -> tuple[int, int]:
        programs = [{"command": ["true"], "user": user} for user in users]
        workloads = tuple(workload.model_copy(update={"program": one}) for one in programs)
        with scratch_dir(folder, plan.model_copy(update={"workloads": workloads})):
            found = folder.work.stat()
        return found.st_mode & 0o777, found.st_gid

    assert mode() == (0o700, os.getegid())
    assert mode(pwd.getpwuid(os.geteuid()).pw_name) == (0o700, os.getegid())
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        assert mode("nobody", "nobody") == (0o710, nobody.pw_gid)
    with pytest.raises(UsageError, match="run as one user, and these as daemon, nobody"):
        mode("nobody", "daemon")
