"""``tiltyard restore``: put back what a killed run left changed."""


def restore() -> int:
    """Restore what a killed run has left changed on this host.

    Every run does this by itself first. Each change was written down, synced, before it was made;
    this undoes what is still in place, newest first, and says what it could not: then the exit
    code is 8, the record stays, and the same command tries again. What a run keeps to go on with
    after a boot of the host is given up as well.

    ```
    tiltyard restore
    ```
    """
    from tiltyard.cli.console import remark, say
    from tiltyard.errors import ExitCode
    from tiltyard.host.ledger import restore as put_back

    found = put_back()
    for line in found.done:
        say(line)
    for line in found.left:
        remark(line)
    if found.left:
        return ExitCode.NOT_RESTORED
    if not found.done:
        say("Nothing to restore.")
    return ExitCode.DONE
