"""Something that is mounted on a directory of ours for a turn: what is the same whatever it is."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field

from tiltyard.host.op import MakeDirectory
from tiltyard.host.place import MOUNTS, Place
from tiltyard.host.steps import Step, Steps
from tiltyard.systems.kind import ReachableSettings, Site, System, Up, lost_with
from tiltyard.systems.mount.facts import mount_facts
from tiltyard.systems.mount.mounter import mounter
from tiltyard.systems.service.settings import ServiceableSettings
from tiltyard.tuning.knobs.mount import MountTable
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import Outcome


def take_mount_options(
    profile: Profile, filesystem: str, own: tuple[str, ...]
) -> tuple[tuple[str, ...], Profile, list[Outcome]]:
    """Options that a profile has for a file system.

    Args:
        profile: what is asked for.
        filesystem: what is mounted.
        own: options of the study, which have the last word.

    Returns:
        All options, the profile without any, and what was taken over.
    """
    table = profile.table(MountTable)
    options = table.options(filesystem) if table else ()
    taken = [Outcome("mount options", "set", ",".join(options))] if options else []
    return (*options, *own), profile.with_table("mount", None), taken


class MountSettings(ServiceableSettings, ReachableSettings):
    """Settings of every kind that mounts."""

    mount: tuple[str, ...] = Field(
        default=(), description='Mount options, one word each: ["noatime"].'
    )

    def mounted_type(self) -> str:
        """What is mounted, as mount(8) calls it; empty if only the kind knows."""
        return ""

    def tuned(
        self,
        profile: Profile,
        place: Place,  # noqa: ARG002
    ) -> tuple[Self, Profile, list[Outcome]]:
        """A profile's mount options go before our own."""
        mount, left, taken = take_mount_options(profile, self.mounted_type(), self.mount)
        return self.model_copy(update={"mount": mount}), left, taken


class MountSystem(System):
    """Mounted for a turn, worked on in a fresh directory, unmounted."""

    types: Sequence[str] = ()
    """What the table of mounts may show; empty if anything is right."""
    synonyms: ClassVar[Mapping[str, str]] = {}
    """See :attr:`tiltyard.systems.filesystems.driver.Driver.synonyms`."""

    def __init__(self, site: Site, use: str) -> None:
        """Nothing is touched yet.

        Args:
            site: where it is mounted.
            use: a word for the names of what is made.
        """
        self.site = site
        self.place = site.place
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self._name = site.ledger.name(f"mnt-{use}")
        self.mounter = mounter(self.steps, site.ledger.name(f"fs-{use}"))

    @property
    def target(self) -> Path:
        """Where it is mounted."""
        return self.site.scratch / self._name

    @property
    def _directory(self) -> Path:
        """Where trials work."""
        return self.target / self.site.ledger.name("trials")

    @abstractmethod
    def attach(self) -> Iterable[Step]:
        """Mount it on the target."""

    @abstractmethod
    def asked(self) -> tuple[str, ...]:
        """The mount options that were asked for."""

    def facts(self) -> dict[str, str]:
        """What else is to be said of it; nothing by default."""
        return {}

    def servers(self) -> tuple[int, ...]:
        """Processes of this host that serve it; ours by default."""
        return self.mounter.servers()

    def steps_up(self) -> Iterator[Step]:
        """Mount it on a directory that is made for it."""
        yield from self.mounter.open()
        yield MakeDirectory(path=self.target)
        yield from self.attach()
        yield self.mounter.make(self._directory, stays=True)

    def steps_refresh(self) -> Iterable[Step]:
        """Unmount and mount again, so that nothing is cached here."""
        return self.mounter.renew()

    def look(self) -> Up:
        """A directory to work in, and what the kernel says of what it is in."""
        directory = self._directory
        space, direct = (str(self.target),), (str(directory),)
        with self.place.looking(files=(MOUNTS,), space=space, direct=direct):
            said = mount_facts(self.mounter, directory, self.types, self.asked(), self.synonyms)
            said |= self.facts()
            source = self.mounter.at(self.target)[-1].source
        return Up(
            target=directory,
            commands=self.steps.executed,
            prefix=self.mounter.prefix,
            devices=(source,) if self._is_device(source) else (),
            servers=self.servers,
            lost=lost_with(self.mounter.servers),
            place=self.place,
            facts=said,
        )

    def _is_device(self, source: str) -> bool:
        return source.startswith("/dev/") and self.place.passes(("-b", source))[0]
