"""The sorts of change that a host's agent makes: what it is told, and how that is printed.

Each is one sentence to four readers: the agent, a dry run, a runbook, and whoever takes it back. A
list of them is one request (:meth:`tiltyard.host.host.Host.change`).
"""

import shlex
from pathlib import Path
from typing import Literal

from tiltyard.host.namespaces import nsenter
from tiltyard.host.steps import Op, Text
from tiltyard.recipe import output
from tiltyard.units import format_size


class Run(Op):
    """A command that ends; what it changes goes with what other ops have made."""

    kind: Literal["run"] = "run"
    argv: tuple[str, ...]

    def op(self, text: Text) -> dict[str, object]:
        """Program and arguments."""
        return {"op": "run", "argv": [*map(text, self.argv)]}

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(self.argv)


class MakeDirectory(Op):
    """A directory that is not there."""

    kind: Literal["make"] = "make"
    path: Path
    inside: bool = False
    """Whether it is in another one that was made, and goes with that; it may be there already."""
    private: bool = False
    """Whether others are kept from looking into it."""
    apart: bool = False
    """Whether it lies among names that another user can exchange; it yields its inode then."""
    within: str = ""
    """The process in whose mount namespace it is; empty: in the host's."""

    def op(self, text: Text) -> dict[str, object]:
        """Where."""
        how: dict[str, object] = {"inside": self.inside, "private": self.private}
        how |= {"name": self.output} if self.apart else {}
        how |= {"within": text(self.within)} if self.within else {}
        return {"op": "make", "directory": text(self.path), **how}

    @property
    def line(self) -> str:
        """In words."""
        return f"# make directory {self.path}"

    @property
    def script(self) -> str:
        """The command for it."""
        mode = ("-m", "700") if self.private else ()
        parents = ("-p",) if self.inside else ()
        return shlex.join((*self._there, "mkdir", *mode, *parents, str(self.path)))

    @property
    def _there(self) -> tuple[str, ...]:
        return nsenter(self.within) if self.within else ()

    @property
    def way_back(self) -> str:
        """It goes with what is in it."""
        return "" if self.inside else f"# remove {self.path} and what is in it"

    @property
    def back_script(self) -> str:
        """The command for it; never through a mount that was left."""
        remove = ("rm", "-r", "-f", "--one-file-system", str(self.path))
        return shlex.join((*self._there, *remove))


class _Put(Op):
    """A file that is not there."""

    path: Path
    outlasts_boot = True

    @property
    def way_back(self) -> str:
        """It is removed."""
        return f"# remove {self.path}"

    @property
    def back_script(self) -> str:
        """The command for it."""
        return shlex.join(("rm", "-f", str(self.path)))


class PutZeros(_Put):
    """One of zeros that are written."""

    kind: Literal["put"] = "put"
    size_bytes: int
    in_memory: bool = False

    def op(self, text: Text) -> dict[str, object]:
        """Where, and how many."""
        return {"op": "put", "path": text(self.path), "zeros": self.size_bytes}

    @property
    def line(self) -> str:
        """In words."""
        return f"# write {format_size(self.size_bytes)} of zeros to {self.path}"

    @property
    def script(self) -> str:
        """Blocks of its own, then zeros in all of them."""
        path = shlex.quote(str(self.path))
        return f"fallocate --length {self.size_bytes} {path}; zeros {path}"

    @property
    def disk_bytes(self) -> int:
        """All of it, unless it is in memory."""
        return 0 if self.in_memory else self.size_bytes


class Link(_Put):
    """A symbolic link."""

    kind: Literal["link"] = "link"
    to: Path

    def op(self, text: Text) -> dict[str, object]:
        """Where, and where it leads."""
        return {"op": "put", "path": text(self.path), "link": text(self.to)}

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(("ln", "--symbolic", str(self.to), str(self.path)))


class Owe(Op):
    """A command that is owed at the end, which takes back what others are about to make."""

    kind: Literal["owe"] = "owe"
    what: str
    """What it does, as a sentence that begins with a verb of the past."""
    argv: tuple[str, ...]
    back: str
    """As a dry run has it."""
    stdin: str = ""
    directory: Path | None = None
    """Nothing is to be done without it."""
    look: tuple[str, ...] = ()
    """Nothing is to be done, and all is done, once this command prints nothing."""

    def op(self, text: Text) -> dict[str, object]:
        """What is executed, and when."""
        directory = {} if self.directory is None else {"directory": text(self.directory)}
        return {
            "op": "owe",
            "what": self.what,
            "argv": [*map(text, self.argv)],
            "stdin": self.stdin,
            "look": [*map(text, self.look)],
            **directory,
        }

    @property
    def line(self) -> str:
        """Nothing is done yet."""
        return ""

    @property
    def way_back(self) -> str:
        """It is executed."""
        return self.back


