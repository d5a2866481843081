//! Requests, as they are read: refused where nobody could carry them out.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use wire::{
    HostHold, HostLeave, HostLetGo, HostOp, HostOps, HostRead, HostRecover, HostRequest, HostRun,
    HostServers, HostSettle, HostTakeUp, HostUndo, HostWatch, HostWho, OpAge, OpHold, OpMount,
    OpNetwork, OpStart, OpText, StartReady, StartStop,
};

/// Names of all that is made begin so.
const SIGN: &str = "tiltyard-";
/// So much a process can be given to read: a pipe holds it.
const STDIN_BYTES: usize = 512 << 10;
/// Longest time that a command can be given.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
/// Of what others wrote, so many characters are of use in a message.
const SHOWN_CHARS: usize = 500;

/// What is asked, with its number.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    Beat,
    Read(u64, HostRead),
    Run(u64, HostRun),
    Settle(u64, HostSettle),
    Watch(u64, HostWatch),
    Ops(u64, HostOps),
    Undo(u64, HostUndo),
    Recover(u64, HostRecover),
    Leave(u64, HostLeave),
    TakeUp(u64, HostTakeUp),
    Hold(u64, HostHold),
    LetGo(u64, HostLetGo),
    Servers(u64, HostServers),
    /// Ops of this number.
    Cancel(u64),
}

impl Asked {
    /// Its number; what is not answered as a request has none.
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::Beat | Self::Cancel(_) => None,
            Self::Read(id, _)
            | Self::Run(id, _)
            | Self::Settle(id, _)
            | Self::Watch(id, _)
            | Self::Ops(id, _)
            | Self::Undo(id, _)
            | Self::Recover(id, _)
            | Self::Leave(id, _)
            | Self::TakeUp(id, _)
            | Self::Hold(id, _)
            | Self::LetGo(id, _)
            | Self::Servers(id, _) => Some(*id),
        }
    }
}

/// What is no request: its number, where it can be read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    pub id: Option<u64>,
    pub text: String,
}

/// Reads a line.
///
/// # Errors
/// It is no request.
pub fn parse(line: &[u8]) -> Result<Asked, Flaw> {
    let request: HostRequest = serde_json::from_slice(line).map_err(|error| {
        let text = shown(&format!("not a request: {error}"));
        Flaw {
            id: number(line),
            text,
        }
    })?;
    let id = request.id;
    let asked = match (without_number(&request), id) {
        (Some(asked), _) => Ok(asked),
        (None, Some(id)) => with_number(id, request),
        (None, None) => Err(NONE.to_owned()),
    };
    asked.map_err(|text| Flaw {
        id,
        text: shown(&text),
    })
}

/// A beat, or a cancelling.
fn without_number(request: &HostRequest) -> Option<Asked> {
    let (beat, cancel) = (request.beat, request.cancel);
    let asked = match (beat, cancel) {
        (Some(_), None) => Asked::Beat,
        (None, Some(ops)) => Asked::Cancel(ops),
        _ => return None,
    };
    let nothing_else = HostRequest {
        id: request.id,
        beat,
        cancel,
        ..HostRequest::default()
    };
    (*request == nothing_else).then_some(asked)
}

fn with_number(id: u64, request: HostRequest) -> Result<Asked, String> {
    let HostRequest {
        id: _,
        read,
        run,
        settle,
        watch,
        ops,
        undo,
        recover,
        leave,
        take_up,
        hold,
        let_go,
        servers,
        cancel,
        beat,
    } = request;
    let asked = [
        read.map(|read| check_read(&read).map(|()| Asked::Read(id, read))),
        run.map(|run| check_run(&run).map(|()| Asked::Run(id, run))),
        settle.map(|settle| check_settle(settle).map(|()| Asked::Settle(id, settle))),
        watch.map(|watch| check_watch(&watch).map(|()| Asked::Watch(id, watch))),
        ops.map(|ops| check_ops(&ops).map(|()| Asked::Ops(id, ops))),
        undo.map(|undo| check_ledger(&undo.ledger).map(|()| Asked::Undo(id, undo))),
        recover.map(|recover| check_recover(&recover).map(|()| Asked::Recover(id, recover))),
        leave.map(|leave| check_leave(&leave).map(|()| Asked::Leave(id, leave))),
        take_up.map(|asked| check_text(&asked.study).map(|()| Asked::TakeUp(id, asked))),
        hold.map(|hold| check_hold(&hold).map(|()| Asked::Hold(id, hold))),
        let_go.map(|let_go| check_run_name(&let_go.run).map(|()| Asked::LetGo(id, let_go))),
        servers.map(|asked| Ok(Asked::Servers(id, asked))),
    ];
    let mut asked = asked.into_iter().flatten();
    match (asked.next(), asked.next(), cancel, beat) {
        (Some(asked), None, None, None) => asked,
        _ => Err(NONE.to_owned()),
    }
}

