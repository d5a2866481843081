"""Every form that compare takes is a study file that gives the same plan elsewhere."""

import os
import shlex
import shutil
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pydantic_core import to_jsonable_python

from support.devices import loop_disk
from support.hosts import needs_root
from support.marked import marked
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.app.compare import TypedStudy, typed_study
from tiltyard.app.freeze import frozen, open_study, planned
from tiltyard.cli.commands import Commands
from tiltyard.cli.compare import compare
from tiltyard.cli.contestants import understood
from tiltyard.cli.gate import gate
from tiltyard.cli.measuring import Measuring
from tiltyard.cli.plan import plan as plan_verb
from tiltyard.cli.run import _next_step, run
from tiltyard.errors import HostLacksError, UsageError, WrittenWarning
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.study.compare import Asked

ASKED = Asked(seed=7)
UML = "linux.uml"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("old", "new", "kernels"):
        (tmp_path / name).mkdir()
    (tmp_path / "job.fio").write_text("[a]\nrw=read\nsize=1m\n")
    for kernel in (tmp_path / "linux-6.1.uml", tmp_path / "kernels/linux-6.1.uml"):
        marked(Path("/bin/true"), kernel)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    return tmp_path


def plan_of(*words: str, asked: Asked = ASKED, **typed: object) -> Plan:
    """The plan of a comparison, which is that of its study in another folder too."""
    given = {"workloads": (), **typed}
    begun = typed_study(words, asked=asked, **given)  # type: ignore[arg-type]
    plan = planned(begun.folder, begun.engine, study=begun.study)
    Path("elsewhere").mkdir()
    shutil.copy(begun.folder.study, "elsewhere")
    other = frozen(Path("elsewhere/study.toml"), begun.engine, None)
    assert other.model_copy(update={"created": plan.created}) == plan
    return plan


def settings_of(*words: str, **typed: object) -> dict[str, dict[str, object]]:
    """Name of each system → what is not its kind's default."""
    from tiltyard.systems import kind

    found = {}
    for system in plan_of(*words, **typed).systems:
        fields = kind(system.kind).Settings.model_fields
        usual = {key: one.get_default() for key, one in fields.items() if not one.is_required()}
        found[system.name] = {"kind": system.kind} | {
            key: value
            for key, value in system.settings.items()
            if key not in usual or value != to_jsonable_python(usual[key])
        }
        for key, value in system.settings.items():
            if value in ([], ()) or key == "backing":
                found[system.name].pop(key, None)
    return found


def test_one_grammar_for_all_that_has_a_directory(here: Path) -> None:
    with loop_disk(here / "disk.img", 2**28) as disk:
        found = settings_of(
            "ext4", "ext4:noatime,commit=60", "ext4+vm.dirty_ratio=5", f"xfs:noatime@{disk}",
            "tmpfs", "host+vm.stat_interval=2", "old", str(here / "new"), "bench@srv1:/data",
            "./linux-6.1.uml", "kernels/linux-6.1.uml:noatime", UML,
        )  # fmt: skip
    image = {"kind": "loop-image", "filesystem": "ext4"}
    device = {"kind": "block-device", "filesystem": "xfs", "mount": ["noatime"], "device": disk}
    confirm = found[f"xfs:noatime@{Path(disk).name}"].pop("confirm")
    assert isinstance(confirm, dict)
    assert (confirm["size"], confirm["backing_file"]) == (2**28, str(here / "disk.img"))
    assert found == {
        "ext4": image,
        "ext4:noatime,commit=60": {**image, "mount": ["noatime", "commit=60"]},
        "ext4+vm.dirty_ratio=5": {**image, "sysctl": {"vm.dirty_ratio": "5"}},
        f"xfs:noatime@{Path(disk).name}": device,
        "tmpfs": {"kind": "tmpfs"},
        "host+vm.stat_interval=2": {"kind": "host", "sysctl": {"vm.stat_interval": "2"}},
        "old": {"kind": "directory", "directory": "../old"},
        str(here / "new"): {"kind": "directory", "directory": str(here / "new")},
        "bench@srv1:/data": {"kind": "remote", "host": "bench@srv1", "directory": "/data"},
        "linux-6.1.uml": {"kind": "vm", "kernel": "../linux-6.1.uml"},
        "linux-6.1.uml:noatime": {
            "kind": "vm", "kernel": "../kernels/linux-6.1.uml", "mount": ["noatime"]
        },
        UML: {"kind": "vm", "kernel": UML},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "vary", "systems"),
    [
        (
            ("ext4", "xfs"),
            ("scheduler=none,mq-deadline", "vm.dirty_ratio=5,20"),
            {
                "ext4 scheduler=none vm.dirty_ratio=5": {
                    "kind": "loop-image", "filesystem": "ext4", "scheduler": "none",
                    "sysctl": {"vm.dirty_ratio": "5"},
                },
            },
        ),
        (
            ("old",),
            ("scheduler=none,mq-deadline", "vm.dirty_ratio=5,20", "governor=performance,powersave"),
            {
                "scheduler=none vm.dirty_ratio=20 governor=powersave": {
                    "kind": "directory", "directory": "../old",
                    "tuning": [{"block": {"scheduler": "none"}, "cpu": {"governor": "powersave"}}],
                    "sysctl": {"vm.dirty_ratio": "20"},
                },
            },
        ),
        ((), ("vm.swappiness=1,60",), {"vm.swappiness=1": {
            "kind": "host", "sysctl": {"vm.swappiness": "1"}}}),
        (("ext4",), ("mount=noatime,relatime commit=60",), {"mount=relatime commit=60": {
            "kind": "loop-image", "filesystem": "ext4", "mount": ["relatime", "commit=60"]}}),
    ],
)  # fmt: skip
def test_what_is_varied_is_crossed(
    words: tuple[str, ...], vary: tuple[str, ...], systems: dict[str, object]
) -> None:
    found = settings_of(*words, vary=vary)
    number = max(1, len(words))
    for each in vary:
        number *= each.count(",") + 1
    assert len(found) == number
    assert {name: found[name] for name in systems} == systems


