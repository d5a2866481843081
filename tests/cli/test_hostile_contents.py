"""Whatever files and outputs contain: an answer with a code of the table, and no other exception.

Study folders, with the hashes of what was changed made to fit, under the verbs that read them; what
programs print, trials, and result files.
"""

import contextlib
import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import pytest

from support.hostile import (
    RAW,
    SLOW,
    VERBS,
    Answer,
    Folders,
    answer,
    damage,
    damaged_bytes,
    damaged_lines,
    dumped,
    number,
    plan_fits,
    printed,
    says,
    table,
)
from support.imports import GENUINE, collected
from support.said import said_in
from tiltyard.errors import ExitCode, UsageError
from tiltyard.folder import StudyFolder, sha256
from tiltyard.importers.live import readers, readings
from tiltyard.importers.printed import Printed, value_of
from tiltyard.importers.sniff import read_with
from tiltyard.plan.store import read_plan
from tiltyard.run.stream import kept, stream_of
from tiltyard.study.program import MetricTable
from tiltyard.wire import Execution, Output

GENUINE_RUN = Path(__file__).parents[1] / "run/fixtures/recorded/finished"
FEW, MANY = 2000, 10**5
IN_A_FOLDER, SLOWLY = 10, 200
"""One of so many cases is a study folder; of these one is told in a form that takes a while."""
Change: TypeAlias = Callable[[Any], None]
LONGEST = 2000
"""Characters of a message."""


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return Folders(tmp_path / "studies", GENUINE_RUN)


