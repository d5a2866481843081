"""Markdown → blocks of a document (CommonMark with tables, https://spec.commonmark.org/0.31.2/)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tiltyard.report.document import (
    Block,
    Callout,
    Column,
    Commands,
    Entry,
    Paragraph,
    Sentences,
    Table,
)

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_REFUSED: Final = {
    "html_block": "HTML is not printed in PDF and tables. Fix: write Markdown, or plain words",
    "html_inline": "HTML is not printed in PDF and tables. Fix: write Markdown, or plain words",
    "image": "pictures are not embedded here. Fix: take the picture out; a logo goes to [look]",
    "heading": "headings would break the report's outline. Fix: use the key title of [[text]]",
}


class UnfitMarkdownError(Exception):
    """A text has something that not every format prints.

    Attributes:
        line: counted from 0 in the text.
    """

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def blocks(text: str, id: str) -> tuple[Block, ...]:
    """What a text says, for every format.

    Args:
        text: Markdown.
        id: unique in the document; its tables begin with it.

    Raises:
        UnfitMarkdownError: if it has HTML, pictures or headings.
    """
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    root = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text))
    for node in root.walk():
        if node.type in _REFUSED:
            raise UnfitMarkdownError(_line(node), _REFUSED[node.type])
    return tuple(_blocks(root.children, id))


def _line(node: "SyntaxTreeNode") -> int:
    while node.map is None and node.parent is not None:
        node = node.parent
    return node.map[0] if node.map else 0


def _blocks(nodes: "Sequence[SyntaxTreeNode]", id: str) -> Iterator[Block]:
    for place, node in enumerate(nodes, 1):
        match node.type:
            case "paragraph":
                yield Paragraph(plain(node))
            case "bullet_list" | "ordered_list":
                marks = node.type == "ordered_list"
                items = (plain(item) for item in node.children)
                yield Sentences(
                    tuple(f"{n}. {one}" if marks else one for n, one in enumerate(items, 1))
                )
            case "fence" | "code_block":
                yield Commands(tuple(node.content.rstrip("\n").split("\n")))
            case "blockquote":
                yield Callout("note", "Quotation", tuple(_blocks(node.children, f"{id}-{place}")))
            case "table":
                yield _table(node, f"{id}-{place}")


def _table(node: "SyntaxTreeNode", id: str) -> Table:
    rows = [
        [plain(cell) for cell in row.children] for part in node.children for row in part.children
    ]
    head, *body = rows
    return Table(
        id=id,
        title="The authors' table",
        columns=tuple(Column(text, figures=False) for text in head),
        rows=tuple(tuple(Entry(text) for text in row) for row in body),
    )


def plain(node: "SyntaxTreeNode") -> str:
    """The words of a node, in one line; an address stands behind what links to it."""
    match node.type:
        case "text" | "code_inline":
            return node.content
        case "softbreak" | "hardbreak":
            return " "
        case "link":
            words, address = _joined(node), str(node.attrs.get("href", ""))
            return words if words == address else f"{words} ({address})"
    inner = " " if node.type in ("list_item", "bullet_list", "ordered_list") else ""
    return inner.join(plain(child) for child in node.children).strip() if inner else _joined(node)


def _joined(node: "SyntaxTreeNode") -> str:
    return "".join(plain(child) for child in node.children)
