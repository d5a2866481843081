"""Where a host gives little: no home, a user without a name, small limits, a clock that goes back.

Real processes; each ends with a code of the table, and says in its last line what is to be done.
"""

import marshal
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.hosts import needs_root, open_directory
from support.patience import PATIENCE_S
from tiltyard.errors import ExitCode

TILTYARD = Path(sys.executable).parent / "tiltyard"
GENUINE_RUN = Path(__file__).parents[1] / "run/fixtures/recorded/finished"
NAMELESS = 4242
"""Nobody has this number."""
BECOME_NAMELESS = (
    "setpriv", f"--reuid={NAMELESS}", f"--regid={NAMELESS}", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
)  # fmt: skip
"""He may read whatever is there: the interpreter is somewhere below the home of root."""
COMPARE = ("compare", "-c", "true", "-c", "true --", "--blocks", "6", "--folder", "compared")
MEASURED = (ExitCode.DONE, ExitCode.TRIALS_FAILED, ExitCode.UNDECIDED)
BACKWARDS = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>
static atomic_long calls;
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec -= 86400L * 30 * calls++;
    return failed;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""
"""Whoever asks for the time is told one that is a month before what he was told last."""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Where everybody comes to: those of pytest are root's, and access(2) heeds no capabilities."""
    with open_directory() as path:
        yield path


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GENUINE_RUN, tmp_path / "study"))


def tiltyard(
    *words: str | Path,
    cwd: Path,
    before: tuple[str, ...] = (),
    limits: Mapping[int, int] | None = None,
    **variables: str | Path,
) -> subprocess.CompletedProcess[str]:
    """A command with nothing in its environment but these."""

    def limit() -> None:
        for which, most in (limits or {}).items():
            resource.setrlimit(which, (most, most))

    return subprocess.run(
        [*before, TILTYARD, *words],
        cwd=cwd,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={"PATH": os.environ["PATH"], **{key: str(each) for key, each in variables.items()}},
    )