def a_folder(random: Random, folders: Folders) -> None:
    """A verb that takes a study, given one that is damaged."""
    damaged, sound = folders.damaged(random)
    verb = random.choice(VERBS if random.randrange(SLOWLY // IN_A_FOLDER) else SLOW)
    require_answered(answer(*(word.format(damaged, other=sound) for word in verb)))


def require_answered(said: Answer) -> None:
    """A code of the table that is no defect, with few words."""
    assert ExitCode(said.code) is not ExitCode.INTERNAL
    assert "Traceback" not in said.err
    if said.code == ExitCode.USAGE:
        *_, message = said.err.splitlines()
        assert message.startswith("tiltyard: ")
        assert len(message) < LONGEST


@contextlib.contextmanager
def refused() -> Iterator[None]:
    """What cannot be read is refused in one line that fits a terminal."""
    said = ""
    try:
        yield
    except UsageError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < LONGEST


def a_metric(random: Random, _: Folders) -> None:
    """A number that a study names, in what a program printed."""
    wanted = MetricTable.model_validate({**table(random), "unit": "ms", "better": "lower"})
    said = Printed("stdout of execution 1", printed(random), exit=random.choice((None, 0, -9, 255)))
    with refused():
        assert math.isfinite(value_of("rate", wanted, said))


def an_output(random: Random, _: Folders) -> None:
    """What a tool prints, read while it is measured."""
    file = random.choice([one for one in GENUINE if one.importer in readers()])
    word = random.choice(random.choice(file.data.splitlines()).split() or [b"0"])
    said = file.data.replace(word, number(random).encode(errors="replace"), 1)
    if random.random() < 0.5:
        said = damaged_bytes(random, said)
        output = Output(sha256="a", bytes=len(said), base64=b64encode(said).decode())
    else:
        output = Output(sha256="a", bytes=len(said), text=said.decode())
    execution = Execution(
        step="measure", number=1, elapsed_s=0.5, user_s=0, system_s=0, peak_memory_bytes=1,
        minor_faults=0, major_faults=0, voluntary_switches=0, involuntary_switches=0, stdout="a",
        stderr="b", exit=0,
    )  # fmt: skip
    with refused():
        found = readings(file.importer.name, {}, [execution], {"a": output, "b": output})
        assert all(math.isfinite(sample.value) for sample in found)


def a_result_file(random: Random, _: Folders) -> None:
    """What is imported."""
    file = random.choice(GENUINE)
    data = file.data
    if data.lstrip()[:1] == b"{" and random.random() < 0.7 and file.path.suffix == ".json":
        document, _end = json.JSONDecoder().raw_decode(data.decode().lstrip())
        damage(random, document)
        data = dumped(document)
    else:
        data = damaged_bytes(random, data)
    with refused():
        collected(read_with(file.importer, data, "a.txt"))


def a_trial(random: Random, folders: Folders) -> None:
    """What the engine says of a trial: sound as far as it goes, then a flaw in words."""
    folder = StudyFolder(random.choice(folders.bases[:2]))
    plan = read_plan(folder)
    said = said_in(random.choice(sorted(folder.trials.iterdir())))
    for _ in range(random.randrange(1, 4)):
        with contextlib.suppress(ValueError, RecursionError):  # no JSON any more
            said = damaged_lines(random, said)
    stream = stream_of(said, random.choice(plan.workloads))
    outcome, reason = stream.outcome
    assert outcome == "done" or reason


def at(*keys: str | int, is_: object) -> Change:
    """Puts a value there; ``<raw>`` in it is written as it stands."""

    def put(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = is_

    return put


def without(*keys: str | int) -> Change:
    """Takes a key away."""

    def take(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return take


MANY_DIGITS: Final = RAW + "1" * 5000
TURN: Final = ("blocks", 0, "turns", 0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (at(*TURN, "workloads", is_=["other"]), "blocks: 1 has a system or a workload"),
        (at(*TURN, "system", is_="other"), "blocks: 1 has a system or a workload"),
        (at("blocks", 0, "number", is_=2), "blocks: 2 comes after 2"),
        (at("systems", 0, "levels", is_={}), "systems: not all have levels of the same factors"),
        (at("systems", 1, "name", is_="old"), "systems: two have one name"),
        (at("systems", is_=[]), "systems: there is none"),
        (at("baseline", is_="other"), 'baseline: "other" is none of the systems'),
        (at("baseline", is_="\ud800"), "not a plan: "),
        (at("question", is_="a\udfff"), "not a plan: "),
        (at("seed", is_=MANY_DIGITS), "not a plan: "),
        (at("seed", is_="<raw>" + "[" * 5000 + "]" * 5000), "not a plan: "),
        (at("design", "alpha", is_="<raw>1e999"), "not a plan: design.alpha: inf is no number"),
        (at("design", "alpha", is_="<raw>NaN"), "not a plan: design.alpha: nan is no number"),
        (at("design", "looks", is_=[]), 'design: there is no profile "fixed" of 0 looks'),
        (at("design", "profile", is_="other"), 'design: there is no profile "other" of 1 look'),
        (at("design", "looks", 0, "c", is_=99), "design.looks: 99 of 6 are cut off"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused_with_its_key(
    folders: Folders, change: Change, told: str
) -> None:
    folder = StudyFolder(folders.bases[0])
    document = json.loads(folder.plan.read_bytes())
    change(document)
    folder.plan.write_bytes(dumped(document))
    plan_fits(folder)
    for verb in (one for one in VERBS if one[0] not in ("check", "plan")):
        words = (word.format(folder.root, other=folders.bases[1]) for word in verb)
        said = answer(*words)
        assert said.code == ExitCode.USAGE, (verb, said)
        assert told in said.err
        require_answered(said)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("sample", at("operations", is_="<raw>" + str(2**64))),
        ("sample", at("operations", is_=-1)),
        ("sample", at("bytes", is_=MANY_DIGITS)),
        ("sample", at("value", is_="<raw>1e999")),
        ("interval", at("operations", is_=MANY_DIGITS)),
        ("interval", at("bytes", is_="<raw>" + "9" * 400)),
        ("interval", at("t_s", is_="<raw>1e308")),
        ("sample", at("at", "file", is_="<raw>" + "[" * 5000 + "]" * 5000)),
        ("sample", at("metric", is_="\ud800")),
        ("end", at("usage", "peak_memory_bytes", is_=-1)),
    ],
)
def test_a_trial_with_what_no_engine_writes_is_refused_with_its_line(
    folders: Folders, kind: str, change: Change
) -> None:
    folder, trial = changed_trial(folders, kind, change)
    for verb in (
        ("report", str(folder.root), "--json"),
        ("export", str(folder.root), "--to", "csv"),
    ):
        said = answer(*verb)
        require_answered(said)
        assert said.code == ExitCode.USAGE, said
        assert trial.name in said.err


def test_a_trial_that_lacks_a_level_of_its_grid_is_reported_without_it(folders: Folders) -> None:
    folder, _ = changed_trial(folders, "sample", without("at", "file"))
    said = answer("report", str(folder.root), "--json")
    assert said.code in (ExitCode.DONE, ExitCode.TRIALS_FAILED), said
    assert json.loads(said.out)


def changed_trial(folders: Folders, kind: str, change: Change) -> tuple[StudyFolder, Path]:
    """A trial with one event changed, its hash in the journal made to fit."""
    folder = StudyFolder(folders.bases[0])
    trial = min(folder.trials.iterdir())
    before = trial.read_bytes()
    lines = said_in(trial).splitlines(keepends=True)
    place = next(place for place, one in enumerate(lines) if f'"type":"{kind}"'.encode() in one)
    event = json.loads(lines[place])
    change(event["data"])
    lines[place] = dumped(event) + b"\n"
    trial.write_bytes(kept(b"".join(lines)))
    says(folder.journal, sha256(before), sha256(trial.read_bytes()))
    return folder, trial


CASES = (a_metric, an_output, a_result_file, a_trial)


def hold(seeds: Iterable[int], folders: Folders) -> None:
    """Every case of these, named by its seed if it does not hold."""
    for seed in seeds:
        random = Random(seed)
        case = a_folder if seed % IN_A_FOLDER == 0 else random.choice(CASES)
        try:
            case(random, folders)
        except Exception as error:
            error.add_note(f"seed {seed}: {case.__name__}")
            raise


def test_whatever_is_read_is_answered(folders: Folders) -> None:
    hold(range(FEW), folders)


@pytest.mark.conformance
def test_whatever_is_read_is_answered_in_many_cases(folders: Folders) -> None:
    hold(range(FEW, FEW + MANY), folders)
