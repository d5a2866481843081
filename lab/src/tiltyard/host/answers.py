"""Whether an agent answers what it was asked: it may be a stranger's."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tiltyard.wire import HostDid

_YIELDED: Final = re.compile(r"[a-z]*[0-9]+")
"""What an op may yield: the name of a device, the number of a process."""
_LINE_CHARS: Final = 64 * 2**10
"""Of what a process has printed first."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def answers(did: HostDid, ops: Sequence[Mapping[str, object]]) -> bool:
    """Whether an answer is one to these ops: what another host yields gets into scripts."""
    names, sorts = {op.get("name") for op in ops}, {op.get("op") for op in ops}
    return (
        all(one.at < len(ops) for one in did.changes)
        and all(one.at < len(ops) for one in did.skipped)
        and all(one.at < len(ops) and len(one.line) <= _LINE_CHARS for one in did.started)
        and did.outputs.keys() <= names
        and all(map(_YIELDED.fullmatch, did.outputs.values()))
        and (did.digest is not None if "keep" in sorts else did.digest is None)
        and (did.aged is not None if "age" in sorts else did.aged is None)
        and (did.digest is None or _DIGEST.fullmatch(did.digest) is not None)
        and (
            did.aged is None or all(0 <= each <= 1 for each in (did.aged.full, did.aged.score or 0))
        )
    )