class Mend(Op):
    """No block of an image is allocated while others measure, whatever has formatted it."""

    kind: Literal["mend"] = "mend"
    path: Path

    def op(self, text: Text) -> dict[str, object]:
        """Which."""
        return {"op": "mend", "path": text(self.path)}

    @property
    def line(self) -> str:
        """In words."""
        return f"# write where {self.path} has got holes or unwritten extents; what it holds stays"

    @property
    def script(self) -> str:
        """All of it, as it is."""
        return f"rewrite {shlex.quote(str(self.path))}"


class AttachLoop(Op):
    """A loop device over a file of ours; it yields its name."""

    kind: Literal["loop"] = "loop"
    file: Path

    def op(self, text: Text) -> dict[str, object]:
        """What is behind it."""
        return {"op": "loop", "file": text(self.file), "name": self.output}

    @property
    def line(self) -> str:
        """The command."""
        return shlex.join(("losetup", "--find", "--show", "--direct-io=on", str(self.file)))

    @property
    def script(self) -> str:
        """Its name alone is kept."""
        return output(self.output, f'basename "$({self.line})"')

    @property
    def way_back(self) -> str:
        """It is detached; which device it will be, nobody knows before."""
        return f"losetup -d /dev/{self.output}"


class RequireBehind(Op):
    """A file of ours is still what a loop device has behind it."""

    kind: Literal["require"] = "require"
    device: str
    """Its name."""
    file: Path

    def op(self, text: Text) -> dict[str, object]:
        """Both."""
        return {"op": "require", "behind": [text(self.device), text(self.file)]}

    @property
    def line(self) -> str:
        """In words."""
        return f"# make sure that /dev/{self.device} is still {self.file}"


class SetOfLoop(Op):
    """A setting of the queue of our loop device; it would outlive the attachment."""

    kind: Literal["set"] = "set"
    device: str
    """Its name."""
    file: Path
    """What is behind it: the setting is put back only as long as it is."""
    name: str
    value: str

    def op(self, text: Text) -> dict[str, object]:
        """The file of the kernel, and its value."""
        return {
            "op": "set",
            "file": text(self._setting),
            "value": self.value,
            "while": [text(self.device), text(self.file)],
        }

    @property
    def _setting(self) -> str:
        return f"/sys/block/{self.device}/queue/{self.name}"

    @property
    def line(self) -> str:
        """In words."""
        return f"# set {self.name} of /dev/{self.device} to {self.value}"

    @property
    def script(self) -> str:
        """It is kept and set."""
        return f"keep {self._setting} {self.value}"

    @property
    def way_back(self) -> str:
        """The old value is written."""
        return f"# set {self.name} of /dev/{self.device} to what it was"

    @property
    def back_script(self) -> str:
        """What it was there."""
        return f"back {self._setting}"


class Mount(Op):
    """A file system, mounted by mount(8) on a directory of ours."""

    kind: Literal["mount"] = "mount"
    type: str
    source: str
    target: Path
    options: tuple[str, ...] = ()
    behind: Path | None = None
    """What the loop device in the source has behind it: it is unmounted only as long as it has."""
    again: bool = False
    """Whether it is ours already, and is unmounted before."""
    inode: str = ""
    """Of the source, if another user can exchange that: no other directory is shown."""
    why: str = ""
    """Who can."""

    def op(self, text: Text) -> dict[str, object]:
        """What, where, and whose."""
        return {
            "op": "mount",
            "from": text(self.source),
            "at": text(self.target),
            "kind": self.type,
            "options": [*self.options],
            **({} if self.behind is None else {"behind": text(self.behind)}),
            **({"again": True} if self.again else {}),
            **({"apart": {"inode": text(self.inode), "why": self.why}} if self.inode else {}),
        }

    @property
    def argv(self) -> tuple[str, ...]:
        """The command."""
        type_ = ("-t", self.type) if self.type else ()
        options = ("-o", ",".join(self.options)) if self.options else ()
        return ("mount", *type_, *options, self.source, str(self.target))

    @property
    def line(self) -> str:
        """The command, after the one that unmounts."""
        before = f"umount {shlex.quote(str(self.target))}; " if self.again else ""
        return before + shlex.join(self.argv)

    @property
    def way_back(self) -> str:
        """It is unmounted; again, that is known already."""
        return "" if self.again else f"umount {self.target}"


class MakeNetwork(Op):
    """A network namespace that is not there; its devices go with it."""

    kind: Literal["network"] = "network"
    name: str

    def op(self, text: Text) -> dict[str, object]:
        """How it is called."""
        return {"op": "network", "name": text(self.name)}

    @property
    def line(self) -> str:
        """The command."""
        return f"ip netns add {self.name}"

    @property
    def way_back(self) -> str:
        """It goes with what runs in it."""
        return f"ip netns del {self.name}"


class PutText(_Put):
    """One with a text; it is on disk afterwards."""

    kind: Literal["write"] = "write"
    text: str

    def op(self, text: Text) -> dict[str, object]:
        """Where, and what."""
        return {"op": "put", "path": text(self.path), "text": self.text}

    @property
    def line(self) -> str:
        """In words."""
        return f"# write {self.path}"

    @property
    def script(self) -> str:
        """The command for it."""
        return f"printf %s {shlex.quote(self.text)} >{shlex.quote(str(self.path))}"