def require_told(done: subprocess.CompletedProcess[str], code: ExitCode, told: str) -> None:
    """It has ended with this code; the last line says why, and nothing looks like a defect."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tiltyard: ")
    assert told in last


@pytest.mark.parametrize("told", ["9" * 21, "", "-1", "now", "1e9", "٣"])
def test_a_time_beyond_time_is_named(study: Path, told: str) -> None:
    done = tiltyard("report", study, "--json", cwd=study, HOME=study, SOURCE_DATE_EPOCH=told)
    require_told(done, ExitCode.USAGE, f'SOURCE_DATE_EPOCH: "{told}" is no number of seconds')


@pytest.mark.parametrize("told", ["0", "1700000000", "9" * 11])
def test_a_time_is_taken(study: Path, told: str) -> None:
    for form in ("json", "xlsx", "pptx", "pdf"):
        words = ("report", study, "--format", form)
        done = tiltyard(*words, cwd=study, HOME=study, SOURCE_DATE_EPOCH=told)
        assert done.returncode == ExitCode.DONE, done.stderr


@needs_root
@pytest.mark.parametrize(
    "words", [("restore",), ("clean",), ("check", "study"), COMPARE, ("compare", ".", "/tmp")]
)
def test_a_user_without_a_name_or_a_home_is_told_to_set_one(
    study: Path, words: tuple[str, ...]
) -> None:
    done = tiltyard(*words, cwd=study.parent, before=BECOME_NAMELESS)
    require_told(done, ExitCode.HOST_LACKS, "~ is the home of nobody known here. Fix: set HOME")


@needs_root
def test_a_user_without_a_name_compares_and_reports(tmp_path: Path) -> None:
    os.chown(tmp_path, NAMELESS, NAMELESS)
    for words in (COMPARE, ("report", "compared", "--redact"), ("status", "compared")):
        done = tiltyard(*words, cwd=tmp_path, before=BECOME_NAMELESS, HOME=tmp_path)
        assert done.returncode in MEASURED, done.stderr
        assert "Traceback" not in done.stderr


def test_a_path_below_the_home_of_nobody_is_named(tmp_path: Path) -> None:
    done = tiltyard("compare", "~nobody-at-all/a", ".", cwd=tmp_path, HOME=tmp_path)
    assert done.returncode in (ExitCode.USAGE, ExitCode.HOST_LACKS)
    require_told(done, ExitCode(done.returncode), "~nobody-at-all")


@pytest.mark.parametrize(
    ("which", "most", "told"),
    [
        (resource.RLIMIT_AS, 2**30, "ulimit -v is 1048576, and a command takes 134217728. Fix: "),
        (resource.RLIMIT_AS, 2**36, "ulimit -v is 67108864, "),
        (resource.RLIMIT_NOFILE, 16, "ulimit -n is 16, and a command takes 128. Fix: ulimit -n "),
        (resource.RLIMIT_FSIZE, 1000, "File too large"),
    ],
)
@pytest.mark.parametrize("words", [COMPARE, ("report", "study", "--format", "html")])
def test_a_small_limit_is_named(
    study: Path, words: tuple[str, ...], which: int, most: int, told: str
) -> None:
    own = {"HOME": study, "TILTYARD_STATE": study / "state"}
    done = tiltyard(*words, cwd=study.parent, limits={which: most}, **own)
    require_told(done, ExitCode.HOST_LACKS, told)


def test_what_draws_nothing_works_with_less_memory(study: Path) -> None:
    own = {"HOME": study, "TILTYARD_STATE": study / "state"}
    done = tiltyard("restore", cwd=study, limits={resource.RLIMIT_AS: 2**32}, **own)
    assert done.returncode == ExitCode.DONE, done.stderr


def test_a_limit_of_files_leaves_no_compiled_module_cut_off(study: Path, tmp_path: Path) -> None:
    """Or every later command fails, also without a limit."""
    kept = tmp_path / "compiled"
    own = {"HOME": study, "TILTYARD_STATE": study / "state", "PYTHONPYCACHEPREFIX": kept}
    limits = {resource.RLIMIT_FSIZE: 20_000}
    tiltyard("report", "study", "--json", cwd=study.parent, limits=limits, **own)
    standard = kept / sysconfig.get_path("stdlib")[1:]  # has been compiled when it was installed
    for compiled in {*kept.rglob("*.pyc")} - {*standard.rglob("*.pyc")}:
        assert marshal.loads(compiled.read_bytes()[16:]), compiled


@pytest.mark.parametrize("words", [COMPARE, ("report", "study", "--format", "html")])
def test_as_many_files_as_are_asked_for_are_enough(study: Path, words: tuple[str, ...]) -> None:
    limits = {resource.RLIMIT_NOFILE: 128}
    done = tiltyard(*words, cwd=study.parent, limits=limits, HOME=study, TILTYARD_STATE=study / "s")
    assert done.returncode in MEASURED, done.stderr


@needs_root
@pytest.mark.parametrize("most", [1, 8, 30])
def test_too_few_processes_are_named(tmp_path: Path, most: int) -> None:
    os.chown(tmp_path, NAMELESS, NAMELESS)
    limits = {resource.RLIMIT_NPROC: most}
    for words in (COMPARE, ("status",)):
        done = tiltyard(*words, cwd=tmp_path, before=BECOME_NAMELESS, limits=limits, HOME=tmp_path)
        require_told(done, ExitCode.HOST_LACKS, "32 threads can be started. Fix: raise ulimit -u")


def test_a_clock_that_goes_back_fails_nothing(tmp_path: Path) -> None:
    source, library = tmp_path / "backwards.c", tmp_path / "backwards.so"
    source.write_text(BACKWARDS)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    own = {"HOME": tmp_path, "TILTYARD_STATE": tmp_path / "state", "LD_PRELOAD": library}
    asked = [
        COMPARE,
        ("status", "compared"),
        ("report", "compared", "--format", "html", "xlsx"),
        ("run", "compared", "--blocks", "8"),
        ("combine", "compared", "compared"),
        ("restore",),
        ("clean",),
    ]
    for words in asked:
        done = tiltyard(*words, cwd=tmp_path, **own)
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert done.returncode in {*ExitCode} - {ExitCode.INTERNAL}, (words, done.stderr)
        if words == COMPARE:
            assert done.returncode in MEASURED, done.stderr
