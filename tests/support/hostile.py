"""Values that no program of good faith writes, and study folders that hold them.

Everything follows from a seed, so that what breaks can be looked at again.
"""

import contextlib
import io
import json
import shutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest.mock import patch

from msgspec.structs import replace

from support.chained import chained, unchained
from support.imports import GENUINE, collected
from support.said import said_in
from support.synthetic import synthetic_study
from tiltyard import cli
from tiltyard.collected.store import NAME as COLLECTION
from tiltyard.collected.store import _Sealed, write_collection
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.model import Plan
from tiltyard.run.journal import Journal, Looked, Started, Stopped, SystemPrepared, TrialFinished
from tiltyard.run.stream import kept
from tiltyard.wire import EndEvent, HelloEvent, Sample, SampleEvent, written_event

RAW: Final = "<raw>"
"""Begins a text that is written into JSON without its quotes."""
NUMBERS: Final = (
    "1" * 5000, "-" + "9" * 5000, "1e999", "-1e999", "NaN", "Infinity", "-0.0", "-0", "5e-324",
    "2.2e-308", "1.7e308", str(2**53 + 1), str(2**63), str(2**64), "9" * 400, "-1", "0", "1e18",
    "0.0", "1e-300", "3",
)  # fmt: skip
TEXTS: Final = (
    "\ud800", "\x00", "", " ", "x" * 70_000, "\x1b[31m", "\u202e", "a\nb", "\r", "../../etc/passwd",
    "/dev/zero", "=1+1", "😀", "none", "1e999", "nan", "9" * 5000, "2026-13-45T99:99:99Z",
    "9" * 20 + "-01-01T00:00:00Z", "{secret}", "[red]", "%s", "<b>", "$(x)", "\udfff\ud800",
)  # fmt: skip
OTHERS: Final[tuple[Any, ...]] = (
    None, True, False, [], {}, [[]], {"": {}}, [None], {"a": 1}, [1, "a", None], [{}],
)  # fmt: skip
VERBS: Final[tuple[tuple[str, ...], ...]] = (
    ("status", "{}"),
    ("status", "{}", "--json"),
    ("check", "{}"),
    ("plan", "{}"),
    ("plan", "{}", "--json"),
    ("report", "{}", "--json"),
    ("export", "{}", "--to", "csv", "--output", "-"),
    ("combine", "{}", "{other}"),
    ("combine", "{other}", "{}", "--json"),
    ("compare", "{}", "{other}", "--json"),
)
"""Those that take a study, and answer soon."""
FORMS: Final = ("html", "pdf", "xlsx", "pptx", "markdown", "latex", "csv", "json")
SLOW: Final[tuple[tuple[str, ...], ...]] = (
    *(("report", "{}", "--format", one) for one in FORMS),
    *(("report", "{}", "--style", one) for one in ("whitepaper", "article", "results")),
    *(
        ("export", "{}", "--to", one, "--output", "-")
        for one in ("parquet", "phoronix", "bencher", "openmetrics", "runbook")
    ),
)
"""Those that compose a report, or load a library first."""


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    code: int
    out: str
    err: str


