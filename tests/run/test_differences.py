"""What differs between systems: what nobody asked for comes first, what follows comes last."""

from pydantic import JsonValue

from tiltyard.run.differences import NOT_IN_FORCE, Difference, differences, told
from tiltyard.study.model import SystemSpec

Facts = dict[str, dict[str, str]]


def spec(name: str, kind: str = "loop-image", **settings: JsonValue) -> SystemSpec:
    return SystemSpec(name=name, levels={}, kind=kind, settings=settings)


def found(facts: Facts, *specs: SystemSpec) -> dict[str, Difference]:
    return {one.fact: one for one in differences(facts, specs, {})}


EXT4 = {"file system": "ext4", "mkfs": "mke2fs", "size": "3.84 GiB", "block size": "4 KiB"}
XFS = {"file system": "xfs", "mkfs": "mkfs.xfs", "size": "3.93 GiB", "block size": "4 KiB"}
FILESYSTEMS = (spec("ext4", filesystem="ext4"), spec("xfs", filesystem="xfs"))


def test_what_follows_from_a_factor_is_no_news() -> None:
    given = found({"ext4": EXT4, "xfs": XFS}, *FILESYSTEMS)
    assert {name: one.follows_from for name, one in given.items()} == {
        "file system": ("filesystem",),
        "mkfs": ("filesystem",),
        "size": ("filesystem",),
    }
    assert list(told(given.values())) == ["Caused    by filesystem: file system, mkfs, size"]


def test_another_block_size_and_another_size_are_flagged() -> None:
    odd = {**XFS, "block size": "512 B", "size": "1 GiB", "extra": "x"}
    given = differences({"ext4": EXT4, "xfs": odd}, FILESYSTEMS, {})
    assert [one.fact for one in given] == ["size", "block size", "extra", "file system", "mkfs"]
    assert [bool(one.why) for one in given] == [True, True, False, False, False]
    assert given[2].values == {"ext4": "–", "xfs": "x"}
    lines = list(told(given))
    assert lines[1] == (
        "Warning   block size: ext4: 4 KiB; xfs: 512 B (the same record is another number of "
        "blocks)"
    )
    assert lines[2] == "Differs   extra: ext4: –; xfs: x"


def options(ours: str, theirs: str, *, asked: list[JsonValue]) -> dict[str, Difference]:
    """Two systems on ext4, the second one with mount options of its own."""
    facts = {
        "a": {"file system": "ext4", "mount options": ours},
        "b": {"file system": "ext4", "mount options": theirs},
    }
    systems = (
        spec("a", filesystem="ext4", mount=[]),
        spec("b", filesystem="ext4", mount=asked),
    )
    return found(facts, *systems)


def test_options_that_were_asked_for_follow() -> None:
    given = options("rw,relatime", "rw,noatime,commit=60", asked=["noatime", "commit=60"])
    assert given["mount options"].follows_from == ("mount",)
    assert NOT_IN_FORCE not in given


def test_options_beyond_what_was_asked_are_flagged() -> None:
    theirs = "rw,relatime,nodioread_nolock,nodelalloc,data=journal"
    given = options("rw,relatime", theirs, asked=["data=journal"])
    assert given["mount options"].follows_from == ()
    assert given["mount options"].why == "nobody asked for all of them"


def test_an_option_that_the_kernel_passes_over_is_named() -> None:
    given = options("rw,relatime", "rw,relatime", asked=["nobarrier"])
    assert given[NOT_IN_FORCE].values == {"a": "none", "b": "nobarrier"}


def test_other_kernels_disks_and_hosts_come_first() -> None:
    facts = {
        "a": {"mkfs": "1", "disk under test": "sda", "kernel": "6.1", "MTU": "1500"},
        "b": {"mkfs": "2", "disk under test": "sdb", "kernel": "6.12", "MTU": "9000"},
    }
    given = differences(facts, (spec("a", mtu=1500), spec("b", mtu=9000)), {})
    assert [one.fact for one in given] == ["kernel", "disk under test", "mkfs", "MTU"]
    assert given[-1].follows_from == ("mtu",)


def test_a_system_that_never_came_up_is_left_out() -> None:
    assert differences({"ext4": EXT4, "xfs": {}}, FILESYSTEMS, {}) == ()
    assert differences({}, FILESYSTEMS, {}) == ()


def test_a_host_is_compared_with_this_one() -> None:
    """What others do not tell of their host is that of this host; a guest's kernel is its own."""
    specs = (
        spec("here", directory="/srv"),
        spec("guest", image="6.12"),
        spec("there", host="user@b", directory="/srv"),
    )
    shared = {"file system": "ext4"}
    facts = {
        "here": shared,
        "guest": {**shared, "kernel": "Linux 6.12"},
        "there": {**shared, "host": "user@b", "kernel": "Linux 6.1", "CPU": "fast"},
    }
    here = {"kernel": "Linux 6.18", "CPU": "fast", "disk": "vda"}
    given = {one.fact: one for one in differences(facts, specs, here)}
    assert given["host"].values == {"here": "this host", "guest": "–", "there": "user@b"}
    assert given["kernel"].values["here"] == "Linux 6.18"
    assert given["kernel"].values["guest"] == "Linux 6.12"
    assert given["CPU"].values == {"here": "fast", "guest": "–", "there": "fast"}
    assert "disk" not in given
    assert "host" not in {one.fact for one in differences({"here": shared}, specs, here)}


def test_another_quota_of_cpu_time_can_decide_a_result() -> None:
    (here, there) = ({"host": name, "CPU quota": f"{name} of 2 CPUs"} for name in ("0.5", "1"))
    given = found({"a": here, "b": there}, spec("a"), spec("b"))["CPU quota"]
    assert given.values == {"a": "0.5 of 2 CPUs", "b": "1 of 2 CPUs"}
    assert given.why == "their programs may use other shares of the CPUs"
