//! The matrices of -R and of the spreadsheet: for each column of the table, files by records.

use super::columns::{Column, Test};
use super::table::Table;
use crate::sheet::{Cell, Sheet};

/// One row: size of the file, and the figures of records no larger than it.
type Row = (u64, Vec<f64>);

/// The matrices as text.
pub fn text(table: &Table, tests: &[&'static Test]) -> String {
    let mut text = "Excel output is below:\n".to_owned();
    for column in columns(tests) {
        text += &format!("\n\"{} report\"\n      ", column.report);
        for record in &table.records {
            text += &format!("  \"{}\"", record / 1024);
        }
        text.push('\n');
        for (file, figures) in rows(table, column) {
            text += &format!("\"{}\"  ", file / 1024);
            for figure in figures {
                text += &format!(" {figure:.0} ");
            }
            text.push('\n');
        }
    }
    text
}

/// The matrices as a spreadsheet. `line` is the command line, `unit` that of the figures.
pub fn sheet(table: &Table, tests: &[&'static Test], line: &str, unit: &str) -> Sheet {
    let words = |text: &str| vec![Cell::Text(text.to_owned())];
    let mut sheet = Sheet::default();
    sheet.push(words(line));
    sheet.push(Vec::new());
    let caption = "file sizes in kB to the left, record sizes in kB at the top";
    sheet.push(words(&format!("Figures in {unit}, {caption}")));
    for column in columns(tests) {
        sheet.push(words(&format!("{} Report", capitalised(column.report))));
        let records = table.records.iter().map(|record| (record / 1024) as f64);
        sheet.push(row(Cell::Empty, records));
        for (file, figures) in rows(table, column) {
            let file = Cell::Number((file / 1024) as f64);
            sheet.push(row(file, figures.into_iter()));
        }
    }
    sheet
}

/// Each word with one capital, as the original has titles in spreadsheets: `Re-Reader` is
/// `Re-reader` there.
fn capitalised(title: &str) -> String {
    let words = title.split(' ').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + &rest.to_lowercase()
    });
    words.collect::<Vec<_>>().join(" ")
}

fn row(first: Cell, figures: impl Iterator<Item = f64>) -> Vec<Cell> {
    std::iter::once(first)
        .chain(figures.map(Cell::Number))
        .collect()
}

fn columns(tests: &[&'static Test]) -> impl Iterator<Item = &'static Column> {
    let tests: Vec<&'static Test> = tests.to_vec();
    tests.into_iter().flat_map(|test| test.columns)
}

/// What was not measured (a record that was crossed over, a pass left out) is 0.
fn rows(table: &Table, column: &Column) -> Vec<Row> {
    let figure = |file: u64, record: u64| {
        let found = table.figures.iter().find(|figure| {
            (figure.file, figure.record) == (file, record) && figure.metric == column.metric
        });
        found.map_or(0.0, |figure| figure.value)
    };
    let files = table
        .files
        .iter()
        .filter(|&&file| table.figures.iter().any(|figure| figure.file == file));
    files
        .map(|&file| {
            let records = table.records.iter().filter(|&&record| record <= file);
            (file, records.map(|&record| figure(file, record)).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::table;
    use super::*;

    #[test]
    fn there_is_a_matrix_for_each_column_with_zeros_for_what_was_not_measured() {
        let (table, tests, _) = table();
        let expected = "\
            Excel output is below:\n\
            \n\"Writer report\"\n        \"64\"  \"128\"\n\
            \"64\"   1232453 \n\"128\"   10  12 \n\
            \n\"Re-writer report\"\n        \"64\"  \"128\"\n\
            \"64\"   9999999999 \n\"128\"   0  0 \n\
            \n\"Backward read report\"\n        \"64\"  \"128\"\n\
            \"64\"   7 \n\"128\"   11  0 \n";
        assert_eq!(text(&table, &tests), expected);
    }

    #[test]
    fn the_spreadsheet_has_them_one_below_the_other() {
        let (table, tests, _) = table();
        let sheet = sheet(&table, &tests, "iozone -a", "kBytes/sec");
        assert_eq!(sheet.rows().len(), 3 + 3 * 4);
        assert_eq!(sheet.rows()[0], [Cell::Text("iozone -a".to_owned())]);
        let titles = [3, 7, 11].map(|row| sheet.rows()[row].clone());
        let expected = ["Writer Report", "Re-writer Report", "Backward Read Report"];
        assert_eq!(
            titles,
            expected.map(|title| vec![Cell::Text(title.to_owned())])
        );
        let numbers = |row: usize| sheet.rows()[row].clone();
        assert_eq!(
            numbers(4),
            [Cell::Empty, Cell::Number(64.0), Cell::Number(128.0)]
        );
        assert_eq!(numbers(5), [Cell::Number(64.0), Cell::Number(1_232_453.0)]);
    }
}
