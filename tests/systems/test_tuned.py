"""Systems that are tuned for their turns: real images, real namespaces, this machine's kernel."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.devices import loop_disk
from support.far import Far, here_and_there
from support.hosts import host_state, needs_root
from support.looks import chosen, mounts_at
from support.marked import marked
from support.places import tuning_facts
from support.snapshots import put_back_by_itself
from tiltyard.errors import HostLacksError, TiltyardError, UsageError
from tiltyard.host import sysctls
from tiltyard.host.devices import loops
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System, Up

pytestmark = needs_root

KEY = "vm.extfrag_threshold"
"""Harmless: how often counters are folded, in seconds."""
MINE = f"""
about = "what this machine has, and one thing that no machine has"
[sysctl]
{KEY} = 7
vm.no_such_thing = 1
[block]
scheduler     = ["deadline", "mq-deadline"]
read_ahead_kb = {{ times = 4 }}
nr_requests   = 64
[mount]
any  = ["noatime"]
ext4 = ["commit=60"]
"""
Make = Callable[..., System]


@pytest.fixture
def make(tmp_path: Path, far: Far) -> Iterator[Make]:
    """Makes systems in a folder that has a profile of its own; nothing of them is left up."""
    (tmp_path / "mine.toml").write_text(MINE)
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=tmp_path, ledger=ledger))

        def make(name: str = "loop-image", **settings: object) -> System:
            image = {"filesystem": "ext4", "backing": {"image": "64M"}}
            document = {
                "tuning": "mine.toml",
                **(image if name == "loop-image" else {}),
                **settings,
                **far.settings,
            }
            return far.made(kind(name).system("one", document, site))  # type: ignore[arg-type]

        yield make


def queue(up: Up, name: str) -> str:
    assert isinstance(up.target, Path)
    return chosen(loops.queue_setting(mounts_at(up.target.parent)[-1].source, name))


@here_and_there
def test_a_tuned_turn_and_what_is_told_of_it(make: Make, tmp_path: Path) -> None:
    interval = sysctls.read(KEY)
    plain = make(tuning=[])
    was = queue(plain.bring_up(), "read_ahead_kb")
    plain.take_down()
    scheduled = make(tuning=[], scheduler="mq-deadline")
    requests = queue(scheduled.bring_up(), "nr_requests")
    scheduled.take_down()
    system = make()
    warned = [each.text for each in system.problems() if "tuning" in each.text]
    assert [text.removeprefix(f"{system.place}: ") for text in warned] == [
        "tuning vm.no_such_thing: skipped: this kernel has no vm.no_such_thing"
    ]
    up = system.bring_up()
    assert sysctls.read(KEY) == "7"
    assert queue(up, "scheduler") == "mq-deadline"
    assert queue(up, "nr_requests") == "64"
    assert queue(up, "read_ahead_kb") == str(4 * int(was))
    assert tuning_facts(up.facts) == {
        "tuning": "mine.toml: 5 set, 0 as they were, 1 skipped",
        "tuning mount options": "noatime,commit=60",
        f"tuning {KEY}": f"7 (was {interval})",
        "tuning vm.no_such_thing": "skipped: this kernel has no vm.no_such_thing",
        "tuning device scheduler": "mq-deadline (was none)",
        "tuning device read_ahead_kb": f"{4 * int(was)} (was {was})",
        "tuning device nr_requests": f"64 (was {requests})",
    }
    assert up.facts["I/O scheduler"] == "mq-deadline"
    assert up.facts["read-ahead"] == f"{4 * int(was)} KiB"
    options = up.facts["mount options"].split(",")
    assert {"noatime", "commit=60"} <= set(options)
    system.refresh()
    assert isinstance(up.target, Path)
    assert "noatime" in mounts_at(up.target.parent)[-1].options
    assert queue(up, "scheduler") == "mq-deadline"
    system.take_down()
    assert sysctls.read(KEY) == interval
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    system.take_down()


def test_what_the_study_sets_itself_goes_before_the_profile(make: Make) -> None:
    system = make(scheduler="none", mount=["commit=30"])
    up = system.bring_up()
    assert queue(up, "scheduler") == "none"
    assert queue(up, "nr_requests") == "64"
    assert "tuning device scheduler" not in up.facts
    assert {"noatime", "commit=30"} <= set(up.facts["mount options"].split(","))
    system.take_down()


def test_a_tuned_turn_leaves_nothing_to_one_that_is_not(make: Make) -> None:
    tuned, plain, interval = make(), make(tuning=[]), sysctls.read(KEY)
    up = plain.bring_up()
    untuned = (queue(up, "scheduler"), queue(up, "nr_requests"))
    plain.take_down()
    for _ in range(2):
        tuned.bring_up()
        tuned.take_down()
        up = plain.bring_up()
        assert (queue(up, "scheduler"), queue(up, "nr_requests")) == untuned
        assert sysctls.read(KEY) == interval
        assert "tuning" not in up.facts
        assert "noatime" not in up.facts["mount options"]
        plain.take_down()


def test_what_stays_mounted_between_turns_is_tuned_in_its_turns_only(make: Make) -> None:
    system, interval = make(reset="none"), sysctls.read(KEY)
    for _ in range(2):
        up = system.bring_up()
        assert (sysctls.read(KEY), queue(up, "scheduler")) == ("7", "mq-deadline")
        system.take_down()
        assert (sysctls.read(KEY), queue(up, "scheduler")) == (interval, "none")
        assert isinstance(up.target, Path)
        assert up.target.exists()


@here_and_there
def test_strict_a_system_does_not_come_up_half_tuned(make: Make, tmp_path: Path) -> None:
    interval = sysctls.read(KEY)
    system = make(tuning_strict=True)
    (problem,) = [each for each in system.problems() if each.severity == "error"]
    assert "tuning vm.no_such_thing: skipped" in problem.text
    with pytest.raises(HostLacksError, match=r"tuning_strict: vm\.no_such_thing cannot be set"):
        system.bring_up()
    assert sysctls.read(KEY) == interval
    (tmp_path / "whole.toml").write_text(f'about = "x"\n[sysctl]\n{KEY} = 7\n')
    whole = make(tuning="whole.toml", tuning_strict=True)
    assert not [each for each in whole.problems() if each.severity == "error"]
    whole.bring_up()
    whole.take_down()
    (tmp_path / "queue.toml").write_text('about = "x"\n[block]\nscheduler = "cfq"\n')
    with pytest.raises(HostLacksError, match=r"device scheduler cannot be set: cfq"):
        make(tuning=["whole.toml", "queue.toml"], tuning_strict=True).bring_up()
    assert sysctls.read(KEY) == interval


def test_a_system_that_does_not_come_up_leaves_the_host_as_it_was(make: Make) -> None:
    interval = sysctls.read(KEY)
    with pytest.raises(TiltyardError, match="mount"):
        make(mount=["no_such_option"]).bring_up()
    assert sysctls.read(KEY) == interval


def test_a_directory_lies_on_a_device_too_and_mounts_nothing(make: Make, tmp_path: Path) -> None:
    profile = 'about = "x"\n[mount]\nany = ["noatime"]\n[block]\nno_such = 1\n'
    (tmp_path / "mine.toml").write_text(profile.replace("no_such", "nomerges"))
    system = make("directory", directory=str(tmp_path))
    up = system.bring_up()
    assert up.facts["tuning mount options of any"].startswith("skipped: noatime: this system")
    assert any(name.endswith(" nomerges") for name in up.facts)
    system.take_down()


@pytest.mark.parametrize(
    ("name", "settings", "type_"),
    [("tmpfs", {"size": "16M"}, "tmpfs"), ("overlay", {}, "overlay")],
)
def test_what_has_no_device_takes_mount_options_too(
    make: Make, tmp_path: Path, name: str, settings: dict[str, object], type_: str
) -> None:
    options = f'any = ["noatime"]\n{type_} = ["nodev"]\next4 = ["commit=60"]'
    (tmp_path / "mine.toml").write_text(f'about = "x"\n[mount]\n{options}\n')
    system = make(name, **settings)
    up = system.bring_up()
    assert up.facts["tuning mount options"] == "noatime,nodev"
    assert {"noatime", "nodev"} <= set(up.facts["mount options"].split(","))
    system.take_down()


def test_without_root_a_profile_is_said_to_be_out_of_reach(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'about = "x"\n[sysctl]\n{KEY} = 7\nvm.swappiness = 3\n'
    (tmp_path / "mine.toml").write_text(text)
    monkeypatch.setattr(Place, "is_root", False)
    for strict, severity in ((False, "warning"), (True, "error")):
        system = make("directory", directory=str(tmp_path), tuning_strict=strict)
        (problem,) = [each for each in system.problems() if "tuning" in each.text]
        assert problem.text == f"tuning: only root can set {KEY} and 1 more"
        assert problem.severity == severity


def test_a_profile_that_is_none_is_told_with_its_place(make: Make, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('about = "x"\n[sysctl]\nvm.swappiness = 1.5\n')
    with pytest.raises(UsageError, match=r"mine\.toml:3: sysctl\.vm\.swappiness: 1\.5 is not a nu"):
        make()
    with pytest.raises(ValueError, match='Did you mean "out-of-box"'):
        make(tuning="out-of-bx")


PAIR = f"""
about = "x"
[sysctl]
{KEY} = 7
net.ipv4.tcp_rmem = [4096, 100000, 1000000]
net.ipv4.tcp_slow_start_after_idle = 0
net.ipv4.tcp_no_such_thing = 1
[network]
offloads = {{ tso = false, gso = false }}
ring     = {{ rx = "most" }}
"""


@here_and_there
def test_both_ends_of_a_pair_are_tuned_inside_their_namespaces(make: Make, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(PAIR)
    interval, rmem = sysctls.read(KEY), sysctls.read("net.ipv4.tcp_rmem")
    system = make("pair", sysctl={"net.ipv4.tcp_slow_start_after_idle": 1})
    assert not [each for each in system.problems() if each.severity == "error"]
    up = system.bring_up()
    assert up.far_place
    server = (f"--net={up.far_place.network}", "sysctl", "-n")
    keys = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_slow_start_after_idle")
    inside = subprocess.run(("nsenter", *server, *keys), check=True, capture_output=True, text=True)
    assert sysctls.normal(inside.stdout) == "4096 100000 1000000 1"
    assert up.facts["net.ipv4.tcp_slow_start_after_idle"] == "1"
    assert sysctls.read("net.ipv4.tcp_rmem") == rmem
    assert sysctls.read(KEY) == "7"
    assert up.facts["net.ipv4.tcp_rmem"] == "4096 100000 1000000"
    assert "tso" in up.facts["offloads off"]
    assert tuning_facts(up.facts) == {
        "tuning": "mine.toml: 4 set, 0 as they were, 2 skipped",
        "tuning net.ipv4.tcp_rmem": "4096 100000 1000000 at both ends",
        "tuning offload tso": "off at both ends",
        "tuning offload gso": "off at both ends",
        f"tuning {KEY}": f"7 (was {interval})",
        "tuning net.ipv4.tcp_no_such_thing": "skipped: this kernel has no "
        "net.ipv4.tcp_no_such_thing",
        "tuning network ring": "skipped: no network device is known on the path of the system",
    }
    system.take_down()
    assert sysctls.read(KEY) == interval


def test_the_loopback_device_is_tuned_and_put_back(make: Make, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('about = "x"\n[network]\ntx_queue_len = 1234\n')
    length = Path("/sys/class/net/lo/tx_queue_len")
    before = length.read_text()
    system = make("loopback")
    up = system.bring_up()
    assert length.read_text() == "1234\n"
    assert up.facts["tuning lo tx_queue_len"] == f"1234 (was {before.strip()})"
    system.take_down()
    assert length.read_text() == before


def test_the_server_is_pinned_and_the_engine_has_its_priority(make: Make, tmp_path: Path) -> None:
    last = max(os.sched_getaffinity(0))
    more = -3 - os.getpriority(os.PRIO_PROCESS, 0)
    text = f'about = "x"\n[servers]\ncpus = [{last}]\n[priority]\nnice = -3\n'
    (tmp_path / "mine.toml").write_text(text)
    touch = "from pathlib import Path; import sys, time; Path(sys.argv[1]).touch(); time.sleep(60)"
    service = {"start": ["/usr/bin/python3", "-c", touch, "{dir}/up"]}
    system = make(
        "directory", directory=str(tmp_path), service={**service, "ready": {"path": "{dir}/up"}}
    )
    up = system.bring_up()
    for _ in range(2):
        assert {tuple(os.sched_getaffinity(pid)) for pid in up.servers()} == {(last,)}
        system.refresh()  # Starts it again.
    assert up.prefix == ("nice", "-n", str(more))
    assert up.facts["tuning CPUs of the servers"].startswith(str(last))
    assert up.facts["tuning priority of the workload"].startswith("nice -3 (was nice ")
    system.take_down()


@here_and_there
def test_the_workload_on_an_image_has_its_priority_wherever_that_is(make: Make) -> None:
    system = make(tuning=[{"priority": {"nice": 3}}])
    up = system.bring_up()
    assert up.facts["tuning priority of the workload"].startswith("nice 3 (was nice ")
    assert "nice -n" in " ".join((*up.prefix, *up.engine))
    system.take_down()


@here_and_there
def test_the_priority_of_a_workload_in_a_guest_is_skipped_and_told(
    make: Make, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text('about = "x"\n[priority]\nfifo = 3\n')
    kernel = marked(Path("/bin/true"), tmp_path / "kernel")
    system = make("vm", kernel=str(kernel), filesystem="ext2", backing={"image": "16M"})
    told = [each.text for each in system.problems() if "tuning" in each.text]
    reason = "the workload is started on another host, or in a guest"
    (text,) = told
    assert text.endswith(f"tuning priority of the workload: skipped: {reason}")
    assert not [step for step in system.steps_up() if "start the workload by" in step.line]


UP_AND_WAIT = """
import sys, time
from pathlib import Path
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
work = Path(sys.argv[1])
site = Site(work, work, Ledger())
image = {"filesystem": "ext4", "backing": {"image": "64M"}, "tuning": "mine.toml"}
up = kind("loop-image").system("one", image, site).bring_up()
print(up.devices[0], flush=True)
time.sleep(60)
"""


def test_killed_in_a_tuned_turn_everything_is_put_back(tmp_path: Path, state: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE + "[idle]\nlatency_us = 17\n")
    interval = sysctls.read(KEY)
    argv = (sys.executable, "-c", UP_AND_WAIT, str(tmp_path))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        device = process.stdout.readline().strip()
        assert sysctls.read(KEY) == "7"
        assert chosen(loops.queue_setting(device, "scheduler")) == "mq-deadline"
        process.send_signal(signal.SIGKILL)
    put_back_by_itself(state)
    assert sysctls.read(KEY) == interval
    assert chosen(loops.queue_setting(device, "scheduler")) == "none"
    assert str(tmp_path) not in host_state(tmp_path)


@pytest.mark.parametrize("name", ["host", "directory", "tmpfs", "loop-image", "block-device"])
def test_kernel_parameters_of_every_kind_on_this_host(
    name: str, make: Make, tmp_path: Path
) -> None:
    interval = sysctls.read(KEY)
    with contextlib.ExitStack() as stack:
        settings: dict[str, object] = {"tuning": [], "sysctl": {KEY: 5}}
        if name == "directory":
            settings["directory"] = str(tmp_path)
        elif name == "block-device":
            disk = stack.enter_context(loop_disk(tmp_path / "disk.img", 2**26))
            confirm = {"size": 2**26, "backing_file": str(tmp_path / "disk.img")}
            settings |= {"filesystem": "ext4", "device": disk, "confirm": confirm}
        system = make(name, **settings)
        assert not [each for each in system.problems() if each.severity == "error"]
        up = system.bring_up()
        assert sysctls.read(KEY) == "5"
        assert up.facts[f"tuning {KEY}"] == f"5 (was {interval})"
        system.take_down()
        assert sysctls.read(KEY) == interval


def test_a_parameter_that_is_asked_for_by_name_must_be_there(make: Make) -> None:
    system = make("host", sysctl={"vm.no_such_thing": 1})
    assert [each.severity for each in system.problems() if "no_such" in each.text] == ["error"]
    with pytest.raises(HostLacksError, match=r"vm\.no_such_thing cannot be set"):
        system.bring_up()


@here_and_there
def test_a_table_in_the_place_of_a_profile(make: Make) -> None:
    block = {"block": {"nr_requests": 32}}
    system = make(tuning=["mine.toml", block])
    up = system.bring_up()
    assert queue(up, "nr_requests") == "32"
    assert tuning_facts(up.facts)["tuning"].endswith("+ block.nr_requests=32: 5 set, 0 as they "
                                                     "were, 1 skipped")  # fmt: skip
    system.take_down()
    for wrong in ({"blok": {}}, {"block": {"schedular": "none"}}, {}):
        with pytest.raises(ValueError, match=r"there is no such key|sets nothing"):
            make(tuning=wrong)
