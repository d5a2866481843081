"""``tiltyard explain``: what a word, a key or an exit code means."""

from typing import Annotated

from cyclopts import Parameter

from tiltyard.cli.completers import words as known_words
from tiltyard.cli.printing import WORDS, Printing


def explain(
    *words: Annotated[str, Parameter(completer=known_words)], printing: Printing = WORDS
) -> None:
    """Say what a word, a key of a study, a setting or an exit code means.

    Of a longer text, such as a message, the words of Tiltyard in it are explained. Without any, all
    words are listed.

    ```
    tiltyard explain undecided
    tiltyard explain 6                          # an exit code
    tiltyard explain equivalent_within          # a key
    tiltyard explain "block 3 is disturbed: it is kept"
    ```

    Args:
        words: What is to be explained.
        printing: Options of what is printed.
    """
    from rich.padding import Padding
    from rich.text import Text

    from tiltyard.app.explain import Explained, glossary
    from tiltyard.app.explain import explain as explained
    from tiltyard.cli.console import show

    asked = " ".join(words)
    found = explained(asked) if asked else Explained(asked="", meanings=glossary())
    if printing.emit(found):
        return
    for one in found.meanings:
        sort = "" if one.sort == "word" else f"  {one.sort}"
        show(Text.assemble((one.word, "bold"), (sort, "dim")))
        see = f" See docs/{one.see}." if one.see else ""
        says = f"{one.says.rstrip('.')}."
        show(Padding(Text(f"{says[0].upper()}{says[1:]}{see}"), (0, 0, 0, 2)))
