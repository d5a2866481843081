"""Records the originals on PATH: ``python -m support.record_originals [iozone ...]`` in tests/.

Executes every command line that a file in ``tests/oracle/recorded`` names and writes its calls,
exit code and printed form beside it. Of a command line with a ``why``, which ours executes in
another way on purpose, it writes ours too. To record another one, add its ``argv`` first.
"""

import json
import platform
import sys
from typing import Any

from support.recordings import Original, compressed, originals, ours, theirs


def main(names: list[str]) -> None:
    """Record the originals of these names, or all."""
    for original in originals():
        if (names and original.path.stem not in names) or not original.is_installed():
            continue
        libc = " ".join(platform.libc_ver())
        machine = f"{platform.system()} {platform.release()} {platform.machine()}, {libc}"
        lines = [_recorded(original, at) for at in range(len(original.recordings))]
        facts = {**original.facts, "machine": machine, "line": lines}
        original.path.write_text(toml(facts))


def _recorded(original: Original, at: int) -> dict[str, Any]:
    recording = original.recordings[at]
    execution = theirs(recording)
    line = {
        **original.facts["line"][at],
        "exit": execution.exit_code,
        "calls": compressed(recording.words(execution.calls)),
        "prints": recording.form(original.printed(execution)),
    }
    if original.server:
        line["server"] = compressed(recording.words(execution.server))
    if recording.why:
        mine = ours(recording)
        line["ours_exit"] = mine.exit_code
        line["ours_calls"] = compressed(recording.words(mine.calls))
        if original.server:
            line["ours_server"] = compressed(recording.words(mine.server))
        line["ours_prints"] = recording.form(mine.stdout)
    return line


def toml(facts: dict[str, Any]) -> str:
    """Values first, then tables; text of several lines as such."""
    values = [f"{name} = {_value(value)}" for name, value in facts.items() if not _is_table(value)]
    tables = [
        f"\n[[{name}]]\n{toml(entry)}"
        for name, value in facts.items()
        if _is_table(value)
        for entry in value
    ]
    return "\n".join(values) + "\n" + "".join(tables)


def _is_table(value: object) -> bool:
    return isinstance(value, list)


def _value(value: object) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f'"{name}" = {json.dumps(each)}' for name, each in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    text = str(value)
    assert "'''" not in text
    if text.endswith("\n"):
        return f"'''\n{text}'''"
    return json.dumps(text) if "\n" in text or "'" in text else f"'{text}'"


if __name__ == "__main__":
    main(sys.argv[1:])
