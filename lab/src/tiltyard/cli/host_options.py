"""Options that name the host that is meant."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

if TYPE_CHECKING:
    from tiltyard.address import Address


@Parameter(name="*")
@dataclass(frozen=True)
class HostOptions:
    """Options of where.

    Attributes:
        host: Another host, as ssh knows it: "user@host".
        ssh_options: Options for ssh, as one would type them there.
    """

    host: str | None = None
    ssh_options: Annotated[str, Parameter(allow_leading_hyphen=True)] = ""

    @property
    def address(self) -> "Address":
        """How it is reached.

        Raises:
            UsageError: if there is no host for the options, or they cannot be read.
        """
        import shlex

        from tiltyard.address import Address
        from tiltyard.errors import UsageError

        if self.ssh_options and not self.host:
            raise UsageError("--ssh-options goes with --host")
        try:
            return Address(self.host or "", tuple(shlex.split(self.ssh_options)))
        except ValueError as error:
            text = f'--ssh-options "{self.ssh_options}": {error}'
            raise UsageError(text) from None


THIS: Final = HostOptions()
"""The default: this host."""
