"""How Tiltyard fails: one line that says what is wrong and what would be right, and a code."""

from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """Exit codes of every command; ``docs/reference/exit-codes.md`` is made of this table."""

    DONE = 0, "done"
    INTERNAL = 1, "internal error: a defect of Tiltyard"
    USAGE = 2, "usage or study file: the message names file, line and key"
    HOST_LACKS = 3, "the host lacks something: the message says what to install or do"
    REFUSED = 4, "refused for safety"
    TRIALS_FAILED = 5, "trials failed, or a comparison is invalid: the study is incomplete"
    UNDECIDED = 6, "undecided within the budget: gate, and others with --require-decision"
    REGRESSION = 7, "gate: regression"
    NOT_RESTORED = 8, "something on the host could not be put back: each is named"
    BOOTING = 9, "the host is being booted; the run goes on by itself after that"
    INTERRUPTED = 130, "interrupted; the same command again goes on"

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "ExitCode":
        """Give each code its one-line meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member


MALFORMED: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)
"""What reading a text raises that is none of those that are expected."""


class WrittenWarning(UserWarning):
    """Something about what a person wrote that they should know; it goes on."""


class HiddenProfileWarning(WrittenWarning):
    """Several workload profiles have one name; the nearest counts."""


class EditorsTextWarning(WrittenWarning):
    """A text of ``report.toml`` says what the report does not bear out."""


class TiltyardError(Exception):
    """An error that a person can act on; printed as one line, without a traceback."""

    exit_code = ExitCode.INTERNAL


class UsageError(TiltyardError):
    """A command line or a file that says something Tiltyard does not understand."""

    exit_code = ExitCode.USAGE


class HostLacksError(TiltyardError):
    """The host lacks a tool, a privilege or a feature; the message names the remedy."""

    exit_code = ExitCode.HOST_LACKS


class UnreachableError(HostLacksError):
    """Another host is not reached: down, gone from the network, or it does not let us in."""


class RefusedError(TiltyardError):
    """Tiltyard will not do this because something could be lost."""

    exit_code = ExitCode.REFUSED


class BusyError(RefusedError):
    """Another run or program has it at this moment; what is refused now may pass later."""


class TrialsFailedError(TiltyardError):
    """Trials failed, so the study cannot answer its question."""

    exit_code = ExitCode.TRIALS_FAILED


class NotRestoredError(TiltyardError):
    """Something that was changed on the host stays changed; the message names it."""

    exit_code = ExitCode.NOT_RESTORED


class BootingError(TiltyardError):
    """A run has asked for the host to be booted and goes on after that."""

    exit_code = ExitCode.BOOTING


class InterruptedRunError(TiltyardError):
    """A person or a signal ended the run; everything finished is on disk."""

    exit_code = ExitCode.INTERRUPTED
