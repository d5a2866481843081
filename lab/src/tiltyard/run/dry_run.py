"""The steps of a study on this host, system by system, printed and not executed."""

import shlex
from collections.abc import Iterable

from tiltyard.folder import StudyFolder
from tiltyard.host.changes import PREFIX
from tiltyard.host.place import HERE
from tiltyard.run.nodes import let_go, named, salloc
from tiltyard.run.scratch_dir import open_systems
from tiltyard.study.model import Placement, SystemSpec
from tiltyard.systems.planned import END_OF_RUN, PlannedPart
from tiltyard.systems.preview import Preview, planned_turn


def dry_run(
    folder: StudyFolder,
    specs: Iterable[SystemSpec],
    placement: Placement | None = None,
    clients: int = 1,
) -> list[PlannedPart]:
    """One turn of each system, with a refresh as between two trials, and the end of the run.

    Of the hosts of a placement it is the first one; of nodes that Slurm has yet to give only how.

    Every system is asked for its steps the way a run asks it. The ledger of this host is not
    touched. What is only known when a step has been executed (the number of a loop device) is
    shown by the name of that output.

    Raises:
        UsageError: if a system names a file that is not there.
    """
    preview = Preview()
    parts: list[PlannedPart] = []
    place, there = HERE, ""
    if placement and placement.engine == "slurm":
        return _of_slurm(placement)
    if placement:
        place, there = next(iter(named(placement).values())), placement.directory
    systems = open_systems(
        folder, specs, preview, lambda: None, place=place, there=there, clients=clients
    )
    for name, system in systems.items():
        parts += planned_turn(preview, name, system)
    preview.tell_way_back("run")
    parts.append(PlannedPart("", END_OF_RUN, preview.new_lines()))
    return [part for part in parts if part.lines or part.refused]


def _of_slurm(placement: Placement) -> list[PlannedPart]:
    """What is known before there are nodes: how they are held and let go."""
    name = f"{PREFIX}TOKEN-nodes-1"
    line = shlex.join(salloc(placement, name, placement.nodes))
    inside = "# on each node: copy the engine, make a directory, remove both"
    return [
        PlannedPart("", "at the beginning of the run", (line, inside)),
        PlannedPart("", END_OF_RUN, (let_go(name).way_back,)),
    ]
