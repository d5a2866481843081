"""Tables for LaTeX: booktabs, longtable where one is long; pdfTeX and LuaTeX alike."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Final

from tiltyard.analysis.model import Findings
from tiltyard.charts.figures import with_unit
from tiltyard.report.document import Column, Document, Entry, Table
from tiltyard.report.formats.format import Format

LONG_ROWS: Final = 40
"""More rows than that do not stand on one page."""
WIDE: Final = 95
"""More characters than that in a row want small print."""
LONG_TEXT: Final = 28
"""Characters in a line of a column of text; longer ones are broken."""
LONG_HEAD: Final = 16
"""The same of a head."""
_TEXT_EM: Final = 42
_NARROWEST_EM: Final = 6
_WIDEST_EM: Final = 18
"""Room for all columns with broken texts together, and for each of them."""

_ESCAPES: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "[": "{[}", "]": "{]}", "*": "{*}",
    "–": "--", "—": "---", "…": r"\dots{}", "−": r"$-$", "±": r"$\pm$", "×": r"$\times$",
    "µ": r"\textmu{}", "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\to$",
    "·": r"\textperiodcentered{}", "†": r"\dag{}", "÷": r"$\div$", "\u00a0": "~", "\u202f": r"\,",
    **{sign: f"$^{digit}$" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}, "⁻": "$^-$",
}  # fmt: skip
"""Signs of LaTeX, and signs that reports use and its old encodings lack."""
_SIGN = re.compile("|".join(map(re.escape, _ESCAPES)))
_LONG_WORD = re.compile(r"\S{17,}")
_PIECE = re.compile(r"\S{1,8}")
_SPACE = re.compile(r"[^\S\u00a0\u202f]+|[\x00-\x1f\x7f]+")

_HEAD = r"""% Needs \usepackage{array,booktabs,graphicx,longtable}
% and, with pdfTeX, \usepackage[T1]{fontenc}.
% Paths are as seen from this folder.
"""
_SKIPS = r"\setlength{\abovecaptionskip}{0pt}\setlength{\belowcaptionskip}{6pt}"
_FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""What is wider than the page is made smaller; nothing is made larger."""


def render(document: Document, _findings: Findings) -> dict[str, bytes]:
    """One file a table, and one that has them all in."""
    tables = {f"tables/{table.id}.tex": _table(table) for table in document.tables()}
    inputs = "".join(f"\\input{{{path.removesuffix('.tex')}}}\n" for path in tables)
    made = "".join(f"% {_tidied(name)}: {_tidied(value)}\n" for name, value in document.colophon)
    files = {"tables.tex": f"{_HEAD}{made}{inputs}", **tables}
    return {path: text.encode() for path, text in files.items()}


def escaped(text: str) -> str:
    """Text in one line that LaTeX prints as it is."""
    return _signs(_tidied(text))


def _tidied(text: str) -> str:
    """In one line, without control characters."""
    return _SPACE.sub(" ", text).strip()


def _signs(text: str) -> str:
    return _SIGN.sub(lambda found: _ESCAPES[found[0]], text)


def _table(table: Table) -> str:
    lines = _long(table) if len(table.rows) > LONG_ROWS else _short(table)
    return "\n".join((*lines, ""))


def _short(table: Table) -> Iterator[str]:
    yield r"\begin{table}[htbp]"
    yield from _looks(table)
    yield rf"\caption{{{_caption(table)}}}\label{{tab:{table.id}}}"
    yield _FITTED
    yield rf"\begin{{tabular}}{{{_alignment(table)}}}"
    yield from (r"\toprule", *_heads(table.columns), r"\midrule")
    yield from _body(table)
    yield from (r"\bottomrule", r"\end{tabular}}", r"\end{table}")


def _long(table: Table) -> Iterator[str]:
    """Over several pages: the heads are repeated."""
    heads = (r"\toprule", *_heads(table.columns), r"\midrule")
    yield from (r"\begingroup", *_looks(table))
    yield rf"\begin{{longtable}}{{{_alignment(table)}}}"
    yield rf"\caption{{{_caption(table)}}}\label{{tab:{table.id}}}\\"
    yield from (*heads, r"\endfirsthead", *heads, r"\endhead", r"\bottomrule", r"\endfoot")
    yield from _body(table)
    yield from (r"\end{longtable}", r"\endgroup")


