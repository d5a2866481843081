use kit::histogram::Histogram;
use serde_json::{json, Value};
use wire::{Event, Pool, Sample};

use super::pool;

/// A client whose clock is ahead by so much, and that was told to begin at 1 s of ours.
fn request(ahead_ns: &[i64]) -> Pool {
    let client = |(number, ahead_ns): (usize, &i64)| {
        json!({
            "name": (number + 1).to_string(), "path": "/", "file": "f", "sha256": "s",
            "starts": [{"at_ns": 1_000_000_000, "ahead_ns": ahead_ns, "uncertainty_ns": 1_000}],
        })
    };
    let clients = Vec::from_iter(ahead_ns.iter().enumerate().map(client));
    let request = json!({"clients": clients, "late_s": 0.025, "late_share": 0.01});
    serde_json::from_value(request).unwrap()
}

fn sample(metric: &str, unit: &str, value: f64, amounts: (u64, u64)) -> Value {
    json!({"type": "sample", "data": {
        "metric": metric, "unit": unit, "direction": "higher", "value": value,
        "operations": amounts.0, "bytes": amounts.1, "elapsed_s": 2.0,
    }})
}

/// Each of so many operations took so long; with the percentile that is read from it.
fn timed(each_ns: &[u64]) -> [Value; 2] {
    let mut histogram = Histogram::new();
    each_ns.iter().for_each(|ns| histogram.record(*ns));
    let latency = histogram.to_wire().unwrap();
    let p99 = sample("read_p99", "s", latency.p99 as f64 / 1e9, (0, 0));
    let mut mean = sample("read", "s", latency.mean / 1e9, (latency.count, 0));
    mean["data"]["latency_ns"] = serde_json::to_value(latency).unwrap();
    [mean, p99]
}

