"""What a guest on another host is told, and what comes back of it; that it boots, test_vm shows."""

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from tiltyard.systems import kind
from tiltyard.systems.kind import Site


@pytest.fixture
def told(tmp_path: Path) -> Any:
    """Opens a system of a kind at a deputy that only listens: the settings that it is told."""

    def opened(kind_name: str, **settings: object) -> Any:
        given: dict[str, Any] = {"host": "root@sut", **settings}
        system: Any = kind(kind_name).system("one", given, Site(tmp_path, tmp_path, MagicMock()))
        system._open(deputy := MagicMock())
        (request,) = deputy.ask.call_args.args
        return system, request.given["settings"]

    return opened


@pytest.mark.parametrize(
    ("typed", "there"),
    [
        ({"kernel": "linux.uml"}, {"kernel": "linux.uml"}),
        ({"kernel": "6.12", "modules": "m"}, {"kernel": "6.12", "modules": "~/m"}),
        ({"kernel": "./images/vmlinuz"}, {"kernel": "~/./images/vmlinuz"}),
        ({"kernel": "/boot/vmlinuz"}, {"kernel": "/boot/vmlinuz"}),
        ({"disk": "debian.qcow2"}, {"disk": "~/debian.qcow2"}),
    ],
)
def test_paths_of_a_guest_begin_at_the_home_there(
    told: Any, typed: dict[str, str], there: dict[str, str]
) -> None:
    _, settings = told("vm", **typed)
    assert {key: settings[key] for key in there} == there


def test_what_comes_from_there_names_no_file_of_ours(told: Any, tmp_path: Path) -> None:
    system, _ = told("vm", kernel="linux.uml")
    system._keep({"../evil": "x", "/tmp/evil": "x", "0123abcd.log": "Linux version\n"})
    system._keep({"0123abcd.log": "more\n"})
    (console,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert console.relative_to(tmp_path) == Path("consoles/0123abcd.log")
    assert console.read_text() == "Linux version\nmore\n"
