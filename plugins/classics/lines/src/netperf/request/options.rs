//! netperf's options: spelling, value, help and what each sets, once.

use std::time::Duration;

use kit::failure::bad_parameter;
use netperf::client::{Burst, Kind};
use wire::Failure;

use super::values::{extent, interval, level, number, positive, release, seconds, tos, unit};
use super::values::{fitting, Pair};
use super::{Asks, Family, Host, Mode, Name, Omni, Request};
use crate::options::{Begins, Choice, Given, Line};

/// Repetitions are not fewer and not more.
const REPETITIONS: std::ops::RangeInclusive<usize> = 3..=30;

/// The interval of -b without -w.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(1);

/// Bytes of the name of a congestion control; the message has no room for more.
const CONGESTION_BYTES: usize = 15;

/// What setting an option gives: nothing, or a failure.
trait Outcome {
    fn result(self) -> Result<(), Failure>;
}

impl Outcome for () {
    fn result(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Outcome for Result<(), Failure> {
    fn result(self) -> Result<(), Failure> {
        self
    }
}

/// A table of options: the [`Choice`]s, and a function that applies one that was given.
macro_rules! options {
    (
        $(#[$doc:meta])* $table:ident, $set:ident($request:ident, $given:ident, $text:ident);
        $($kind:ident($option:literal $(, $about:expr)+) $(=> $effect:expr)?;)+
    ) => {
        $(#[$doc])*
        pub const $table: &[Choice] = &[$(Choice::$kind($option $(, $about)+)),+];

        fn $set($request: &mut Request, $given: &Given, $text: &str) -> Result<(), Failure> {
            match $given.name {
                $($option => { $(Outcome::result($effect)?;)? })+
                unknown => unreachable!("{unknown} is not in the table"),
            }
            Ok(())
        }
    };
}

options! {
    /// Before `--`.
    GLOBAL, set_global(request, given, text);
    value("-H", "NAME,FAMILY", "where the netserver is (localhost); family 4 or 6")
        => request.control.remote.take(given);
    value("-L", "NAME,FAMILY", "connect from this address") => request.control.local.take(given);
    flag("-4", "use IPv4") => request.control.set_family(Family::V4);
    flag("-6", "use IPv6") => request.control.set_family(Family::V6);
    value("-p", "PORT,LOCAL", "port of the netserver (12865)") => Pair::separate(text)
        .store(given, &mut request.control.port, &mut request.control.local_port);
    // Read before all others.
    value(
        "-t", "TEST",
        "TCP_STREAM (default), TCP_MAERTS, TCP_SENDFILE, TCP_RR, TCP_CRR, TCP_CC, UDP_STREAM, \
         UDP_RR or OMNI"
    );
    value("-l", "N", "seconds (10); -N: so many bytes or transactions; 0: until interrupted")
        => request.test.extent = extent(given, text)?;
    value("-i", "MAX,MIN", "repeat the test, 3 to 30 times (10,3)")
        => request.set_repetitions(given, text);
    value("-I", "LEVEL,WIDTH", "… until the interval of 95 or 99 % confidence is WIDTH % wide (5)")
        => request.set_confidence(given, text);
    flag("-r", "… of the result only, not of the use of CPUs") => request.result_only = true;
    optional("-c", "RATE", Begins::Digit, "measure the use of the CPUs here; a rate is not needed")
        => request.test.local.measure_cpu = true;
    optional("-C", "RATE", Begins::Digit, "measure the use of the CPUs of the netserver's host")
        => request.test.remote.measure_cpu = true;
    value("-P", "0/1", "print banner and headings (1)")
        => request.output.headers = number(given, text)? != 0;
    value("-v", "0..3", "print one figure, the table (1), or more")
        => request.output.verbosity = fitting(given, text)?;
    value("-f", "UNIT", "b k m g: bits/s, B K M G: bytes/s, x: transactions/s")
        => request.unit = Some(unit(given, text)?);
    value("-B", "TEXT", "print TEXT behind the figures, when -P 0 leaves the headings out")
        => request.output.brand = Some(text.to_owned());
    // A sign asks the original to read the clock for each operation, as is done here anyway;
    // units are its first guess.
    value("-D", "SECONDS,UNITS", "print interim results so often") => {
        let seconds = Pair::separate(text).first.unwrap_or("1").trim_start_matches('-');
        request.test.interim = Some(Duration::from_secs_f64(positive(given, seconds)?));
    };
    flag("-j", "keep the durations of all operations, for the selectors of latency")
        => request.test.latencies = true;
    value("-F", "FILE,FAR", "fill the buffers from FILE; TCP_SENDFILE sends it") => {
        let pair = Pair::separate(text);
        let (local, remote) = (&mut request.test.local.fill, &mut request.test.remote.fill);
        *local = pair.first.map(str::to_owned).or(local.take());
        *remote = pair.second.map(str::to_owned).or(remote.take());
    };
    value("-T", "[CPU,FAR]", "run on these CPUs") => Pair::shared(text)
        .store_known(given, &mut request.cpu, &mut request.test.remote.cpu);
    value("-a", "[SEND,RECEIVE]", "alignment of the buffers here (8)") => {
        let end = &mut request.test.local;
        Pair::shared(text).store(given, &mut end.send.align, &mut end.receive.align)
    };
    value("-A", "[SEND,RECEIVE]", "alignment of the buffers at the remote end (8)") => {
        let end = &mut request.test.remote;
        Pair::shared(text).store(given, &mut end.send.align, &mut end.receive.align)
    };
    value("-o", "[SEND,RECEIVE]", "offset of the buffers here (0)") => {
        let end = &mut request.test.local;
        Pair::shared(text).store(given, &mut end.send.offset, &mut end.receive.offset)
    };
    value("-O", "[SEND,RECEIVE]", "offset of the buffers at the remote end (0)") => {
        let end = &mut request.test.remote;
        Pair::shared(text).store(given, &mut end.send.offset, &mut end.receive.offset)
    };
    value("-W", "[SEND,RECEIVE]", "numbers of buffers in the rings") => {
        for end in [&mut request.test.local, &mut request.test.remote] {
            let pair = Pair::shared(text);
            pair.store_known(given, &mut end.send.width, &mut end.receive.width)?;
        }
    };
    value("-b", "N,FAR", "send in bursts of N operations, one in each interval of -w (1 ms)") => {
        let [local, remote] = &mut request.paces;
        Pair::separate(text).store_known(given, &mut local.burst, &mut remote.burst)
    };
    value("-w", "TIME,FAR", "the interval of -b: 10, 10ms, 500us, 1s") => {
        let [local, remote] = &mut request.paces;
        Pair::separate(text).read(&mut local.interval, &mut remote.interval, |text| {
            interval(given, text)
        })
    };
    value("-s", "SECONDS", "wait between the setup and the first operation")
        => request.test.wait = seconds(given, text)?;
    flag("-S", "set SO_KEEPALIVE") => request.test.keep_alive = true;
    value("-y", "[HERE,FAR]", "SO_PRIORITY") => {
        let (local, remote) = (&mut request.test.local, &mut request.test.remote);
        Pair::shared(text).store_known(given, &mut local.priority, &mut remote.priority)
    };
    value("-Y", "[HERE,FAR]", "IP_TOS or IPV6_TCLASS, as a number or a name: af11, cs1, ef, …") => {
        let (local, remote) = (&mut request.test.local, &mut request.test.remote);
        Pair::shared(text).read(&mut local.tos, &mut remote.tos, |text| tos(given, text))
    };
    value("--release", "VERSION", "release of the netserver: 2.4, 2.6, or 2.7 and later (2.7)")
        => request.control.generation = release(given)?;
    value("-Z", "WORD", "say this passphrase first")
        => request.control.passphrase = Some(text.to_owned());
    // Of no effect in the original on Linux either.
    value("-n", "N", "number of CPUs; found out without it");
    value("-k", "[DIRTY,CLEAN]", "has no effect, and says so, as in an original built without it")
        => request.remark(given, "contents of the buffers are neither dirtied nor read");
    value("-K", "[DIRTY,CLEAN]", "likewise, for the remote end")
        => request.remark(given, "contents of the buffers are neither dirtied nor read");
    flag("-d", "has no effect; there are no messages for debugging")
        => request.remark(given, "there are no messages for debugging");
    flag("-V", "print the version") => request.asks = request.asks.or(Some(Asks::Version));
    flag("-h", "print this list") => request.asks = Some(Asks::Help);
    left_out("-N", "without a control connection nobody tells what arrived");
}

options! {
    /// Behind `--`.
    SPECIFIC, set_specific(request, given, text);
    value("-m", "SIZE,FAR", "bytes of each send (the size of the send buffer)") => {
        let (local, remote) = (&mut request.test.local, &mut request.test.remote);
        call_sizes(given, text, &mut local.send.size, &mut remote.send.size)
    };
    value("-M", "FAR,SIZE", "bytes of each receive, of the remote end first") => {
        let (local, remote) = (&mut request.test.local, &mut request.test.remote);
        call_sizes(given, text, &mut remote.receive.size, &mut local.receive.size)
    };
    value("-s", "[SEND,RECEIVE]", "socket buffers here") => {
        let end = &mut request.test.local;
        socket_buffers(given, text, &mut end.send_buffer, &mut end.receive_buffer)
    };
    value("-S", "[SEND,RECEIVE]", "socket buffers at the remote end") => {
        let end = &mut request.test.remote;
        socket_buffers(given, text, &mut end.send_buffer, &mut end.receive_buffer)
    };
    value("-r", "[REQUEST,RESPONSE]", "sizes of a transaction (1,1)") => Pair::shared(text)
        .store(given, &mut request.test.request_size, &mut request.test.response_size);
    value("-b", "N", "transactions on the way besides the first (0)")
        => request.test.burst = fitting(given, text)?;
    flag("-D", "set TCP_NODELAY at both ends") => request.test.no_delay = true;
    flag("-C", "set TCP_CORK here") => request.test.cork = true;
    value("-H", "NAME,FAMILY", "address of the data connection at the remote end")
        => request.remote_data.take(given);
    value("-L", "NAME,FAMILY", "address of the data connection here")
        => request.local_data.take(given);
    value("-P", "[PORT,FAR]", "ports of the data connection") => Pair::shared(text)
        .store(given, &mut request.test.local.port, &mut request.test.remote.port);
    value("-p", "[FIRST,LAST]", "ports of TCP_CRR and TCP_CC here (5000,65535)") => {
        let ports = &mut request.test.client_ports;
        Pair::shared(text).store(given, &mut ports.start, &mut ports.end)
    };
    flag("-4", "use IPv4 for the data") => request.set_data_family(Family::V4);
    flag("-6", "use IPv6 for the data") => request.set_data_family(Family::V6);
    value("-K", "[HERE,FAR]", "congestion control") => {
        let (local, remote) = (&mut request.test.local, &mut request.test.remote);
        Pair::shared(text).read(&mut local.congestion, &mut remote.congestion, |name| {
            match name.len() > CONGESTION_BYTES {
                true => Err(given.wrong(format!("\"{name}\" is longer than a name can be"))),
                false => Ok(name.to_owned()),
            }
        })
    };
    value("-R", "0/1", "let packets be routed (0 for streams of datagrams, else 1)")
        => request.test.routing = number(given, text)? != 0;
    flag("-n", "connect the UDP socket here") => request.test.local.connected = true;
    flag("-N", "connect the UDP socket at the remote end") => request.test.remote.connected = true;
    value("-e", "SECONDS", "give up a datagram's response after this time")
        => request.test.patience = Some(seconds(given, text)?).filter(|time| !time.is_zero());
    value("-q", "BYTES/S", "SO_MAX_PACING_RATE")
        => request.test.pacing_rate = Some(fitting(given, text)?);
    value("-G", "BYTES", "TCP_MAXSEG") => request.test.segment_size = Some(fitting(given, text)?);
    flag("-f", "discover the MTU of the path") => request.test.mtu_discovery = true;
    flag("-a", "set TCP_DEFER_ACCEPT at the remote end") => request.test.defer_accept = true;
    flag("-U", "try a connect again that failed") => request.test.retry_connect = true;
    value("-W", "N", "number of buffers in the ring of the sender")
        => request.test.local.send.width = Some(fitting(given, text)?);
    flag("-c", "a connection for every transaction (OMNI)") => request.omni(given)?.connects = true;
    value("-d", "DIRECTION", "send, receive or rr; 2, 4 or 6 (OMNI)")
        => request.omni(given)?.set_direction(given, text);
    value("-t", "TYPE", "stream or dgram (OMNI)")
        => request.omni(given)?.set_protocol(given, text, ["stream", "dgram"]);
    value("-T", "PROTOCOL", "tcp or udp (OMNI)")
        => request.omni(given)?.set_protocol(given, text, ["tcp", "udp"]);
    optional(
        "-o", "SELECTORS", Begins::NoDash,
        "print these, or those in a file, separated by commas; ? lists them"
    ) => request.select(Mode::Csv, text);
    optional("-O", "SELECTORS", Begins::NoDash, "print them as a table")
        => request.select(Mode::Human, text);
    optional("-k", "SELECTORS", Begins::NoDash, "print them as NAME=value")
        => request.select(Mode::Keyval, text);
    value("-u", "TEXT", "use this as the UUID of the test")
        => request.output.uuid = Some(text.to_owned());
    flag("-h", "print these lists") => request.asks = Some(Asks::Help);
    left_out("-B", "a server here answers from the address that was asked without it");
    left_out("-F", "TCP Fast Open is not done");
    left_out("-g", "SO_DEBUG has no effect in Linux");
    left_out("-i", "the original reads it and does nothing");
    left_out("-I", "write(2) and send(2) are the same system call's work");
    left_out("-j", "the original reads it and does nothing; start several netperfs");
    left_out("-l", "nothing is sent to multicast addresses");
    left_out("-V", "the workload tcp_stream receives without copying");
}

impl Request {
    /// Takes what stands before `--`.
    pub(super) fn take_global(&mut self, line: &Line) -> Result<(), Failure> {
        for given in &line.options {
            set_global(self, given, &given.text().to_string_lossy())?;
        }
        self.set_paces();
        self.check_alignment()
    }

    /// Takes what stands behind `--`.
    pub(super) fn take_specific(&mut self, line: &Line) -> Result<(), Failure> {
        self.omni = (self.name == Name::Omni).then(Omni::default);
        for given in &line.options {
            set_specific(self, given, &given.text().to_string_lossy())?;
        }
        if let Some(mut omni) = self.omni.take() {
            omni.imply(line);
            self.test.kind = omni.kind()?;
            if self.output.mode == Mode::Classic {
                self.output.mode = Mode::Human;
            }
        }
        let transactions = line.options.iter().find(|given| given.name == "-r");
        match transactions {
            Some(given) if !self.test.kind.counts_transactions() => {
                return Err(given.wrong("a stream has no requests; -m sets the size of a send"));
            }
            _ => {}
        }
        if !line.has("-R") {
            self.test.routing = !matches!(self.test.kind, Kind::UdpStream | Kind::UdpMaerts);
        }
        Ok(())
    }

    /// As in the original an interval paces nothing unless operations are given for it.
    fn set_paces(&mut self) {
        let ends = [&mut self.test.local, &mut self.test.remote];
        for (pace, end) in self.paces.iter().zip(ends) {
            let operations = pace.burst.filter(|&operations| operations > 0);
            end.pace = operations.map(|operations| Burst {
                operations,
                every: pace.interval.unwrap_or(DEFAULT_INTERVAL),
            });
            if operations.is_none() && pace.interval.is_some() {
                self.remarks
                    .push("option -w: paces nothing without -b for the same end".into());
            }
        }
    }

    fn set_repetitions(&mut self, given: &Given, text: &str) -> Result<(), Failure> {
        let goal = self.goal.get_or_insert_default();
        Pair::shared(text).store(given, &mut goal.most, &mut goal.fewest)?;
        let (least, limit) = (*REPETITIONS.start(), *REPETITIONS.end());
        goal.fewest = goal.fewest.clamp(least, limit);
        goal.most = goal.most.clamp(goal.fewest, limit);
        Ok(())
    }

    fn set_confidence(&mut self, given: &Given, text: &str) -> Result<(), Failure> {
        let goal = self.goal.get_or_insert_default();
        let pair = Pair::separate(text);
        if let Some(text) = pair.first {
            goal.level = level(given, text)?;
        }
        if let Some(width) = pair.second {
            goal.width = positive(given, width)? / 100.0;
        }
        Ok(())
    }

    fn set_data_family(&mut self, family: Family) {
        for host in [&mut self.local_data, &mut self.remote_data] {
            *host = Host {
                family,
                ..host.clone()
            };
        }
    }

    fn select(&mut self, mode: Mode, selectors: &str) {
        self.output.mode = mode;
        if selectors == "?" {
            self.asks = self.asks.or(Some(Asks::Selectors(mode)));
        }
        self.output.selectors = selectors.to_owned();
    }

    fn omni(&mut self, given: &Given) -> Result<&mut Omni, Failure> {
        let message = "only -t OMNI takes it; the others are what they are";
        self.omni.as_mut().ok_or_else(|| given.wrong(message))
    }

    fn remark(&mut self, given: &Given, message: &str) {
        self.remarks
            .push(format!("option {}: {message}", given.name));
    }

    fn check_alignment(&self) -> Result<(), Failure> {
        for (option, end) in [("-a", &self.test.local), ("-A", &self.test.remote)] {
            let aligns = [end.send.align, end.receive.align];
            if let Some(align) = aligns.iter().find(|align| !align.is_power_of_two()) {
                let message = format!("option {option}: {align} is not a power of two");
                return Err(bad_parameter(option, message));
            }
        }
        Ok(())
    }
}

/// Sizes of calls; zero bytes is the size of the socket's buffer, as if none were given.
fn call_sizes(
    given: &Given,
    text: &str,
    first: &mut Option<u32>,
    second: &mut Option<u32>,
) -> Result<(), Failure> {
    Pair::separate(text).store_known(given, first, second)?;
    for size in [first, second] {
        size.take_if(|bytes| *bytes == 0);
    }
    Ok(())
}

/// Socket buffers of one end; a negative number leaves one as it is.
fn socket_buffers(
    given: &Given,
    text: &str,
    send: &mut Option<u32>,
    receive: &mut Option<u32>,
) -> Result<(), Failure> {
    let pair = Pair::shared(text);
    for (text, buffer) in [(pair.first, send), (pair.second, receive)] {
        match text {
            Some(text) if number(given, text)? < 0 => *buffer = None,
            Some(text) => *buffer = Some(fitting(given, text)?),
            None => {}
        }
    }
    Ok(())
}
