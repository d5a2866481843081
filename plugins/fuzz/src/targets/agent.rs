//! Requests to an agent.

use agent::request::{parse, Asked};
use serde_json::json;
use wire::{HostWatch, HostWatchBegin};

use super::{json_tokens, Target};

/// The target.
pub const TARGET: Target = Target {
    name: "agent",
    seeds,
    tokens: json_tokens![
        "\"id\"",
        "\"beat\"",
        "\"read\"",
        "\"files\"",
        "\"links\"",
        "\"programs\"",
        "\"space\"",
        "\"outputs\"",
        "\"run\"",
        "\"argv\"",
        "\"environment\"",
        "\"stdin\"",
        "\"limit_s\"",
        "\"watch\"",
        "\"begin\"",
        "\"tell\"",
        "\"end\"",
        "\"disk\"",
        "\"programs\"",
        "\"is_in_place\"",
        "\"ops\"",
        "\"list\"",
        "\"op\"",
        "\"make\"",
        "\"inside\"",
        "\"mend\"",
        "\"put\"",
        "\"cat\"",
        "\"of\"",
        "\"undo\"",
        "\"ledger\"",
        "\"numbers\"",
        "\"recover\"",
        "\"directory\"",
        "\"kept_for\"",
        "\"kept\"",
        "\"keep\"",
        "\"start\"",
        "\"ready\"",
        "\"stop\"",
        "\"servers\"",
        "\"marks\"",
        "\"study\"",
        "\"cancel\"",
        "\"devices\"",
        "\"users\"",
        "\"device\"",
        "\"given\"",
        "\"marks\"",
        "\"carries\"",
        "\"ok\"",
        "\"/\"",
        "=",
    ],
    run,
};

fn seeds() -> Vec<Vec<u8>> {
    let read = json!({"files": ["/proc/meminfo"], "links": ["/sys/block/*"], "programs": ["sh"],
        "space": ["/"], "devices": ["/dev/sdb"], "users": ["/dev/sdb"], "outputs": [["lsblk", "--json"]]});
    let run = json!({"argv": ["cat", "-"], "environment": {"A": "b"}, "stdin": "text",
        "limit_s": 0.5, "ok": [0, 1]});
    let who = json!({"ours": [1], "servers": [2, 3], "programs": ["/x"], "serving": ["y"]});
    let disk = json!({"disk": "sda", "loop_device": "loop0", "is_in_place": true});
    let device = json!({"cat": ["/dev/", {"of": "loop"}]});
    let behind = json!([{"of": "loop"}, "/i"]);
    let list = json!([
        {"op": "put", "path": "/i", "zeros": 4096},
        {"op": "loop", "file": "/i", "name": "loop"},
        {"op": "set", "file": "/proc/sys/vm/x", "value": "1", "while": behind},
        {"op": "require", "behind": behind},
        {"op": "run", "argv": ["mkfs.ext4", device]},
        {"op": "mend", "path": "/i"},
        {"op": "make", "directory": "/tiltyard-m", "inside": true},
        {"op": "hold", "device": {"given": "/dev/sdb", "size_bytes": 1, "marks": {"serial": "S"}},
         "node": "/dev/sdb", "keep": ["/srv"], "carries": {"ledger": "1-a", "number": 1}},
        {"op": "format", "device": "/dev/sdb", "filesystem": "ext4", "uuid": "u",
         "argv": ["mkfs.ext4", "-U", {"of": "u"}, "/dev/sdb"], "like": "/i"},
        {"op": "release", "device": "/dev/sdb"},
        {"op": "put", "path": "/tiltyard-t", "text": "x"},
        {"op": "mount", "from": device, "at": "/m", "kind": "ext4", "options": ["ro"], "behind": "/i"},
        {"op": "start", "mark": "tiltyard-1-x", "argv": [{"of": "self"}, "serve"], "stdin": "s",
         "environment": {"A": "b"}, "user": "ada", "directory": "/", "in": "n", "limit_s": 1.5, "stop_s": 2,
         "ready": {"port": {"address": "::1", "port": "1", "in": "n"}}, "stop": {"command": ["true"]},
         "directories": ["/d"], "secret": "s", "what": "service", "again": true},
    ]);
    [
        json!({"beat": {}}),
        json!({"id": 1, "read": read}),
        json!({"id": 2, "run": run}),
        json!({"id": 3, "watch": {"begin": {"who": who, "disk": disk}}}),
        json!({"id": 4, "watch": {"tell": {"of": 3, "who": who, "cpus": [0]}}}),
        json!({"id": 5, "watch": {"end": 3}}),
        json!({"id": 6, "ops": {"list": list}}),
        json!({"id": 7, "undo": {"ledger": "812-1a2b3c4d", "numbers": [2, 1]}}),
        json!({"id": 8, "recover": {"kept": true}}),
        json!({"id": 9, "leave": {"argv": ["reboot"], "study": "1a2b", "keep": [1], "alone": true, "asks": true}}),
        json!({"id": 9, "take_up": {"study": "1a2b"}}),
        json!({"id": 10, "servers": {"marks": ["tiltyard-1-x"]}}),
        json!({"cancel": 6}),
        json!({"id": 10, "hold": {"what": "vm.swappiness", "run": "1a2b"}}),
        json!({"id": 11, "let_go": {"run": "1a2b"}}),
    ]
    .map(|request| request.to_string().into_bytes())
    .into()
}

