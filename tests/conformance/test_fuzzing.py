"""Fuzzing guided by coverage: a million inputs for each reader of what others say (issue 13).

The engine's readers are compiled with counters at every edge, by the stable compiler; the program
keeps inputs that reach new ones. `cargo test` executes some thousand without counters.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INPUTS = 1_000_000
TARGETS = ("control", "netperf", "job")

FLAGS = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Coverflow-checks",
    "-Cdebug-assertions",
)
PROFILE = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "2",
}


@pytest.fixture(scope="module")
def program() -> Path:
    """The program that fuzzes, with counters."""
    told = subprocess.run(("rustc", "-vV"), check=True, capture_output=True, text=True).stdout
    (host,) = (line.split()[1] for line in told.splitlines() if line.startswith("host: "))
    # With a target, build scripts and macros are compiled without the flags.
    build = ("cargo", "build", "--release", "--locked", "--quiet", "--package", "tiltyard-fuzz")
    where = ("--target", host, "--target-dir", "target/fuzz")
    environment = {**os.environ, **PROFILE, "RUSTFLAGS": " ".join(FLAGS)}
    subprocess.run((*build, *where), check=True, cwd=ROOT, env=environment)
    return ROOT / "target" / "fuzz" / host / "release" / "tiltyard-fuzz"


@pytest.mark.conformance
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_breaks_what_reads_it(program: Path, target: str) -> None:
    done = subprocess.run((program, target, str(INPUTS)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["inputs"] == INPUTS
    # The counters count, and more than the seeds is reached.
    assert told["kept"] > 50, told
    assert told["reached"] > 100, told
