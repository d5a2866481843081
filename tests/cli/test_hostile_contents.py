"""Whatever files and outputs contain: an answer with a code of the table, and no other exception.

Study folders, with the hashes of what was changed made to fit, under the verbs that read them; what
programs print, trials, and result files.
"""

import contextlib
import json
import math
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

from support.hostile import (
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
    printed,
    table,
)
from support.imports import GENUINE, collected
from tiltyard.errors import ExitCode, UsageError
from tiltyard.folder import StudyFolder
from tiltyard.importers.live import readers, readings
from tiltyard.importers.printed import Printed, value_of
from tiltyard.importers.sniff import read_with
from tiltyard.plan.store import read_plan
from tiltyard.run.stream import read_stream
from tiltyard.study.program import MetricTable
from tiltyard.wire import Execution, Output

GENUINE_RUN = Path(__file__).parents[1] / "run/fixtures/version_8daef3c/finished"
FEW, MANY = 2000, 10**5
IN_A_FOLDER, SLOWLY = 10, 200
"""One of so many cases is a study folder; of these one is told in a form that takes a while."""
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
    said = random.choice(sorted(folder.trials.iterdir())).read_bytes()
    for _ in range(random.randrange(1, 4)):
        with contextlib.suppress(ValueError, RecursionError):  # no JSON any more
            said = damaged_lines(random, said)
    stream = read_stream(said, random.choice(plan.workloads))
    outcome, reason = stream.outcome
    assert outcome == "done" or reason


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
