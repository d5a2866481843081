"""The chain of a journal: each line carries a hash over itself and every line before it.

A line of a journal is ``{…,"chain":"HASH"}``. Its hash is the SHA-256 of the hash of the line
before it, followed by the line itself without its own ``chain``. The first line of every journal
names the hash of the plan, and the line of each finished trial the hash of that trial's file. So
the last hash, the *seal*, stands for plan, order and content of the whole journal and all trials.

Nothing in it is secret: whoever changes a journal can compute the chain anew, and then only a seal
that was kept elsewhere tells.
"""

from hashlib import sha256
from typing import Final

_KEY: Final = b',"chain":"'
_END: Final = b'"}'
_HEX: Final = 64
_TAIL: Final = len(_KEY) + _HEX + len(_END)


class BrokenChainError(ValueError):
    """A line does not follow from those before it."""


class Chain:
    """A chain up to some line."""

    def __init__(self) -> None:
        """Before the first line."""
        self.seal = ""
        """Hash of the last line, 64 hexadecimal digits; empty before the first."""

    def link(self, text: bytes) -> tuple[bytes, str]:
        """A line with its hash, and that hash; the chain is not lengthened yet.

        Args:
            text: a JSON object without ``chain``.
        """
        seal = self._hash(text)
        return text[:-1] + _KEY + seal.encode() + _END, seal

    def follow(self, line: bytes) -> bytes:
        """Lengthen the chain by a line; the line without its hash.

        Raises:
            BrokenChainError: if its hash is not the one that follows.
            ValueError: if it has none.
        """
        tail = line[-_TAIL:]
        if not (tail.startswith(_KEY) and tail.endswith(_END)):
            raise ValueError("it has no hash at its end")
        text = line[:-_TAIL] + b"}"
        seal = self._hash(text)
        if tail[len(_KEY) : -len(_END)] != seal.encode():
            raise BrokenChainError("its hash does not follow from the lines before it")
        self.seal = seal
        return text

    def lengthen(self, seal: str) -> None:
        """A line with this hash is in its place."""
        self.seal = seal

    def _hash(self, text: bytes) -> str:
        return sha256(self.seal.encode() + text).hexdigest()


def seal_of(journal: bytes) -> str:
    """The hash that the last whole line of a journal has; empty if it has none."""
    line = journal[: journal.rfind(b"\n")].rpartition(b"\n")[2]
    tail = line[-_TAIL:]
    has_one = tail.startswith(_KEY) and tail.endswith(_END)
    return tail[len(_KEY) : -len(_END)].decode(errors="replace") if has_one else ""


def follows(journal: bytes, seal: str) -> bool:
    """Whether a journal, if its chain holds, goes on from where it had this seal; any from none."""
    return not seal or _KEY + seal.encode() + _END + b"\n" in journal
