"""Table ``[hugepages]``: transparent huge pages."""

from collections.abc import Iterator
from functools import partial

from pydantic import Field

from tiltyard.tuning import defaults
from tiltyard.tuning.files import FileSetting, unknown_default
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Scene
from tiltyard.tuning.values import Value

_FOLDER = "/sys/kernel/mm/transparent_hugepage"


class HugepagesTable(KnobTable):
    """Admin-guide/mm/transhuge.rst of the kernel."""

    enabled: Value | None = Field(None, description="Who gets them: always, madvise or never.")
    defrag: Value | None = Field(
        None, description="Whether a page fault waits for one: always, defer, madvise, never …"
    )


def _settings(table: HugepagesTable, scene: Scene) -> Iterator[FileSetting]:
    computed = {"enabled": partial(defaults.hugepages_enabled, scene.place)}
    for name in ("enabled", "defrag"):
        amount = getattr(table, name)
        if amount is not None:
            yield FileSetting(
                f"transparent huge pages, {name}", scene.place, f"{_FOLDER}/{name}", (amount,),
                "this kernel has no transparent huge pages", computed.get(name, unknown_default),
            )  # fmt: skip


KNOB = Knob(
    name="hugepages",
    about="transparent huge pages",
    Table=HugepagesTable,
    of="host",
    settings=_settings,
)
