//! Whatever comes to a server, it neither crashes nor hangs, serves honest clients meanwhile, and
//! takes no more memory than it has to.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use common::{config, Served};
use network::control::message::{Hello, ToServer, VERSION};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{json, Value};
use socket2::{Domain, Socket, Type};
use testing::{allocations, Counting};
use wire::FarEnd;

/// More than all tests of this file need together; a server that believed one announced length
/// would need 4 GiB.
const MEMORY_MAX: usize = 48 << 20;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Longer than a server takes for any answer on a busy machine; whatever waits so long hangs.
/// Strangers that were waited for one by one would take longer, too.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stranger who connected.
struct Stranger(TcpStream);

impl Stranger {
    fn at(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    /// One that has been greeted and has said hello.
    fn client_at(address: SocketAddr) -> Self {
        let mut client = Self::at(address);
        assert!(client.hear().unwrap().get("greeting").is_some());
        let hello = Hello {
            version: VERSION,
            proof: None,
        };
        client.say(&serde_json::to_value(ToServer::Hello(hello)).unwrap());
        client
    }

    fn say(&mut self, message: &Value) {
        self.say_text(&message.to_string());
    }

    fn say_text(&mut self, text: &str) {
        let length = (text.len() as u32).to_be_bytes();
        // Whoever has been disconnected already is answered nothing.
        let _ = self.0.write_all(&[&length[..], text.as_bytes()].concat());
    }

    /// The next message; `None` at the end.
    fn hear(&mut self) -> Option<Value> {
        let mut length = [0; 4];
        self.read(&mut length)?;
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        self.read(&mut text)?;
        Some(serde_json::from_slice(&text).unwrap())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Option<()> {
        match self.0.read_exact(buffer) {
            Ok(()) => Some(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("the server hangs"),
            Err(_) => None,
        }
    }

    /// All that is said until the end.
    fn hear_out(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// The reason why no more is said.
    fn hear_refusal(&mut self) -> String {
        let said = self.hear_out();
        let refused = said.last().and_then(|last| last.get("refused"));
        let reason = refused.and_then(Value::as_str);
        reason
            .unwrap_or_else(|| panic!("no refusal: {said:?}"))
            .to_owned()
    }
}

/// Work that a server does.
fn work() -> Value {
    json!({"open": {
        "transport": "tcp", "role": {"receive": {"messages": {"bytes": 1_024}}},
        "flows": 1, "threads": 1, "options": {}, "placement": {"cpus": []},
        "longest_s": 1.0, "look_s": 0.1,
    }})
}

/// Measures honestly; how long it took.
fn measure(far: &FarEnd) -> Duration {
    let began = Instant::now();
    let parameters = json!({"message": "1k", "bytes": "100k", "flows": 2});
    let done = common::run("tcp_stream", &parameters, far).unwrap();
    assert_eq!(done.totals.bytes, 2 * (100 << 10));
    began.elapsed()
}

/// The server is as it was.
fn assert_unharmed(served: &Served) {
    measure(&served.far());
    allocations::assert_counted();
    let most = allocations::most_bytes();
    assert!(most < MEMORY_MAX, "{most} bytes were allocated");
}

fn for_all<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value)) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&strategy, |value| {
        test(value);
        Ok(())
    });
    result.unwrap();
}

#[test]
fn any_bytes() {
    let served = Served::at("127.0.0.1");
    for_all(200, any::<Vec<u8>>(), |bytes| {
        let mut stranger = Stranger::at(served.address);
        let _ = stranger.0.write_all(&bytes);
        let _ = stranger.0.shutdown(std::net::Shutdown::Write);
        stranger.hear_out();
    });
    assert_unharmed(&served);
}

#[test]
fn any_bytes_of_a_client() {
    let served = Served::at("127.0.0.1");
    for_all(100, any::<Vec<u8>>(), |bytes| {
        let mut client = Stranger::client_at(served.address);
        let _ = client.0.write_all(&bytes);
        let _ = client.0.shutdown(std::net::Shutdown::Write);
        client.hear_out();
    });
    assert_unharmed(&served);
}

/// Where numbers, lists and words stand in [`work`].
const PLACES: [&str; 9] = [
    "/open/flows",
    "/open/threads",
    "/open/longest_s",
    "/open/look_s",
    "/open/role",
    "/open/role/receive/messages/bytes",
    "/open/placement/cpus",
    "/open/options",
    "/open/transport",
];

