"""Test profiles of the Phoronix Test Suite that are installed on this host: ``pts:fs-mark``.

The suite installs a test into a directory and starts a script there. Here the directory is copied
to the system under test, untimed, and the same script is started with the same arguments, so that
the test works on that system. What the script prints is read by the profile's own rules, made
regular expressions. Order and statistics are ours: the
suite's ``TimesToRun`` is not used.

A rule of the suite for finding a result becomes a regular expression. The suite takes the last line
that has the hint, parts it at blanks, parentheses and tabs (``=`` is a part of its own), and takes
the part at the place where ``#_RESULT_#`` stands in the template. So does the expression; it stands
in the plan, where a reader can see what was read.
"""

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from pydantic import JsonValue

from tiltyard.errors import UsageError, WrittenWarning
from tiltyard.executors.engine import JobRefused
from tiltyard.ownership import expanded
from tiltyard.study.placeholders import escaped, unescaped
from tiltyard.study.problems import PHORONIX
from tiltyard.wire import Unit as WireUnit
from tiltyard.workloads.file import ParameterTable, ProfileFile, ProgramTable
from tiltyard.workloads.phoronix.definition import Option, ResultRule, TestProfile, read_profile

if TYPE_CHECKING:
    from tiltyard.importers.quantities import Unit


_PLACES: Final = ("~/.phoronix-test-suite", "/var/lib/phoronix-test-suite")
"""Where the suite keeps its files: of a user, and of root where it is installed for all."""
_INSTALLED: Final = ("pts-install.json", "pts-install.xml")
_LOG: Final = "pts.log"
_START: Final = f"""
rm -f {_LOG} test-exit-status
eval "./$0 $*" 2>&1
code=$?
test ! -s test-exit-status || read -r code <test-exit-status
exit "$code"
"""
"""As the suite does it: one line for a shell, and the exit code that the script wrote to a file."""


