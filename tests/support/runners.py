"""Runners that misbehave as a shell script says."""

from pathlib import Path

HELLO = """printf '\\036{"runner":{"hello":{"protocol":1,"engine":"0"}}}\\n'"""
ENDED = """printf '\\036{"runner":{"ended":{"status":%s,"said":"%s"}}}\\n'"""


def stand_in(path: Path, text: str, *, greets: bool = True, ends: bool = True) -> tuple[str]:
    """The command of one that executes the text as its trial; the request is ``$request``.

    Args:
        path: the script.
        text: executed by a shell of its own when the request has come.
        greets: whether it says hello.
        ends: whether it tells of the end of the trial; otherwise it is the trial.
    """
    hello = HELLO if greets else ""
    trial = f"( {text}\n)\n{ENDED} $? ''\nread -r request" if ends else text
    path.write_text(f"#!/bin/sh\n{hello}\nread -r request\n{trial}\n")
    path.chmod(0o755)
    return (str(path),)
