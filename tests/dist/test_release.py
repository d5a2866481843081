"""A release is a tag, a heading of the changelog, and `make dist`."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_the_changelog_begins_with_what_is_not_released() -> None:
    assert HEADINGS[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ – \d{4}-\d\d-\d\d", heading) for heading in HEADINGS[1:])


def test_every_tag_has_its_heading_and_one_heading_may_wait_for_its_tag() -> None:
    done = subprocess.run(
        ("git", "tag", "--list", "v[0-9]*"), cwd=ROOT, check=True, capture_output=True, text=True
    )
    tags = {tag.removeprefix("v") for tag in done.stdout.split()}
    versions = [heading.partition(" ")[0] for heading in HEADINGS[1:]]
    stated = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert tags <= set(versions)
    assert set(versions[1:]) <= tags
    assert set(versions[:1]) <= tags | {stated}


def test_the_workflow_does_what_a_person_does() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    commands = re.findall(r"^\s+(?:- )?run: (.+)$", text, re.M)
    assert commands[-1] == "make dist"
    prepares = ("apt-get ", "git config ", "rustup target add ")
    assert all(command.startswith(prepares) for command in commands[:-1])


def make(*words: str) -> str:
    """The commands that make would execute."""
    return subprocess.run(
        ("make", "--dry-run", *words), cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def test_the_demo_takes_a_wheel_that_is_there_and_builds_nothing() -> None:
    name = "dist/tiltyard-1.0.0-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"
    commands = make("--always-make", f"--what-if={name}", "demo", f"WHEEL={name}")
    assert "build-engine" not in commands
    assert f"--force-reinstall {name}" in commands
    assert f"Using {name}" in commands
    assert ".demo/venv/bin/tiltyard demo --folder .demo" in commands


def test_the_demo_builds_where_there_is_no_wheel() -> None:
    commands = make("--always-make", "demo", "WHEEL=")
    assert "build-engine" in commands
    assert ".venv/bin/tiltyard demo --folder .demo" in commands