@dataclass(frozen=True)
class InstalledTest:
    """A test of the suite that is installed on this host."""

    profile: TestProfile
    definition: Path
    """Directory of its XML files."""
    directory: Path
    """Where it is installed."""

    @property
    def name(self) -> str:
        """As ``use`` names it."""
        return f"{PHORONIX}{self.profile.name}"

    def file(self) -> ProfileFile:
        """The test as a workload profile."""
        profile = self.profile
        names = _names(profile.options)
        parameters = {name: _parameter(option) for name, option in names.items()}
        return ProfileFile(
            about=", ".join(filter(None, (profile.title, profile.about))),
            description=(
                f"The test {profile.name} {profile.version} of the Phoronix Test Suite, as it is "
                f"installed in {self.directory}. The directory is copied to the system under "
                "test, untimed, before each trial. Its result is found by the suite's own rules."
            ),
            lineage=f"{profile.title} {profile.app_version}, as the Phoronix Test Suite runs it",
            parameters=parameters,
            program=ProgramTable.model_validate(
                {**self._program(names), "metrics": dict(self._metrics(None, ""))}
            ),
        )

    def adapted(self, table: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """A program table with the rules that are for its arguments.

        Raises:
            JobRefused: if there is none, or it is not understood.
        """
        profile, words = self.profile, table["command"]
        start, end = 4 + bool(profile.arguments), -1 if profile.post_arguments else None
        chosen = words[start:end] if isinstance(words, list) else []
        user = " ".join(unescaped(str(word)) for word in chosen)
        arguments = " ".join(filter(None, (profile.arguments, user, profile.post_arguments)))
        try:
            metrics = dict(self._metrics(arguments, user))
        except UnknownRuleError as error:
            raise JobRefused("use", f"{self.name}: its result cannot be read: {error}") from error
        if not metrics:
            raise JobRefused("use", f"{self.name}: no rule for a result with {arguments!r}")
        return {**table, "metrics": metrics}

    def _program(self, names: Mapping[str, Option]) -> dict[str, JsonValue]:
        installed, profile = str(self.directory), self.profile
        launcher = self.directory / profile.executable
        scripts = {name: self.definition / f"{name}.sh" for name in ("pre", "interim", "post")}
        steps = {name: ["sh", str(path)] for name, path in scripts.items() if path.is_file()}
        setup: list[JsonValue] = [
            ["cp", "-a", "--reflink=auto", f"{escaped(installed)}/.", "."],
            ["sync", "-f", "."],
        ]
        if "pre" in steps:
            setup.append([*steps["pre"]])
        table: dict[str, JsonValue] = {
            "setup": setup,
            "command": [
                "sh", "-c", _START, profile.executable,
                *([escaped(profile.arguments)] if profile.arguments else []),
                *(
                    f"{{{name}}}" if option.entries else option.argument(f"{{{name}}}")
                    for name, option in names.items()
                ),
                *([escaped(profile.post_arguments)] if profile.post_arguments else []),
            ],
            "env": dict(_environment()),
        }  # fmt: skip
        if "interim" in steps:
            table["conclude"] = [*steps["interim"]]
        if "post" in steps:
            table["cleanup"] = [*steps["post"]]
        if _writes_log(launcher):
            table["files"] = [_LOG]
        return table

    def _metrics(self, arguments: str | None, user: str) -> Iterator[tuple[str, JsonValue]]:
        """What its rules find; of the rules for such arguments only, if they are given."""
        profile = self.profile
        of = _LOG if _writes_log(self.directory / profile.executable) else "stdout"
        if not profile.rules and "sys.time" in profile.sensors:
            yield "time", "time"
            return
        flaws: list[UnknownRuleError] = []
        seen: set[str] = set()
        for rule in profile.rules:
            if arguments is not None and not matches(rule, arguments):
                continue
            key = any_key(rule) if arguments is None else key_of(rule, arguments, user)
            name, unit, label = self._named(rule)
            if name in seen:
                continue
            try:
                found = found_by(rule, key)
            except UnknownRuleError as error:
                flaws.append(error)
                continue
            seen.add(name)
            yield (
                name,
                {
                    "regex": found.regex,
                    "of": of,
                    "take": found.take,
                    "unit": unit.base,
                    "scale": found.scale * float(unit.factor),
                    **found.rest,
                    "better": _better(rule, profile),
                    "label": label,
                    "headline": rule.get("Importance").lower() != "secondary",
                },
            )
        if flaws and not seen and arguments is not None:
            raise flaws[0]

    def _named(self, rule: ResultRule) -> tuple[str, "Unit", str]:
        """Name, unit and label of a result."""
        from tiltyard.importers.phoronix import unit_of
        from tiltyard.importers.quantities import COUNT, Unit, unit_named

        profile = self.profile
        described = rule.get("AppendToArgumentsDescription") or rule.get("ArgumentsDescription")
        scale = (rule.get("ResultScale") or profile.scale).strip()
        unit = unit_of(scale, f"pts/{profile.name}-{profile.version}")
        known = unit.base in get_args(WireUnit)
        if not known:
            unit = unit_named(scale) or Unit(scale, COUNT.base, COUNT.factor)
        label = described or profile.title
        if unit.base == COUNT.base and scale:
            label = f"{label} ({scale})"
        if rule.get("MultiMatch") == "REPORT_ALL":
            label = f"{label}, mean of its graph"
        slug = re.sub(r"\W+", "_", described.lower()).strip("_")
        return (slug or "result"), unit, label[:200]


def installed_tests() -> Iterator[InstalledTest]:
    """The tests that are installed on this host, the newest version of each."""
    found: dict[str, tuple[list[int], InstalledTest]] = {}
    for place in _places():
        for directory in sorted(_directory_of_tests(place).glob("*/*")):
            definition = place / "test-profiles" / directory.parent.name / directory.name
            if not any((directory / mark).is_file() for mark in _INSTALLED):
                continue
            if not (definition / "test-definition.xml").is_file():
                continue
            plain, _, version = directory.name.rpartition("-")
            space = directory.parent.name
            name = (plain or version) if space == "pts" else f"{space}.{plain or version}"
            rank = [int(part) for part in re.findall(r"\d+", version)]
            if name not in found or rank > found[name][0]:
                try:
                    profile = read_profile(definition, name)
                except UsageError as error:
                    warnings.warn(WrittenWarning(str(error)), stacklevel=2)
                    continue
                found[name] = rank, InstalledTest(profile, definition, directory)
    for _, test in found.values():
        yield test


def _places() -> Iterator[Path]:
    override = os.environ.get("PTS_USER_PATH_OVERRIDE")
    for place in (override,) if override else _PLACES:
        path = expanded(Path(place))
        if path.is_dir():
            yield path


def _directory_of_tests(place: Path) -> Path:
    """Where tests are installed: a setting of the suite, by default beside its other files."""
    settings = place / "user-config.xml"
    if settings.is_file():
        text = settings.read_text(errors="replace")
        match = re.search(r"<EnvironmentDirectory>([^<]+)</EnvironmentDirectory>", text)
        if match:
            default = match[1].strip() == "~/.phoronix-test-suite/installed-tests/"
            return place / "installed-tests" if default else expanded(Path(match[1].strip()))
    return place / "installed-tests"


def _names(options: tuple[Option, ...]) -> dict[str, Option]:
    """Parameter → option."""
    found: dict[str, Option] = {}
    for option in options:
        slug = re.sub(r"\W+", "_", (option.identifier or option.name).lower()).strip("_")
        name = slug if slug and not slug[0].isdigit() else f"option_{slug}"
        found[name if name not in found else f"{name}_{len(found)}"] = option
    return found


def _parameter(option: Option) -> ParameterTable:
    if not option.entries:  # a shell reads it, as in the suite
        return ParameterTable(
            type="text",
            help=f"{option.name or option.identifier}; the suite asks for it.",
            default="",
            brings="a script of the Phoronix Test Suite is started with",
        )
    choices: dict[str, str | list[str]] = {
        name or value: [escaped(argument)] if (argument := option.argument(value)) else []
        for name, value in option.entries
    }
    default = list(choices)[min(option.default, len(choices) - 1)]
    return ParameterTable(
        type="choice", help=f"{option.name or option.identifier}.", default=default, choices=choices
    )


def _better(rule: ResultRule, profile: TestProfile) -> str:
    return {"LIB": "lower", "HIB": "higher"}.get(rule.get("ResultProportion"), profile.better)


def _writes_log(launcher: Path) -> bool:
    """Whether the script writes to the log; else its result is on standard output."""
    try:
        return "LOG_FILE" in launcher.read_text(errors="replace")
    except OSError:
        return False


def _environment() -> Iterator[tuple[str, str]]:
    """What the suite tells its scripts; directories are those of the trial."""
    cpus = os.cpu_count() or 1
    system = os.uname()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    yield from {
        "HOME": "{dir}",
        "DEBUG_HOME": "{dir}",
        "LOG_FILE": f"{{dir}}/{_LOG}",
        "LANG": "en_US.utf8",
        "NUM_CPU_CORES": str(cpus),
        "NUM_CPU_JOBS": str(2 * cpus),
        "OMP_NUM_THREADS": str(cpus),
        "SYS_MEMORY": str(memory),
        "OS_TYPE": system.sysname,
        "OS_ARCH": system.machine,
        "CCACHE_DISABLE": "1",
    }.items()


_KEY: Final = re.compile(r"#_(?!MIN_|MAX_)\w+?_#")
_ANY_KEY: Final = re.compile(r"#_\w+?_#")
_NUMBER: Final = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_GROUPED: Final = r"[-+]?\d[\d,]*(?:\.\d*)?"
_TAKES: Final = {
    "": "last",
    "NONE": "last",
    "AVERAGE": "mean",
    "MEAN": "mean",
    "GEOMETRIC_MEAN": "geometric_mean",
    "HARMONIC_MEAN": "harmonic_mean",
    "REPORT_ALL": "mean",
}
"""Which of several values counts; of a line graph, which has all of them, their mean."""


class UnknownRuleError(ValueError):
    """A rule that is not understood; the text says which element."""


@dataclass(frozen=True)
class Found:
    """How a result is found."""

    regex: str
    take: str
    scale: float
    inverse: bool = False
    after: str | None = None
    before: str | None = None
    decimal: str | None = None

    @property
    def rest(self) -> dict[str, str | bool]:
        """Keys of a metric that most rules do not need."""
        keys = {
            "inverse": self.inverse,
            "after": self.after,
            "before": self.before,
            "decimal": self.decimal,
        }
        return {key: value for key, value in keys.items() if value}


def found_by(rule: ResultRule, key: str) -> Found:
    """The expression that finds what the rule finds.

    Args:
        rule: of the results definition.
        key: what stands for the number in its template: ``#_RESULT_#``.

    Raises:
        UnknownRuleError: if the rule has an element that is not understood.
    """
    if rule.get("MultiMatch") not in _TAKES:
        raise UnknownRuleError(f"MultiMatch {rule.get('MultiMatch')} is not understood")
    if rule.get("FileFormat") not in ("", "CSV"):
        raise UnknownRuleError(f"FileFormat {rule.get('FileFormat')} is not understood")
    if key not in rule.template:
        raise UnknownRuleError(f"no {key} in its template")
    scale = Fraction(1)
    if divisor := rule.get("DivideResultBy"):
        scale /= _factor(divisor)
    inverse = rule.get("DivideResultDivisor")
    if inverse:
        scale = _factor(inverse) / scale
    if multiplier := rule.get("MultiplyResultBy"):
        scale *= _factor(multiplier)
    return Found(
        regex=_expression(rule, key),
        take=_TAKES[rule.get("MultiMatch")],
        scale=float(scale),
        inverse=bool(inverse),
        after=rule.get("DeleteOutputBefore") or None,
        before=rule.get("DeleteOutputAfter") or None,
        # Commas that are stripped part thousands.
        decimal="." if "," in rule.get("StripFromResult") else None,
    )


def key_of(rule: ResultRule, arguments: str, chosen: str) -> str:
    """What stands for the number in the template, with such arguments.

    Args:
        rule: of the results definition.
        arguments: all of the command line.
        chosen: those of the options.
    """
    text = {"PTS_TEST_ARGUMENTS": arguments, "PTS_USER_SET_ARGUMENTS": chosen}
    named = text.get(rule.get("ResultKey"))
    return "#_RESULT_#" if named is None else f"#_{named.replace(' ', '')}_#"


def any_key(rule: ResultRule) -> str:
    """The first key of the template, whatever is chosen."""
    match = _KEY.search(rule.template)
    return match[0] if match else "#_RESULT_#"


def matches(rule: ResultRule, arguments: str) -> bool:
    """Whether the rule is for a test with such arguments."""
    return rule.get("MatchToTestArguments") in arguments


def _factor(text: str) -> Fraction:
    try:
        factor = Fraction(text.strip())
    except ValueError as error:
        raise UnknownRuleError(f"{text!r} is not a factor") from error
    if factor <= 0:
        raise UnknownRuleError(f"{text!r} is not a factor")
    return factor


def _expression(rule: ResultRule, key: str) -> str:
    before, _, after = rule.template.rpartition(key)
    line = f"{before.rpartition(chr(10))[2]}{key}{after.partition(chr(10))[0]}"
    blanks = "()\t" + ("," if rule.get("FileFormat") == "CSV" else "")
    if before.endswith("/") or after.startswith("/"):
        blanks += "/"
    parts = _parts(line.replace(":#", " #"), blanks)
    turned = rule.get("TurnCharsToSpace")
    if len(turned) > 1:
        raise UnknownRuleError(f"TurnCharsToSpace {turned!r} is not understood")
    gap = f"[ {re.escape(blanks + turned)}]"
    ends = f"(?={gap}|=|$)"
    part = f"(?:=|[^ \\n={re.escape(blanks + turned)}]++)"
    number = _number(rule)
    if name := rule.get("ResultBeforeString"):
        place = rf".*?(?:(?<==)|(?<={gap}))({number[0]}){number[1]}{gap}+{re.escape(name)}{ends}"
    elif name := rule.get("ResultAfterString"):
        skipped = f"(?:[:,\\-=]{gap}*)*"
        start = rf"(?:^|(?<={gap}))"
        place = rf".*?{start}{re.escape(name)}{ends}{gap}*{skipped}({number[0]}){number[1]}{ends}"
    else:
        skipped = rf"(?:{part}{gap}*){{{_place(parts, key)}}}"
        place = rf"{gap}*{skipped}({number[0]}){number[1]}{ends}"
    return _on_its_line(rule, line, parts, place)


def _on_its_line(rule: ResultRule, line: str, parts: list[str], place: str) -> str:
    """The place of the number, on the line that the hints name."""
    if hint := rule.get("LineBeforeHint"):
        return rf"{re.escape(hint)}.*\n{place}"
    if hint := rule.get("LineAfterHint"):
        return rf"^{place}(?=.*\n.*{re.escape(hint)})"
    hint = rule.get("LineHint")
    if hint and hint in line:
        return rf"^(?=.*{re.escape(hint.strip() or hint)}){place}"
    first = _ANY_KEY.split(line)[0].strip()
    with_colon = next((part for part in parts if ":" in part and len(part) > 1), "")
    if with_colon and re.search(r"\d", first):
        first = with_colon
    if first:
        return rf"^(?=.*{re.escape(first)}){place}"
    return rf"\A\s*({_number(rule)[0]}){_number(rule)[1]}(?=\s|$)"


def _number(rule: ResultRule) -> tuple[str, str]:
    """The number, and what stands right behind it and is stripped."""
    stripped = [rule.get("StripFromResult").strip(), rule.get("StripResultPostfix").strip()]
    if "," in stripped[0]:
        stripped[0] = stripped[0].replace(",", "")
        pattern = _GROUPED
    else:
        pattern = _NUMBER
    behind = "".join(f"(?:{re.escape(text)})?" for text in stripped if text)
    return pattern, f"{behind},?" if pattern is _GROUPED else behind


def _parts(line: str, blanks: str) -> list[str]:
    return line.translate({ord(sign): " " for sign in blanks}).replace("=", " = ").split()


def _place(parts: list[str], key: str) -> int:
    """The place of the key among the parts of its line.

    Where it is only a piece of a part (``#_RESULT_#s``), the suite takes the first part whose place
    n has it that it holds the n-th sign of the key; so that is done here.
    """
    if key in parts:
        return parts.index(key)
    pieces = (place for place, part in enumerate(parts) if place < len(key) and key[place] in part)
    return next(pieces, 0)
