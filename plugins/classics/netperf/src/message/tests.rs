//! Every layout reads as it was written, reads anything without harm, and has its fields where
//! a stock netperf and netserver have them.

use proptest::array::{uniform16, uniform32, uniform4};
use proptest::prelude::*;

use super::*;

prop_compose! {
    fn moves()(size: i32, align: i32, offset: i32, width: i32) -> Moves {
        Moves { size, align, offset, width }
    }
}

prop_compose! {
    fn requests()(
        moves in [moves(), moves()],
        sizes: [i32; 4],
        flags: u32,
        length: i32,
        ports: [u32; 2],
        kind: [i32; 4],
        pace: [i32; 2],
        addresses in [uniform4(any::<u32>()), uniform4(any::<u32>())],
        marks: [i32; 2],
        congestion in uniform16(any::<u8>()),
        fill in uniform32(any::<u8>()),
    ) -> Request {
        let [send, receive] = moves;
        let [send_buffer, receive_buffer, request_size, response_size] = sizes;
        let [family, socket_type, protocol, direction] = kind;
        Request {
            send, receive, send_buffer, receive_buffer, request_size, response_size,
            flags, cpu_rate: 100.0, length, port: ports[0], local_port: ports[1],
            family, socket_type, protocol, direction, burst: pace[0], interval_us: pace[1],
            local_address: addresses[0], remote_address: addresses[1],
            priority: marks[0], tos: marks[1], congestion, fill,
        }
    }
}

proptest! {
    #[test]
    fn an_omni_request_reads_as_it_was_written(request in requests(), cpu in 0_u32..1_000) {
        let message = Message::request(TestType::Omni, &request, Some(cpu));
        let bytes = message.to_bytes(Generation::V2_7);
        prop_assert_eq!(bytes.len(), 656);
        let read = Message::from_bytes(&bytes);
        prop_assert_eq!(Type::of(read.type_word), Some(Type::Test(TestType::Omni)));
        prop_assert_eq!(read.cpu(), Some(cpu));
        prop_assert_eq!(read.to_request(TestType::Omni), request);
    }

    /// What a classic message carries fits into 256 bytes and comes back; what it does not carry
    /// comes back as the default, so that a second writing changes nothing.
    #[test]
    fn a_classic_request_keeps_what_it_carries(request in requests()) {
        for test in TestType::ALL.into_iter().filter(|&test| test != TestType::Omni) {
            let first = Message::request(test, &request, None);
            let read = Message::from_bytes(&first.to_bytes(Generation::V2_4)).to_request(test);
            prop_assert_eq!(Message::request(test, &read, None), first);
            prop_assert_eq!(read.length, request.length);
            prop_assert_eq!(read.port, request.port);
            prop_assert_eq!(read.family, request.family);
            prop_assert_eq!(read.receive_buffer, request.receive_buffer);
            prop_assert_eq!(read.measures_cpu(), request.measures_cpu());
        }
    }

    #[test]
    fn results_read_as_they_were_written(
        received_bytes in 0_u64..1 << 53, sent_bytes: u64, counts: [u32; 4], retransmits: i32,
        buffers: [i32; 2], shares in uniform4(0.0_f32..=100.0), cpus in 1_i32..4_096,
    ) {
        let results = Results {
            received_bytes, sent_bytes, retransmits, cpus,
            receives: counts[0], sends: counts[1], failed_sends: counts[2],
            transactions: counts[3],
            receive_buffer: buffers[0], send_buffer: buffers[1],
            elapsed_s: 10.25,
            cpu: CpuPercent {
                busy: shares[0], user: shares[1], system: shares[2], softirq: shares[3],
                ..CpuPercent::default()
            },
            cpu_method: PROC_STAT, peak_cpu: cpus - 1, peak_percent: shares[0],
            congestion: *b"cubic\0\0\0\0\0\0\0\0\0\0\0",
        };
        let over = |test, generation| {
            let bytes = Message::results(test, &results, generation).to_bytes(generation);
            Message::from_bytes(&bytes).to_results(test, generation)
        };
        prop_assert_eq!(&over(TestType::Omni, Generation::V2_7), &results);
        let older = over(TestType::Omni, Generation::V2_6);
        let without_shares = CpuPercent { busy: shares[0], ..CpuPercent::default() };
        prop_assert_eq!(&older, &Results { cpu: without_shares, ..results.clone() });
        let stream = over(TestType::TcpStream, Generation::V2_4);
        prop_assert_eq!(stream.received_bytes, received_bytes);
        prop_assert_eq!((stream.cpu.busy, stream.cpus), (shares[0], cpus));
        prop_assert_eq!(over(TestType::TcpCrr, Generation::V2_4).transactions, counts[3]);
        let datagrams = over(TestType::UdpStream, Generation::V2_4);
        prop_assert_eq!(datagrams.received_bytes, received_bytes & 0xffff_ffff);
        prop_assert_eq!(datagrams.receives, counts[0]);
    }

    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
        let message = Message::from_bytes(&bytes);
        Type::of(message.type_word);
        message.to_passphrase();
        for test in TestType::ALL {
            message.to_request(test);
            message.to_response(test);
            for generation in [Generation::V2_4, Generation::V2_6, Generation::V2_7] {
                message.to_results(test, generation);
            }
        }
        prop_assert_eq!(Message::from_bytes(&message.to_bytes(Generation::V2_7)), message);
    }
}

#[test]
fn responses_read_as_they_were_written() {
    let response = Response {
        receive_buffer: 131_072,
        receive_size: 4_096,
        receive_width: 33,
        send_buffer: 16_384,
        send_size: 8_192,
        send_width: 3,
        flags: flag::NO_DELAY | flag::MEASURE_CPU,
        cpu_rate: 100.0,
        length: -7,
        port: 40_000,
        priority: 6,
        tos: 0x10,
    };
    for test in TestType::ALL {
        let read = Message::response(test, &response).to_response(test);
        assert_eq!(
            (
                read.port,
                read.receive_buffer,
                read.send_buffer,
                read.length
            ),
            (40_000, 131_072, 16_384, -7),
            "{test:?}"
        );
        assert_eq!(read.flags & flag::MEASURE_CPU, flag::MEASURE_CPU);
    }
    let read = Message::response(TestType::Omni, &response).to_response(TestType::Omni);
    assert_eq!(read, response);
}

#[test]
fn types_and_words_belong_together() {
    for test in TestType::ALL {
        assert_eq!(Type::of(test.request()), Some(Type::Test(test)));
    }
    for known in [
        Type::DebugOn,
        Type::Calibrate,
        Type::Passphrase,
        Type::System,
    ] {
        assert_eq!(Type::of(known.word()), Some(known));
    }
    assert_eq!(Type::of(4_711), None);
}

#[test]
fn a_passphrase_is_cut_to_what_every_generation_carries() {
    let read = |word: &str| {
        let bytes = Message::passphrase(word).to_bytes(Generation::V2_4);
        String::from_utf8(Message::from_bytes(&bytes).to_passphrase().to_vec()).unwrap()
    };
    assert_eq!(read("open sesame"), "open sesame");
    assert_eq!(read(&"x".repeat(700)).len(), 247);
}
