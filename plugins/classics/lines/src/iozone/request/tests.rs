use super::*;
use crate::options::Takes;

fn read(line: &str) -> Result<Request, Failure> {
    Request::read(line.split_whitespace().map(OsString::from).collect())
}

#[test]
fn every_option_of_the_table_is_taken_or_refused_by_name() {
    for choice in CHOICES {
        match choice.takes {
            Takes::Nothing => assert_eq!(read(choice.name).unwrap().options.len(), 1),
            Takes::Value(_) | Takes::Optional(..) => {
                let line = format!("{} 4", choice.name);
                assert_eq!(read(&line).unwrap().options.len(), 1);
            }
            Takes::LeftOut => {
                let failure = read(choice.name).unwrap_err();
                assert_eq!(failure.parameter.as_deref(), Some(choice.name));
            }
        }
    }
}

#[test]
fn sizes_are_in_kb_unless_they_say_otherwise() {
    let request = read("-s 100 -s 2m -s 1G -r 64K -r4").unwrap();
    let files: Vec<u64> = request.files.into_iter().collect();
    assert_eq!(files, [100 << 10, 2 << 20, 1 << 30]);
    let records: Vec<u64> = request.records.into_iter().collect();
    assert_eq!(records, [4 << 10, 64 << 10]);
}

#[test]
fn what_cannot_be_read_names_its_option() {
    for (line, option) in [
        ("-s 10mb", "-s"),
        ("-r 1.5m", "-r"),
        ("-i 13", "-i"),
        ("-j far", "-j"),
        ("-t", "-t"),
        ("-a file", "options"),
    ] {
        let failure = read(line).unwrap_err();
        assert_eq!(failure.parameter.as_deref(), Some(option), "{line}");
    }
}

#[test]
fn options_become_parameters() {
    let request = read("-ceIo -V 7 -W -J 3 -p -S 2048").unwrap();
    for (name, value) in [
        ("include_close", json!(true)),
        ("include_fsync", json!(true)),
        ("access", json!("direct")),
        ("open_sync", json!("sync")),
        ("content", json!("uniform")),
        ("pattern", json!(7)),
        ("locks", json!("file")),
        ("think_ms", json!(3)),
    ] {
        assert_eq!(request.parameters[name], value, "{name}");
    }
    assert_eq!(request.purge_bytes(), 2 << 20);
}