fn run(input: &[u8]) {
    let is_text = |text: &String| !text.contains('\0');
    let is_command = |argv: &Vec<String>| !argv[0].is_empty() && argv.iter().all(is_text);
    match parse(input) {
        Err(flaw) => assert!(!flaw.text.is_empty() && flaw.text.len() <= 4 * 500),
        Ok(Asked::Beat | Asked::Cancel(_) | Asked::Servers(..)) => {}
        Ok(Asked::Read(_, read)) => {
            let paths = [read.files, read.links, read.space].concat();
            assert!(paths
                .iter()
                .all(|path| path.starts_with('/') && is_text(path)));
            assert!(read.programs.iter().all(is_text));
            assert!(read.outputs.iter().all(is_command));
        }
        Ok(Asked::Run(_, run)) => {
            assert!(is_command(&run.argv));
            assert!(std::time::Duration::try_from_secs_f64(run.limit_s).is_ok());
            for (name, value) in run.environment.iter().flatten() {
                assert!(!name.is_empty() && !name.contains('='));
                assert!(is_text(name) && is_text(value));
            }
        }
        Ok(Asked::Undo(_, undo)) => assert!(!undo.ledger.contains(['/', '.', '\0'])),
        Ok(Asked::Recover(_, recover)) => {
            assert!(recover.kept_for.iter().all(is_text));
        }
        Ok(Asked::Leave(_, leave)) => assert!(is_command(&leave.argv) && is_text(&leave.study)),
        Ok(Asked::TakeUp(_, asked)) => assert!(is_text(&asked.study)),
        Ok(Asked::Hold(_, hold)) => {
            assert!(!hold.run.is_empty() && is_text(&hold.run) && is_text(&hold.what));
        }
        Ok(Asked::LetGo(_, let_go)) => assert!(is_text(&let_go.run)),
        Ok(Asked::Ops(_, ops)) => {
            let written = serde_json::to_string(&ops).unwrap_or_default();
            assert!(!written.contains("\\u0000"));
        }
        Ok(Asked::Settle(_, settle)) => assert!((0.0..=3600.0).contains(&settle.limit_s)),
        Ok(Asked::Watch(_, watch)) => {
            if let HostWatch::Begin(HostWatchBegin {
                disk: Some(disk), ..
            }) = watch
            {
                let names = [Some(disk.disk), disk.loop_device];
                assert!(names.iter().flatten().all(|name| !name.contains('/')));
            }
        }
    }
}
