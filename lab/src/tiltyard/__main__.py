"""The command ``tiltyard``, and ``python -m tiltyard``."""

import resource
import sys

# Where files may have so many bytes and no more, Python keeps compiled modules cut off, for all.
sys.dont_write_bytecode |= resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY


def main() -> None:
    """Run the command line; Ctrl-C while it loads is answered like any later one."""
    if sys.argv[1:] == ["--version"] and _told_version():
        return
    try:
        from tiltyard import cli
    except KeyboardInterrupt:
        from tiltyard.errors import ExitCode

        sys.stderr.write("tiltyard: interrupted\n")
        sys.exit(int(ExitCode.INTERRUPTED))
    cli.main()


def _told_version() -> bool:
    """Whether it could be printed: all that tells why not takes five times as long to load."""
    from tiltyard import __version__

    try:
        sys.stdout.write(f"{__version__}\n")
        sys.stdout.flush()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
