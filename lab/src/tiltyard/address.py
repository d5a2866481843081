"""How a host is reached: this one, one that ssh reaches, or a node of an allocation of Slurm's.

Nothing else starts ssh or srun to reach one, or knows what they say.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, Field, StringConstraints

from tiltyard.errors import HostLacksError

By = Literal["ssh", "slurm"]
"""What starts work on another host."""
SSH: Final = ("ssh", "openssh-client")
"""Program and package."""
SRUN: Final = ("srun", "slurm-client")
"""The same."""
REMARKS: Final = (
    "@|it is (also )?possible|someone could|the fingerprint|sha256:|please contact|"
    "add correct|offending|remove with|ssh-keygen"
)
"""How lines begin that ssh prints of a changed key before the one that says so; a pattern."""

_BY_SSH: Final = (SSH[0], "-o", "BatchMode=yes")
"""Of a value that is given twice ssh takes the first: no question is asked, whatever a person's
options say."""
_UNLESS_SAID: Final = (
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=3"),
    "-T",
)
"""A host that is silent for 15 s is lost, unless a person's options say otherwise. Of ``-t`` and
``-T`` ssh takes the last: a terminal would change what is read."""
_SSH_FAILED: Final = 255
"""Exit status of ssh when it is ssh that failed, and not the command there (ssh(1))."""

_BY_SRUN: Final = (SRUN[0], "--unbuffered")
"""Unbuffered: a line is passed on when it is written, and not with its newline seconds later."""
_ONE_TASK: Final = ("--nodes=1", "--ntasks=1", "--mpi=none", "--kill-on-bad-exit=0")
_AS_SSH: Final = ("sh", "-c", 'cd && eval "$*"', "sh")
"""What comes after it is joined and read by a shell, as ssh has it read there."""
_JOB_IS_OVER: Final = re.compile("has expired|nvalid job id")
_SRUN_FAILED: Final = ("srun:", "slurmstepd:")


@dataclass(frozen=True)
class Address:
    """A host, and what reaches it."""

    host: str = ""
    """As ssh or Slurm knows it; empty: this host."""
    options: tuple[str, ...] = ()
    """For ssh, one word each."""
    by: By = "ssh"
    job: str = ""
    """Slurm's, of whose allocation the node is; empty: a job of its own, if that begins at once."""

    @classmethod
    def in_settings(cls, settings: Mapping[str, Any]) -> Self:
        """That of a system, by its settings as a plan has them."""
        host = settings.get("host")
        return cls(host, tuple(settings.get("ssh_options") or ())) if host else cls()

    @property
    def settings(self) -> dict[str, str | list[str]]:
        """As a study file has it."""
        return {"host": self.host, **({"ssh_options": [*self.options]} if self.options else {})}

    @property
    def is_remote(self) -> bool:
        """Whether it is another host."""
        return bool(self.host)

    def __str__(self) -> str:
        """As a person calls it."""
        return self.host or "this host"

    @property
    def command(self) -> tuple[str, ...]:
        """What reaches another host; what it shall do there, a line of shell, is appended."""
        if self.by == "ssh":
            return (*_BY_SSH, *self.options, *_UNLESS_SAID, self.host)
        step = ("--quiet", "--overlap", f"--jobid={self.job}") if self.job else ("--immediate=5",)
        return (*_BY_SRUN, *_ONE_TASK, *step, f"--nodelist={self.host}", *_AS_SSH)

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command of this host that runs a command there."""
        return (*self.command, shlex.join(argv)) if self.is_remote else tuple(argv)

    @property
    def program(self) -> tuple[str, str]:
        """What this host must have to reach it, and the package that has that."""
        return SSH if self.by == "ssh" else SRUN

    @property
    def remedy(self) -> str | None:
        """What a person tries where it is not reached."""
        return f"ssh {self} must work without a question" if self.by == "ssh" else None

    @property
    def restore(self) -> str:
        """The command that puts back what killed runs have left there."""
        told = ("--ssh-options", shlex.join(self.options)) if self.options else ()
        return shlex.join(
            ("tiltyard", "restore", *(("--host", self.host, *told) if self.is_remote else ()))
        )

    @property
    def lookup(self) -> tuple[str, ...]:
        """The command whose answer :meth:`name_in` reads; nothing is reached by it."""
        return (SSH[0], *self.options, "-G", self.host)

    @staticmethod
    def name_in(configuration: str) -> str:
        """Name or address of the host in the network, by ssh's configuration: ssh(1), ``-G``."""
        lines = (line.partition(" ") for line in configuration.splitlines())
        return next(value for key, _, value in lines if key == "hostname")

    def is_lost(self, status: int, complaint: str) -> bool:
        """Whether a command ended so because the host was not reached.

        A signal ends only what leads there: of what is there a shell tells by its status.
        """
        if status < 0 or not self.is_remote:
            return self.is_remote
        return status == _SSH_FAILED if self.by == "ssh" else complaint.startswith(_SRUN_FAILED)

    def after_the_job(self, complaint: str) -> Self | None:
        """The same node where Slurm says that the job is over; else there is no other way."""
        is_over = self.by == "slurm" and _JOB_IS_OVER.search(complaint)
        return replace(self, job="") if is_over else None

    def noise(self, said: str, where: str) -> HostLacksError:
        """The error of a host that prints something where an answer should be."""
        return HostLacksError(
            f'{self}: "{said}" is printed where {where}. '
            "Fix: a login that prints nothing when nobody looks (~/.bashrc)"
        )


THIS_HOST: Final = Address()

HostName = Annotated[str, StringConstraints(pattern=r"^[^-\s]\S*$")]
"""As ssh knows it; it cannot be taken for an option."""
SshOptions = Annotated[
    tuple[str, ...],
    Field(
        strict=False,
        description='Options for ssh, one word each: ["-p", "2222"].',
    ),
]


OTHER: Final = 'The other host as ssh knows it: "user@host".'
"""Help of a setting that names it."""


class Reached(BaseModel):
    """Base of what a study has on another host."""

    host: HostName | None = Field(
        None,
        description='Another host that has the system, as ssh knows it: "user@host". What is '
        "named is there; all of it is done there, and taken back there.",
    )
    ssh_options: SshOptions = ()

    @property
    def address(self) -> Address:
        """That host; this one if none is named."""
        return Address(self.host, self.ssh_options) if self.host else THIS_HOST

    @property
    def options_alone(self) -> str:
        """Key of options that are for no host; empty: there are none."""
        return "ssh_options" if self.ssh_options and not self.host else ""
