"""The executions of a study's commands, from its trials; and whether they printed the same."""

from collections.abc import Iterator, Sequence

from tiltyard.exporters.hyperfine import Contestant
from tiltyard.folder import StudyFolder
from tiltyard.plan.store import read_plan
from tiltyard.run.read import read_history
from tiltyard.run.stream import read_stream
from tiltyard.study.compare import COMMANDS
from tiltyard.wire import Execution


def contestants(folder: StudyFolder) -> list[Contestant]:
    """Every system of a study with the measured executions of all of its good trials, in order.

    Raises:
        UsageError: if the journal was changed.
    """
    plan = read_plan(folder)
    executions: dict[str, list[Execution]] = {system.name: [] for system in plan.systems}
    for finished in read_history(folder, plan).finished.values():
        if finished.outcome == "done":
            stream = read_stream((folder.root / finished.file).read_bytes())
            executions[finished.key.system] += stream.executions
    return [
        Contestant(
            name=system.name,
            parameters={
                factor: level.removeprefix(f"{factor}=")
                for factor, level in system.levels.items()
                if factor not in ("command", COMMANDS)
            },
            executions=executions[system.name],
        )
        for system in plan.systems
        if executions[system.name]
    ]


def output_lines(found: Sequence[Contestant]) -> Iterator[tuple[str, str]]:
    """Whether the commands print the same, as a head and a sentence.

    Nothing is said of a command whose own executions differ: a clock in its output, for example.
    """
    prints = {own.name: {one.stdout for one in own.executions} for own in found}
    if len(prints) < 2 or any(len(hashes) > 1 for hashes in prints.values()):
        return
    hashes = {name: next(iter(own)) for name, own in prints.items()}
    if len(set(hashes.values())) == 1:
        yield "Outputs", f"equal (sha256 {next(iter(hashes.values()))[:12]}…)"
        return
    listed = ", ".join(f"{name} {sha256[:12]}…" for name, sha256 in hashes.items())
    yield (
        "Warning",
        f"the outputs differ (sha256: {listed}): is each of them right? With --same-output only "
        "commands that print the same are compared",
    )
