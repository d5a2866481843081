"""The reference page of the statistics, from their docstrings."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import tiltyard.stats

_SECTION = re.compile(r"^(Args|Returns|Raises):$", re.M)
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
_HEAD = """# Statistics

`tiltyard.stats` is a library of its own: arrays in, frozen dataclasses out. It knows nothing of studies,
files or reports, and each function names its source.

```python
import numpy as np
from tiltyard.stats.signed_rank import largest_c, signed_rank

differences = np.log([1.30, 1.34, 1.24, 1.31, 1.39, 1.29, 1.33])
found = signed_rank(differences, largest_c(len(differences), alpha=0.05))
np.exp([found.estimate, found.low, found.high])  # 1.31, 1.27 … 1.36
```
"""


def page() -> str:
    """Every public name, by the file that it is in."""
    modules = sorted(tiltyard.stats.PUBLIC.items())
    return _HEAD + "".join(_module(name, names.split()) for name, names in modules)


def _module(name: str, names: list[str]) -> str:
    module = import_module(f"{tiltyard.stats.__name__}.{name}")
    text = f"\n## {name}\n\n{_prose(inspect.getdoc(module) or '')}\n"
    things = [getattr(module, name) for name in names]
    for thing in sorted(things, key=lambda thing: inspect.getsourcelines(thing)[1]):
        text += _dataclass(thing) if inspect.isclass(thing) else _function(thing)
    return text


def _function(function: Any) -> str:
    parameters = ", ".join(map(str, inspect.signature(function).parameters))
    before, *sections = _SECTION.split(inspect.getdoc(function) or "")
    text = f"\n### `{function.__name__}({parameters})`\n\n{_prose(before)}\n"
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        entries, _, after = body.strip("\n").partition("\n\n")
        text += f"\n{title}:\n\n{_entries(entries)}\n"
        text += f"\n{_prose(after)}\n" if after.strip() else ""
    return text


def _dataclass(thing: type) -> str:
    text = f"\n### class `{thing.__name__}`\n\n{_prose(inspect.getdoc(thing) or '')}\n"
    fields = "".join(
        f"- `{name}`" + (f": {_prose(meaning)}\n" if meaning else "\n")
        for name, meaning in _fields(thing)
    )
    return f"{text}\n{fields}" if fields else text


def _fields(thing: type) -> Iterator[tuple[str, str]]:
    """Fields of a dataclass with the docstrings below them."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(definition, ast.ClassDef)
    for own, below in zip(definition.body, [*definition.body[1:], None], strict=True):
        if isinstance(own, ast.AnnAssign) and isinstance(own.target, ast.Name):
            said = below.value.value if _is_text(below) else ""
            yield own.target.id, inspect.cleandoc(said)


def _is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _entries(body: str) -> str:
    """``name: meaning`` with continuation lines, as a list."""
    lines = []
    for line in textwrap.dedent(body).splitlines():
        if line.startswith(" "):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    if not all(re.match(r"\w+: ", line) for line in lines):
        return _prose(" ".join(lines))
    return "\n".join(
        f"- `{name}`: {_prose(meaning)}"
        for name, meaning in (line.split(": ", 1) for line in lines)
    )


def _prose(text: str) -> str:
    """Without what only Sphinx reads."""
    plain = _ROLE.sub(r"``\1``", text.strip())
    return plain.replace("::\n", ":\n").replace("``", "`")
