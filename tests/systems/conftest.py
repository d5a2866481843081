"""Each test has a ledger of its own, and leaves nothing behind on the host."""

from support.far import far, far_host, far_server
from support.hosts import nothing_is_left, state

__all__ = ["far", "far_host", "far_server", "nothing_is_left", "state"]
