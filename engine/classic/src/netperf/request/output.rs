//! How the figures are printed.

/// The form in which they come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The table of the test.
    #[default]
    Classic,
    /// Chosen figures, separated by commas.
    Csv,
    /// … in columns.
    Human,
    /// … one in each line, with its name.
    Keyval,
}

/// What the command line says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Whether the banner and headings are printed.
    pub headers: bool,
    /// 0: one figure, 1: the table, 2: more, 3: only that.
    pub verbosity: u32,
    /// What is printed behind the figures.
    pub brand: Option<String>,
    pub mode: Mode,
    /// What follows -o, -O or -k.
    pub selectors: String,
    pub uuid: Option<String>,
    /// The command line, as one text.
    pub command: String,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            headers: true,
            verbosity: 1,
            brand: None,
            mode: Mode::default(),
            selectors: String::new(),
            uuid: None,
            command: String::new(),
        }
    }
}
