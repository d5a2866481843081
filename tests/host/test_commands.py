import os

import pytest

from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.host.place import HERE


def test_output_and_the_exact_command_are_kept() -> None:
    output = HERE.run(("sh", "-c", "echo out; echo err >&2"))
    assert (output.stdout, output.stderr) == ("out", "err")
    assert output.command.argv == ("sh", "-c", "echo out; echo err >&2")
    assert 0 < output.command.elapsed_s < 60


def test_messages_are_in_english_whatever_the_locale() -> None:
    assert HERE.run(("sh", "-c", "echo $LC_ALL")).stdout == "C"


def test_failure_says_the_command_and_its_complaint() -> None:
    script = "echo Warning: old >&2; echo no such option >&2; echo usage: x >&2; exit 3"
    with pytest.raises(TiltyardError, match=r"^sh: no such option$"):
        HERE.run(("sh", "-c", script))


def test_silent_failure_says_the_status() -> None:
    with pytest.raises(TiltyardError, match=r"^sh: exit status 3$"):
        HERE.run(("sh", "-c", "exit 3"))


def test_what_was_cut_off_is_no_reason() -> None:
    with pytest.raises(TiltyardError, match=r": 98\.39$"):
        HERE.run(("sh", "-c", "echo 98.39; exit 1"))
    with pytest.raises(TiltyardError, match=r": signal 9 has ended it$"):
        HERE.run(("sh", "-c", "echo 98.39; kill -9 $$"))


def test_missing_program() -> None:
    with pytest.raises(HostLacksError, match='there is no program "nonesuch"'):
        HERE.run(("nonesuch", "-V"))


def test_what_takes_too_long_is_killed() -> None:
    with pytest.raises(TiltyardError, match=r"^sleep: not done after 0.1 s"):
        HERE.run(("sleep", "60"), timeout_s=0.1)


def test_a_command_is_out_of_reach_of_the_terminal() -> None:
    session = int(HERE.run(("sh", "-c", "ps -o sid= -p $$ || cut -d' ' -f6 /proc/$$/stat")).stdout)
    assert session != os.getsid(0)
