"""Table ``[cpu]``: how fast the CPUs run, in the terms of cpufreq and its drivers."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from pydantic import Field

from tiltyard.tuning import defaults
from tiltyard.tuning.files import FileSetting, unknown_default
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import Absent, Scene, Setting
from tiltyard.tuning.values import Amount, Value

_CPUS = "/sys/devices/system/cpu"
_OF_EACH: Final = {
    "governor": "cpufreq/scaling_governor",
    "energy_preference": "cpufreq/energy_performance_preference",
    "energy_bias": "power/energy_perf_bias",
    "min_khz": "cpufreq/scaling_min_freq",
    "max_khz": "cpufreq/scaling_max_freq",
}
"""Key → file of each CPU."""
_OF_ALL: Final = {
    "boost": ("cpufreq/boost",),
    "min_percent": ("intel_pstate/min_perf_pct", "amd_pstate/min_perf_pct"),
}
"""Key → files of all CPUs together, of which the first that is there is meant."""
_LIMITS: Final = {"lowest": "cpufreq/cpuinfo_min_freq", "highest": "cpufreq/cpuinfo_max_freq"}


class CpuTable(KnobTable):
    """Admin-guide/pm/cpufreq.rst and intel_epb.rst of the kernel."""

    governor: Value | None = Field(None, description="Who chooses the frequency: performance …")
    energy_preference: Value | None = Field(
        None, description="What the processor prefers: performance, balance_performance …"
    )
    energy_bias: Value | None = Field(
        None, description="The same for older ones, from 0 (performance) to 15."
    )
    min_khz: Value | None = Field(
        None, description='Lowest frequency in kHz; also "lowest" or "highest".'
    )
    max_khz: Value | None = Field(
        None, description='Highest frequency in kHz; also "lowest" or "highest".'
    )
    boost: Value | None = Field(None, description="1: faster than nominal for a while; 0: not.")
    min_percent: Value | None = Field(
        None, description="Lowest performance, in percent of the highest (intel_pstate)."
    )


def _settings(table: CpuTable, scene: Scene) -> Iterator[Setting]:
    for key, file in _OF_EACH.items():
        amount = getattr(table, key)
        if amount is None:
            continue
        name = f"CPU {key.replace('_', ' ')}"
        paths = scene.place.find(f"{_CPUS}/cpu[0-9]*/{file}")
        if not paths:
            yield Absent(name, _without(file))
        for path in paths:
            yield _setting(name, scene, path, amount)
    for key, files in _OF_ALL.items():
        amount = getattr(table, key)
        if amount is not None:
            found = [path for file in files for path in scene.place.find(f"{_CPUS}/{file}")]
            name = f"CPU {key.replace('_', ' ')}"
            if found:
                yield _setting(name, scene, found[0], amount)
            else:
                yield Absent(name, _without(files[0]))


def _without(file: str) -> str:
    """Virtual machines have none of it, as a rule."""
    return f"no driver of this host has it ({file})"


def _setting(name: str, scene: Scene, path: str, amount: Amount) -> FileSetting:
    """One file; a CPU's own limits go by their names."""
    if limit := _LIMITS.get(amount.text):
        own = path.rpartition("/cpufreq/")[0]
        amount = Amount(scene.place.read(f"{own}/{limit}") or amount.text)
    governor = path.endswith("scaling_governor")
    default = partial(defaults.governor, scene.place) if governor else unknown_default
    return FileSetting(name, scene.place, path, (amount,), default=default)


KNOB = Knob(
    name="cpu",
    about="governor, energy preference and frequency of the CPUs",
    Table=CpuTable,
    of="host",
    settings=_settings,
)