def answer(*words: str) -> Answer:
    """Of the command line, in this process; only what it catches itself is caught."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        patch.object(sys, "argv", ["tiltyard", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # printed, as for whoever types the command
        code: Any = None
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
    for stream in (out, err):
        stream.flush()
    said = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return Answer(code, *said)


def value(random: Random) -> Any:
    """A value that nobody expects."""
    sort = random.randrange(5)
    if sort < 2:
        return RAW + random.choice(NUMBERS)
    if sort == 2:
        return random.choice(TEXTS)
    if sort == 3:
        return random.choice(OTHERS)
    depth = random.choice((3, 30, 190, 5000))
    return f"{RAW}{'[' * depth}{']' * depth}"


def dumped(document: Any) -> bytes:
    """JSON, with what is raw in it."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    parts = text.split(f'"{RAW}')
    return (parts[0] + "".join("".join(part.split('"', 1)) for part in parts[1:])).encode()


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each container with each of its keys, however deep."""
    keys = document if isinstance(document, dict) else range(len(document))
    for key in keys:
        yield document, key
        if isinstance(document[key], dict | list):
            yield from places(document[key])


def damage(random: Random, document: Any) -> None:
    """Change a JSON document at one place."""
    known = list(places(document))
    if not known:
        return
    holder, key = random.choice(known)
    old = holder[key]
    sort = random.randrange(10)
    if sort < 4:
        holder[key] = value(random)
    elif sort == 4:
        del holder[key]
    elif sort == 5:
        other, its = random.choice(known)
        with contextlib.suppress(KeyError, IndexError):
            holder[key] = json.loads(json.dumps(other[its]))
    elif isinstance(old, bool | None):
        holder[key] = not old
    elif isinstance(old, int | float):
        holder[key] = random.choice((-old, old + 1, old - 1, old * 1000, 0, old / 2, -1, 1))
    elif isinstance(old, str):
        holder[key] = random.choice((old + "x", old[::-1], old[:3], old.upper(), ""))
    elif isinstance(old, list):
        holder[key] = random.choice((old[1:], old[:-1], old * 2, old[::-1], []))
    elif old:
        name = random.choice(list(old))
        old[random.choice(TEXTS)] = old.pop(name)


def damaged_lines(random: Random, text: bytes) -> bytes:
    """Change JSON Lines at one place: in a line, or a line."""
    lines = text.splitlines()
    at = random.randrange(len(lines))
    sort = random.randrange(12)
    if sort == 0:
        del lines[at]
    elif sort == 1:
        lines.insert(random.randrange(len(lines)), lines[at])
    elif sort == 2:
        other = random.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif sort == 3:
        lines[at] = damaged_bytes(random, lines[at])
    else:
        document = json.loads(lines[at])
        damage(random, document)
        lines[at] = dumped(document)
    return b"".join(line + b"\n" for line in lines)


def damaged_bytes(random: Random, data: bytes) -> bytes:
    """Change a file at one place."""
    at = random.randrange(len(data) + 1)
    sort = random.randrange(5)
    if sort == 0:
        return data[:at]
    if sort == 1:
        return random.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\x1f\x8b")) + data
    if sort == 2:
        return data.decode(errors="replace").encode("utf-16")
    bad = random.choice((b"\x00", b"\xff", b"\xed\xa0\x80", b"1" * 5000, b"[" * 9000, b'"', b"\n"))
    return data[:at] + bad + data[at:]


def number(random: Random) -> str:
    """As a program may print it."""
    return random.choice((*NUMBERS, *TEXTS, "12.5", "1,234", "7e3"))


def printed(random: Random) -> str:
    """What a program prints, with what nobody expects in it."""
    lines = ["name,rate,note", f"a,{number(random)},x", f"b,{number(random)},{'y' * 140_000}"]
    lines[-1] = lines[-1] if random.random() < 0.2 else "b,3,z"
    lines += [f"rate: {number(random)}", f"rate = {number(random)} /s", number(random)]
    document = {"rate": 1, "deep": {"rates": [1, 2, {"rate": 3}]}, "name": "a"}
    for _ in range(random.randrange(3)):
        damage(random, document)
    said = dumped(document).decode()
    random.shuffle(lines)
    lines.insert(random.randrange(len(lines)), random.choice((said, said[:-3], f"{said} {said}")))
    if random.random() < 0.3:
        lines.append(number(random))
    return "\n".join(lines)


def table(random: Random) -> dict[str, Any]:
    """How a study says where a number stands."""
    way = random.choice(
        (
            {"regex": r"rate\W+(\S+)"}, {"regex": "(.+)"}, {"json": "$..rate"}, {"json": "$..*"},
            {"json": "$.deep.rates[?@ > 1]"}, {"csv": "rate"}, {"csv": "note"}, {"key": "rate"},
            {"last": True}, {"exit": True},
        )
    )  # fmt: skip
    takes = ("last", "first", "mean", "geometric_mean", "harmonic_mean", "sum", "min", "max")
    return way | {
        "take": random.choice(takes),
        "inverse": random.random() < 0.3,
        "scale": random.choice((1.0, 1e-300, 1e300, 5e-324)),
    }


class Folders:
    """Study folders to be damaged, each made once."""

    def __init__(self, root: Path, genuine: Path) -> None:
        """In a directory of their own; a genuine folder is among them."""
        self.root = root
        root.mkdir(exist_ok=True)
        self.bases = [root / name for name in ("run", "wide", "imported")]
        shutil.copytree(genuine, self.bases[0])
        write_study(self.bases[1])
        write_import(self.bases[2])

    def damaged(self, random: Random) -> tuple[Path, Path]:
        """A damaged copy of one, and a sound one beside it."""
        base = random.choice(self.bases)
        copy = self.root / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(base, copy)
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            if (copy / COLLECTION).exists():
                work = _damage_collection
            else:
                work = _damage_study
            with contextlib.suppress(ValueError, RecursionError):  # no JSON any more
                work(random, copy)
        return copy, base


def write_study(root: Path) -> None:
    """A study of three systems and two workloads, as if it had been run."""
    plan, run = synthetic_study(
        ("a", "b", "c"), ("iozone", "postmark"), blocks=7, profile="quick", effects={"b": 1.3}
    )
    root.mkdir()
    folder = StudyFolder(root)
    text = b'question = "Which?"\n[factors]\nfilesystem = ["a", "b", "c"]\n'
    folder.study.write_bytes(text)
    plan = plan.model_copy(update={"study_sha256": sha256(text)})
    folder.plan.write_bytes(plan.document())
    folder.trials.mkdir()
    with Journal.open(folder.journal)[0] as journal:
        journal.append(
            Started(
                number=1, pid=1, token="", tiltyard="0", engine="0", plan_hash=plan.hash, boot="",
                host=run.host, record=run.record, recovered=(),
            )
        )  # fmt: skip
        for up in run.prepared:
            journal.append(SystemPrepared(prepared=up), waits=True)
        for trial in run.trials:
            assert trial.hello
            assert trial.end
            events = (
                HelloEvent(type="hello", data=trial.hello),
                *(SampleEvent(_consistent(one)) for one in trial.samples),
                EndEvent(type="end", data=trial.end),
            )
            said = kept(b"".join(map(written_event, events)))
            (root / trial.file).write_bytes(said)
            journal.append(
                TrialFinished(
                    key=trial.key, slot=trial.slot, started=trial.started,
                    elapsed_s=trial.elapsed_s, outcome="done", reason=None, file=trial.file,
                    sha256=sha256(said),
                ),
                waits=True,
            )  # fmt: skip
        journal.append(Looked(blocks=7, done=True, reason="enough"))
        journal.append(Stopped(reason="enough"))


def _consistent(sample: Sample) -> Sample:
    """Its time as its value makes it."""
    amount = {"B/s": sample.bytes, "1/s": sample.operations}.get(sample.unit)
    return replace(sample, elapsed_s=amount / sample.value) if amount else sample


def write_import(root: Path) -> None:
    """A collection of one result file."""
    root.mkdir()
    folder = StudyFolder(root)
    file = next(one for one in GENUINE if one.name == "hyperfine/two-commands.json")
    folder.study.write_text("")
    write_collection(folder, collected(file.read()))


def _damage_collection(random: Random, folder: Path) -> None:
    file = folder / COLLECTION
    document = json.loads(file.read_bytes())
    damage(random, document["collection"])
    file.write_bytes(dumped(document))
    with contextlib.suppress(ValueError):
        told = _Sealed.of_json(file.read_bytes())
        says(file, told.sha256, told.collection.hash)


def _damage_study(random: Random, root: Path) -> None:
    """One file of it, with the hashes of it elsewhere made to fit: what a hash tells is told."""
    folder = StudyFolder(root)
    sort = random.randrange(10)
    if sort < 4:
        document = json.loads(folder.plan.read_bytes())
        damage(random, document)
        folder.plan.write_bytes(dumped(document))
        plan_fits(folder)
    elif sort < 7:
        lines = damaged_lines(random, b"".join(unchained(folder.journal)))
        folder.journal.write_bytes(chained(lines.splitlines()))
    elif sort < 9:
        trial = random.choice(sorted(folder.trials.iterdir()))
        before = sha256(trial.read_bytes())
        trial.write_bytes(kept(damaged_lines(random, said_in(trial))))
        says(folder.journal, before, sha256(trial.read_bytes()))
    else:
        file = random.choice((folder.plan, folder.journal, folder.study))
        before = sha256(file.read_bytes())
        file.write_bytes(damaged_bytes(random, file.read_bytes()))
        if file == folder.study:
            says(folder.plan, before, sha256(file.read_bytes()))
            plan_fits(folder)


def plan_fits(folder: StudyFolder) -> None:
    """The journal names the plan that is there."""
    with contextlib.suppress(ValueError, LookupError, TypeError):
        plan = Plan.model_validate_json(folder.plan.read_bytes())
        started = json.loads(folder.journal.read_bytes().splitlines()[0])
        says(folder.journal, started["event"]["plan_hash"], plan.hash)


def says(file: Path, before: str, now: str) -> None:
    """A file names another thing; a journal's chain is made to fit."""
    text = b"".join(unchained(file)).replace(before.encode(), now.encode())
    file.write_bytes(chained(text.splitlines()) if file.name == "journal.jsonl" else text)
