"""Systems under test: bring one up, take it down.

A kind of system is one file and one line in :data:`KINDS`.
"""

from dataclasses import replace
from typing import Any, Final

from tiltyard.registry import Plugin, Registry
from tiltyard.systems.kind import AnyKind, Kind, Site, System


def _sound(made: AnyKind, plugin: Plugin) -> AnyKind:
    def opened(name: str, settings: Any, site: Site) -> System:
        from tiltyard.systems.foreign import Contained

        return Contained(made.open(name, settings, site), plugin)

    return replace(made, open=opened)


KINDS: Final = Registry[AnyKind](
    "kinds",
    {
        "loop-image": ".loop_image:KIND",
        "block-device": ".block_device:KIND",
        "directory": ".directory:KIND",
        "tmpfs": ".tmpfs:KIND",
        "overlay": ".overlay:KIND",
        "mount": ".mount:KIND",
        "vm": ".vm:KIND",
        "pair": ".pair:KIND",
        "loopback": ".loopback:KIND",
        "hosts": ".hosts:KIND",
        "remote": ".directory:REMOTE",
        "host": ".host:KIND",
    },
    Kind,
    within=__name__,
    unknown="is not a kind of system",
    sound=_sound,
)
"""In the order in which help shows them; where settings fit several, the first one is meant."""


def kind(name: str) -> AnyKind:
    """The kind of that name; its systems heed ``tuning``, ``service`` and ``host``.

    Raises:
        UsageError: if there is none.
    """
    from tiltyard.systems.service import with_service
    from tiltyard.systems.there import with_remote
    from tiltyard.systems.tuned import with_tuning

    return with_remote(with_tuning(with_service(KINDS.named(name))))
