"""What the gate says, as JUnit XML: a test case for each headline, for the page of a CI server.

Source: the schema that Jenkins publishes, https://github.com/jenkinsci/xunit-plugin (junit-10.xsd).
"""

from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tiltyard.analysis.gate import Gate, Headline, Outcome
from tiltyard.analysis.line import interval_text, ratio_text
from tiltyard.exporters.exporter import xml_text
from tiltyard.units import count_of

_ELEMENTS: Final[dict[Outcome, str]] = {
    "regression": "failure",
    "undecided": "error",
    "invalid": "error",
}
"""A failure is a test that shows something, an error one that could not show anything."""


def junit(gate: Gate) -> bytes:
    """The file, in UTF-8."""
    suite = Element("testsuite", name=xml_text(gate.question))
    for line in gate.headlines:
        _case(suite, line)
    if gate.result == "invalid" and not gate.having("invalid"):
        case = SubElement(suite, "testcase", classname="tiltyard", name="trials")
        SubElement(case, "error", type="invalid", message=xml_text(gate.sentence))
    cases = list(suite)
    SubElement(suite, "system-out").text = xml_text(gate.sentence)
    suite.set("tests", str(len(cases)))
    for name in ("failure", "error"):
        suite.set(f"{name}s", str(sum(case.find(name) is not None for case in cases)))
    root = Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _case(suite: Element, line: Headline) -> None:
    case = SubElement(
        suite,
        "testcase",
        classname=xml_text(f"{line.system} against {line.against}"),
        name=xml_text(line.name),
    )
    evidence = (
        f"ratio {ratio_text(line)}, interval {interval_text(line)}, "
        f"{count_of(line.blocks, 'block')}"
    )
    if element := _ELEMENTS.get(line.outcome):
        message = xml_text(f"{line.outcome}: {line.why or evidence}")
        SubElement(case, element, type=line.outcome, message=message)
    SubElement(case, "system-out").text = evidence
