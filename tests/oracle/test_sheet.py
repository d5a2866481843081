"""What `iozone -b` writes is read by a library for spreadsheets."""

import subprocess
from pathlib import Path

import openpyxl

from tiltyard.executors.engine import Engine


def test_a_workbook_has_the_rows_of_the_table(tmp_path: Path) -> None:
    line = "classic iozone -R -s 64k -r 4k -i 0 -i 1 -b sheet.xlsx"
    call = [Engine.find().path, *line.split()]
    printed = subprocess.run(call, cwd=tmp_path, check=True, capture_output=True, text=True)
    page = openpyxl.load_workbook(tmp_path / "sheet.xlsx").active
    assert page is not None
    cells = [cell for row in page.iter_rows(values_only=True) for cell in row if cell is not None]
    assert "-b sheet.xlsx" in str(cells[0])
    rates = [cell for cell in cells if isinstance(cell, int | float) and cell > 1000]
    assert len(rates) == 4, cells
    assert all(str(round(rate)) in printed.stdout for rate in rates), printed.stdout
