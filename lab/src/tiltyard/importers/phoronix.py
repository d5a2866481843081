"""composite.xml of the Phoronix Test Suite: several systems, and the values of every repetition.

No entity, no document type and nothing outside the file is read.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

from tiltyard.collected.model import CollectedMetric, PrintedAs
from tiltyard.errors import UsageError
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import (
    GBIT_S,
    GIB_S,
    KBIT_S,
    KIB_S,
    MBIT_S,
    MIB_S,
    MICROSECONDS,
    MILLISECONDS,
    NANOSECONDS,
    PER_S,
    PERCENT,
    SECONDS,
    Unit,
)
from tiltyard.importers.reading import NoFigureError, number, refusal, shown
from tiltyard.units import few

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SCALES: Final = {
    "seconds": SECONDS,
    "sec": SECONDS,
    "milliseconds": MILLISECONDS,
    "ms": MILLISECONDS,
    "microseconds": MICROSECONDS,
    "us": MICROSECONDS,
    "nanoseconds": NANOSECONDS,
    "ns": NANOSECONDS,
    "mib/s": MIB_S,
    "kib/s": KIB_S,
    "gib/s": GIB_S,
    "kbits/sec": KBIT_S,
    "mbits/s": MBIT_S,
    "mbit/s": MBIT_S,
    "mbits/sec": MBIT_S,
    "gbits/sec": GBIT_S,
    "files/s": PER_S,
    "iops": PER_S,
    "tps": PER_S,
    "ops/sec": PER_S,
    "transactions per second": PER_S,
    "requests per second": PER_S,
    "%": PERCENT,
    "percent": PERCENT,
}
"""Units that mean one thing only."""
_BINARY: Final = re.compile(r"(?:pts|system)/(?:iozone|compilebench|tiobench|aio-stress)-.*")
"""Tests of the suite whose MB is 1024² B; of others nobody says which it is: kept as it is."""
_NAMESPACE: Final = re.compile(r"^\w+/")
_OLD: Final = {
    "Title": "Name",
    "Identifier": "TestName",
    "AppVersion": "Version",
    "Arguments": "TestArguments",
    "Description": "Attributes",
    "DisplayFormat": "ResultFormat",
}
"""What versions 1 and 2 of the suite call what stands in a result, which is a <Benchmark> there."""
_VERSION: Final = re.compile(r"-\d+(?:\.\d+)+$")
_MENDED: Final = re.compile(r"(-\d+\.\d+)\.\d+$")
"""The last number of three is that of a version which measures the same, as the suite compares."""


def read(data: bytes, name: str) -> Imported:
    """All bar graphs of a result file."""
    root = _root(data, name)
    found: list[ImportedWorkload] = []
    limits = [
        "The Phoronix Test Suite repeats a test whose values scatter, so how often it was repeated "
        "depends on the values; it clears no cache between them."
    ]
    skipped = 0
    without: list[str] = []
    for result in (*root.iter("Result"), *root.iter("Benchmark")):
        if _text(result, "DisplayFormat") not in ("BAR_GRAPH", ""):
            skipped += 1
            continue
        try:
            workload = _workload(result, name)
        except NoFigureError as error:
            limits.append(
                f"{name}: {_told(result)} left out: a value of it cannot be, as {error.why}."
            )
            continue
        if workload is None:
            without.append(f"{_told(result)}{_why(result)}")
        else:
            found.append(workload)
    if without:
        limits.append(f"{name}: left out, as they have no value: {few(without)}.")
    if skipped:
        limits.append(f"{name}: {skipped} results are no numbers to compare, and were left out.")
    return Imported(
        workloads=tuple(found),
        system_facts={
            _text(system, "Identifier"): dict(_facts(system)) for system in root.iter("System")
        },
        limits=tuple(limits),
    )


def _root(data: bytes, name: str) -> "Element":
    """The document.

    Raises:
        UsageError: if it is not XML, is cut off, or has a document type, as result files have not.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except DefusedXmlException as error:
        raise UsageError(
            f"{name}: refused: a result file has no document type and no entities"
        ) from error
    except ParseError as error:
        raise UsageError(f"{name}:{error.position[0]}: not XML, or cut off: {error}") from error
    except (LookupError, ValueError) as error:
        raise UsageError(f"{name}: not XML in an encoding that is known: {error}") from error
    if root.tag != "PhoronixTestSuite":
        raise UsageError(
            f"{name}: <{root.tag[:40]}> should be <PhoronixTestSuite>: give composite.xml"
        )
    return root


def _told(result: "Element") -> str:
    return ", ".join(filter(None, (_text(result, "Title"), _text(result, "Description"))))


