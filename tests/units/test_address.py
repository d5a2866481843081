"""How a host is reached: as it is typed, as a study has it, and as the commands there have it."""

import pytest

from tiltyard.address import THIS_HOST, Address, Reached
from tiltyard.cli.host_options import HostOptions
from tiltyard.errors import UsageError

FAR = Address("root@sut", ("-p", "2222", "-i", "a key"))
NODE = Address("n1", by="slurm", job="7")


def test_what_is_typed_is_what_a_study_has() -> None:
    assert HostOptions("root@sut", "-p 2222 -i 'a key'").address == FAR
    assert Reached.model_validate(FAR.settings).address == FAR
    assert Address.in_settings(Reached.model_validate(FAR.settings).model_dump()) == FAR
    assert Address.in_settings({}) == Reached().address == HostOptions().address == THIS_HOST
    assert Address.in_settings({"ssh_options": ["-4"]}) == THIS_HOST
    assert [one.is_remote for one in (FAR, NODE, THIS_HOST)] == [True, True, False]


@pytest.mark.parametrize(
    ("host", "options", "why"),
    [
        (None, "-4", "--ssh-options goes with --host"),
        ("sut", "-i 'a key", '--ssh-options "-i \'a key": No closing quotation'),
    ],
)
def test_options_that_cannot_be_used_are_named(host: str | None, options: str, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        _ = HostOptions(host, options).address
    assert str(caught.value) == why


def test_a_command_goes_there_in_one_word_and_here_as_it_is() -> None:
    assert FAR.argv(("ls", "a b"))[-2:] == ("root@sut", "ls 'a b'")
    assert NODE.argv(("ls", "a b"))[-1] == "ls 'a b'"
    assert THIS_HOST.argv(("ls", "a b")) == ("ls", "a b")


def test_a_node_is_reached_by_its_job_and_after_it_by_another_one() -> None:
    later = NODE.after_the_job("srun: error: Slurm job 7 has expired")
    assert later == Address("n1", by="slurm")
    both = [{word for word in one.command if word.startswith("--")} for one in (NODE, later)]
    assert both[0] - both[1] == {"--jobid=7", "--overlap", "--quiet"}
    assert both[1] - both[0] == {"--immediate=5"}
    assert NODE.after_the_job("srun: error: node is down") is None
    assert FAR.after_the_job("job 7 has expired") is None


@pytest.mark.parametrize(
    ("address", "status", "complaint", "is_lost"),
    [
        (FAR, 255, "", True),
        (FAR, -9, "", True),
        (FAR, 1, "srun: error", False),
        (NODE, 255, "", False),
        (NODE, 1, "srun: error: node is down", True),
        (NODE, -15, "", True),
        (THIS_HOST, -9, "", False),
        (THIS_HOST, 255, "", False),
    ],
)
def test_what_is_lost_is_told_from_what_fails_there(
    address: Address, status: int, complaint: str, is_lost: bool
) -> None:
    assert address.is_lost(status, complaint) is is_lost
