"""What is handed out is whole, and its bytes depend on nothing but what goes in."""

import json
import os
import platform
import subprocess
import tarfile
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release import __main__ as dist
from release import python
from release.debian import build_deb
from release.image import build_image
from release.python import build_sdist, build_wheel, locked
from release.sbom import write_sbom
from release.version import ROOT, version
from tiltyard.executors.engine import Engine

MACHINE = platform.machine()


def test_a_wheel_is_for_one_machine_and_has_its_engine(wheel: Path) -> None:
    assert wheel.name == (
        f"tiltyard-{version()}-py3-none-manylinux_2_17_{MACHINE}.musllinux_1_1_{MACHINE}.whl"
    )
    with zipfile.ZipFile(wheel) as packed:
        name = f"tiltyard-{version()}.data/scripts/tiltyard-engine"
        assert packed.read(name) == Engine.find().path.read_bytes()
        assert packed.getinfo(name).external_attr >> 16 & 0o111 == 0o111
        names = packed.namelist()
    for package in (ROOT / "lab/src/tiltyard", *ROOT.glob("plugins/*/src/tiltyard_*")):
        for path in package.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                assert str(path.relative_to(package.parent)) in names


def test_a_wheel_of_the_core_has_no_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTYARD_CORE", "1")
    with zipfile.ZipFile(build_wheel(Engine.find().path, tmp_path)) as packed:
        rooms = {name.partition("/")[0] for name in packed.namelist()}
        about = f"tiltyard-{version()}"
        assert rooms == {"tiltyard", f"{about}.data", f"{about}.dist-info"}
        points = packed.read(f"{about}.dist-info/entry_points.txt").decode()
    assert points.split("\n\n")[0].startswith("[console_scripts]")
    assert "tiltyard_" not in points


def test_the_same_wheel_twice(wheel: Path, tmp_path: Path) -> None:
    again = build_wheel(Engine.find().path, tmp_path)
    assert again.read_bytes() == wheel.read_bytes()