def _why(result: "Element") -> str:
    """Of which systems, and what the suite says of it."""
    errors: dict[str, list[str]] = {}
    for entry in _entries(result):
        said = re.search(r'"error":\s*"([^"]*)"', _text(entry, "JSON"))
        errors.setdefault(said[1].strip(" .") if said else "", []).append(
            _text(entry, "Identifier")
        )
    told = "; ".join(
        ": ".join(filter(None, (", ".join(systems), why))) for why, systems in errors.items()
    )
    return f" ({told})" if told else ""


def _workload(result: "Element", name: str) -> ImportedWorkload | None:
    """One result: a metric of the test that its title names; nothing where all of it failed."""
    title = _text(result, "Title") or "untitled"
    label = _text(result, "Description").removeprefix("Test: ") or title
    entries = _entries(result)
    if not any(_text(entry, "Value") for entry in entries):
        return None
    unit = unit_of(_text(result, "Scale"), _text(result, "Identifier"))
    where = f"{name}: {title}, {label}"
    apart = {"metric": (_text(result, "Scale"), _text(result, "Arguments"))}
    measured = tuple(replace(one, apart=apart) for one in _measured(entries, where, label, unit))
    made = CollectedMetric(
        name=label,
        label=label,
        unit=unit.base,
        direction=_direction(result, where),
        # A zero has no ratio to anything, and one such metric would leave the test without verdict.
        headline=all(value for one in measured for value in one.values),
        printed=PrintedAs(
            unit=unit.name,
            factor=float(unit.factor),
            decimals=max((_decimals(_text(entry, "Value")) for entry in entries), default=0),
        ),
    )
    use, version = _text(result, "Identifier"), _text(result, "AppVersion")
    return ImportedWorkload(
        name=title,
        use=_VERSION.sub("", _NAMESPACE.sub("", use)) or title,
        lineage=f"{title} {version}".strip(),
        metrics=(made,),
        measured=measured,
        commands=tuple(filter(None, (_text(result, "Arguments"),))),
        apart=(version, _MENDED.sub(r"\1", use)),
    )


def _measured(entries: "list[Element]", where: str, label: str, unit: Unit) -> Iterator[Measured]:
    """One entry a system; an entry without a value has none."""
    for entry in entries:
        system, value = _text(entry, "Identifier"), _text(entry, "Value")
        if not value:
            continue
        raw = [part for part in _text(entry, "RawString").split(":") if part.strip()]
        mean = unit.value(_number(value, f"{where}, {system}: Value"))
        values = tuple(
            unit.value(_number(part.strip(), f"{where}, {system}: RawString")) for part in raw
        )
        yield Measured(
            label, values=values or (mean,), mean=mean if len(values) > 1 else None, system=system
        )


def _number(text: str, where: str) -> Fraction:
    try:
        return number(text)
    except ValueError as error:
        refused = UsageError(f"{where}: {shown(text)} should be a number: {error}")
        raise refusal(refused, error) from None


def unit_of(scale: str, identifier: str) -> Unit:
    """What a scale is worth, where that is known; else as it is given.

    Args:
        scale: as the suite prints it: ``MB/s``, ``Files/s``.
        identifier: of the test; the MB of some of them has 1024² bytes.
    """
    if scale == "MB/s" and _BINARY.fullmatch(identifier):
        return MIB_S
    known = _SCALES.get(scale.lower())
    if known is not None:
        return Unit(scale, known.base, known.factor)
    return Unit(scale or "1", scale or "1", Fraction(1))


def _direction(result: "Element", where: str) -> Literal["higher", "lower"]:
    proportion = _text(result, "Proportion")
    if proportion not in ("HIB", "LIB"):
        raise UsageError(f"{where}: Proportion is {shown(proportion)}; it should be HIB or LIB")
    return "higher" if proportion == "HIB" else "lower"


def _decimals(value: str) -> int:
    return min(12, len(value.partition(".")[2]))


def _facts(system: "Element") -> Iterator[tuple[str, str]]:
    """``Processor: …, Memory: …`` of hardware and software."""
    for tag in ("Hardware", "Software"):
        for part in re.split(r",\s+(?=[A-Z][\w -]{1,30}: )", _text(system, tag)):
            key, colon, value = part.partition(": ")
            if colon and value.strip():
                yield key.strip().lower(), value.strip()


def _entries(result: "Element") -> "list[Element]":
    return result.findall("Data/Entry") or result.findall("Results/Group/Entry")


def _text(element: "Element", tag: str) -> str:
    found = element.findtext(tag) or element.findtext(_OLD.get(tag, tag))
    return " ".join(found.split()) if found else ""


IMPORTER: Final = Importer(
    name="phoronix",
    about="composite.xml of the Phoronix Test Suite 1 to 10, with all its systems and repetitions",
    left_out="results that are no bar graphs; how many these are is said",
    cut_off="refused, as XML is one whole",
    recognises=lambda head: "<PhoronixTestSuite" in head,
    read=read,
)
