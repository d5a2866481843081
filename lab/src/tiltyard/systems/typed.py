"""Systems as they are typed on a command line, read in one place.

::

    KIND[:option,…][+key=value…][@device]     ext4:noatime+vm.dirty_ratio=5@/dev/disk/by-id/…
    DIRECTORY[+key=value…]                    /mnt/old+vm.swappiness=10
    [user@]HOST:/DIRECTORY[+key=value…]       bench@srv1:/data
    KERNEL[:option,…]  DISK                   linux-6.12.uml  6.12  debian.qcow2
    key=value[+key=value…]                    mtu=9000+rate=1gbit

``KIND`` is a file system, ``tmpfs``, or ``host``: this host as it is. A key is a setting of that
kind of system, a kernel parameter, or a key of a tuning profile, with its table where it needs one:
``block.scheduler``.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, get_origin

from tiltyard.errors import RefusedError, UsageError
from tiltyard.host import sysctls
from tiltyard.host.devices.block_devices import BlockDevice
from tiltyard.host.place import HERE
from tiltyard.study.problems import one_of, shown
from tiltyard.study.toml import TomlValue, as_typed, split_list
from tiltyard.study_path import perhaps
from tiltyard.systems import KINDS, block_device, directory, host, loop_image, pair, tmpfs, vm
from tiltyard.systems.filesystems import FILESYSTEMS
from tiltyard.systems.kind import AnyKind
from tiltyard.tuning.knobs import KNOBS

Place = Callable[[str], str]
"""A path as it was typed, as a study has it."""
ASSIGNED: Final = re.compile(r"\+(?=[A-Za-z_][\w.-]*=)")
"""What stands before each setting of a word."""
_DEVICE: Final = re.compile(r"(.+?)@(/dev/.+)", re.DOTALL)
_HOST: Final = re.compile(r"[^-/\s][^/\s]*")
_SETTING: Final = re.compile(r"[A-Za-z_][\w.-]*=", re.ASCII)
_DISKS: Final = (".qcow2", ".img", ".raw", ".vmdk", ".vdi", ".vhdx")
_UML: Final = ".uml"
_FILESYSTEMS: Final = FILESYSTEMS.names
_BARE: Final = (tmpfs.KIND.name, host.KIND.name)


@dataclass(frozen=True)
class TypedSystem:
    """One word of a command line."""

    word: str
    kind: AnyKind
    settings: Mapping[str, TomlValue] = field(default_factory=dict)
    """What a level of a study sets for it."""
    named: bool = True
    """Whether these say the kind; not where only settings are typed."""
    short: str = ""
    """What it may be called, if no other one is."""


def typed_systems(words: Sequence[str], place: Place, *, network: bool) -> list[TypedSystem]:
    """What the words mean.

    Args:
        words: as they were typed.
        place: where paths begin.
        network: whether the workloads have a client and a server.

    Raises:
        UsageError: naming the word and the part of it that is not right.
    """
    if programs := [word for word in words if _is_program(word)]:
        typed = shlex.join(word for one in programs for word in ("-c", _as_command(one)))
        if len(programs) == len(words) > 1:
            raise UsageError(
                f"{', '.join(programs)}: these are programs, not systems. "
                f"Fix: tiltyard compare {typed}"
            )
        raise _wrong(programs[0], programs[0], f"is a program, not a system. Fix: {typed}")
    systems = [_system(word, place, network=network) for word in words]
    loose = [system for system in systems if not system.named and system.kind.target == "far"]
    for system in systems:
        if loose and system.kind.target != "far":
            raise UsageError(
                f"{loose[0].word} is a setting of a network, and {system.word} has a directory to "
                "work in: no workload could run on both. Fix: compare either"
            )
    return systems


def _is_program(word: str) -> bool:
    """Whether a word names a program or script here that is no kernel, image or other system."""
    path = Path(word)
    if is_word_of_kind(word) or not path.is_file() or path.suffix in _DISKS:
        return False
    if not os.access(path, os.R_OK):
        return os.access(path, os.X_OK)
    with path.open("rb") as file:
        return file.read(4).startswith((b"\x7fELF", b"#!")) and not _boots(path)


def _as_command(word: str) -> str:
    """A program as a command names it, not one of that name on PATH."""
    return shlex.quote(word if "/" in word else f"./{word}")


def _boots(path: Path) -> bool:
    from tiltyard.systems.vm.kernels import look_at

    return look_at(path.absolute()).boots_as is not None


def is_word_of_kind(word: str) -> bool:
    """Whether a word by itself is the name of a file system or another kind, never a path."""
    return word in (*_FILESYSTEMS, *_BARE)


def labels_of(systems: Sequence[TypedSystem]) -> list[str]:
    """What they are called: short where that tells them apart."""
    shorts = [system.short or system.word for system in systems]
    distinct: dict[str, set[str]] = {}
    for system, short in zip(systems, shorts, strict=True):
        distinct.setdefault(short, set()).add(system.word)
    return [
        short if len(distinct[short]) == 1 else system.word
        for system, short in zip(systems, shorts, strict=True)
    ]


def varied(
    typed: str, systems: Sequence[TypedSystem], *, network: bool
) -> tuple[str, dict[str, TomlValue]]:
    """A factor of ``--vary KEY=VALUE,VALUE``: its name, and its levels as a study has them.

    Args:
        typed: what stands after ``--vary``.
        systems: on which it is varied; none: on this host, or on a pair of network namespaces.
        network: whether the workloads have a client and a server.

    Raises:
        UsageError: if there is no such key, or one value only.
    """
    key, equals, text = typed.partition("=")
    values = split_list(text)
    if not equals or len(values) < 2 or not all(values):
        raise UsageError(f"--vary {typed}: a key with two values or more, as scheduler=none,bfq")
    if len(set(values)) < len(values):
        raise UsageError(f"--vary {typed}: a value is there twice")
    kinds = [system.kind for system in systems] or [pair.KIND if network else host.KIND]
    owns = all(key in kind.Settings.model_fields for kind in kinds)
    about = f"--vary {key}"
    levels: dict[str, TomlValue] = {}
    for value in values:
        sets = {}
        for kind in dict.fromkeys(kind.name for kind in kinds):
            own = next(each for each in kinds if each.name == kind)
            sets = _assigned(about, key, value, own, owns=owns)
        levels[f"{key}={value}"] = sets[key] if owns else sets
    if owns or not any(key in kind.Settings.model_fields for kind in KINDS):
        return key, levels
    # A factor that bears the name of a setting varies that setting.
    return f"{_knobs_of(key)[0]}.{key}", levels


def _system(word: str, place: Place, *, network: bool) -> TypedSystem:
    """What one word means."""
    if not word.isprintable():
        raise UsageError(f"{word!a}: a study file cannot hold this name")
    if not is_word_of_kind(word) and Path(word).is_dir():
        return _directory(word, word, place)
    rest, device = word, ""
    if match := _DEVICE.fullmatch(word):
        rest, device = match.groups()
    if _SETTING.match(rest):
        rest = f"+{rest}"
    base, *assigned = ASSIGNED.split(rest)
    if device:
        found = _on_device(word, base, device)
    elif base:
        found = _based(word, base, place)
    else:
        found = _unnamed(word, assigned, network=network)
    settings = dict(found.settings)
    for each in assigned:
        key, _, value = each.partition("=")
        owns = key in found.kind.Settings.model_fields
        settings = _joined(settings, _assigned(word, key, value, found.kind, owns=owns))
    return TypedSystem(word, found.kind, settings, found.named, found.short)


def _directory(word: str, base: str, place: Place) -> TypedSystem:
    """A directory; "/" at its end is not part of its name."""
    short = word.replace(base, base.rstrip("/") or "/", 1)
    return TypedSystem(word, directory.KIND, {"directory": place(base)}, short=short)


def _based(word: str, base: str, place: Place) -> TypedSystem:
    """A kind, a directory, a kernel, a disk image or another host, and what stands behind it."""
    name, colon, options = base.partition(":")
    if name in _FILESYSTEMS:
        return TypedSystem(word, loop_image.KIND, {"filesystem": name, **_mount(word, options)})
    if name == tmpfs.KIND.name:
        return TypedSystem(word, tmpfs.KIND, {"kind": name, **_mount(word, options)})
    if base == host.KIND.name:
        return TypedSystem(word, host.KIND, {"kind": base})
    if Path(base).is_dir():
        return _directory(word, base, place)
    if booted := _booted(word, name, place):
        return TypedSystem(
            word, vm.KIND, {**booted, **_mount(word, options)}, short=_tail(word, name)
        )
    if _HOST.fullmatch(name) and ("@" in name or options.startswith(("/", "~/"))):
        path = options.removeprefix("~/")
        if not path:
            raise _wrong(word, base, "names no directory of that host: user@host:/directory")
        there = {"kind": directory.REMOTE.name, "host": name, "directory": path}
        return TypedSystem(word, directory.REMOTE, there)
    if name in pair.KIND.Settings.model_fields and not colon:
        raise _wrong(word, name, f"is a setting. Fix: give its value: {name}=VALUE")
    if " " in word:
        raise _wrong(word, word, f"is a command, not a system. Fix: -c {shlex.quote(word)}")
    raise _nothing(word, name)


def _nothing(word: str, name: str) -> UsageError:
    """What a word may have meant that names nothing."""
    path, names = Path(name), (*_FILESYSTEMS, *_BARE)
    if path.suffix in (*_DISKS, _UML):
        here = (*path.parent.glob(f"*{path.suffix}"), *_on_path(path.suffix))
        what = f"is no file that exists{', here or on PATH' if path.suffix == _UML else ''}"
        return _wrong(word, name, f"{what}.{perhaps(path, here)}")
    beside = (each for each in path.parent.glob("*/") if not is_word_of_kind(each.name))
    if "/" in name:
        return _wrong(word, name, f"is no directory that exists.{perhaps(path, beside)}")
    return _wrong(
        word, name, "is neither a file system nor a directory that exists, nor a kernel or a host. "
        f"File systems: {', '.join(names)}.{perhaps(path, (*names, *beside))}",
    )  # fmt: skip


def _on_path(suffix: str) -> Iterator[Path]:
    """Programs that end so: User-Mode Linux kernels."""
    if suffix == _UML:
        for directory in os.get_exec_path():
            yield from Path(directory).glob(f"*{suffix}")


def _mount(word: str, options: str) -> dict[str, TomlValue]:
    """``noatime,commit=60`` as a study has it."""
    words = split_list(options)
    if not options:
        return {}
    if not all(words):
        raise _wrong(word, f":{options}", "has an empty option; options stand between commas")
    return {"mount": words}


def _on_device(word: str, base: str, device: str) -> TypedSystem:
    """A file system on a device, which is described as it is now, so that no other is taken."""
    name, _, options = base.partition(":")
    if name not in _FILESYSTEMS:
        raise _wrong(word, name, f"is not a file system. {one_of(name, _FILESYSTEMS)}")
    try:
        found = BlockDevice.at(Path(device))
    except RefusedError as error:
        parent = Path(device).parent
        beside = parent.iterdir() if parent.is_dir() else ()
        near = perhaps(Path(device), (each for each in beside if each.is_block_device()))
        why = str(error).removeprefix(f"{device}: ")
        fix = near or " Which could be used: tiltyard devices"
        raise _wrong(word, device, f"{why[:1].lower()}{why[1:]}.{fix}") from None
    marks = ("serial", "wwn", "partuuid", "backing_file")
    confirm: dict[str, TomlValue] = {"size": found.size_bytes}
    confirm |= {mark: str(value) for mark in marks if (value := getattr(found, mark)) is not None}
    settings = {"filesystem": name, **_mount(word, options), "device": device, "confirm": confirm}
    short = f"{word[: -len(device)]}{Path(device).name}"
    return TypedSystem(word, block_device.KIND, settings, short=short)


def _booted(word: str, name: str, place: Place) -> dict[str, TomlValue] | None:
    """What boots: a kernel or a disk image; ``None`` if it is none."""
    from tiltyard.systems.vm.kernels import UNPACK, kernel_of_series

    if (series := kernel_of_series(name)) is not None:
        if not series.is_file():
            raise _wrong(word, name, f"is a kernel that is not here. Fix: {UNPACK} {name}")
        return {"kernel": name}
    path = Path(name)
    if not path.is_file():
        program = HERE.program(name) if name.endswith(_UML) and "/" not in name else None
        return {"kernel": name} if program and _boots(Path(program)) else None
    if path.suffix in _DISKS:
        return {"disk": place(name)}
    if not _boots(path):
        raise _wrong(
            word, name, "is a file, and no kernel that can be booted here. A disk image ends in "
            f"{' or '.join(_DISKS[:2])}; a study is for: tiltyard run",
        )  # fmt: skip
    return {"kernel": place(name)}


def _tail(word: str, name: str) -> str:
    """The word with the name of a file instead of its path."""
    return word.replace(name, Path(name).name, 1)


def _unnamed(word: str, assigned: Sequence[str], *, network: bool) -> TypedSystem:
    """Settings alone: of a pair of network namespaces, or of this host."""
    keys = [each.partition("=")[0] for each in assigned]
    fields = pair.KIND.Settings.model_fields
    told = any(key in fields and key not in host.KIND.Settings.model_fields for key in keys)
    kind = pair.KIND if network or told else host.KIND
    return TypedSystem(word, kind, {} if told else {"kind": kind.name}, named=False)


def _assigned(word: str, key: str, text: str, kind: AnyKind, *, owns: bool) -> dict[str, TomlValue]:
    """What a key with its value sets.

    Args:
        word: for the message.
        key: a setting of the kind, a kernel parameter, or a key of a tuning profile.
        text: its value as it was typed.
        kind: of the system.
        owns: whether it is a setting of the kind.
    """
    if owns:
        annotation = kind.Settings.model_fields[key].annotation
        if get_origin(annotation) is tuple and not text.startswith("["):
            return {key: _words(word, text)}
        return {key: as_typed(text)}
    if knobs := _knobs_of(key):
        table, _, name = key.rpartition(".")
        if not table and len(knobs) > 1:
            both = " or ".join(f"{knob}.{name}" for knob in knobs)
            raise _wrong(word, key, f"is in several tables of a tuning profile. Fix: {both}")
        return {"tuning": {knobs[0]: {name: as_typed(text)}}}
    if "." not in key or not sysctls.is_key(key):
        own = [name for name in kind.Settings.model_fields if not name.startswith("inject_")]
        raise _wrong(
            word, key, f"is no setting of {kind.name}, nor a kernel parameter. Settings: "
            f"{', '.join(own)}; and the keys of tuning profiles.{perhaps(key, _keys(kind))}",
        )  # fmt: skip
    if "sysctl" not in kind.Settings.model_fields:
        raise _wrong(word, key, f"kernel parameters cannot be set for a system of kind {kind.name}")
    if kind is not directory.REMOTE and not sysctls.is_there(key):
        raise _wrong(word, key, f"is no kernel parameter of this host.{perhaps(key, _near(key))}")
    return {"sysctl": {key: as_typed(text)}}


def _words(word: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise _wrong(word, text, str(error).lower()) from None


def _knobs_of(key: str) -> list[str]:
    """Tables of a tuning profile that have it; kernel parameters stand in none of them."""
    table, _, name = key.rpartition(".")
    return [
        knob.name
        for knob in KNOBS
        if table in ("", knob.name) and knob.name != "sysctl" and name in knob.Table.model_fields
    ]


def _keys(kind: AnyKind) -> Iterator[str]:
    """All that can be typed for a kind, beside kernel parameters."""
    yield from kind.Settings.model_fields
    for knob in KNOBS:
        yield from knob.Table.model_fields


def _near(key: str) -> list[str]:
    """Kernel parameters beside one that is not there."""
    if there := sysctls.beside(key):
        return [f"{key.rpartition('.')[0]}.{name}" for name in there]
    return [f"{name}.{key.partition('.')[2]}" for name in sysctls.tables()]


def _joined(
    before: Mapping[str, TomlValue], after: Mapping[str, TomlValue]
) -> dict[str, TomlValue]:
    """Both, tables key by key."""
    found = dict(before)
    for key, value in after.items():
        own = found.get(key)
        both = isinstance(own, Mapping) and isinstance(value, Mapping)
        found[key] = _joined(own, value) if both else value  # type: ignore[arg-type]
    return found


def _wrong(word: str, part: str, text: str) -> UsageError:
    """What is wrong with a part of a word."""
    where = "" if part == word else f"{word}: "
    return UsageError(f"{where}{shown(part)} {text}")
