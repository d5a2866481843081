"""The scratch folder of a run, and the systems that will be brought up in it."""

import contextlib
import os
import pwd
from collections.abc import Callable, Iterable, Iterator

from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard.host.isolation import Isolations
from tiltyard.host.place import HERE, Place
from tiltyard.host.recorder import Recorder
from tiltyard.ownership import held_open, make_directory, open_inside
from tiltyard.plan.model import Plan
from tiltyard.study.model import ConditionsSpec, SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System


@contextlib.contextmanager
def scratch_dir(folder: StudyFolder, plan: Plan | None = None) -> Iterator[None]:
    """The scratch folder; removed at the end unless something is in it that is not ours.

    Nobody else looks into it: what is mounted there may be open to everybody, as a tmpfs is. Only
    the group of the user that the plan's programs run as gets through it.

    Args:
        folder: the study.
        plan: what will be carried out.

    Raises:
        UsageError: if its programs run as several users.
    """
    group = _group(plan) if plan else None
    make_directory(folder.work, exist_ok=True)
    with held_open(folder.root) as above, open_inside(above, folder.work.name) as work:
        os.fchmod(work, 0o700 if group is None else 0o710)
        if group is not None:
            os.fchown(work, -1, group)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            folder.work.rmdir()


def _group(plan: Plan) -> int | None:
    """The group of the user that programs run as, where it is another than ours."""
    programs = (workload.program or {} for workload in plan.workloads)
    users = sorted({str(user) for program in programs if (user := program.get("user"))})
    if len(users) > 1:
        raise UsageError(
            f"programs of one study run as one user, and these as {', '.join(users)}. "
            "Fix: the same user = in each, or a study for each"
        )
    try:
        account = pwd.getpwnam(users[0]) if users else None
    except KeyError:
        return None  # the engine says so, of the trial
    return account.pw_gid if account and account.pw_uid != os.geteuid() else None


def open_systems(
    folder: StudyFolder,
    specs: Iterable[SystemSpec],
    ledger: Recorder,
    check: Callable[[], None],
    note: Callable[[str], None] = lambda _: None,
    place: Place = HERE,
    there: str = "",
    *,
    clients: int = 1,
    conditions: ConditionsSpec | None = None,
) -> dict[str, System]:
    """The systems by name, in the order of the study; nothing of them is up yet."""
    given, work = (folder.paths_from or folder.root).resolve(), folder.work.resolve()
    apart = Isolations(conditions.cpus if conditions and conditions.isolate else ())
    site = Site(given, work, ledger, place, there, check, note, clients, apart)
    return {spec.name: kind(spec.kind).system(spec.name, spec.settings, site) for spec in specs}
