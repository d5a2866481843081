"""The command ``tiltyard``, and ``python -m tiltyard``."""

import sys

from tiltyard.errors import ExitCode


def main() -> None:
    """Run the command line; Ctrl-C while it loads is answered like any later one."""
    try:
        from tiltyard import cli
    except KeyboardInterrupt:
        sys.stderr.write("tiltyard: interrupted\n")
        sys.exit(int(ExitCode.INTERRUPTED))
    cli.main()


if __name__ == "__main__":
    main()
