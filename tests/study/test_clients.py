"""The key ``clients``: what it means, and what is wrong with it."""

from pathlib import Path

import pytest

from tiltyard.executors.engine import Engine
from tiltyard.study.load import read_study
from tiltyard.study.model import ClientSpec, Study
from tiltyard.study.problems import StudyFileError
from tiltyard.systems import KINDS

HEAD = """question = "Which?"
[factors]
directory = ["/a", "/b"]
[[workload]]
use = "stream"
"""


def study(text: str) -> Study:
    return read_study(text, Path("study.toml"), Engine.find().describe(), KINDS)


def test_a_number_and_a_list() -> None:
    (workload,) = study(f"{HEAD}clients = 3").workloads
    assert workload.clients == (ClientSpec(),) * 3
    assert "clients" not in workload.parameters
    (workload,) = study(
        f'{HEAD}clients = ["bench@c1", {{ host = "c2", directory = "/mnt/nas" }}]'
    ).workloads
    assert workload.clients == (
        ClientSpec(host="bench@c1"),
        ClientSpec(host="c2", directory="/mnt/nas"),
    )
    (workload,) = study(HEAD).workloads
    assert workload.clients == ()


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("clients = 1", "workload.clients: 1 clients are out of range: 2 to 100"),
        ('clients = "c1"', 'workload.clients: "c1" is neither a number nor a list'),
        ('clients = ["c1", 7]', "workload.clients: 7 is not a table"),
        ('clients = ["c1", "-oX=y"]', 'workload.clients.host: "-oX=y"'),
        ('clients = ["c1", { hosts = "c2" }]', "workload.clients.hosts: there is no such key"),
        ('clients = ["c1", { ssh_options = ["-4"] }]', "is for a host; write host too"),
        ("clients = 2\n[placement]\nhosts = ['h']", "leave placement out, or clients"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(typed: str, problem: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        study(f"{HEAD}{typed}")
    assert problem in str(caught.value)
    assert "study.toml:6" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "clients", "problem"),
    [
        ('kind = "pair"', "2", ""),
        ('kind = "hosts"\nserver = "server"', '["c1", {}]', ""),
        ('kind = "pair"', '["c1", {}]', "kind pair is reached from this host alone"),
        ('kind = "loopback"', '[{}, { directory = "/mnt" }]', "have no directory; leave it out"),
        ('kind = "pair"\nhost = "h"', "2", 'are not on this host; take kind = "hosts"'),
    ],
)
def test_clients_of_a_server(kind: str, clients: str, problem: str) -> None:
    text = (
        f'question = "Which?"\n[factors]\ninject_ns = [0, 9]\n[systems]\n{kind}\n'
        f'[[workload]]\nuse = "tcp_stream"\nclients = {clients}\n'
    )
    if not problem:
        assert len(study(text).workloads[0].clients) == 2
        return
    with pytest.raises(StudyFileError) as caught:
        study(text)
    assert problem in str(caught.value)