def test_workloads_with_parameters(here: Path) -> None:
    plan = plan_of(
        "old", "new", workloads=("random:block=4k,depth=8", "random:block=64k", "fio:job.fio")
    )
    first, second, fio = plan.workloads
    assert (first.spec.name, second.spec.name) == ("random block=4k depth=8", "random block=64k")
    assert (first.effective["block"], first.effective["depth"]) == ([4096], [8])
    assert first.effective["backend"] == "uring"
    assert fio.spec.parameters["job"] == "../job.fio"
    assert fio.program is not None
    assert fio.program["inputs"] == {"job.fio": (here / "job.fio").read_text()}


def test_a_network_with_two_settings_and_parameters() -> None:
    typed = {"vary": ("mtu=1500,9000", "congestion_control=cubic,reno")}
    plan = plan_of(workloads=("tcp_rr:seconds=1",), **typed)
    assert plan.systems[0].name == "mtu=1500 congestion_control=cubic"
    assert {system.kind for system in plan.systems} == {"pair"}
    assert len(plan.systems) == 4


def test_scale_is_written_down() -> None:
    plan = plan_of("old", "new", asked=replace(ASKED, scale="1/64"))
    assert plan.scaled is not None
    assert plan.scaled.by == "1/64"
    assert Path("postmark-old-new-1-64/study.toml").is_file()


