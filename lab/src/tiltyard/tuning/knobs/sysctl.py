"""Table ``[sysctl]``: kernel parameters of the whole host."""

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from pydantic import ConfigDict, Field, model_validator

from tiltyard.host import sysctls
from tiltyard.host.place import Place
from tiltyard.study.problems import shown
from tiltyard.tuning import defaults
from tiltyard.tuning.defaults import sysctls_at_boot
from tiltyard.tuning.files import FileSetting, unknown_default
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import LackError, Scene
from tiltyard.tuning.values import Amount, Value, is_rule

_MOVED = {
    f"kernel.sched_{name}": f"/sys/kernel/debug/sched/{name}"
    for name in ("latency_ns", "min_granularity_ns", "wakeup_granularity_ns", "migration_cost_ns")
}
"""Parameters that Linux 5.13 moved to debugfs (commit 8a99b6833c88)."""

_BYTES_OR_RATIO = {"vm.dirty_bytes": "vm.dirty_ratio",
                   "vm.dirty_background_bytes": "vm.dirty_background_ratio"}  # fmt: skip
_COUNTERPARTS = {**_BYTES_OR_RATIO, **{ratio: size for size, ratio in _BYTES_OR_RATIO.items()}}
"""Setting one of them makes the other 0, and 0 cannot be written (mm/page-writeback.c)."""


class SysctlTable(KnobTable):
    """Kernel parameters by name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Value]

    at_boot: bool = Field(
        False,
        description="Whether what the host's own files set at boot (sysctl.d) is set as well; it "
        "goes before what stands beside this key.",
    )

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, typed: Any) -> Any:
        """Unquoted, TOML takes each dot of a name for a table of its own."""
        return dict(flat(typed)) if isinstance(typed, dict) else typed

    @model_validator(mode="after")
    def _give_way(self) -> Self:
        """Each value here is that of the kernel, and the distribution's own is the last word."""
        if self.at_boot:
            for key, amount in self.parameters.items():
                self.__pydantic_extra__[key] = replace(amount, unless_at_boot=True)
        return self

    @property
    def parameters(self) -> dict[str, Amount]:
        """All keys that are names of parameters."""
        return dict(self.__pydantic_extra__)

    def over(self, earlier: "SysctlTable") -> "SysctlTable":
        """The later profile's values first."""
        before = earlier.parameters
        merged = before | {
            key: amount.over(before.get(key)) for key, amount in self.parameters.items()
        }
        return SysctlTable.model_construct(None, at_boot=self.at_boot or earlier.at_boot, **merged)

    def at(self, place: Place) -> "SysctlTable":
        """The same with what the files of a host set at boot written out."""
        wanted = self.parameters
        for key, value in (sysctls_at_boot(place) if self.at_boot else {}).items():
            if key not in wanted or wanted[key].unless_at_boot:
                wanted[key] = Amount(value)
        return SysctlTable.model_construct(None, at_boot=False, **wanted)

    def without(self, names: Set[str]) -> "SysctlTable":
        """All parameters but some."""
        left = {key: value for key, value in self.parameters.items() if key not in names}
        return SysctlTable.model_construct(None, at_boot=self.at_boot, **left)


def flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names as a person means them, with their values."""
    for key, value in table.items():
        if isinstance(value, dict) and not is_rule(value):
            if not value:
                raise ValueError(f"{shown(prefix + key)} has no value")
            yield from flat(value, f"{prefix}{key}.")
        elif sysctls.is_key(prefix + key):
            yield prefix + key, value
        else:
            raise ValueError(f"{shown(prefix + key)} is not the name of a kernel parameter")


@dataclass(frozen=True)
class Sysctl(FileSetting):
    """One parameter."""

    @property
    def excludes(self) -> str:
        """Its counterpart."""
        other = _COUNTERPARTS.get(self.name)
        return str(sysctls.path_of(other)) if other else ""

    def wanted(self, now: str) -> str:
        """The value; a parameter does not list what it offers."""
        if self.excludes and now == "0" and self.place.read(self.excludes) == "0":
            other = _COUNTERPARTS[self.name]
            raise LackError(f"{other} is 0 as well, and could not be put back")
        return self.choices[0].of(now, self.place, self.default)


def settings(table: SysctlTable, scene: Scene) -> Iterator[Sysctl]:
    """Each parameter, where this kernel keeps it."""
    for key, amount in table.at(scene.place).parameters.items():
        path, lack = str(sysctls.path_of(key)), f"this kernel has no {key}"
        if key in _MOVED and scene.place.read(path) is None:
            path = _MOVED[key]
            lack += " (Linux 5.13 moved it to debugfs, 6.6 removed most)"
        compute = defaults.SYSCTLS.get(key)
        default = partial(compute, scene.place) if compute else unknown_default
        yield Sysctl(key, scene.place, path, (amount,), lack, default)


KNOB = Knob(
    name="sysctl",
    about="kernel parameters of the whole host, by name",
    Table=SysctlTable,
    of="host",
    settings=settings,
)
