"""The executions of a study's commands, from its trials."""

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
                if factor not in ("command", "serving", COMMANDS)
            },
            executions=executions[system.name],
        )
        for system in plan.systems
        if executions[system.name]
    ]
