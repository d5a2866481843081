"""Tables for LaTeX: whole, and with nothing in them that acts."""

import re

import pytest

from support.documents import everything
from support.specimen import findings as specimen
from tiltyard.report.document import Column, Document, Entry, Table
from tiltyard_press.formats.latex import LONG_ROWS, escaped, render

FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
BROKEN = re.compile(r">\{\\raggedright\\arraybackslash\}p\{\d+em\}")
_COMMAND = re.compile(r"\\([a-zA-Z]+|.)", re.DOTALL)
KNOWN = re.compile(
    r"begin|end|caption|label|centering|toprule|midrule|bottomrule|cmidrule|multicolumn|textbf|resizebox|ifdim|"
    r"footnotesize|scriptsize|tiny|allowbreak|setlength|tabcolsep|begingroup|endgroup|endfirsthead|endhead|endfoot|"
    r"textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textquotedbl|"
    r"textasciigrave|textquotesingle|textmu|textperiodcentered|dots|pm|times|leq|geq|approx|to|"
    r"div|width|linewidth|else|fi|abovecaptionskip|belowcaptionskip|addlinespace|raggedright|"
    r"arraybackslash|[&%$#_{},\\]"
)


def check(text: str) -> None:
    """What a TeX engine would stop at: braces, environments, unknown commands, cells in rows."""
    assert [name for name in _COMMAND.findall(text) if not KNOWN.fullmatch(name)] == []
    text = BROKEN.sub("l", text.replace(FITTED, "{"))
    open_environments = []
    for verb, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if verb == "begin":
            open_environments.append(name)
        else:
            assert open_environments.pop() == name
    assert open_environments == []
    columns = len(re.findall(r"\\begin\{(?:tabular|longtable)\}\{([lr]+)\}", text)[0])
    plain = _COMMAND.sub(lambda found: "" if found[1] in "&%$#_{}" else found[0], text)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert not re.search(r"[%#_^~<>|\"]", re.sub(r"\\(?:label|begin|end)\{[^}]*\}", "", plain))
    for line in plain.splitlines():
        if line.endswith(r" \\"):
            spans = [int(count) for count in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            assert line.count("&") + 1 + sum(spans) - len(spans) == columns, line


def only(table: Table) -> str:
    document = Document(style="study", title="t", front=(table,))
    return render(document, specimen(blocks=2))[f"tables/{table.id}.tex"].decode()


def test_a_table_as_it_is_written() -> None:
    files = render(everything(), specimen(blocks=2))
    assert files["tables/throughput-systems.tex"].decode().splitlines()[5:18] == [
        r"\toprule",
        r" & \multicolumn{2}{c}{Out-of-box} &  \\",
        r"\cmidrule(lr){2-3}",
        r"System & write, MB/s & read, MB/s & verdict \\",
        r"\midrule",
        r"ext4 & 14.1 & 30.0 & baseline \\",
        r" & {\footnotesize $\pm$ 0.2} &  &  \\",
        r"\addlinespace[2pt]",
        r"xfs & \textbf{18.4} & -- & faster \\",
        r"\midrule",
        r"average & 16.3 & 30.0 &  \\",
        r"\bottomrule",
        r"\end{tabular}}",
    ]


def test_one_file_has_them_all_in() -> None:
    files = render(everything(), specimen(blocks=2))
    inputs = re.findall(r"\\input\{(.+)\}", files["tables.tex"].decode())
    assert [f"{path}.tex" for path in inputs] == list(files)[1:]
    for path in inputs:
        check(files[f"{path}.tex"].decode())


def test_a_long_table_breaks_over_pages_and_repeats_its_heads() -> None:
    columns = (Column("record", "KiB"), *(Column(f"{n}", "MB/s", under="x") for n in range(9)))
    row = tuple(Entry(str(n), float(n)) for n in range(10))
    short = only(Table("t", "Title", columns, (row,) * LONG_ROWS))
    long = only(Table("t", "Title", columns, (row,) * (LONG_ROWS + 1), closing=1))
    check(short)
    check(long)
    assert r"\begin{tabular}" in short
    assert long.index(r"\endfirsthead") < long.index(r"\endhead") < long.index(r"0 & 1 & 2")
    assert long.count("record, KiB") == 2
    assert long.count(r"\toprule") == 2


def test_long_texts_are_broken_and_wide_tables_are_small() -> None:
    columns = (Column("system", figures=False), *(Column(f"{n}", "MB/s") for n in range(12)))
    wide = only(
        Table("t", "Title", columns, ((Entry("x" * 29, beneath="y"), *(Entry("1"),) * 12),))
    )
    narrow = only(Table("t", "Title", columns[:2], ((Entry("x" * 28, beneath="y"), Entry("1")),)))
    check(wide)
    assert BROKEN.search(wide)
    assert not BROKEN.search(narrow)
    assert (r"\scriptsize" in wide, r"\scriptsize" in narrow) == (True, False)
    assert r"{\tiny y}" in wide
    assert r"{\footnotesize y}" in narrow


def test_a_long_head_is_several_lines() -> None:
    columns = (Column("system", figures=False), Column("Linux 3.13 Git Btrfs", "MB/s"))
    text = only(Table("t", "Title", columns, ((Entry("ext4"), Entry("1")),)))
    check(text)
    assert (
        r"system & \begin{tabular}[b]{@{}r@{}}Linux 3.13 Git\\Btrfs, MB/s\end{tabular} \\" in text
    )


@pytest.mark.parametrize(
    "text",
    [
        r"\input{/etc/passwd} \end{table}",
        "% & $x^2$ # _ { } ~ ^ \\",
        "a ] [2em] * ` ' \" < > |",
        "100 µs ± 3 × 4 ≤ 5 − 6 … “x”",
        "line\nbreak\\\\ and \x07 bell",
    ],
)
def test_a_text_with_signs_of_latex_is_printed(text: str) -> None:
    columns = (Column(text, text, under=text), Column("b", figures=False))
    check(only(Table("t", text, columns, ((Entry(text, beneath=text), Entry(text, strong=True)),))))
    assert "\n" not in escaped(text)
