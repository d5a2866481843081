"""A kernel's modules: where they are, and which of them a guest must load for what it needs.

Read are the tables that depmod(8) writes beside them.
"""

import gzip
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path

from tiltyard.errors import HostLacksError

_PLACES = ("lib/modules", "../lib/modules", "../lib/uml/modules", "../usr/lib/modules")
"""Where modules are, seen from the directory of a kernel that was unpacked or installed."""


def directory_of(kernel: Path, release: str | None) -> Path | None:
    """The directory of a kernel's modules, beside it; ``None`` if there is none."""
    for place in _PLACES:
        above = kernel.resolve().parent / place
        if release is not None and (above / release / "modules.dep").is_file():
            return (above / release).resolve()
    return None


class Modules:
    """The modules of one kernel."""

    def __init__(self, directory: Path) -> None:
        """Read its tables.

        Raises:
            HostLacksError: if depmod(8) has not been there.
        """
        self.directory = directory
        try:
            dependencies = (directory / "modules.dep").read_text()
        except OSError as error:
            text = f"{directory}: no modules.dep ({error.strerror}); depmod writes it"
            raise HostLacksError(text) from None
        self._needs: dict[str, tuple[str, ...]] = {}
        self._files: dict[str, str] = {}
        for line in dependencies.splitlines():
            file, _, needs = line.partition(":")
            self._files[_name(file)] = file
            self._needs[_name(file)] = tuple(_name(need) for need in needs.split())
        self._builtin = {_name(line) for line in self._lines("modules.builtin")}
        self._aliases = dict(self._read_aliases())
        self._softly = dict(self._read_soft_dependencies())

    def find(self, wanted: str) -> list[str] | None:
        """Names of the modules behind a name or an alias; ``[]`` if it is built in.

        Returns:
            ``None`` if this kernel has nothing of that name.
        """
        name = self._aliases.get(wanted, wanted.replace("-", "_"))
        if name in self._files:
            return [name]
        return [] if name in self._builtin else None

    def in_order(self, wanted: Iterable[str]) -> list[Path]:
        """Files of modules, each after those that it needs; what is not there is passed over."""
        order: dict[str, None] = {}
        for one in wanted:
            for name in self.find(one) or ():
                self._visit(name, order)
        return [self.directory / self._files[name] for name in order]

    def _visit(self, name: str, order: dict[str, None]) -> None:
        """A module after its needs."""
        if name in order:
            return
        for soft in self._softly.get(name, ()):
            for found in self.find(soft) or ():
                self._visit(found, order)
        # The table has all needs of needs, the nearest first.
        for need in reversed(self._needs[name]):
            self._visit(need, order)
        order.setdefault(name)

    def _read_aliases(self) -> Iterator[tuple[str, str]]:
        """Alias → module, of modules and of what is built in."""
        for line in self._lines("modules.alias"):
            words = line.split()
            if len(words) == 3 and words[0] == "alias":
                yield words[1], words[2]
        for entry in self._text("modules.builtin.modinfo").split("\0"):
            name, found, alias = entry.partition(".alias=")
            if found:
                yield alias, name

    def _read_soft_dependencies(self) -> Iterator[tuple[str, list[str]]]:
        """Module → what should be there before it."""
        for line in self._lines("modules.softdep"):
            words = line.split()
            if words[:1] == ["softdep"] and "pre:" in words:
                pre = words[words.index("pre:") + 1 :]
                yield words[1], pre[: pre.index("post:")] if "post:" in pre else pre

    def _lines(self, table: str) -> list[str]:
        return self._text(table).splitlines()

    def _text(self, table: str) -> str:
        """A table; empty if the kernel has none."""
        path = self.directory / table
        return path.read_text(errors="replace") if path.is_file() else ""


def contents(module: Path) -> bytes:
    """A module as the kernel takes it: not compressed.

    Raises:
        HostLacksError: if it is compressed in a way that we cannot read.
    """
    data = module.read_bytes()
    match module.suffix:
        case ".ko":
            return data
        case ".xz":
            return lzma.decompress(data)
        case ".gz":
            return gzip.decompress(data)
        case other:
            raise HostLacksError(f'{module}: modules compressed as "{other}" cannot be read')


def _name(file: str) -> str:
    """A module's name, as the kernel has it."""
    return Path(file.strip()).name.partition(".ko")[0].replace("-", "_")
