"""``composite.xml`` as the Phoronix Test Suite (version 10) keeps, shows and compares results.

A result is one metric at one point; its value is the mean over blocks, as that suite has it, and
its raw string all values. Units say what they are, whatever a source called them: ``KiB/s`` for a
KB of 1024 B, MiB/s where nothing was printed, because ``MB/s`` is 1024² B in some of its tests and
1000² B in others.
"""

from collections.abc import Iterator, Mapping
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tiltyard.analysis.model import Cell, Findings, Summary, SystemFindings, WorkloadFindings
from tiltyard.analysis.values import cells_of
from tiltyard.exporters.exporter import Exporter, xml_text
from tiltyard.units import display_unit

HARDWARE: Final = {
    "CPU": "Processor",
    "processor": "Processor",
    "board": "Motherboard",
    "chipset": "Chipset",
    "memory": "Memory",
    "disk": "Disk",
    "disks": "Disk",
    "graphics": "Graphics",
    "network": "Network",
}
"""Fact of a host → what the suite calls it; every other fact is listed as software."""
SOFTWARE: Final = {
    "distribution": "OS",
    "system": "OS",
    "kernel": "Kernel",
    "compiler": "Compiler",
    "file system": "File-System",
    "virtualisation": "System Layer",
}
PROPORTION: Final = {"higher": "HIB", "lower": "LIB"}
SCALES: Final = {
    ("B/s", 2.0**10): "KiB/s",
    ("B/s", 2.0**20): "MiB/s",
    ("B/s", 2.0**30): "GiB/s",
    ("B/s", 1e3 / 8): "Kbits/sec",
    ("B/s", 1e6 / 8): "Mbits/sec",
    ("B/s", 1e9 / 8): "Gbits/sec",
    ("s", 1.0): "Seconds",
    ("s", 1e-3): "ms",
    ("s", 1e-6): "us",
    ("s", 1e-9): "ns",
    ("1", 1e-2): "%",
}
"""Base unit and what a printed one is worth in it → a name that means nothing else."""
_MIB: Final = (2.0**20, "MiB/s")


def render(findings: Findings) -> bytes:
    """The file, in UTF-8."""
    root = Element("PhoronixTestSuite")
    client = f"Tiltyard {findings.tiltyard}"
    _add(
        root,
        "Generated",
        Title=findings.question,
        LastModified=_time(findings),
        TestClient=client,
        Description=findings.answer,
    )
    for system in findings.systems:
        _system(root, findings, system)
    for workload in findings.workloads:
        for cell in cells_of(workload):
            _result(root, findings, workload, cell)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _system(root: Element, findings: Findings, system: SystemFindings) -> None:
    facts = {**findings.host, **system.facts}
    hardware = {name: text for name, text in facts.items() if name in HARDWARE}
    software = {name: text for name, text in facts.items() if name not in HARDWARE}
    _add(
        root,
        "System",
        Identifier=system.name,
        Hardware=_listed(hardware, HARDWARE),
        Software=_listed(software, SOFTWARE),
        TimeStamp=_time(findings),
        TestClientVersion=findings.tiltyard,
        Notes="; ".join(system.commands),
    )


def _result(root: Element, findings: Findings, workload: WorkloadFindings, cell: Cell) -> None:
    factor, scale = _scale(cell)
    result = _add(
        root,
        "Result",
        Identifier=f"tiltyard/{workload.use}",
        Title=workload.name,
        AppVersion=findings.engine,
        Arguments=" ".join((cell.metric, *(f"{name}={at}" for name, at in cell.at.items()))),
        Description=" - ".join(filter(None, (cell.label, cell.at_label))),
        Scale=scale,
        Proportion=PROPORTION[cell.direction],
        DisplayFormat="BAR_GRAPH",
    )
    data = SubElement(result, "Data")
    for summary in cell.summaries:
        _add(
            data,
            "Entry",
            Identifier=summary.system,
            Value=f"{summary.mean / factor:.15g}",
            RawString=":".join(_raw(summary, factor)),
        )


def _raw(summary: Summary, factor: float) -> Iterator[str]:
    """All values; of a mean alone, itself."""
    values = summary.values or (summary.mean,)
    return (f"{value / factor:.15g}" for value in values)


def _scale(cell: Cell) -> tuple[float, str]:
    """What one printed unit is worth, and its name.

    A unit without a name that means nothing else gives way to its base unit, a rate to MiB/s.
    """
    factor, unit = _printed(cell)
    name = SCALES.get((cell.unit, factor))
    if name is not None:
        return factor, name
    if factor == 1.0:
        return factor, "Ops/sec" if unit == "/s" else unit
    return _MIB if cell.unit == "B/s" else (1.0, cell.unit)


def _printed(cell: Cell) -> tuple[float, str]:
    """As its source printed it; else as we do."""
    if cell.printed is not None:
        return cell.printed.factor, cell.printed.unit
    if cell.shown_in == "B/s":
        return _MIB
    medians = [summary.median for summary in cell.summaries if summary.median > 0]
    return display_unit(min(medians, default=1.0), cell.shown_in)


def _listed(facts: Mapping[str, str], names: Mapping[str, str]) -> str:
    """``Processor: …, Memory: …``; commas divide facts there, so in a fact they are semicolons."""
    return ", ".join(
        f"{names.get(name) or name[:1].upper() + name[1:]}: {text.replace(', ', '; ')}"
        for name, text in facts.items()
    )


def _time(findings: Findings) -> str:
    """When the last trial was begun, or when the values were published."""
    started = max((trial.started for trial in findings.trials), default="")
    published = findings.provenance.published if findings.provenance else ""
    return started.replace("T", " ").removesuffix("Z") or published


def _add(parent: Element, tag: str, **texts: str) -> Element:
    """An element with a text element for each name."""
    element = SubElement(parent, tag)
    for name, text in texts.items():
        SubElement(element, name).text = xml_text(text)
    return element


EXPORTER = Exporter(
    name="phoronix",
    about="composite.xml of the Phoronix Test Suite: every value, as a result file of its own",
    file="composite.xml",
    render=render,
)
