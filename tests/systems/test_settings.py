import pytest
from pydantic import ValidationError

from tiltyard.systems import KINDS, kind
from tiltyard.systems.filesystems import FILESYSTEMS
from tiltyard.systems.loop_image import LoopImageSettings


def test_names_are_unique() -> None:
    assert len({entry.name for entry in KINDS}) == len(KINDS)
    assert len({entry.name for entry in FILESYSTEMS}) == len(FILESYSTEMS)


@pytest.mark.parametrize("entry", KINDS, ids=lambda entry: entry.name)
def test_every_setting_is_explained_and_closed(entry: type) -> None:
    schema = kind(entry.name).Settings.model_json_schema()
    assert schema["additionalProperties"] is False
    assert all(field.get("description") for field in schema["properties"].values())


def test_defaults() -> None:
    settings = LoopImageSettings.model_validate({"filesystem": "ext4"})
    assert settings.backing.image == 4 * 2**30
    assert (settings.reset, settings.mkfs, settings.mount) == ("mkfs", (), ())


@pytest.mark.parametrize(
    ("settings", "where", "what"),
    [
        ({"filesystem": "ext5"}, ("filesystem",), "'zfs' or 'zfs-fuse'"),
        (
            {"filesystem": "xfs", "reset": "mkfss"},
            ("reset",),
            "'none', 'remount', 'mkfs' or 'reboot'",
        ),
        ({"filesystem": "xfs", "backing": {"image": "big"}}, ("backing", "image"), "not a size"),
        ({"filesystem": "xfs", "backing": {"image": 0}}, ("backing", "image"), "greater than 0"),
        ({"filesystem": "xfs", "mont": ["noatime"]}, ("mont",), "not permitted"),
        ({}, ("filesystem",), "required"),
    ],
)
def test_a_wrong_setting_is_named(
    settings: dict[str, object], where: tuple[str, ...], what: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        LoopImageSettings.model_validate(settings)
    (error,) = raised.value.errors()
    assert error["loc"] == where
    assert what in error["msg"]


def test_nothing_is_discarded_or_left_for_later() -> None:
    assert FILESYSTEMS.named("ext4").mkfs((), "/dev/loop9") == (
        "mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
        "/dev/loop9",
    )  # fmt: skip
    assert FILESYSTEMS.named("xfs").mkfs(("-m", "reflink=0"), "/dev/loop9") == (
        "mkfs.xfs", "-q", "-K", "-f", "-m", "reflink=0", "/dev/loop9",
    )  # fmt: skip


def test_extended_options_of_the_study_do_not_replace_ours() -> None:
    argv = FILESYSTEMS.named("ext4").mkfs(
        ("-E", "stride=4", "-b", "4096", "-E", "hash_seed=x"), "D"
    )
    assert argv.count("-E") == 1
    value = argv[argv.index("-E") + 1]
    assert value == "nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=4,hash_seed=x"
    assert argv[-3:] == ("-b", "4096", "D")


def test_mkfs_defaults_never_need_a_size_below_the_least() -> None:
    assert all(entry.min_bytes <= entry.typical_bytes for entry in FILESYSTEMS)
