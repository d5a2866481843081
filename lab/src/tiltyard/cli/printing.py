"""What a verb prints: words for people, or one JSON document; and what it says beside it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from tiltyard.cli.console import emit_json, err

if TYPE_CHECKING:
    from pydantic import BaseModel


@Parameter(name="*")
@dataclass(frozen=True)
class Printing:
    """Options of what is printed.

    Attributes:
        json: Print one JSON document in place of words; its schema is in `schema/`.
        quiet: Print neither progress nor remarks; results, warnings and errors are printed.
    """

    json: bool = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False

    def begin(self) -> None:
        """Be quiet from here on, if that is asked for."""
        err().quiet = self.quiet

    def emit(self, document: "BaseModel") -> bool:
        """Print a document if JSON is asked for; whether it was."""
        if self.json:
            emit_json(document.model_dump_json(indent=2))
        return self.json


WORDS: Final = Printing()
"""The default: words, with progress."""