def test_commands_are_executed_where_they_were_typed() -> None:
    commands = understood(
        Commands(command=("a=true", "b=false"), input="job.fio", output="printed"), ()
    )
    (workload,) = plan_of(commands=commands).workloads
    assert workload.program is not None
    found = [workload.program[key] for key in ("where", "stdin", "stdout")]
    assert found == ["..", "../job.fio", "../printed"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"workloads": ("random:blok=4k",)}, r'random:blok=4k: "blok".*Did you mean "block"'),
        ({"workloads": ("radom:block=4k",)}, r'"radom" is not a workload.*"random"'),
        ({"workloads": ("random:4k",)}, r"nothing after a colon but parameters"),
        ({"vary": ("schedulr=none,bfq",)}, r'"schedulr" is no setting of directory.*"scheduler"'),
        ({"vary": ("scheduler=none",)}, "a key with two values or more"),
        ({"vary": ("scheduler=none,none",)}, "a value is there twice"),
        ({"vary": ("vm.dirty_rato=5,20",)}, r'no kernel parameter.*"vm.dirty_ratio"'),
    ],
)
def test_the_wrong_part_is_named(typed: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_of("old", "new", **typed)


@pytest.mark.parametrize(
    ("typed", "meant"), [("xsf", "xfs"), ("XFS", "xfs"), ("./odl", "old"), ("new/odl", "new/old")]
)
def test_the_nearest_system_is_named(typed: str, meant: str) -> None:
    Path("new/old").mkdir()
    with pytest.raises(UsageError, match=f'Did you mean "{meant}"'):
        plan_of("old", typed)


@pytest.mark.parametrize("name", ["old", "old.uml", "my prog"])
def test_programs_are_no_systems_and_nothing_of_them_is_executed(here: Path, name: str) -> None:
    for place, there in enumerate(("bin", "other")):
        (here / there).mkdir()
        program = shutil.copy("/usr/bin/touch", here / there / name)
        Path(program).write_bytes(Path(program).read_bytes() + bytes(place))
    (here / "script").write_text("#!/bin/sh\ntouch proof\n")
    (here / "script").chmod(0o755)
    words = (f"bin/{name}", f"./other/{name}", "script")
    with pytest.raises(UsageError, match="these are programs, not systems") as told:
        compare(*words)
    line = shlex.split(str(told.value).partition("Fix: ")[2])
    assert line[:2] == ["tiltyard", "compare"]
    found = understood(Commands(command=tuple(line[3::2])), ())
    assert found is not None
    assert found.programs == (f"bin/{name}", f"./other/{name}", "./script")
    with pytest.raises(UsageError, match=r"is a program, not a system. Fix: -c ./script"):
        compare("new", "script")
    assert not [*here.glob("mem=*"), *here.glob("proof"), *here.glob("postmark*")]


def test_a_program_on_the_search_path_is_no_kernel_by_its_name(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "bin").mkdir()
    shutil.copy("/usr/bin/touch", here / "bin/mine.uml")
    monkeypatch.setenv("PATH", f"{here}/bin:{os.environ['PATH']}")
    with pytest.raises(UsageError, match=r'"mine.uml" is no file that exists'):
        compare("mine.uml", "linux-6.1.uml")


def test_what_is_no_disk_is_not_offered_as_one() -> None:
    Path("/dev/pts/ptmx").stat()
    with pytest.raises(UsageError, match=r'"/dev/pts/pmtx" no such file.*tiltyard devices$'):
        plan_of("ext4", "ext4@/dev/pts/pmtx")


def test_the_nearest_study_is_named() -> None:
    typed_study(("old", "new"), (), asked=ASKED)
    with pytest.raises(UsageError, match=r'no study here\. Did you mean "postmark-old-new"\?'):
        StudyFolder.of(Path("postmark-old-nwe"))
    Path("imported").mkdir()
    Path("imported/collection.json").write_text("{}")
    with pytest.raises(UsageError, match=r"nothing is run of them. Fix: tiltyard report imported$"):
        StudyFolder.of(Path("imported"))


def test_cpus_that_others_are_kept_off_stand_in_the_study() -> None:
    folder = typed_study(("old", "new"), (), asked=replace(ASKED, isolate=[1, 3])).folder
    conditions = tomllib.loads(folder.study.read_text())["conditions"]
    assert conditions == {"cpus": [1, 3], "isolate": True}
    assert Measuring(isolate="3,1,1-3").asked(of_commands=False).isolate == [1, 2, 3]
    for wrong in ("", "3-1", "one", "-1", "1,", "0-99999999999", "1;2"):
        with pytest.raises(UsageError, match=r"--isolate .*is a list of CPUs"):
            Measuring(isolate=wrong).asked(of_commands=False)


def test_the_same_command_resumes_and_another_one_has_a_folder_of_its_own() -> None:
    def typed(**changed: object) -> TypedStudy:
        return typed_study(("old", "new"), (), asked=replace(ASKED, **changed))  # type: ignore[arg-type]

    first, same = typed(), typed()
    assert (first.folder, first.study) == (same.folder, same.study)
    assert first.study is not None
    kept, longer = typed(disturbed="keep"), typed(budget="1 h")
    assert (kept.folder, kept.amendment.keep) == (first.folder, True)
    assert (longer.folder, longer.amendment.budget_s) == (first.folder, 3600)
    assert kept.study is longer.study is None, "what is in the folder is another one"
    assert "long" not in first.folder.study.read_text()
    assert typed(blocks=9).folder.root == Path("postmark-old-new-2")


@needs_root
def test_what_is_refused_leaves_no_folder(here: Path) -> None:
    (here / "state").mkdir(mode=0o700)
    before = sorted(here.iterdir())
    with pytest.raises(HostLacksError, match=r"no driver|not installed"):
        compare("ext4", "jfs")
    assert sorted(here.iterdir()) == before
    folder = here / "mine"
    folder.mkdir()
    with pytest.raises(HostLacksError):
        compare("ext4", "jfs", folder=folder)
    assert [*folder.iterdir()] == []
    (folder / "pilot").mkdir()
    (folder / "pilot/study.toml").write_text("of somebody else")
    with pytest.raises(HostLacksError):
        compare("ext4", "jfs", folder=folder)
    assert (folder / "pilot/study.toml").exists()


@pytest.mark.parametrize(
    "verb",
    [run, partial(gate, within="3%"), partial(plan_verb, pilot=True), partial(run, blocks=6)],
    ids=["run", "gate", "pilot", "blocks"],
)
def test_a_study_file_that_is_refused_leaves_no_folder(
    verb: Callable[[Path], object], here: Path
) -> None:
    """The corrected file was "another study" than that of the folder."""
    for second, files in (("old", '"x"'), ("gone", "500")):
        Path("mine.toml").write_text(
            f'question = "?"\n[factors]\ndirectory = ["{here}/new", "{here}/{second}"]\n'
            f'[[workload]]\nuse = "postmark"\nfiles = {files}\n'
        )
        with pytest.raises((UsageError, HostLacksError), match=f"{second}|files"):
            verb(Path("mine.toml"))
        assert [path.name for path in here.glob("mine*")] == ["mine.toml"]


def test_an_error_of_a_study_file_names_that_file_and_not_its_copy(here: Path) -> None:
    Path("mine.toml").write_text(
        f'question = "?"\n[factors]\ndirectory = ["{here}/new", "{here}/old"]\n'
        '[[workload]]\nuse = "postmark"\nfiles = "x"\n'
    )
    with pytest.raises(UsageError, match=r"^mine\.toml:6: workload\.files: "):
        run(Path("mine.toml"))


@pytest.mark.parametrize("form", ["mine.toml", "mine", "mine/study.toml", "mine/plan.json"])
def test_one_study_under_all_its_names(form: str, here: Path) -> None:
    (here / "mine.toml").write_text(
        f'question = "?"\n[factors]\ndirectory = ["{here}/old", "{here}/new"]\n'
    )
    planned(open_study(here / "mine.toml", None), Engine.find())
    assert StudyFolder.of(Path(form)).root == Path("mine")
    assert open_study(Path(form), None).root == Path("mine")


def test_systems_of_several_kinds_come_first_in_names() -> None:
    plan = plan_of("old", "tmpfs", vary=("drop_caches=false,true",))
    assert [system.name for system in plan.systems][:2] == [
        "old drop_caches=false", "old drop_caches=true"
    ]  # fmt: skip
    assert plan.question == "Which is faster in postmark: old or tmpfs, with each drop_caches?"


def test_a_factor_that_is_named_like_a_setting_is_explained(here: Path) -> None:
    (here / "x.toml").write_text(
        'question = "?"\n[factors.kernel]\nold = { kernel = "6.1", cmdline = ["quiet"] }\n'
        'new = { kernel = "6.12" }\n'
    )
    with pytest.raises(UsageError, match=r"Fix: call the factor otherwise: \[factors.kernels\]"):
        frozen(here / "x.toml", Engine.find(), None)


def test_two_factors_may_set_different_keys_of_a_table_and_not_the_same(here: Path) -> None:
    text = (
        'question = "?"\nsystems.directory = "old"\n[factors.x]\n'
        'a = {{ sysctl = {{ "vm.swappiness" = 1 }} }}\n'
        'b = {{ sysctl = {{ "vm.swappiness" = 60 }} }}\n'
        "[factors.y]\nc = {{ sysctl = {{ {key} = 5 }} }}\nd = {{ sysctl = {{ {key} = 9 }} }}\n"
    )
    study = here / "x.toml"
    study.write_text(text.format(key="vm.dirty_ratio"))
    systems = frozen(study, Engine.find(), None).systems
    assert systems[3].settings["sysctl"] == {"vm.swappiness": "60", "vm.dirty_ratio": "9"}
    study.write_text(text.format(key="vm.swappiness"))
    with pytest.raises(UsageError, match="is set by the factor x as well"):
        frozen(study, Engine.find(), None)


def test_a_benchmark_that_is_compared_by_its_time_is_told() -> None:
    words = ("old", "new")
    fio = understood(Commands(command=("fio job.fio",)), words)
    with pytest.warns(WrittenWarning, match=r"time that fio takes.*: -w fio:JOB in place of -c"):
        typed_study(words, (), commands=fio)
    others = understood(Commands(command=("git --version", "sort job.fio")), words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        typed_study(words, (), commands=others)


def test_a_plan_that_is_too_small_ends_with_the_command_of_one_that_is_not(tmp_path: Path) -> None:
    """Six comparisons are told apart from 8 blocks on, and 6 were made."""
    names = ("ext4", "xfs", "btrfs", "f2fs")
    found = analyse(*synthetic_study(names, profile="fixed", fixed_blocks=6, blocks=6))
    told = _next_step(StudyFolder(tmp_path), found, lambda blocks: f"--blocks {blocks}")
    assert told.startswith("a new study of ≈ 8 blocks, in which none of these counts, about ")
    assert told.endswith(": --blocks 8")
