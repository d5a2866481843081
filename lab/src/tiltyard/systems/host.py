"""Kind ``host``: this host as it is, for programs that are compared with each other.

Each turn works in a new directory in the study's scratch folder, on whatever that lies on.
"""

from tiltyard.study.kinds import HOST
from tiltyard.systems.directory import Directory, DirectorySettings
from tiltyard.systems.kind import Kind, Site
from tiltyard.systems.service.settings import ServiceableSettings


class HostSettings(ServiceableSettings):
    """Nothing but what every system can be told."""


def _open(name: str, settings: HostSettings, site: Site) -> Directory:
    """A directory of the scratch folder, which is there while systems are up."""
    del settings
    return Directory(name, DirectorySettings(directory=site.work), site)


KIND = Kind(
    name=HOST,
    about="this host as it is, with a new directory in the study's folder; for programs",
    Settings=HostSettings,
    target="directory",
    open=_open,
    redraws=lambda _: "a new directory",
)
