"""Kind ``host``: this host as it is, for programs that are compared with each other.

Each turn works in a new directory in the study's scratch folder, on whatever that lies on.
"""

from pathlib import Path

from tiltyard.study.kinds import HOST
from tiltyard.systems.directory import DirectorySettings, open_directory
from tiltyard.systems.kind import Kind, Site, System
from tiltyard.systems.service.settings import ServiceableSettings


class HostSettings(ServiceableSettings):
    """Nothing but what every system can be told."""


def _open(name: str, settings: HostSettings, site: Site) -> System:
    """A directory of the scratch folder, which is there while systems are up."""
    del settings
    place = Path(site.there or ".") if site.place.is_remote else Path(site.there or site.work)
    return open_directory(name, DirectorySettings(directory=place), site)


KIND = Kind(
    name=HOST,
    about="this host as it is, with a new directory in the study's folder; for programs",
    Settings=HostSettings,
    target="directory",
    open=_open,
    redraws=lambda _: "a new directory",
)
