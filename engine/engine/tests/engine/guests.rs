//! A machine that a shell stands for: booted, asked, and switched off.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{kill_process, Pid, Signal};
use serde_json::{json, Value};

use crate::common::{command, left_in, scratch_directory};

/// A guest that is ready, answers whatever it is asked, and ends when it is asked to switch off.
const GUEST: &str = r#"
echo booting
echo '{"guest":{"hello":{"version":1,"engine":"0","troubles":["none"]}}}' >&4
while read -r line <&3; do
    id=${line#*'"id":"'}
    id=${id%%'"'*}
    case $line in
        *mount*) echo "{\"guest\":{\"refused\":{\"id\":\"$id\",\"message\":\"it cannot\"}}}" >&4 ;;
        *) echo "{\"guest\":{\"done\":{\"id\":\"$id\",\"found\":{\"asked\":\"$id\"}}}}" >&4 ;;
    esac
    case $line in *power_off*) echo "off"; exit ;; esac
done
"#;

fn boot(directory: &Path, script: &str, within: &str) -> (Child, Value) {
    let path = |name: &str| directory.join(name).display().to_string();
    let (channel, console) = (path("channel"), path("console"));
    let arguments = ["guest-boot", "--within", within, &channel, &console, "--"];
    let mut started = command(&arguments)
        .args(["sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(started.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    (started, serde_json::from_str(&line).unwrap())
}

fn ask(directory: &Path, requests: &[&str]) -> (Option<i32>, String, String) {
    let channel = directory.join("channel").display().to_string();
    let asked = command(&["guest-ask", &channel]).args(requests).output();
    let asked = asked.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (asked.status.code(), text(asked.stdout), text(asked.stderr))
}

#[test]
fn a_guest_that_is_ready_is_asked_and_at_a_signal_switched_off() {
    let directory = scratch_directory();
    let (mut started, said) = boot(directory.path(), GUEST, "30");
    let ready = &said["ready"];
    assert_eq!(ready["hello"]["troubles"], json!(["none"]), "{said}");
    let machine = ready["machine"].as_i64().unwrap();
    assert!(Path::new(&format!("/proc/{machine}")).exists());
    let (code, found, _) = ask(
        directory.path(),
        &["\"drop_caches\"", r#"{"read":{"paths":[]}}"#],
    );
    assert_eq!(code, Some(0));
    let found: Vec<Value> = serde_json::from_str(&found).unwrap();
    assert!(found[0]["asked"].as_str().unwrap().ends_with("-0"));
    assert!(found[1]["asked"].as_str().unwrap().ends_with("-1"));
    let mount = r#"{"unmount":{"directory":"/mnt"}}"#;
    let (code, found, why) = ask(directory.path(), &[mount, "\"drop_caches\""]);
    assert_eq!((code, found.as_str()), (Some(5), ""));
    assert!(why.starts_with("tiltyard-engine: it cannot"), "{why}");
    let pid = Pid::from_raw(started.id().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(started.wait().unwrap().success());
    assert!(!Path::new(&format!("/proc/{machine}")).exists());
    let console = std::fs::read_to_string(directory.path().join("console")).unwrap();
    assert_eq!(console, "booting\noff\n");
    let (code, _, why) = ask(directory.path(), &["\"drop_caches\""]);
    assert_eq!(code, Some(5));
    assert!(why.contains("is not there any more"), "{why}");
}

#[test]
fn a_machine_that_ends_early_is_told_from_one_that_says_nothing() {
    let directory = scratch_directory();
    std::fs::write(directory.path().join("console"), "Kernel panic of before\n").unwrap();
    let script = "echo 'Kernel panic - no init'; echo 'reboot: now'";
    let (mut started, said) = boot(directory.path(), script, "30");
    let failed = json!({"ended": true, "why": "it has ended", "words": "Kernel panic - no init"});
    assert_eq!(said["failed"], failed);
    assert!(started.wait().unwrap().success());
    // Again in the same place, and what was said before is not of this boot.
    let (mut started, said) = boot(directory.path(), "exec sleep 600", "0.2");
    let failed = json!({"ended": false, "why": "it says nothing for 0.2 s", "words": ""});
    assert_eq!(said["failed"], failed);
    assert!(started.wait().unwrap().success());
    assert_eq!(
        left_in(directory.path()).len(),
        3,
        "two pipes and the console"
    );
}

#[test]
fn a_signal_ends_a_boot_and_a_machine_that_is_stuck() {
    let directory = scratch_directory();
    let (channel, console) = (
        directory.path().join("channel"),
        directory.path().join("console"),
    );
    let mut started = command(&["guest-boot"])
        .args([&channel, &console])
        .args(["--", "sh", "-c", "echo begun; exec sleep 600"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while std::fs::read(&console).unwrap_or_default().is_empty() {
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(started.id().cast_signed()).unwrap();
    // Until it heeds signals, one kills it, and the machine is its keeper's to end.
    std::thread::sleep(std::time::Duration::from_millis(200));
    kill_process(pid, Signal::TERM).unwrap();
    let mut line = String::new();
    let said = started.stdout.take().unwrap();
    BufReader::new(said).read_line(&mut line).unwrap();
    assert!(line.contains("\"ended\":false"), "{line}");
    assert!(started.wait().unwrap().success());
}
