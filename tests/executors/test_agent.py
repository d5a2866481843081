"""The lab's types of what an agent says, of a real one."""

import subprocess
from pathlib import Path

from tiltyard.executors.engine import Engine
from tiltyard.wire import PROTOCOL, RECORD_SEPARATOR, HostFailure, HostLine


def test_lines_of_an_agent_are_read() -> None:
    requests = (
        b'{"id":1,"read":{"files":["/proc/version"],"outputs":[["no-such-program"]]}}\n'
        b'{"id":2,"run":{"argv":["no-such-program"]}}\nnonsense\n{"beat":{}}\n'
    )
    argv = (str(Engine.find().path), "agent")
    said = subprocess.run(argv, input=requests, check=True, capture_output=True).stdout
    noise, *lines = said.split(RECORD_SEPARATOR)
    hello, read, run, flaw, beat = map(HostLine.model_validate_json, lines)
    assert (noise, hello.hello and hello.hello.protocol) == (b"", PROTOCOL)
    assert read.id == 1
    assert read.done is not None
    assert read.done.read is not None
    assert read.done.read.files == {"/proc/version": Path("/proc/version").read_text()}
    assert [(one.argv, one.status) for one in read.done.read.outputs] == [
        (["no-such-program"], None)
    ]
    text = 'there is no program "no-such-program" on this host'
    assert (run.id, run.failed) == (2, HostFailure(kind="lacks", text=text))
    assert flaw.failed is not None
    assert (flaw.id, flaw.failed.kind) == (None, "request")
    assert beat.beat is not None
