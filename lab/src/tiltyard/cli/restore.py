"""``tiltyard restore``: put back what a killed run left changed."""


def restore() -> int:
    """Put back whatever a killed run has left changed on this host.

    Every run does this by itself first. Each change was written down, synced, before it was made;
    this undoes what is still in place and says what it could not.

    ```
    tiltyard restore
    ```
    """
    from tiltyard.cli.console import say
    from tiltyard.errors import ExitCode
    from tiltyard.host.ledger import recover

    lines = recover()
    say("\n".join(lines) if lines else "Nothing to put back.")
    return ExitCode.DONE