const NONE: &str = "not a request: one has a number, and asks for one thing";

/// Of a line that is no request, its number.
fn number(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        id: u64,
    }
    let numbered: Option<Numbered> = serde_json::from_slice(line).ok();
    numbered.map(|numbered| numbered.id)
}

fn check_read(read: &HostRead) -> Result<(), String> {
    let paths = [&read.files, &read.links, &read.space];
    let paths = paths
        .into_iter()
        .chain([&read.devices, &read.users, &read.direct]);
    paths.flatten().try_for_each(|path| check_path(path))?;
    read.programs.iter().try_for_each(|name| check_text(name))?;
    if let Some(name) = read.limits.iter().find(|name| name.contains('/')) {
        return Err(format!("{name:?} is no name of a file of control groups"));
    }
    read.limits.iter().try_for_each(|name| check_text(name))?;
    read.outputs.iter().try_for_each(|argv| check_argv(argv))
}

fn check_run(run: &HostRun) -> Result<(), String> {
    check_argv(&run.argv)?;
    if !(run.limit_s > 0.0 && run.limit_s <= LONGEST.as_secs_f64()) {
        return Err(format!("limit_s: {} s is no time to wait", run.limit_s));
    }
    let environment = run.environment.iter().flatten();
    environment.into_iter().try_for_each(|(name, value)| {
        if name.is_empty() || name.contains('=') {
            return Err(format!("{name:?} is no name of a variable"));
        }
        check_text(name).and_then(|()| check_text(value))
    })
}

fn check_leave(leave: &HostLeave) -> Result<(), String> {
    check_argv(&leave.argv)?;
    check_text(&leave.study)
}

/// What is wrong with it, if anything is.
///
/// # Errors
/// The sentence.
pub fn check_settle(settle: HostSettle) -> Result<(), String> {
    match (0.0..=3600.0).contains(&settle.limit_s) {
        true => Ok(()),
        false => Err(format!("limit_s: {} s is no time to wait", settle.limit_s)),
    }
}

fn check_watch(watch: &HostWatch) -> Result<(), String> {
    let begin = match watch {
        HostWatch::Begin(begin) => begin,
        HostWatch::Tell(tell) | HostWatch::Last(tell) => return check_who(&tell.who),
        HostWatch::End(_) => return Ok(()),
    };
    check_who(&begin.who)?;
    let disks = begin
        .disk
        .iter()
        .flat_map(|disk| [Some(&disk.disk), disk.loop_device.as_ref()]);
    disks.flatten().try_for_each(|name| {
        match name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            true => Err(format!("{name:?} is no name of a disk")),
            false => Ok(()),
        }
    })
}

fn check_who(who: &HostWho) -> Result<(), String> {
    let mut paths = who.programs.iter().chain(&who.serving);
    paths.try_for_each(|path| check_text(path))
}

