"""``tiltyard restore``: put back what a killed run left changed."""

from tiltyard.cli.host_options import THIS, HostOptions


def restore(
    *,
    other: HostOptions = THIS,
) -> int:
    """Restore what a killed run has left changed on this host, or on another one.

    The engine's agent does this when a run is killed, and every run by itself first, on each host
    that it uses. Each change was written down on its host, synced, before it was made; this undoes
    what is still in place, newest first, and says what it could not: then the exit code is 8, the
    record stays, and the same command tries again. What a run keeps to go on with after a boot of
    the host is given up as well.

    ```
    tiltyard restore
    tiltyard restore --host root@server --ssh-options "-p 2222 -i key"
    ```
    """
    from tiltyard.cli.console import remark, tell
    from tiltyard.errors import ExitCode
    from tiltyard.host.ledger import restore as put_back
    from tiltyard.host.place import Place

    found = put_back(Place(other.address))
    for line in found.done:
        tell(line)
    for line in found.left:
        remark(line)
    if found.left:
        return ExitCode.NOT_RESTORED
    if not found.done:
        tell("Nothing to restore.")
    return ExitCode.DONE
