"""fio's report: where it stands in a file, and the jobs in it with their threads and options."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tiltyard.importers.json_file import Node, result_of

KIB: Final = 1024
_OF_ONE_SYSTEM: Final = frozenset(("name", "filename", "directory", "description", "hostname"))
"""Options that say where, not what."""
_ONE_WAY: Final = {"read": "read", "randread": "read", "write": "write", "randwrite": "write"}
"""``rw`` → the only direction that a job of it has."""


@dataclass(frozen=True)
class Job:
    """One job with all its threads."""

    name: str
    """Jobs of one name with different options get different names: ``a``, ``a (2)``."""
    threads: Sequence[Node]
    options: Mapping[str, str]
    filename: str = ""
    """What it names its files; empty: they are its own."""

    @property
    def error(self) -> int:
        """The first error of a thread; 0 if all came to their end."""
        errors = (own.value(signed=True) for thread in self.threads if (own := thread.get("error")))
        return next((int(error) for error in errors if error), 0)

    def remarks(self, ways: Sequence[str]) -> Iterator[str]:
        """Sentences on figures that are of something else than the options say.

        Args:
            ways: in which directions it has figures.
        """
        only = _ONE_WAY.get(self.options.get("rw", self.options.get("readwrite", "")), "")
        more = bool(only) and not {"read", "write"}.intersection(ways) <= {only}
        if more and only == "write" and "verify" in self.options:
            yield f"Job {self.name} read only to verify what it had written (verify)."
        elif more or self._is_of_several:
            yield (
                f"Job {self.name} is several jobs that fio reports as one (group_reporting); "
                "the options in the report are those of the last of them."
            )

    @property
    def _is_of_several(self) -> bool:
        options = self.threads[0].get("job options")
        own = options.get("name") if options else None
        return own is not None and own.text() != self.threads[0]["jobname"].text()


def jobs_of(top: Node) -> list[Job]:
    """The jobs of a report; a job that was repeated as it is stands there again.

    Raises:
        UsageError: if the report is damaged.
    """
    common = _options(top.get("global options"))
    common_file = _filename(top.get("global options"))
    found: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Node]] = {}
    for entry in _entries(top):
        own = tuple(_options(entry.get("job options")).items())
        found.setdefault((entry["jobname"].text(), entry["groupid"].text(), own), []).append(entry)
    kinds: dict[str, list[tuple[tuple[str, str], ...]]] = {}
    jobs = []
    for (name, _, own), threads in found.items():
        known = kinds.setdefault(name, [])
        if own not in known:
            known.append(own)
        place = known.index(own)
        told = f"{name} ({place + 1})" if place else name
        file = _filename(threads[0].get("job options")) or common_file
        jobs.append(Job(told, threads, {**common, **dict(own)}, file))
    return jobs


def report_of(data: bytes, name: str) -> Node:
    """The one report in a file.

    Raises:
        UsageError: if there is none, or another one after it.
    """
    return result_of(data, name)


def bytes_moved(way: Node) -> Fraction:
    """In B: fio 2 counts KiB under the same key, without ``io_kbytes`` beside it."""
    table = way.table()
    exact = "io_kbytes" in table or "bw_bytes" in table
    return way["io_bytes"].value() * (1 if exact else KIB)


def _entries(top: Node) -> Iterator[Node]:
    """The jobs, of a client those of its servers."""
    clients = top.get("client_stats")
    for job in (clients or top["jobs"]).entries():
        if clients is None or job["jobname"].text() != "All clients":
            yield job


def _filename(options: Node | None) -> str:
    named = options.get("filename") if options else None
    return named.text() if named else ""


def _options(options: Node | None) -> dict[str, str]:
    """Name → value of what says how it was done."""
    if options is None:
        return {}
    return {key: node.text() for key, node in options.items() if key not in _OF_ONE_SYSTEM}
