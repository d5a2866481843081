"""The scratch folder of a run, and the systems that will be brought up in it."""

import contextlib
from collections.abc import Callable, Iterable, Iterator

from tiltyard.folder import StudyFolder
from tiltyard.host.steps import Recorder
from tiltyard.study.model import SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System


@contextlib.contextmanager
def scratch_dir(folder: StudyFolder) -> Iterator[None]:
    """The scratch folder; removed at the end unless something is in it that is not ours.

    Nobody else looks into it: what is mounted there may be open to everybody, as a tmpfs is.
    """
    folder.work.mkdir(exist_ok=True)
    folder.work.chmod(0o700)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            folder.work.rmdir()


def open_systems(
    folder: StudyFolder,
    specs: Iterable[SystemSpec],
    ledger: Recorder,
    check: Callable[[], None],
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, System]:
    """The systems by name, in the order of the study; nothing of them is up yet."""
    given = (folder.paths_from or folder.root).resolve()
    site = Site(root=given, work=folder.work.resolve(), ledger=ledger, check=check, note=note)
    return {spec.name: kind(spec.kind).system(spec.name, spec.settings, site) for spec in specs}