fn wild_values() -> impl Strategy<Value = Value> {
    let send = |limit: Value, bytes: u64| json!({"send": {"messages": {"bytes": bytes, "width": bytes}, "limit": limit}});
    let role = (any::<f64>(), any::<u64>())
        .prop_map(move |(seconds, bytes)| send(json!({"seconds": seconds}), bytes));
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!(1u64 << 32)),
        Just(json!(1u64 << 63)),
        Just(json!(1e308)),
        Just(json!(-1)),
        Just(Value::Null),
        Just(json!("x".repeat(60 << 10))),
        Just(json!(vec![0; 20_000])),
        Just(json!({"congestion": "x".repeat(60 << 10)})),
        Just(json!({"send_buffer": u64::MAX, "receive_buffer": 1u64 << 63})),
        role,
        (any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(request, response, accepts)| {
            let role = if accepts { "accept" } else { "respond" };
            json!({role: {"request": request, "response": response}})
        }),
        any::<u64>().prop_map(move |operations| send(json!({"operations": operations}), 1)),
    ]
}

#[test]
fn wild_values_in_right_words() {
    let served = Served::at("127.0.0.1");
    let changes =
        proptest::collection::vec((proptest::sample::select(&PLACES), wild_values()), 1..4);
    for_all(200, changes, |changes| {
        let mut work = work();
        for (place, value) in changes {
            if let Some(target) = work.pointer_mut(place) {
                *target = value;
            }
        }
        let mut client = Stranger::client_at(served.address);
        client.say(&work);
        let said = client.hear().expect("an answer");
        let is_answer = said.get("ready").or(said.get("refused")).is_some();
        assert!(is_answer, "{said}");
    });
    assert_unharmed(&served);
}

#[test]
fn words_that_are_none() {
    let served = Served::at("127.0.0.1");
    let nan = work().to_string().replace("0.1", "NaN");
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let twice = work()
        .to_string()
        .replace(r#""flows":1"#, r#""flows":1,"flows":1"#);
    let more = work()
        .to_string()
        .replace(r#""flows":1"#, r#""flows":1,"colour":"red""#);
    for text in [&nan, &deep, &twice, &more, "", "null", "{}", "\"begin"] {
        let mut client = Stranger::client_at(served.address);
        client.say_text(text);
        let reason = client.hear_refusal();
        assert!(reason.starts_with("the control connection: "), "{reason}");
    }
    for length in [64 << 10 | 1, u32::MAX] {
        let mut client = Stranger::client_at(served.address);
        client.0.write_all(&length.to_be_bytes()).unwrap();
        let reason = client.hear_refusal();
        assert!(reason.contains("the limit is 65536"), "{reason}");
    }
    assert_unharmed(&served);
}

#[test]
fn words_out_of_turn() {
    let served = Served::at("127.0.0.1");
    for word in ["begin", "finish"] {
        let mut stranger = Stranger::at(served.address);
        stranger.say(&json!(word));
        assert_eq!(stranger.hear_refusal(), "\"hello\" was to come");
        let mut client = Stranger::client_at(served.address);
        client.say(&json!(word));
        assert_eq!(client.hear_refusal(), "\"open\" was to come");
    }
    let mut client = Stranger::client_at(served.address);
    client.say(&work());
    assert!(client.hear().unwrap().get("ready").is_some());
    client.say(&work());
    let reason = client.hear_refusal();
    assert!(reason.contains("gave up"), "{reason}");
    assert_unharmed(&served);
}

#[test]
fn another_version() {
    let served = Served::at("127.0.0.1");
    let mut stranger = Stranger::at(served.address);
    stranger.say(&json!({"hello": {"version": VERSION + 1}}));
    let reason = stranger.hear_refusal();
    assert!(reason.contains("version 1"), "{reason}");
}

#[test]
fn strangers_who_say_nothing_or_little_hold_nobody_up() {
    let served = Served::at("127.0.0.1");
    let mut silent: Vec<Stranger> = (0..20).map(|_| Stranger::at(served.address)).collect();
    for stranger in &mut silent[10..] {
        stranger.0.write_all(&[0, 0, 0]).unwrap();
    }
    let took = measure(&served.far());
    assert!(took < PATIENCE, "{took:?}");
    let (began, mut dripping) = (Instant::now(), silent.swap_remove(15));
    let drip = |stranger: &mut Stranger| stranger.0.write_all(&[0]).is_ok();
    while drip(&mut dripping) && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(50));
    }
    for mut stranger in silent {
        assert_eq!(stranger.hear_refusal(), "no hello came in time");
    }
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

/// Threads of this process now; those of other tests among them.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn floods_of_strangers() {
    let served = Served::at("127.0.0.1");
    let before = threads();
    let flood: Vec<Stranger> = (0..400).map(|_| Stranger::at(served.address)).collect();
    let took = measure(&served.far());
    assert!(took < PATIENCE, "{took:?}");
    assert!(threads() < before + 100, "{} threads", threads());
    drop(flood);
    assert_unharmed(&served);
}

/// A client that has asked for work, what it was answered, and where its data are awaited.
fn ready(served: &Served, work: &Value) -> (Stranger, Value, SocketAddr) {
    let mut client = Stranger::client_at(served.address);
    client.say(work);
    let ready = client.hear().unwrap()["ready"].clone();
    let mut data = served.address;
    data.set_port(ready["ports"][0].as_u64().unwrap() as u16);
    (client, ready, data)
}

