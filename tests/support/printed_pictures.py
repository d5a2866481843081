"""What titles and alternative texts of pictures say of verdicts and values, read back.

Everything is counted anew from the comparisons of the findings: how often a system or a level was
found faster than another one, over the tests, over the metrics or cells of a workload; what was
found of each pair in each test; and each value of a system that stands in an alternative text.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tiltyard.analysis.model import Cell, Comparison, Findings, Index
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.statements.deltas import tests
from tiltyard.charts.figures import measure_of

VERDICT = "faster|slower|equivalent|undecided|invalid"
SIDE = "faster|slower|better|worse"
THAN = (
    "faster than|slower than|equivalent to|undecided against|without a verdict against|"
    "fewer instructions than|more instructions than"
)
AFTER = f"{VERDICT}|without a verdict|fewer instructions|more instructions"
MEANT = {
    "better": "faster", "worse": "slower", "fewer instructions": "faster",
    "more instructions": "slower", "without a verdict": "invalid",
}  # fmt: skip
NOTHING = ("undecided", "equivalent", "invalid")


@dataclass(frozen=True)
class Pictured:
    """What pictures of some findings may say."""

    findings: Findings

    @cached_property
    def names(self) -> str:
        """A pattern of all systems and levels, the longest first."""
        found = {system.name for system in self.findings.systems}
        found |= {level for system in self.findings.systems for level in system.levels.values()}
        return f"(?:{'|'.join(re.escape(name) for name in sorted(found, key=len, reverse=True))})"

    @cached_property
    def tables(self) -> list[Sequence[Cell | Index]]:
        """What is counted over: all tests, and the metrics and the cells of each workload."""
        found: list[Sequence[Cell | Index]] = [[line.of for line in tests(self.findings)]]
        measured: list[Cell | Index] = []
        for workload in self.findings.workloads:
            own = workload.by_metric or [workload.index]
            found += [own, workload.cells, [workload.index]]
            measured += own
        return [*found, measured]

    @cached_property
    def counts(self) -> set[tuple[str, str, int, int, int]]:
        """Who, against whom, in how many faster, slower, of how many."""
        found = set()
        for tables in self.tables:
            pairs: dict[tuple[str, str], list[tuple[Comparison, str]]] = defaultdict(list)
            for one in tables:
                for pair in one.comparisons:
                    for own in (pair, turned(pair)):
                        for names in self._called(own):
                            pairs[names].append((own, one.direction))
            for names, compared in pairs.items():
                own = Counter(self._found(compared))
                found.add((*names, own["faster"], own["slower"], own.total()))
        return found

    @cached_property
    def verdicts(self) -> dict[str, set[tuple[str, str, str]]]:
        """Label of a test → who was found what against whom; all of them under an empty one."""
        found: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
        labelled: list[tuple[str, Cell | Index]] = []
        for workload in self.findings.workloads:
            own = (workload.index, *workload.by_metric, *workload.cells)
            labelled += [(one.label, one) for one in own]
        labelled += [(line.head, line.of) for line in tests(self.findings)]
        for label, one in labelled:
            for pair in one.comparisons:
                for own in (pair, turned(pair)):
                    found[label].add((own.system, own.verdict, own.against))
                    found[""].add((own.system, own.verdict, own.against))
        return found

    @cached_property
    def values(self) -> dict[str, set[tuple[str, float]]]:
        """System → its values, in the units in which they are printed."""
        found: dict[str, set[tuple[str, float]]] = defaultdict(set)
        for workload in self.findings.workloads:
            cells = (*workload.cells, *(workload.latencies.cells if workload.latencies else ()))
            own: list[list[Cell | Index]] = [[one] for one in (*cells, *workload.by_metric)]
            for some in (*own, list(workload.cells), [workload.index]):
                measure = measure_of(some)
                for system, value in _numbers(some):
                    found[system].add((measure.unit, value / measure.factor))
        return found

    def _called(self, pair: Comparison) -> Iterator[tuple[str, str]]:
        """The systems; and the two levels, where only one differs."""
        levels = {system.name: system.levels for system in self.findings.systems}
        own, other = levels[pair.system], levels[pair.against]
        apart = [name for name in own if own[name] != other.get(name)]
        names = {(pair.system, pair.against)}
        if len(apart) == 1:
            names.add((own[apart[0]], other[apart[0]]))
        yield from names

    def _found(self, compared: Sequence[tuple[Comparison, str]]) -> Iterator[str]:
        """Each verdict; where nothing has an interval, whether more than the margin is between."""
        repeated = any(pair.low is not None for pair, _ in compared)
        for pair, direction in compared:
            gain = ((pair.ratio or 1) - 1) * (1 if direction == "higher" else -1)
            if repeated or abs(gain) <= self.findings.design.equivalent_within:
                yield pair.verdict
            else:
                yield "faster" if gain > 0 else "slower"


def _numbers(some: Sequence[Cell | Index]) -> Iterator[tuple[str, float]]:
    for one in some:
        if isinstance(one, Index):
            yield from ((own.system, own.value) for own in one.standings)
        else:
            for own in one.summaries:
                yield from ((own.system, number) for number in (own.median, own.mean, own.value))


def contradictions_of_pictures(text: str, findings: Findings) -> list[str]:
    """Everything that titles and alternative texts in a text say and the findings do not.

    Args:
        text: of a report, with single spaces.
        findings: what it was made of.
    """
    known = Pictured(findings)
    wrong: list[str] = []
    rest = _tallied(text, known, wrong)
    rest = _ranked(rest, known, wrong)
    rest = _listed(rest, known, wrong)
    _counted(rest, known, wrong)
    _valued(rest, known, wrong)
    wrong += [
        f"“{rest[max(0, found.start() - 60) : found.end() + 40]}” is not understood"
        for found in re.finditer(rf"\b(?:{SIDE}) than {known.names}", rest)
    ]
    return wrong


def _tallied(text: str, known: Pictured, wrong: list[str]) -> str:
    """``xfs faster than ext4 in 3 of 13 tests, slower in 2; btrfs slower in 13``."""
    name = known.names
    part = rf"(?:{SIDE}) in \d+(?:, (?:{SIDE}) in \d+)?"
    more = rf"(?:; {name} {part}|; {name}: no difference shown)*"
    first = rf"({name}) ((?:{SIDE}) than ({name}) in \d+ of (\d+) \w+(?:, (?:{SIDE}) in \d+)?)"
    none = rf"({name}) and ({name}): no difference shown"

    def checked(found: re.Match[str]) -> str:
        who, told, base, of = found.group(1, 2, 3, 4)
        if who is None:
            who, base, of, told = found[5], found[6], None, ""
        claims = [(who, re.sub(r" than .*? in (\d+) of \d+ \w+", r" in \1", told))]
        rests = found[0].split("; ")[1:]
        claims += [(own[1], own[2]) for one in rests if (own := re.match(rf"({name}):? (.*)", one))]
        for system, words in claims:
            faster, slower = _sides(words)
            if not any(
                own[:4] == (system, base, faster, slower) and of in (None, str(own[4]))
                for own in known.counts
            ):
                wrong.append(f"{system} {words} against {base}, of {of}: not of the verdicts")
        return "¶"

    return re.sub(f"{first}(?:, by single values)?{more}|{none}{more}", checked, text)


def _sides(words: str) -> tuple[int, int]:
    """How often faster and slower, of ``faster in 3, slower in 2``."""
    found = {MEANT.get(side, side): int(count)
             for side, count in re.findall(rf"({SIDE}) in (\d+)", words)}  # fmt: skip
    return found.get("faster", 0), found.get("slower", 0)


def _ranked(text: str, known: Pictured, wrong: list[str]) -> str:
    """``PostMark transactions: xfs faster than ext4, btrfs slower``."""
    name = known.names
    who = rf"{name}(?:, {name})*(?: and {name})?"
    than = rf"({who}) ({THAN}) ({name})(?! in \d)((?:, {who} (?:{AFTER})\b)*)"

    def checked(found: re.Match[str]) -> str:
        label = next(
            (own for own in known.verdicts if own and text[: found.start()].endswith(f"{own}: ")),
            "",
        )
        head = re.sub(r" (?:than|to|against)$", "", found[2])
        told = [(found[1], head)]
        told += re.findall(rf", ({who}) ({AFTER})\b", found[4])
        for systems, word in told:
            for system in re.findall(name, systems):
                if (system, MEANT.get(word, word), found[3]) not in known.verdicts[label]:
                    wrong.append(f"{label}: {system} {word} against {found[3]}: not a verdict")
        return "¶"

    return re.sub(than, checked, text)


def _listed(text: str, known: Pictured, wrong: list[str]) -> str:
    """``every test relative to ext4. write: xfs faster, btrfs slower; read: …``."""
    one = rf"{known.names} (?:{VERDICT})"
    for label in sorted(filter(None, known.verdicts), key=len, reverse=True):
        for found in re.finditer(rf"(?<=[.;] ){re.escape(label)}[:,] ({one}(?:, {one})*)", text):
            for system, verdict in re.findall(rf"({known.names}) ({VERDICT})", found[1]):
                if not any(own[:2] == (system, verdict) for own in known.verdicts[label]):
                    wrong.append(f"{label}: {system} {verdict}: not a verdict")
        text = re.sub(rf"(?<=[.;] ){re.escape(label)}[:,] {one}(?:, {one})*", "¶", text)
    return text


def _counted(text: str, known: Pictured, wrong: list[str]) -> None:
    """``ext4: 3 slower, 5 undecided …`` over all cells; ``Of all pairs: 19 faster`` of some."""
    findings = known.findings
    sides: dict[str, Counter[str]] = defaultdict(Counter)
    for workload in findings.workloads:
        pairs = [pair for cell in workload.cells for pair in cell.comparisons]
        for own in (*pairs, *map(turned, pairs)):
            sides[own.system][own.verdict] += 1
        tally = Counter(pair.verdict for pair in pairs)
        head = rf"{re.escape(workload.display)}: ratio to .*? in every cell\. Of all pairs: (.*?)\."
        for told in re.findall(head, text):
            if {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", told)} != tally:
                wrong.append(f"{workload.display}: {told}, not {dict(tally)}")
    each = rf"({known.names}): ((?:\d+ (?:{VERDICT}), )+)first in"
    for system, told in re.findall(each, text):
        counted = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", told)}
        if any(sides[system][word] != number for word, number in counted.items()):
            wrong.append(f"{system}: {told}not {dict(sides[system])}")


def _valued(text: str, known: Pictured, wrong: list[str]) -> None:
    """``ext4 1.21 GB/s, xfs 1.31 GB/s``: each a value of that system."""
    units = {unit for own in known.values.values() for unit, _ in own}
    unit = "|".join(re.escape(one) for one in sorted(units, key=len, reverse=True) if one)
    each = rf"(?<=[:,] )({known.names}) ([\d,]+(?:\.\d+)?)(?: ± [\d.,]+)? ({unit})(?=[,.;])"
    for system, number, of in re.findall(each, text):
        value = float(number.replace(",", ""))
        decimals = len(number.partition(".")[2])
        digits = len(number.replace(",", "").replace(".", "").lstrip("0"))
        # Of a whole number the last digits may be rounded ones: three count.
        unsure = max(0.5 * 10.0**-decimals, 0.5 * 10.0 ** (digits - decimals - 3))
        if not any(
            own == of and abs(known_value - value) <= unsure * 1.001
            for own, known_value in known.values[system]
        ):
            wrong.append(f"{system} {number} {of}: not a value")
