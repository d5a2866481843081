"""Which importer reads a file: the first that recognises it, or else what its tool tells people.

Most files are known by their first 64 KiB; only where these tell nothing, more is looked at.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.importers.importer import (
    LARGEST_BYTES,
    Imported,
    ImportedWorkload,
    Importer,
    Measured,
)
from tiltyard.importers.reading import head_of, printable
from tiltyard.units import few

HEAD_BYTES: Final = 2**16
SEARCHED_BYTES: Final = 2**22
"""Of the beginning, and as much of the end, where a report stands behind its log."""
_PACKED: Final = {
    b"\x1f\x8b": "gzip -dk",
    b"\xfd7zXZ\x00": "xz -dk",
    b"BZh": "bzip2 -dk",
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"PK\x03\x04": "unzip",
}
"""How a packed file begins, and what unpacks it."""


def importer_of(data: bytes, name: str, importers: Collection[Importer]) -> Importer:
    """The importer that recognises a file.

    Raises:
        UsageError: if none does, which lists them all; if several do; if the file is empty.
    """
    _refuse_unread(data, name)
    text = searched(head_of(data))
    own = (one for part in (text[:HEAD_BYTES], text) for one in importers if one.recognises(part))
    first = next(own, None) or next((one for one in importers if _for_people(one, text)), None)
    if first is None:
        looked = f" by its first and last {SEARCHED_BYTES >> 20} MiB"
        raise UsageError(
            f"{name}: not recognised{looked if len(data) > 2 * SEARCHED_BYTES else ''}. "
            "Name its kind with --as: "
            f"{', '.join(importer.name for importer in importers)}; "
            "a table of your own: --mapping"
        )
    others = [one.name for one in importers if one is not first and one.recognises(text)]
    if others:
        raise UsageError(
            f"{name}: holds results of {first.name} and of {' and '.join(others)}; give each in a "
            f"file of its own, or read one of them with --as {first.name}"
        )
    return first


def searched(text: str) -> str:
    """The part of a text by which it is recognised: all of it, or its beginning and its end."""
    if len(text) <= 2 * SEARCHED_BYTES:
        return text
    return f"{text[:SEARCHED_BYTES]}\n{text[-SEARCHED_BYTES:]}"


def is_output_of(importer: Importer, text: str) -> bool:
    """Whether a text is of its tool, be it of the form that is read or the one for people."""
    part = searched(text)
    return importer.recognises(part) or _for_people(importer, part)


def _for_people(importer: Importer, text: str) -> bool:
    known = importer.for_people and re.search(importer.for_people.known_by, text, re.MULTILINE)
    return bool(known)


def _refuse_for_people(importer: Importer, data: bytes, name: str) -> None:
    """Refuse what has rounded figures, and neither trials nor settings."""
    text = searched(head_of(data))
    if importer.for_people and not importer.recognises(text) and _for_people(importer, text):
        raise UsageError(
            f"{name}: {importer.name}'s output for people, whose figures are rounded; "
            f"{importer.for_people.instead}"
        )


def _refuse_unread(data: bytes, name: str) -> None:
    """Refuse what holds nothing, and what has to be unpacked first."""
    if not data.strip():
        raise UsageError(f"{name}: empty; give the file that the tool wrote")
    unpacked_by = next((how for mark, how in _PACKED.items() if data.startswith(mark)), None)
    if unpacked_by:
        raise UsageError(f"{name}: packed; unpack it first: {unpacked_by} {name}")


def _refuse_disowned(importer: Importer, data: bytes, name: str) -> None:
    """Refuse what its own tool says not to take for a result."""
    if not importer.disowns:
        return
    for number, line in enumerate(head_of(data).splitlines(), 1):
        if re.search(importer.disowns, line):
            told = printable(line.strip()[:120])
            raise UsageError(f"{name}:{number}: {importer.name} says: {told}; run it again")


def _without_last_bin(found: Imported, importer: Importer, name: str) -> Imported:
    """The same without percentiles of which only the least is known."""
    cut = {
        (one.metric, key): None
        for workload in found.workloads
        for one in workload.measured
        for key, value in one.percentiles.items()
        if value >= importer.last_bin_s
    }
    if not cut:
        return found
    told = ", ".join(f"{key} of {metric.replace('_', ' ')}" for metric, key in cut)
    limit = (
        f"{name}: left out where they are in the last bin of {importer.name}'s histogram, which "
        f"has everything from {importer.last_bin_s:g} s on: {told}."
    )
    workloads = tuple(
        replace(
            workload,
            measured=tuple(
                replace(
                    one,
                    percentiles={
                        k: v for k, v in one.percentiles.items() if v < importer.last_bin_s
                    },
                )
                for one in workload.measured
            ),
        )
        for workload in found.workloads
    )
    return replace(found, workloads=workloads, limits=(*found.limits, limit))


def _without_doubles(found: Imported, name: str, *, is_whole: bool) -> Imported:
    """The same without what stands there twice, where the tool does not call that a repetition."""
    places = Counter(
        _place(workload, one) for workload in found.workloads for one in workload.measured
    )
    doubles = {
        ", ".join(filter(None, (workload.name, one.metric, *map(str, one.at.values()), one.system)))
        for workload in found.workloads
        for one in workload.measured
        if places[_place(workload, one)] > 1
    }
    if not doubles:
        return found
    named = sorted(map(printable, doubles))
    why = (
        f"what stands there twice, as nothing says that one repeats the other: {few(named)}; "
        "give each in a file of its own"
    )
    if is_whole:
        raise UsageError(f"{name}: {why}")
    limit = f"{name}: left out {why}."
    workloads = tuple(
        replace(
            workload,
            measured=tuple(one for one in workload.measured if places[_place(workload, one)] == 1),
        )
        for workload in found.workloads
    )
    return replace(found, workloads=workloads, limits=(*found.limits, limit))


def _place(workload: ImportedWorkload, one: Measured) -> Hashable:
    """What a value is of."""
    at, apart = tuple(one.at.items()), tuple(one.apart.items())
    return workload.name, workload.apart, one.metric, one.system, at, apart


def read_with(importer: Importer, data: bytes, name: str, *, is_whole: bool = False) -> Imported:
    """What a file holds.

    Args:
        importer: reads it.
        data: the file.
        name: of the file.
        is_whole: what stands there twice refuses it; else that alone is left out.

    Raises:
        UsageError: if it is too large, damaged, another tool's, or holds no result.
    """
    if len(data) > LARGEST_BYTES:
        raise UsageError(
            f"{name}: {len(data) >> 20} MiB; result files of up to {LARGEST_BYTES >> 20} MiB are "
            "read: give the summary that the tool wrote, not its log of every operation"
        )
    _refuse_unread(data, name)
    _refuse_for_people(importer, data, name)
    _refuse_disowned(importer, data, name)
    found = importer.read(data, name)
    if importer.last_bin_s:
        found = _without_last_bin(found, importer, name)
    if not importer.repeats:
        found = _without_doubles(found, name, is_whole=is_whole)
    if not any(workload.measured for workload in found.workloads):
        why = " ".join(limit for limit in found.limits if "left out" in limit)
        told = f": {why}" if why else f". It is read as: {importer.about}"
        raise UsageError(f"{name}: no result of {importer.name} in it{told}")
    return found
