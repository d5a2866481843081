//! Prints the JSON Schema of the wire, for `scripts/generate.py`.

fn main() -> Result<(), serde_json::Error> {
    let mut text = serde_json::to_vec_pretty(&wire::schema())?;
    text.push(b'\n');
    std::io::Write::write_all(&mut std::io::stdout(), &text).map_err(serde_json::Error::io)
}