/// The lines of a client that began so long after 1 s of its own clock.
fn lines(after_ns: u64, operations: u64, samples: &[Value]) -> Vec<Value> {
    let mut lines = vec![
        json!({"type": "hello", "data": {
            "protocol": 1, "engine": "e", "workload": "w", "effective": {"seed": u64::MAX},
            "hash": "h", "timing": "pass", "conditions": {"cpus": [], "awake": []}, "newer": 0.1,
        }}),
        json!({"type": "region", "data": {
            "began_ns": 1_000_000_000 + after_ns, "elapsed_s": 2.0, "operations": operations,
            "bytes": 0,
        }}),
        json!({"type": "interval", "data": {"t_s": 1.0, "operations": operations, "bytes": 0}}),
        json!({"type": "interval", "data": {"t_s": 2.0, "operations": 0, "bytes": 0}}),
    ];
    lines.extend(samples.iter().cloned());
    lines.extend([
        json!({"type": "warning", "data": {"code": "c", "message": "hot"}}),
        json!({"type": "end", "data": {
            "outcome": "done", "operations": operations, "bytes": 0, "elapsed_s": 2.5,
            "checksum": format!("{operations:x}"), "counters": {"files": 1},
            "floor": {"clock_ns": 1.0, "clock_step_ns": 1.0, "operation_ns": 1.0},
            "access": {"declared": "direct", "reason": "seen", "read_bytes": 1, "written_bytes": 2,
                "verdict": if operations == 1 { "unverified" } else { "confirmed" }},
            "usage": {"user_s": 1.0, "system_s": 0.5, "parent_s": 0.0, "foreign_s": 1.75,
                "voluntary_switches": 1, "involuntary_switches": 0, "minor_faults": 0,
                "major_faults": 0, "peak_memory_bytes": 10},
        }}),
    ]);
    lines
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What several clients said with these samples, each with as many operations.
fn pooled(of_each: &[(u64, u64, Vec<Value>)]) -> Vec<Event> {
    let texts = of_each
        .iter()
        .map(|(after_ns, operations, samples)| text(&lines(*after_ns, *operations, samples)));
    pool(&request(&vec![0; of_each.len()]), &Vec::from_iter(texts))
        .unwrap()
        .1
}

fn samples(events: &[Event]) -> Vec<&Sample> {
    let found = events.iter().filter_map(|event| match event {
        Event::Sample(sample) => Some(sample),
        _ => None,
    });
    found.collect()
}

#[test]
fn hosts_may_have_been_up_for_years() {
    let of_each = [(1 << 60, 1, Vec::new()), (1 << 60, 2, Vec::new())];
    assert!(matches!(pooled(&of_each).last(), Some(Event::End(_))));
}

#[test]
fn amounts_are_added_up_and_a_rate_is_of_the_time_of_all() {
    let of = |operations| {
        vec![sample(
            "rate",
            "1/s",
            operations as f64 / 2.0,
            (operations, 0),
        )]
    };
    let events = pooled(&[(0, 1, of(1)), (20_000_000, 3, of(3))]);
    let [rate, inside] = samples(&events)[..] else {
        panic!("{events:?}");
    };
    assert_eq!((rate.operations, rate.elapsed_s), (4, 2.02));
    assert!((rate.value - 4.0 / 2.02).abs() < 1e-12);
    // From 0.02 s to 2 s, in which the first did all but 2 % of the slice that has all of its work.
    assert_eq!(inside.metric, "rate_stonewall");
    assert!((inside.elapsed_s - 1.98).abs() < 1e-12);
    assert_eq!(inside.operations, 4);
    let slices = events.iter().filter_map(|event| match event {
        Event::Interval(slice) => Some((slice.t_s, slice.operations)),
        _ => None,
    });
    assert_eq!(Vec::from_iter(slices), [(1.02, 4), (2.02, 0)]);
    let Some(Event::End(end)) = events.last() else {
        panic!("no last line");
    };
    assert_eq!((end.operations, end.counters["files"]), (4, 2));
    assert_eq!(end.checksum, format!("{:016x}", 1 ^ 3));
    assert_eq!(end.access.as_ref().unwrap().reason, "client 1: seen");
    // Of what each saw of others 1.5 s were the other client's.
    assert_eq!(end.usage.foreign_s, Some(0.25));
}

#[test]
fn percentiles_are_read_from_the_histogram_of_all() {
    let (few, many) = (timed(&[100, 200]), timed(&[9_000; 98]));
    let events = pooled(&[(0, 2, few.to_vec()), (0, 98, many.to_vec())]);
    let [mean, p99] = samples(&events)[..] else {
        panic!("{events:?}");
    };
    let mut all = Histogram::new();
    [100, 200]
        .iter()
        .chain(&[9_000; 98])
        .for_each(|ns| all.record(*ns));
    let expected = all.to_wire().unwrap();
    let latency = mean.latency_ns.as_ref().unwrap();
    assert_eq!(latency.buckets, expected.buckets);
    assert_eq!(
        (latency.count, latency.min, latency.p50),
        (100, 100, expected.p50)
    );
    assert_eq!(mean.value, expected.mean / 1e9);
    assert_eq!(p99.value, expected.p99 as f64 / 1e9);
}

#[test]
fn what_is_no_sum_is_told_and_left_out() {
    let of = |received, share| {
        vec![
            sample("sent", "B/s", 50.0, (0, 100)),
            sample("loss", "1", 1.0 - received as f64 / 100.0, (0, received)),
            sample("cpu", "1", share, (0, 0)),
            sample("phase", "s", 2.0, (0, 0)),
        ]
    };
    let events = pooled(&[(0, 1, of(100, 0.25)), (10_000_000, 1, of(50, 0.5))]);
    let of_all = samples(&events);
    let values = of_all.iter().map(|one| (one.metric.as_str(), one.value));
    let values = Vec::from_iter(values.filter(|(name, _)| !name.starts_with("sent")));
    assert_eq!(values, [("loss", 0.25), ("phase", 2.01)]);
    let warned = events.iter().filter_map(|event| match event {
        Event::Warning(note) => Some(note.message.as_str()),
        _ => None,
    });
    let left_out = "cpu: a value of all clients cannot be made of theirs";
    assert_eq!(Vec::from_iter(warned), ["client 1, 2: hot", left_out]);
}

#[test]
fn the_first_line_stays_as_it_was_said() {
    let lines = lines(0, 1, &[]);
    let said = text(&lines);
    let (hello, _) = pool(&request(&[0]), &[said]).unwrap();
    assert_eq!(hello, lines[0].to_string());
}

#[test]
fn what_makes_no_common_stream_is_refused_in_a_sentence() {
    let good = || lines(0, 1, &timed(&[5, 6]));
    let refused = |ahead_ns: i64, other: String, sentence: &str| {
        let told = pool(&request(&[0, ahead_ns]), &[text(&good()), other]).unwrap_err();
        assert!(told.contains(sentence), "{told}");
    };
    let late = "client 2 began 50.0 ms after the first one (limit 25 ms): the clients did not load";
    refused(0, text(&lines(49_999_000, 1, &timed(&[5, 6]))), late);
    let early = "client 2 began region 1 before it was told to";
    refused(1, text(&good()), early);
    let others = text(&lines(0, 1, &[sample("rate", "1/s", 0.5, (1, 0))]));
    refused(0, others, "the clients did not measure the same");
    let changed = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut lines = good();
        change(&mut lines);
        text(&lines)
    };
    let twice = changed(&|lines| lines.push(lines[1].clone()));
    refused(
        0,
        twice,
        "the clients did not time the same regions (1: 1, 2: 2)",
    );
    let torn = text(&good()).trim_end().to_owned();
    refused(0, torn, "client 2: its stream is not whole");
    refused(
        0,
        changed(&|lines| lines.truncate(5)),
        "client 2: its stream is not whole",
    );
    refused(
        0,
        "{\"type\":".to_owned(),
        "client 2: its stream line 1 is not an event: EOF",
    );
    let not_a_number = text(&good()).replacen("2.0", "NaN", 1);
    refused(
        0,
        not_a_number,
        "client 2: its stream line 2 is not an event",
    );
    let too_many = changed(&|lines| lines[1]["data"]["operations"] = u64::MAX.into());
    refused(
        0,
        too_many,
        "client 2: its stream line 2 has a number beyond",
    );
    let lies = changed(&|lines| lines[4]["data"]["latency_ns"]["count"] = 3.into());
    refused(0, lies, "client 2: the latencies of read do not add up");
    let no_checksum = changed(&|lines| lines[7]["data"]["checksum"] = "-".into());
    refused(0, no_checksum, "client 2: its checksum is not one");
    let none = pool(&request(&[]), &[]).unwrap_err();
    assert_eq!(none, "0 clients; 1 to 100 are pooled");
}