def test_a_wheel_takes_no_engine_that_needs_libraries(tmp_path: Path) -> None:
    """As the interpreter of this test does, or whatever shell is here."""
    with pytest.raises(subprocess.CalledProcessError):
        build_wheel(Path("/bin/sh"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_machine_gets_as_much_as_can_be_made(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(dist, "build_engine", lambda _: Engine.find().path)
    monkeypatch.setattr(dist, "build_wheel", lambda *_: wheel)
    monkeypatch.setattr(dist, "download_wheels", fails)
    assert list(dist._of_machine("sparc64", tmp_path)) == [wheel]
    assert "No Debian package for sparc64: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        list(dist._of_machine(MACHINE, tmp_path))


def test_the_version_is_read_once_and_sources_that_change_end_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = version()
    monkeypatch.setattr(python, "version", lambda: "0.0.1")
    wheel = build_wheel(Engine.find().path, tmp_path / "wheel")
    assert wheel.name.startswith("tiltyard-0.0.1-"), "the step is told it"
    with zipfile.ZipFile(wheel) as packed:
        assert packed.read("tiltyard/_version.py") == b"__version__ = '0.0.1'\n"
    assert not (ROOT / "lab/src/tiltyard/_version.py").exists(), "a checkout is not called so"
    monkeypatch.setattr(dist, "build_sdist", lambda _: wheel)
    monkeypatch.setattr(dist, "write_sbom", lambda *_: None)
    monkeypatch.setattr(dist, "_of_machine", lambda *_: iter(()))
    monkeypatch.setattr(dist, "read_version", lambda: "0.0.1")
    with pytest.raises(SystemExit, match=r"became 0\.0\.1 meanwhile; .*\. Fix: ") as ended:
        dist.main(tmp_path / "dist")
    assert f"they were {began}. " in str(ended.value)
    assert not (tmp_path / "dist/SHA256SUMS").exists()


def test_the_sources_are_enough_for_the_engine_and_the_same_twice(tmp_path: Path) -> None:
    first, second = (build_sdist(tmp_path / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    needed = {"Cargo.lock", "hatch_build.py", "release/version.py", "scripts/build-engine"}
    assert needed <= names
    tracked = subprocess.run(
        ("git", "ls-files", "engine"), cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert set(tracked.stdout.split()) <= names


def test_the_same_package_twice(wheel: Path, tmp_path: Path) -> None:
    """The lab alone: the wheels of others are laid out in the same way."""
    made = []
    for mask in (0o022, 0o077):
        into = tmp_path / str(mask)
        into.mkdir()
        before = os.umask(mask)
        try:
            made.append(build_deb(wheel, None, version(), MACHINE, into))
        finally:
            os.umask(before)
    assert made[0].read_bytes() == made[1].read_bytes()
    listed = subprocess.run(
        ("dpkg-deb", "--contents", made[0]), check=True, capture_output=True, text=True
    ).stdout
    assert "-rwxr-xr-x root/root" in listed
    for line in (
        "./usr/bin/tiltyard -> /opt/tiltyard/bin/tiltyard\n",
        "./usr/bin/tiltyard-engine -> /opt/tiltyard/bin/tiltyard-engine\n",
        "./opt/tiltyard/lib/python3.11/site-packages/tiltyard/__main__.py\n",
        "./usr/share/man/man1/tiltyard.1\n",
    ):
        assert line in listed
    assert str(tmp_path) not in listed


def test_the_same_image_twice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("of a layer")
    layer = tmp_path / "layer.tar"
    with tarfile.open(layer, "w") as packed:
        packed.add(tmp_path / "file", "file")
    made = []
    for name in "ab":
        into = tmp_path / name
        into.mkdir()
        made.append(build_image([layer], version(), MACHINE, into))
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(made[0]) as packed:
        index = json.load(packed.extractfile("./index.json"))
        blob = index["manifests"][0]["digest"].replace(":", "/")
        manifest = json.load(packed.extractfile(f"./blobs/{blob}"))
        blob = manifest["config"]["digest"].replace(":", "/")
        config = json.load(packed.extractfile(f"./blobs/{blob}"))
    assert config["config"]["Entrypoint"] == ["tiltyard"]
    assert len(config["rootfs"]["diff_ids"]) == 1


def test_the_bill_is_valid_whole_and_the_same_twice(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    for path in (first, second):
        write_sbom(version(), {"rustc": "1.88"}, path)
    assert first.read_bytes() == second.read_bytes()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(first.read_text()) is None
    listed = {one["purl"] for one in json.loads(first.read_text())["components"]}
    for line in metadata("tiltyard").get_all("Requires-Dist"):
        name = canonicalize_name(Requirement(line).name)
        assert any(purl.startswith(f"pkg:pypi/{name}@") for purl in listed), name
    pins = {f"pkg:pypi/{pin.split()[0].replace('==', '@')}" for pin in locked().values()}
    assert {purl for purl in listed if purl.startswith("pkg:pypi/")} <= pins
    assert any(purl.startswith("pkg:cargo/serde@") for purl in listed)
    assert not any(purl.startswith(("pkg:cargo/proptest@", "pkg:pypi/pytest@")) for purl in listed)


def test_a_tag_is_the_version_that_is_stated(tmp_path: Path) -> None:
    """In a clone of its own, whose version is asked as a build does."""
    source = (ROOT / "release/version.py").read_text()
    (tmp_path / "release").mkdir()
    (tmp_path / "release/version.py").write_text(source)
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.0"\n')

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        done = subprocess.run(
            ("git", *who, *words), cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def asked() -> subprocess.CompletedProcess[str]:
        code = "from release.version import version; print(version())"
        return subprocess.run(
            ("python3", "-c", code), cwd=tmp_path, check=False, capture_output=True, text=True
        )

    assert asked().stdout == "1.2.0.dev0\n"
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    assert asked().stdout == f"1.2.0.dev0+g{git('rev-parse', '--short=10', 'HEAD')}\n"
    git("tag", "v1.3.0")
    assert '"1.2.0", the tag is v1.3.0. Fix: write version = "1.3.0"' in asked().stderr
    git("tag", "-d", "v1.3.0")
    git("tag", "v1.2.0")
    assert asked().stdout == "1.2.0\n"
