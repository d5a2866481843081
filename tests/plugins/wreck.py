"""A package of a stranger of which each part fails when it is used. A test installs it."""

from typing import Any

from tiltyard.plugin import (
    Chart,
    Exporter,
    Filesystem,
    Format,
    KernelDriver,
    Kind,
    Knob,
    KnobTable,
    MakeDirectory,
    Reader,
    Section,
    Site,
    Statement,
    Steps,
    StudyKind,
    Style,
    System,
    SystemSettings,
    Tool,
    Up,
    metric,
    unit_named,
)


class Odd(Exception):  # noqa: N818
    """An error that does not even say what it is."""

    def __str__(self) -> str:
        """Fails, too."""
        raise ValueError


def fail(*_: Any, **__: Any) -> Any:
    """Whatever is asked."""
    print("out of turn")  # noqa: T201
    raise ZeroDivisionError("in the \x1b[31mwreck")


def leave(*_: Any) -> Any:
    """End the process."""
    raise SystemExit(0)


def odd(*_: Any) -> Any:
    """Raise what cannot be told."""
    raise Odd


_TEXTS = ("what it prints", "nothing", "nothing")
READER = Reader("wreck", *_TEXTS, lambda head: head.startswith("wreck\n"), fail)
DEAF = Reader("deaf", *_TEXTS, fail, fail, metrics=(metric("lap", unit_named("s"), 3),))
MUTE = Reader("mute", *_TEXTS, lambda head: head.startswith("mute\n"), lambda *_: {"lap": 1})
PLACES = ("verdict", "overview", "values", "grid", "headline")
CHART = Chart("wreck", PLACES, "A wreck", "Of what.", fail, fail)
GONE = Chart("gone", PLACES, "Gone", "Of what.", leave, odd)
SMEAR = Chart("smear", PLACES, "A smear", "Of what.", lambda *_: {"mark": 5}, lambda *_: "smear")
STYLE = Style("wreck", "fails", fail)
FORMAT = Format("wreck", "fails", "report.wreck", fail)
CLIMB = Format("climb", "climbs", "climb.txt", lambda *_: {"../../climb.txt": b"!"})
EXPORTER = Exporter("wreck", "fails", "wreck.txt", fail)
TEXT = Exporter("text", "gives text", "text.txt", lambda _: "text")  # type: ignore[arg-type,return-value]
SECTION = Section("wreck", fail, ask=odd)
KNOB = Knob("wreck", "fails", KnobTable, "host", fail)
NOTICE = Statement("wreck", "notice", "A wreck.", "Always.", fail)
FINDING = Statement("wrecked", "further finding", "A wreck.", "Always.", fail)
STUDIES = StudyKind(is_in=fail, findings=fail)


class Driver(KernelDriver):
    """Mounts in its own way."""


FILESYSTEM = Filesystem(
    "wreckfs", "odd", Tool("true", "coreutils", ("--version",)), (), 1, 1, driver=Driver()
)


class WreckSettings(SystemSettings):
    """Where it fails."""

    fails: str


class Wreck(System):
    """Makes a directory, and fails."""

    def __init__(self, name: str, settings: WreckSettings, site: Site) -> None:
        """May fail."""
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self._fails = settings.fails
        self._path = site.work / site.ledger.name(f"wreck-{name}")
        self._at("open")

    def _at(self, place: str) -> None:
        if self._fails == place:
            fail()

    def problems(self) -> Any:
        """May fail."""
        self._at("problems")
        return []

    def steps_up(self) -> Any:
        """May fail when one is done."""
        made = MakeDirectory(path=self._path)
        yield (
            made.model_copy(update={"path": self._path.with_name("mine")})
            if (self._fails == "name")
            else made
        )
        self._at("up")

    def look(self) -> Any:
        """May fail."""
        self._at("look")
        return Up(self._path, (), {}) if self._fails != "type" else "up"

    def steps_down(self) -> Any:
        """May fail."""
        self._at("down")
        return super().steps_down()


KIND = Kind("wreck", "fails", WreckSettings, "directory", Wreck)