fn check_ops(ops: &HostOps) -> Result<(), String> {
    ops.list.iter().try_for_each(|op| match op {
        HostOp::Run(run) => {
            check_op_argv(&run.argv)?;
            run.back.iter().try_for_each(|back| {
                check_text(&back.what)?;
                check_text(&back.before)?;
                check_text(&back.value)?;
                check_op_argv(&back.look)?;
                check_op_argv(&back.argv)
            })
        }
        HostOp::Set(set) => {
            check_text(&set.value)?;
            let texts = set.while_behind.iter().flatten().chain(&set.excludes);
            texts.chain([&set.file]).try_for_each(check_op_text)
        }
        HostOp::Put(put) => {
            put.text.iter().try_for_each(|text| check_text(text))?;
            let mut texts = [&put.path].into_iter().chain(&put.link);
            texts.try_for_each(check_op_text)
        }
        HostOp::Mend(mend) => check_op_text(&mend.path),
        HostOp::Make(make) => {
            make.name.iter().try_for_each(|name| check_text(name))?;
            let mut texts = make.within.iter().chain([&make.directory]);
            texts.try_for_each(check_op_text)
        }
        HostOp::Mount(mount) => check_mount(mount),
        HostOp::Loop(one) => check_text(&one.name).and_then(|()| check_op_text(&one.file)),
        HostOp::Require(require) => require.behind.iter().try_for_each(check_op_text),
        HostOp::Hold(hold) => check_device(hold),
        HostOp::Format(format) => {
            let others = [&format.uuid, &format.like].into_iter().flatten();
            let texts = others.chain([&format.device, &format.filesystem]);
            texts.into_iter().try_for_each(|text| check_text(text))?;
            check_path(format.like.as_deref().unwrap_or("/"))?;
            format.argv.iter().try_for_each(check_op_text)
        }
        HostOp::Release(release) => check_text(&release.device),
        HostOp::Start(start) => check_start(start),
        HostOp::Network(OpNetwork { name }) => check_name(name),
        HostOp::Keep(keep) => [&keep.device, &keep.copy]
            .into_iter()
            .try_for_each(check_op_text),
        HostOp::PutBack(put) => [&put.device, &put.copy]
            .into_iter()
            .try_for_each(check_op_text),
        HostOp::Age(age) => check_age(age),
        HostOp::Limit(limit) => limit.behind.iter().try_for_each(check_op_text),
        HostOp::Isolate(isolate) => check_name(&isolate.group),
        HostOp::Owe(owe) => {
            check_text(&owe.what)?;
            check_op_argv(&owe.argv)?;
            owe.directory
                .iter()
                .chain(&owe.look)
                .try_for_each(check_op_text)
        }
        HostOp::Pool(pool) => {
            check_name(&pool.pool)?;
            pool.argv.iter().try_for_each(check_op_text)
        }
    })
}

fn check_mount(mount: &OpMount) -> Result<(), String> {
    let words = mount.options.iter().chain([&mount.kind]);
    words.into_iter().try_for_each(|word| check_text(word))?;
    let apart = mount.apart.as_ref();
    apart.map_or(Ok(()), |apart| check_text(&apart.why))?;
    let texts = [&mount.from, &mount.at].into_iter().chain(&mount.behind);
    texts
        .chain(apart.map(|apart| &apart.inode))
        .try_for_each(check_op_text)
}

/// A history comes to its end.
fn check_age(age: &OpAge) -> Result<(), String> {
    let profile = &age.profile;
    check_text(&profile.name)?;
    check_op_text(&age.directory)?;
    age.renew.iter().try_for_each(check_mount)?;
    let counts = [profile.writers, profile.together, profile.in_directory];
    if counts.contains(&0) || profile.piece_bytes == 0 || profile.median_bytes == 0 {
        return Err("a profile has a number that is 0".to_owned());
    }
    let shares = [age.to, profile.full, profile.append];
    if !shares.iter().all(|share| (0.0..=1.0).contains(share)) || age.turnover < 0.0 {
        return Err("a share is not between 0 and 1".to_owned());
    }
    Ok(())
}

/// A device is named, and told from others by what is known of devices.
fn check_device(hold: &OpHold) -> Result<(), String> {
    let device = &hold.device;
    let paths = hold.keep.iter().chain(&hold.node).chain([&device.given]);
    paths.into_iter().try_for_each(|path| check_path(path))?;
    for (name, mark) in &device.marks {
        if !MARKS.contains(&name.as_str()) {
            return Err(format!(
                "{name:?} is no mark of a device: {}",
                MARKS.join(", ")
            ));
        }
        check_text(mark)?;
    }
    let mut made = hold.carries.iter();
    made.try_for_each(|made| check_ledger(&made.ledger))
}

const MARKS: [&str; 4] = ["serial", "wwn", "partuuid", "backing_file"];

fn check_path(path: &str) -> Result<(), String> {
    match path.starts_with('/') {
        true => check_text(path),
        false => Err(format!("{path:?} is no absolute path")),
    }
}

