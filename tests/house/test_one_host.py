"""A host is asked through its agent, this one as well: decision 75."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LAB: Final = Path(__file__).resolve().parents[2] / "lab/src/tiltyard"
ROOMS: Final = ("host", "systems", "tuning")
"""They prepare, set, watch and describe hosts."""
MODULES: Final = frozenset(
    {"ctypes", "fcntl", "glob", "multiprocessing", "os", "platform", "pwd", "shutil", "socket"}
    | {"subprocess", "tempfile"}
)
"""What looks at this host, or starts something on it, without its agent."""
METHODS: Final = frozenset(
    {"exists", "glob", "is_block_device", "is_dir", "is_file", "is_mount", "is_symlink", "iterdir"}
    | {"lstat", "mkdir", "open", "read_bytes", "read_text", "readlink", "rglob", "stat", "touch"}
    | {"unlink", "write_bytes", "write_text"}
)
"""What a path of this host does, and one of another host cannot."""
OURS: Final = {
    "host/calibrations.py": "glob read_bytes",  # kept in our state directory
    "host/doctor.py": "ctypes exists os",  # whether that is writable; what our own calls do
    "host/host.py": "os",  # the pipes of this host's agent, and forks of ours
    "host/pipe.py": "os shutil subprocess",  # the one thing that starts an agent
    "host/record/parameters.py": "read_text",  # a table that is installed with us
    "host/resumption.py": "os",  # our own environment
    "host/sent.py": "is_file platform read_bytes",  # engines that are installed with us
    "host/telemetry.py": "os",  # our own number
    "systems/untrusted_inputs.py": "os stat",  # who could exchange what a study would have executed
    "systems/hosts.py": "socket",  # an address, as a client of ours resolves it
    "systems/service/steps.py": "os tempfile",  # TMPDIR of who has started us
    "systems/typed.py": "glob is_block_device is_dir is_file iterdir open os",  # what is typed
    "systems/vm/backends/uml.py": "read_text",  # a source that is installed with us
    "systems/vm/kernels.py": "os",  # our own environment
    "systems/vm/machine.py": "os",  # a file of the study folder
    "systems/vm/operating_system.py": "stat",  # the engine that is installed with us
    "tuning/hold.py": "subprocess",  # a person's command, with our standard streams
    "tuning/load.py": "iterdir",  # profiles that are installed with us
}
"""What is about ourselves, our own folders and what is typed here, and so about no host."""


def reaches_out(source: str) -> Iterator[str]:
    """By what a module looks at this host itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name for alias in node.names if (name := _first(alias.name)) in MODULES)
        elif isinstance(node, ast.ImportFrom) and _first(node.module or "") in MODULES:
            yield _first(node.module or "")
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id == "open":
                yield "open"
            # A kind of system, and a mounter, are opened as well: with more, or with nothing.
            elif isinstance(called, ast.Attribute) and called.attr in METHODS:
                mode = [one for one in node.args if isinstance(one, ast.Constant)]
                if called.attr != "open" or mode:
                    yield called.attr


def _first(name: str) -> str:
    return name.partition(".")[0]


def test_what_a_module_does_itself_is_found() -> None:
    source = (
        "import os.path, glob\nfrom subprocess import run\nimport posixpath, json\n"
        "Path('/proc/stat').read_text(); open('/x'); path.open('rb'); kind.open(name, site)\n"
        "place.read('/proc/stat'); self._mounter.open()\n"
    )
    assert sorted(reaches_out(source)) == [
        "glob", "open", "open", "os", "read_text", "subprocess",
    ]  # fmt: skip


def test_nothing_but_what_is_named_looks_at_this_host_itself() -> None:
    found = {
        str(path.relative_to(LAB)): " ".join(sorted(by))
        for room in ROOMS
        for path in sorted((LAB / room).rglob("*.py"))
        if (by := set(reaches_out(path.read_text())))
    }
    assert found == OURS
