"""The program that draws: a question a line of input, its answer a line of output, both JSON.

It is executed as a file, so that nothing else of ours is in its memory: a JavaScript engine takes
as much as all the rest of a small study, and gives none of it back before it ends.
"""

import json
import sys
from base64 import b64encode

import vl_convert


def main(fonts: str) -> None:
    """Answer until there are no more questions: ``[function, text, options]``.

    Args:
        fonts: the folder of our own typeface, which is used whatever this host has.
    """
    vl_convert.register_font_directory(fonts)
    for line in sys.stdin:
        function, text, options = json.loads(line)
        try:
            made = getattr(vl_convert, function)(text, **options)
            answer = {"made": made if isinstance(made, str) else b64encode(made).decode()}
        except ValueError as error:
            answer = {"flaw": str(error)}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
