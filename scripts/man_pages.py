"""Man pages of the verbs, made of the generated reference of the command line (man-pages(7))."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from tiltyard.errors import ExitCode

_HEADING = re.compile(r"^## (tiltyard [\w-]+)$", re.M)
_SECTION = re.compile(r"\*\*(Arguments|Parameters|Commands)\*\*:")
_FILES = (
    ("study.toml", "the question, as a person wrote it"),
    ("plan.json", "systems, workloads, order and seed, frozen"),
    ("journal.jsonl, trials/", "what happened, event by event, and each trial verbatim"),
    ("findings.json, report/", "what the analysis states, and the report"),
    ("/var/lib/tiltyard, ~/.local/state/tiltyard", "what is changed on the host; TILTYARD_STATE"),
)


def pages(reference: str) -> dict[str, str]:
    """File name → page, of the whole program and of each verb.

    Args:
        reference: docs/reference/command-line.md.
    """
    front, *parts = _HEADING.split(reference)
    names, bodies = parts[::2], parts[1::2]
    verbs = [name.replace(" ", "-") for name in names]
    made = {"tiltyard.1": _front(front, verbs)}
    for verb, body in zip(verbs, bodies, strict=True):
        made[f"{verb}.1"] = "".join(_page(verb, body, ("tiltyard",)))
    return made


def _front(text: str, verbs: list[str]) -> str:
    """The page of the program: what all verbs share stands here."""
    text = re.sub(r"^## Table of Contents\n.*?(?=^\*\*)", "", text, flags=re.M | re.S)
    text = re.sub(r"\A.*?^# tiltyard\n", "", text, flags=re.M | re.S)
    made = "".join(_page("tiltyard", text, ()))
    made += ".SH EXIT STATUS\n"
    for code in ExitCode:
        made += f".TP\n.B {code.value}\n{_escaped(code.meaning)}\n"
    made += ".SH FILES\n"
    for name, about in _FILES:
        made += f".TP\n.I {_escaped(name)}\n{_escaped(about)}\n"
    return made + _see_also(verbs)


def _page(name: str, text: str, see: tuple[str, ...]) -> Iterator[str]:
    nodes = SyntaxTreeNode(MarkdownIt().parse(text)).children
    about = next(_plain(node) for node in nodes if node.type == "paragraph")
    yield f'.TH {name.upper()} 1 "" "Tiltyard" "Tiltyard"\n'
    yield f".SH NAME\n{_escaped(name)} \\- {_escaped(about.rstrip('.'))}\n"
    synopsis, *rest = nodes
    yield f".SH SYNOPSIS\n.B {_escaped(synopsis.content.strip())}\n.SH DESCRIPTION\n"
    for node in rest:
        yield from _block(node)
    if see:
        yield _see_also(see)


def _see_also(names: tuple[str, ...] | list[str]) -> str:
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {_escaped(name)} (1)" for name in names) + "\n"


def _block(node: SyntaxTreeNode) -> Iterator[str]:
    """A paragraph, an example, a list of options, as roff."""
    if node.type == "paragraph":
        if found := _SECTION.fullmatch(node.children[0].content):
            yield f".SH {'OPTIONS' if found[1] == 'Parameters' else found[1].upper()}\n"
        else:
            yield f".PP\n{_inline(node.children[0])}\n"
    elif node.type == "fence":
        lines = "\n".join(map(_escaped, node.content.rstrip().splitlines()))
        yield f".PP\n.RS 4\n.EX\n{lines}\n.EE\n.RE\n"
    elif node.type == "bullet_list":
        for item in node.children:
            first, *rest = item.children[0].children[0].children
            text = "".join(map(_inline, rest)).removeprefix(":").strip()
            yield f".TP\n{_inline(first)}\n{_started(text)}\n"
    else:
        raise ValueError(f"no way to print {node.type} in a man page")


def _inline(node: SyntaxTreeNode) -> str:
    if node.type == "text":
        return _escaped(node.content)
    if node.type == "code_inline":
        return f"\\fB{_escaped(node.content)}\\fR"
    if node.type in ("softbreak", "hardbreak"):
        return " "
    font = {"strong": "B", "em": "I"}.get(node.type)
    text = "".join(map(_inline, node.children))
    return f"\\f{font}{text}\\fR" if font else _started(text)


def _plain(node: SyntaxTreeNode) -> str:
    return " ".join(node.children[0].content.replace("`", "").split())


def _escaped(text: str) -> str:
    """Text that roff prints as it is."""
    return _started(text.replace("\\", "\\e").replace("-", "\\-"))


def _started(text: str) -> str:
    """No line of text is taken for a command of roff."""
    return f"\\&{text}" if text.startswith((".", "'")) else text
