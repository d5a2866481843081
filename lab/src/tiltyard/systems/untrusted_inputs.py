"""What a study brings that would be executed, or that chooses what is: data until it is trusted.

Each kind of system says it of its own settings (:attr:`tiltyard.systems.kind.Kind.brings`). What
lies in the system's directories, where only root writes, is no study's; options of the short lists
below start nothing, load nothing and write to no file. Everything else is named.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tiltyard.address import Address

_SYSTEM: Final = tuple(
    map(Path, ("/bin", "/boot", "/lib", "/lib64", "/opt", "/sbin", "/snap", "/usr"))
)
_OTHERS_WRITE: Final = 0o022

_HOST: Final = re.compile(r"[\w.@:%\[\]/-]+", re.ASCII)
"""What a shell in somebody's own ssh_config takes for a word, and for nothing else."""
_SSH_ALONE: Final = frozenset(("-4", "-6", "-C", "-a", "-k", "-q", "-v", "-x"))
_SSH_WITH: Final = {
    "-p": re.compile(r"\d+"),
    "-l": re.compile(r"[\w.@-]+", re.ASCII),
    "-i": re.compile(r"[^-\n][^\n]*"),
    "-F": re.compile("none"),
}
"""Options with a word, and the words that may follow."""
_SSH_KEYWORD: Final = re.compile(r"([A-Za-z0-9]+)[= ]([\w.,:@/+%~-]+)", re.ASCII)
_SSH_KEYWORDS: Final = frozenset(
    (
        *("addressfamily", "batchmode", "bindaddress", "ciphers", "compression"),
        *("connectionattempts", "connecttimeout", "hostkeyalgorithms", "hostname"),
        *("identitiesonly", "identityfile", "ipqos", "kexalgorithms", "macs", "port"),
        *("preferredauthentications", "serveralivecountmax", "serveraliveinterval"),
        *("stricthostkeychecking", "tcpkeepalive", "user"),
    )
)
"""Keywords of ssh_config(5) that start nothing and write to no file. ``UserKnownHostsFile`` is not
among them: ssh adds keys to that file."""

_MOUNT_VALUE: Final = re.compile(r"[\w.+-]*", re.ASCII)
_LOGS_NOTHING: Final = "log-file=/dev/null"
_MOUNT_OPTIONS: Final = frozenset(
    (
        *(
            "async",
            "atime",
            "defaults",
            "dev",
            "dirsync",
            "diratime",
            "exec",
            "lazytime",
            "noatime",
        ),
        *("nodev", "nodiratime", "noexec", "norelatime", "nosuid", "relatime", "ro", "rw", "suid"),
        *("strictatime", "sync", "allow_other", "allow_root", "attr_timeout", "auto_cache"),
        *("auto_unmount", "big_writes", "compression", "default_permissions", "direct_io"),
        *("entry_timeout", "gid", "hard_remove", "kernel_cache", "max_background", "max_read"),
        *("max_readahead", "max_write", "negative_timeout", "reconnect", "umask", "uid", "use_ino"),
    )
)
"""Mount options that mean the same to every server in user space. Others may name a program
(``ssh_command``) or a library (``modules``, ``plugins``)."""


@dataclass(frozen=True, order=True)
class Brought:
    """One program or option of a study."""

    key: str
    """Setting or parameter that it stands in."""
    what: str
    """In words: ``program /srv/evil``."""
    path: Path | None = None
    """File or directory that holds it, where one does; trust in it holds for its contents."""


def quoted(text: str) -> str:
    """A text as it is typed, whole: what is cut off could not be judged."""
    return json.dumps(text, ensure_ascii=False)


def file(key: str, what: str, path: Path, root: Path) -> Iterator[Brought]:
    """A file or directory, unless it is the system's.

    Args:
        key: the setting.
        what: what it is.
        path: where it lies.
        root: the study folder: nothing in it is the system's.
    """
    if not of_the_system(path, root):
        yield Brought(key, f"{what} {path}", path)


def file_there(key: str, what: str, path: Path, host: str) -> Iterator[Brought]:
    """The same of another host, by its name alone: who has written it, only that host knows."""
    whole = Path(os.path.normpath(path))
    if not any(map(whole.is_relative_to, _SYSTEM)):
        yield Brought(key, f"{what} {path} on {host}")


def of_the_system(path: Path, root: Path) -> bool:
    """Whether a path lies in the system's directories, where nobody but root can change it."""
    real = path.resolve()
    if real.is_relative_to(root.resolve()) or not any(map(real.is_relative_to, _SYSTEM)):
        return False
    return all(map(_is_roots_alone, (real, *real.parents)))


def way(host_key: str, address: Address) -> Iterator[Brought]:
    """What of the way to another host is more than a name, a port and a key.

    Args:
        host_key: setting that names the host.
        address: of the host; to this one there is no way.
    """
    if not address.is_remote:
        return
    if not _HOST.fullmatch(address.host):
        host = quoted(address.host)
        yield Brought(host_key, f"host {host}, which a shell would not take for a word")
    words = iter(address.options)
    for word in words:
        if word in _SSH_ALONE:
            continue
        flag, value = word[:2], word[2:]
        if flag in (*_SSH_WITH, "-o") and not value:
            value = next(words, "")
        if not _is_harmless(flag, value):
            told = " ".join(filter(None, (flag, value))) if word == flag else word
            yield Brought("ssh_options", f"option {quoted(told)} of ssh")


def server_options(key: str, server: str, options: Sequence[str]) -> Iterator[Brought]:
    """Mount options that a server in user space may take for more than that."""
    for word in (one for text in options for one in text.split(",")):
        name, _, value = word.partition("=")
        if word == _LOGS_NOTHING:
            continue
        if name not in _MOUNT_OPTIONS or not _MOUNT_VALUE.fullmatch(value):
            yield Brought(key, f"option {quoted(word)} of {server}")


def paths_among(key: str, program: str, words: Sequence[str]) -> Iterator[Brought]:
    """Words that hand a path to a program which root starts: it may write there."""
    for word in words:
        if "/" in word:
            yield Brought(key, f"option {quoted(word)} of {program}, which names a path")


def _is_harmless(flag: str, value: str) -> bool:
    if flag != "-o":
        return flag in _SSH_WITH and bool(_SSH_WITH[flag].fullmatch(value))
    match = _SSH_KEYWORD.fullmatch(value)
    return match is not None and match[1].lower() in _SSH_KEYWORDS


def _is_roots_alone(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_uid == 0 and not found.st_mode & _OTHERS_WRITE
