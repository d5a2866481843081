import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.patience import wait_until
from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.host.commands import run


def test_output_and_the_exact_command_are_kept() -> None:
    output = run(("sh", "-c", "echo out; echo err >&2"))
    assert (output.stdout, output.stderr) == ("out", "err")
    assert output.command.argv == ("sh", "-c", "echo out; echo err >&2")
    assert 0 < output.command.elapsed_s < 60


def test_messages_are_in_english_whatever_the_locale() -> None:
    assert run(("sh", "-c", "echo $LC_ALL")).stdout == "C"


def test_failure_says_the_command_and_its_complaint() -> None:
    script = "echo Warning: old >&2; echo no such option >&2; echo usage: x >&2; exit 3"
    with pytest.raises(TiltyardError, match=r"^sh -c 'echo .*': no such option$"):
        run(("sh", "-c", script))


def test_silent_failure_says_the_status() -> None:
    with pytest.raises(TiltyardError, match=r"^sh -c 'exit 3': exit status 3$"):
        run(("sh", "-c", "exit 3"))


def test_what_was_cut_off_is_no_reason() -> None:
    with pytest.raises(TiltyardError, match=r": 98\.39$"):
        run(("sh", "-c", "echo 98.39; exit 1"))
    with pytest.raises(TiltyardError, match=r": exit status -9$"):
        run(("sh", "-c", "echo 98.39; kill -9 $$"))


def test_missing_program() -> None:
    with pytest.raises(HostLacksError, match='there is no program "nonesuch"'):
        run(("nonesuch", "-V"))


def test_what_takes_too_long_is_killed() -> None:
    with pytest.raises(TiltyardError, match=r"^sleep 60: not done after 0.1 s"):
        run(("sleep", "60"), timeout_s=0.1)


def test_a_command_is_out_of_reach_of_the_terminal() -> None:
    session = int(run(("sh", "-c", "ps -o sid= -p $$ || cut -d' ' -f6 /proc/$$/stat")).stdout)
    assert session != os.getsid(0)


LAB = "import sys; from tiltyard.host.commands import run; run(('sh', '-c', sys.argv[1]))"
WORKS = "echo > begun; read go < go; echo said; echo complained >&2; echo > done"


def test_a_command_is_not_left_half_done_when_we_are_killed(tmp_path: Path) -> None:
    """As mkfs, which says how far it has come: nobody hears it, and that must not end it."""
    os.mkfifo(tmp_path / "go")
    with subprocess.Popen((sys.executable, "-c", LAB, WORKS), cwd=tmp_path) as process:
        wait_until((tmp_path / "begun").exists, "it does not begin")
        process.send_signal(signal.SIGKILL)
    (tmp_path / "go").write_text("go\n")
    wait_until((tmp_path / "done").exists, "it has ended in the middle")