#[test]
fn strangers_where_data_are_awaited() {
    let served = Served::at("127.0.0.1");
    let (mut client, ready, data) = ready(&served, &work());
    let mut strangers: Vec<Stranger> = (0..100).map(|_| Stranger::at(data)).collect();
    let token = ready["token"].as_str().unwrap().as_bytes();
    for stranger in &mut strangers[..50] {
        stranger.0.write_all(&[b'x'; 64]).unwrap();
    }
    // One that has the token, and names a flow that nobody asked for.
    let far_off = [token, &u32::MAX.to_be_bytes()].concat();
    strangers[99].0.write_all(&far_off).unwrap();
    let began = Instant::now();
    let mut flow = Stranger::at(data);
    flow.0.write_all(&[token, &[0; 4]].concat()).unwrap();
    assert_eq!(client.hear().unwrap(), json!("connected"));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    drop((client, flow, strangers));
    assert_unharmed(&served);
}

/// The token is known to a third address of this host, and used there first.
#[test]
fn data_go_to_nobody_but_the_client() {
    let served = Served::at("127.0.0.1");
    let mut sends = work();
    sends["open"]["transport"] = json!("udp");
    sends["open"]["role"] =
        json!({"send": {"messages": {"bytes": 100}, "limit": {"operations": 50}}});
    let (mut client, ready, data) = ready(&served, &sends);
    let words = [ready["token"].as_str().unwrap().as_bytes(), &[0; 4]].concat();
    let [third, own] = ["127.0.0.9:0", "127.0.0.1:0"].map(|at| UdpSocket::bind(at).unwrap());
    for socket in [&third, &own] {
        // In this order they come.
        socket.send_to(&words, data).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    assert_eq!(client.hear().unwrap(), json!("connected"));
    client.say(&json!("begin"));
    assert_eq!(client.hear().unwrap(), json!("begun"));
    for _ in 0..50 {
        assert_eq!(own.recv(&mut [0; 200]).unwrap(), 100);
    }
    third.set_nonblocking(true).unwrap();
    let none = third.recv(&mut [0; 200]).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_connection_from_elsewhere_is_no_flow() {
    let served = Served::at("127.0.0.1");
    let (mut client, ready, data) = ready(&served, &work());
    let words = [ready["token"].as_str().unwrap().as_bytes(), &[0; 4]].concat();
    let third = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let elsewhere: SocketAddr = "127.0.0.9:0".parse().unwrap();
    third.bind(&elsewhere.into()).unwrap();
    third.connect(&data.into()).unwrap();
    let mut third = TcpStream::from(third);
    third.set_read_timeout(Some(PATIENCE)).unwrap();
    third.write_all(&words).unwrap();
    // Turned away, while the server waits on for its flow.
    let said = third.read(&mut [0]);
    assert!(
        matches!(&said, Ok(0)) || said.is_err_and(|error| error.kind() != ErrorKind::WouldBlock)
    );
    let mut own = Stranger::at(data);
    own.0.write_all(&words).unwrap();
    assert_eq!(client.hear().unwrap(), json!("connected"));
}

#[test]
fn clients_wait_a_moment_for_the_one_before_and_are_told_when_it_stays() {
    let served = Served::at("127.0.0.1");
    let first = Stranger::client_at(served.address);
    let mut second = Stranger::client_at(served.address);
    assert!(second.hear_refusal().contains("busy with another client"));
    let third = thread::spawn({
        let far = served.far();
        move || measure(&far)
    });
    thread::sleep(Duration::from_millis(200));
    drop(first);
    third.join().unwrap();
}

#[test]
fn who_does_not_know_the_secret_takes_no_place() {
    let served = Served::offering(network::server::ServerConfig {
        secret: Some("in the lists".to_owned()),
        ..config("127.0.0.1")
    });
    for proof in [
        None,
        Some(String::new()),
        Some("00".repeat(32)),
        Some("é".repeat(400)),
    ] {
        let mut stranger = Stranger::at(served.address);
        let hello = ToServer::Hello(Hello {
            version: VERSION,
            proof,
        });
        stranger.say(&serde_json::to_value(hello).unwrap());
        assert_eq!(stranger.hear_refusal(), "the secret is not the right one");
    }
    let took = measure(&FarEnd {
        secret: Some("in the lists".to_owned()),
        ..served.far()
    });
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn an_address_that_others_reach_wants_a_secret() {
    for address in ["0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1"] {
        let failure = network::server::Server::bind(config(address))
            .err()
            .unwrap();
        assert_eq!(failure.parameter.as_deref(), Some("bind"), "{address}");
        assert!(
            failure.message.contains("--secret-file"),
            "{}",
            failure.message
        );
    }
    for loopback in ["127.0.0.9", "::ffff:127.0.0.1"] {
        network::server::Server::bind(config(loopback)).unwrap();
    }
}
