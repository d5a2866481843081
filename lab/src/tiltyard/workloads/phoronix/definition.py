"""What the two XML files of a Phoronix test profile say: the test, its options, its results.

Elements are those of the suite's versions 4 to 11. No entity, no document type and nothing outside
the files is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from tiltyard.errors import UsageError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LARGEST_BYTES: Final = 2**20
"""Of one XML file; the largest of the published ones has 100 KiB."""


@dataclass(frozen=True)
class Option:
    """One thing that a person may choose."""

    identifier: str
    name: str
    prefix: str
    postfix: str
    entries: tuple[tuple[str, str], ...]
    """Name and value of each; none where the suite asks for a text, or looks it up on the host."""
    default: int

    def argument(self, value: str) -> str:
        """What stands on the command line for a value."""
        return f"{self.prefix}{value}{self.postfix}".strip()


@dataclass(frozen=True)
class ResultRule:
    """How one result is found in an output, and what it is called."""

    template: str
    """Output of the test, with ``#_RESULT_#`` in place of the number."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The other elements, by name: ``LineHint``, ``MultiMatch`` …"""

    def get(self, name: str) -> str:
        """One of them; empty where it is not there."""
        return self.settings.get(name, "")


@dataclass(frozen=True)
class TestProfile:
    """A test of the suite."""

    __test__ = False  # pytest takes the name for its own

    name: str
    """``fs-mark``."""
    version: str
    title: str
    app_version: str
    about: str
    scale: str
    better: Literal["higher", "lower"]
    display: str
    arguments: str
    """Before those of the options."""
    post_arguments: str
    executable: str
    options: tuple[Option, ...]
    rules: tuple[ResultRule, ...]
    sensors: tuple[str, ...]
    """What the suite itself measures: ``sys.time``."""


def read_profile(directory: Path, name: str) -> TestProfile:
    """A test profile from its directory.

    Raises:
        UsageError: if a file of it cannot be read, or is not XML.
    """
    test = _root(directory / "test-definition.xml")
    results = directory / "results-definition.xml"
    found = _root(results) if results.is_file() else None
    return TestProfile(
        name=name,
        version=_text(test, "TestProfile/Version"),
        title=_text(test, "TestInformation/Title") or name,
        app_version=_text(test, "TestInformation/AppVersion"),
        about=_text(test, "TestInformation/SubTitle"),
        scale=_text(test, "TestInformation/ResultScale"),
        better="lower" if _text(test, "TestInformation/Proportion") == "LIB" else "higher",
        display=_text(test, "TestInformation/DisplayFormat") or "BAR_GRAPH",
        arguments=_text(test, "TestSettings/Default/Arguments"),
        post_arguments=_text(test, "TestSettings/Default/PostArguments"),
        executable=_text(test, "TestInformation/Executable") or name,
        options=tuple(_options(test)),
        rules=tuple(_rules(found)) if found is not None else (),
        sensors=tuple(_text(one, "Sensor") for one in found.findall("SystemMonitor"))
        if found is not None
        else (),
    )


def _root(path: Path) -> "Element":
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        if len(data) > LARGEST_BYTES:
            raise UsageError(f"{path}: larger than a definition of the suite is")
        root: Element = fromstring(data, forbid_dtd=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise UsageError(f"{path}: not XML as the suite writes it: {error}") from error
    return root


def _text(element: "Element", path: str) -> str:
    return (element.findtext(path) or "").strip()


def _options(test: "Element") -> Iterator[Option]:
    for option in test.findall("TestSettings/Option"):
        entries = tuple(
            (_text(entry, "Name"), (entry.findtext("Value") or "").strip())
            for entry in option.findall("Menu/Entry")
        )
        default = _text(option, "DefaultEntry")
        chosen = int(default) if default.isdecimal() and int(default) < len(entries) else 0
        yield Option(
            identifier=_text(option, "Identifier"),
            name=_text(option, "DisplayName"),
            prefix=option.findtext("ArgumentPrefix") or "",
            postfix=option.findtext("ArgumentPostfix") or "",
            entries=entries,
            default=chosen,
        )


def _rules(results: "Element") -> Iterator[ResultRule]:
    for rule in results.findall("ResultsParser"):
        yield ResultRule(
            template=rule.findtext("OutputTemplate") or "",
            settings={
                child.tag: child.text
                for child in rule
                if child.text and child.tag != "OutputTemplate"
            },
        )