/// Whether one can be asked for.
///
/// # Errors
/// Why not.
fn check_start(start: &OpStart) -> Result<(), String> {
    check_name(&start.mark)?;
    check_text(&start.name)?;
    if start.argv.is_empty() {
        return Err("a command has no program".to_owned());
    }
    for (what, time_s) in [("limit_s", start.limit_s), ("stop_s", start.stop_s)] {
        if !(time_s >= 0.0 && time_s <= LONGEST.as_secs_f64()) {
            return Err(format!("{what}: {time_s} s is no time to wait"));
        }
    }
    if start.stdin.len() > STDIN_BYTES {
        return Err(format!("stdin is longer than {STDIN_BYTES} bytes"));
    }
    let (network, address) = match &start.ready {
        StartReady::Port {
            network, address, ..
        } => (network.as_ref(), Some(address)),
        _ => (None, None),
    };
    for name in start.network.iter().chain(network) {
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(format!("{name:?} is no name of a network namespace"));
        }
    }
    if let StartStop::Signal(name) = &start.stop {
        if !program::keeper::is_signal(name) {
            return Err(format!("{name:?} is no name of a signal"));
        }
    }
    for name in start.environment.iter().flat_map(BTreeMap::keys) {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("{name:?} is no name of a variable"));
        }
    }
    let others = [&start.stdin, &start.secret, &start.what];
    let mut others = others.into_iter().chain(&start.user).chain(address);
    others.try_for_each(|text| check_text(text))?;
    start.with(check_op_text).map(|_| ())
}

/// A name of ours, of which a ledger makes a path or a mark.
///
/// # Errors
/// It is none.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_of_name = |sign: char| sign.is_ascii_alphanumeric() || "-.".contains(sign);
    match name.starts_with(SIGN) && name.chars().all(is_of_name) {
        true => Ok(()),
        false => Err(format!("{name:?} is no name of ours")),
    }
}

/// It names a file in the state directory, and nothing else.
fn check_ledger(name: &str) -> Result<(), String> {
    let is_of_name = |sign: char| matches!(sign, '0'..='9' | 'a'..='f' | '-');
    match name.chars().all(is_of_name) {
        true => Ok(()),
        false => Err(format!("{name:?} is no name of a ledger")),
    }
}

fn check_recover(recover: &HostRecover) -> Result<(), String> {
    recover.kept_for.as_deref().map_or(Ok(()), check_text)
}

fn check_hold(hold: &HostHold) -> Result<(), String> {
    check_text(&hold.what)?;
    check_run_name(&hold.run)
}

/// A run is known by it.
fn check_run_name(run: &str) -> Result<(), String> {
    match run.is_empty() {
        true => Err("a run has no name".to_owned()),
        false => check_text(run),
    }
}

fn check_op_argv(argv: &[OpText]) -> Result<(), String> {
    if argv.is_empty() {
        return Err("a command has no program".to_owned());
    }
    argv.iter().try_for_each(check_op_text)
}

fn check_op_text(text: &OpText) -> Result<(), String> {
    match text {
        OpText::Text(text) | OpText::Of { of: text } => check_text(text),
        OpText::Joined { cat } => cat.iter().try_for_each(check_op_text),
    }
}

fn check_argv(argv: &[String]) -> Result<(), String> {
    if argv.first().is_none_or(String::is_empty) {
        return Err("a command has no program".to_owned());
    }
    argv.iter().try_for_each(|word| check_text(word))
}

fn check_text(text: &str) -> Result<(), String> {
    match text.contains('\0') {
        true => Err(format!("{text:?} has a byte that is 0")),
        false => Ok(()),
    }
}