def _looks(table: Table) -> tuple[str, ...]:
    wide = _is_wide(table)
    return (rf"\centering{_SKIPS}", *((r"\scriptsize\setlength{\tabcolsep}{3pt}",) if wide else ()))


def _caption(table: Table) -> str:
    title = table.title if table.title.endswith((".", "?", "!")) else f"{table.title}."
    return escaped(f"{title} {table.caption}")


def _alignment(table: Table) -> str:
    """Figures to the right, texts to the left; long texts in lines of one width."""
    long = [_is_long(table, place) for place in range(len(table.columns))]
    width = min(_WIDEST_EM, max(_NARROWEST_EM, _TEXT_EM // max(1, sum(long))))
    broken = rf">{{\raggedright\arraybackslash}}p{{{width}em}}"
    return "".join(
        "r" if column.figures else broken if is_long else "l"
        for column, is_long in zip(table.columns, long, strict=True)
    )


def _is_wide(table: Table) -> bool:
    """By the longest line of each column, and two blanks."""
    rows = (
        [max(_head_lines(column), key=len, default="") for column in table.columns],
        *([entry.text for entry in row] for row in table.rows),
    )
    return sum(2 + min(LONG_TEXT, max(map(len, own))) for own in zip(*rows, strict=True)) > WIDE


def _is_long(table: Table, place: int) -> bool:
    return any(len(row[place].text) > LONG_TEXT for row in table.rows)


def _heads(columns: Sequence[Column]) -> Iterator[str]:
    """The line above heads, where columns belong together, and the heads themselves."""
    if any(column.under for column in columns):
        yield from _above(columns)
    yield _line(map(_head, columns))


def _head(column: Column) -> str:
    """A long head is a small table of lines."""
    lines = [escaped(line) for line in _head_lines(column)]
    if len(lines) < 2:
        return "".join(lines)
    side = "r" if column.figures else "l"
    broken = r"\\".join(lines)
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{broken}\end{{tabular}}"


def _head_lines(column: Column) -> list[str]:
    return wrap(
        with_unit(column.head, column.unit),
        LONG_HEAD,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _above(columns: Sequence[Column]) -> Iterator[str]:
    cells, rules, place = [], [], 1
    for under, own in groupby(columns, key=lambda column: column.under):
        count = len(list(own))
        if under:
            cells.append(rf"\multicolumn{{{count}}}{{c}}{{{escaped(under)}}}")
            rules.append(rf"\cmidrule(lr){{{place}-{place + count - 1}}}")
        else:
            cells += [""] * count
        place += count
    yield _line(cells)
    yield "".join(rules)


def _body(table: Table) -> Iterator[str]:
    closing = len(table.rows) - table.closing
    small = r"\tiny" if _is_wide(table) else r"\footnotesize"
    for number, row in enumerate(table.rows):
        if number == closing and number:
            yield r"\midrule"
        yield _line(_entry(entry) for entry in row)
        if any(entry.beneath for entry in row):
            yield _line(_beneath(entry, small) for entry in row)
            yield r"\addlinespace[2pt]"


def _entry(entry: Entry) -> str:
    """Words that are longer than a narrow column (hashes, versions) may be broken anywhere."""
    text = _breakable(entry.text)
    return rf"\textbf{{{text}}}" if entry.strong and text else text


def _breakable(text: str) -> str:
    pieces = _LONG_WORD.sub(lambda word: "\0".join(_PIECE.findall(word[0])), _tidied(text))
    return r"\allowbreak{}".join(map(_signs, pieces.split("\0")))


def _beneath(entry: Entry, small: str) -> str:
    """With the verdict of a figure, which has a sign elsewhere."""
    if not entry.beneath:
        return ""
    verdict = f" ({entry.verdict})" if entry.verdict and entry.verdict != entry.text else ""
    return rf"{{{small} {escaped(entry.beneath + verdict)}}}"


def _line(cells: "Iterator[str] | Sequence[str]") -> str:
    return rf"{' & '.join(cells)} \\"


FORMAT = Format(
    name="latex",
    about="tables for LaTeX (booktabs), one file each, to be put into a paper",
    file="tables.tex",
    render=render,
)