/// The beginning of a text.
pub fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flaw_is_told_with_its_number_where_there_is_one() {
        for (line, id, text) in [
            ("", None, "not a request: EOF"),
            ("{\"id\":1", None, "not a request: EOF"),
            ("[]", None, "not a request: one has a number"),
            (
                "{\"id\":-1,\"beat\":{}}",
                None,
                "not a request: invalid value",
            ),
            ("{\"id\":3}", Some(3), "not a request: one has a number"),
            ("{\"read\":{}}", None, "not a request: one has a number"),
            (
                "{\"id\":3,\"read\":{},\"run\":{\"argv\":[\"a\"]}}",
                Some(3),
                "not a request: one has",
            ),
            (
                "{\"id\":3,\"erase\":{}}",
                Some(3),
                "not a request: unknown field `erase`",
            ),
            (
                "{\"id\":3,\"read\":{\"file\":[]}}",
                Some(3),
                "not a request: unknown field `file`",
            ),
            (
                "{\"id\":3,\"read\":{\"files\":[\"etc/x\"]}}",
                Some(3),
                "\"etc/x\" is no absolute",
            ),
            (
                "{\"id\":3,\"read\":{\"files\":[\"/\\u0000\"]}}",
                Some(3),
                "\"/\\0\" has a byte",
            ),
            (
                "{\"id\":3,\"read\":{\"outputs\":[[]]}}",
                Some(3),
                "a command has no program",
            ),
            (
                "{\"id\":3,\"run\":{\"argv\":[]}}",
                Some(3),
                "a command has no program",
            ),
            (
                "{\"id\":3,\"run\":{\"argv\":[\"a\"],\"limit_s\":0}}",
                Some(3),
                "limit_s: 0 s",
            ),
            (
                "{\"id\":3,\"run\":{\"argv\":[\"a\"],\"limit_s\":1e300}}",
                Some(3),
                "limit_s: 1",
            ),
            (
                "{\"id\":3,\"run\":{\"argv\":[\"a\"],\"environment\":{\"A=B\":\"\"}}}",
                Some(3),
                "\"A=B\" is no name",
            ),
        ] {
            let flaw = parse(line.as_bytes()).unwrap_err();
            assert_eq!(flaw.id, id, "{line}");
            assert!(flaw.text.starts_with(text), "{line}: {}", flaw.text);
        }
        let long = format!("{{\"id\":3,\"{}\":1}}", "x".repeat(100_000));
        assert!(parse(long.as_bytes()).unwrap_err().text.len() <= SHOWN_CHARS);
    }

    #[test]
    fn what_an_agent_is_to_take_back_is_named_without_doubt() {
        let none = "not a request: one has a number";
        for (asks, text) in [
            (
                r#""undo":{"ledger":"../a","numbers":[]}"#,
                "\"../a\" is no name of a ledger",
            ),
            (r#""take_up":{"study":"\u0000"}"#, "\"\\0\" has a byte"),
            (
                r#""leave":{"argv":[],"study":"x"}"#,
                "a command has no program",
            ),
            (r#""hold":{"what":"x","run":""}"#, "a run has no name"),
            (r#""let_go":{"run":""}"#, "a run has no name"),
            (r#""recover":{},"cancel":2"#, none),
            (r#""beat":{},"cancel":2"#, none),
        ] {
            let line = format!("{{\"id\":3,{asks}}}");
            let flaw = parse(line.as_bytes()).unwrap_err();
            assert_eq!(flaw.id, Some(3), "{line}");
            assert!(flaw.text.starts_with(text), "{line}: {}", flaw.text);
        }
        let undo = br#"{"id":3,"undo":{"ledger":"812-1a2b3c4d","numbers":[2]}}"#;
        assert!(parse(undo).is_ok());
    }

    #[test]
    fn no_text_of_an_op_has_a_byte_that_is_0() {
        for op in [
            r#"{"op":"make","directory":"/\u0000"}"#,
            r#"{"op":"set","file":"/x","value":"\u0000"}"#,
            r#"{"op":"set","file":"/x","value":"1","while":["\u0000","/i"]}"#,
            r#"{"op":"set","file":"/x","value":"1","excludes":"\u0000"}"#,
            r#"{"op":"run","argv":["a"],"back":{"what":"a","look":["b"],"before":"0","value":"1","argv":["c\u0000"]}}"#,
            r#"{"op":"run","argv":["a"],"back":{"what":"a","look":["\u0000"],"before":"0","value":"1","argv":["c"]}}"#,
            r#"{"op":"loop","file":"/x","name":"\u0000"}"#,
            r#"{"op":"mend","path":"/\u0000"}"#,
            r#"{"op":"mount","from":"/a","at":"/b","kind":"","behind":"\u0000"}"#,
            r#"{"op":"run","argv":["a",{"cat":["b",{"of":"\u0000"}]}]}"#,
            r#"{"op":"hold","device":{"given":"/\u0000","size_bytes":1,"marks":{}}}"#,
            r#"{"op":"hold","device":{"given":"/d","size_bytes":1,"marks":{"wwn":"\u0000"}}}"#,
            r#"{"op":"hold","device":{"given":"/d","size_bytes":1,"marks":{}},"keep":["/\u0000"]}"#,
            r#"{"op":"format","device":"/d","filesystem":"x","argv":["\u0000"]}"#,
            r#"{"op":"format","device":"/d","filesystem":"\u0000","argv":[]}"#,
            r#"{"op":"format","device":"/d","filesystem":"x","argv":[],"like":"/\u0000"}"#,
            r#"{"op":"release","device":"\u0000"}"#,
            r#"{"op":"mount","from":"/a","at":"/b","kind":"ext4","options":["\u0000"],"behind":"/i"}"#,
        ] {
            let line = format!("{{\"id\":3,\"ops\":{{\"list\":[{op}]}}}}");
            let flaw = parse(line.as_bytes()).unwrap_err();
            assert!(flaw.text.contains("has a byte that is 0"), "{op}: {flaw:?}");
            let line = line.replace("\\u0000", "x");
            assert!(parse(line.as_bytes()).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_disk_is_named_and_not_found_by_its_path() {
        for (name, is_name) in [("sda", true), ("", false), ("../x", false), ("..", false)] {
            let disk = format!("{{\"disk\":\"{name}\",\"is_in_place\":true}}");
            let line = format!("{{\"id\":3,\"watch\":{{\"begin\":{{\"disk\":{disk}}}}}}}");
            let parsed = parse(line.as_bytes());
            assert_eq!(parsed.is_ok(), is_name, "{line}: {parsed:?}");
        }
        let flaw = parse(b"{\"id\":3,\"watch\":{\"stop\":1}}").unwrap_err();
        assert!(flaw.text.contains("unknown variant `stop`"), "{flaw:?}");
    }

    #[test]
    fn a_limit_is_a_name_of_a_file_and_no_path() {
        let of =
            |name| parse(format!("{{\"id\":3,\"read\":{{\"limits\":[\"{name}\"]}}}}").as_bytes());
        assert!(of("cpu.max").is_ok());
        let flaw = of("../cpu.max").unwrap_err();
        assert!(flaw.text.contains("is no name of a file"), "{flaw:?}");
    }

    #[test]
    fn what_is_left_out_has_its_usual_value() {
        let run = parse(b"{\"id\":7,\"run\":{\"argv\":[\"true\"]}}\n").unwrap();
        let Asked::Run(
            7,
            HostRun {
                limit_s,
                ok,
                environment,
                stdin,
                ..
            },
        ) = run
        else {
            panic!("{run:?}");
        };
        assert_eq!(
            (limit_s, ok, environment, stdin),
            (60.0, vec![0], None, None)
        );
        let read = parse(b"{\"id\":7,\"read\":{}}").unwrap();
        assert_eq!(read, Asked::Read(7, HostRead::default()));
        assert_eq!(parse(b"{\"beat\":{}}"), Ok(Asked::Beat));
        assert_eq!(parse(b"{\"cancel\":9}"), Ok(Asked::Cancel(9)));
        let recover = parse(b"{\"id\":7,\"recover\":{}}").unwrap();
        assert_eq!(recover, Asked::Recover(7, HostRecover::default()));
    }

    #[test]
    fn nothing_is_started_whose_name_is_not_ours_or_that_could_not_be_ended() {
        let start = r#"{"mark":"tiltyard-1-x","argv":["true"],"ready":"ended","limit_s":1,
            "stop":{"signal":"SIGTERM"},"stop_s":1}"#;
        for (from, to, text) in [
            ("", "", ""),
            ("tiltyard-1-x", "home", "\"home\" is no name of ours"),
            ("tiltyard-1-x", "tiltyard-/x", "\"tiltyard-/x\" is no name"),
            ("[\"true\"]", "[]", "a command has no program"),
            ("[\"true\"]", "[\"\\u0000\"]", "has a byte that is 0"),
            ("SIGTERM", "TERM", "\"TERM\" is no name of a signal"),
            (
                "\"limit_s\":1",
                "\"limit_s\":-1",
                "limit_s: -1 s is no time",
            ),
            (
                "\"stop_s\":1",
                "\"stop_s\":1,\"in\":\"../x\"",
                "is no name of a network",
            ),
            (
                "\"stop_s\":1",
                "\"stop_s\":1,\"environment\":{\"\":\"\"}",
                "no name of a variable",
            ),
        ] {
            let start: OpStart = serde_json::from_str(&start.replace(from, to)).unwrap();
            let told = check_start(&start).err().unwrap_or_default();
            assert!(
                told.contains(text) && told.is_empty() == text.is_empty(),
                "{told}"
            );
        }
    }
}
