//! What the original once told of the hosts, the durations of operations, and what was asked for.

use network::netperf::client::Burst;
use wire::Latency;

use super::{deprecated, known, quoted, selector, text, two, whole, zero, Selector};
use crate::netperf::report::{middle_ns, Report};

pub const SELECTORS: &[Selector] = &[
    selector("LOCAL_SYSNAME", "Local|Sysname", deprecated),
    selector("LOCAL_SYSTEM_MODEL", "Local|System|Model", deprecated),
    selector("LOCAL_RELEASE", "Local|Release", deprecated),
    selector("LOCAL_VERSION", "Local|Version", deprecated),
    selector("LOCAL_MACHINE", "Local|Machine", deprecated),
    selector("REMOTE_SYSNAME", "Remote|Sysname", deprecated),
    selector("REMOTE_SYSTEM_MODEL", "Remote|System|Model", deprecated),
    selector("REMOTE_RELEASE", "Remote|Release", deprecated),
    selector("REMOTE_VERSION", "Remote|Version", deprecated),
    selector("REMOTE_MACHINE", "Remote|Machine", deprecated),
    selector("LOCAL_INTERFACE_NAME", "Local|Interface|Name", deprecated),
    selector(
        "LOCAL_INTERFACE_VENDOR",
        "Local|Interface|Vendor",
        no_interface,
    ),
    selector(
        "LOCAL_INTERFACE_DEVICE",
        "Local|Interface|Device",
        no_interface,
    ),
    selector(
        "LOCAL_INTERFACE_SUBVENDOR",
        "Local|Interface|Subvendor",
        no_interface,
    ),
    selector(
        "LOCAL_INTERFACE_SUBDEVICE",
        "Local|Interface|Subdevice",
        no_interface,
    ),
    selector("LOCAL_DRIVER_NAME", "Local|Driver|Name", deprecated),
    selector("LOCAL_DRIVER_VERSION", "Local|Driver|Version", deprecated),
    selector("LOCAL_DRIVER_FIRMWARE", "Local|Driver|Firmware", deprecated),
    selector("LOCAL_DRIVER_BUS", "Local|Driver|Bus", deprecated),
    selector("LOCAL_INTERFACE_SLOT", "Local|Interface|Slot", deprecated),
    selector("REMOTE_INTERFACE_NAME", "Remote|Interface|Name", deprecated),
    selector(
        "REMOTE_INTERFACE_VENDOR",
        "Remote|Interface|Vendor",
        no_interface,
    ),
    selector(
        "REMOTE_INTERFACE_DEVICE",
        "Remote|Interface|Device",
        no_interface,
    ),
    selector(
        "REMOTE_INTERFACE_SUBVENDOR",
        "Remote|Interface|Subvendor",
        no_interface,
    ),
    selector(
        "REMOTE_INTERFACE_SUBDEVICE",
        "Remote|Interface|Subdevice",
        no_interface,
    ),
    selector("REMOTE_DRIVER_NAME", "Remote|Driver|Name", deprecated),
    selector("REMOTE_DRIVER_VERSION", "Remote|Driver|Version", deprecated),
    selector(
        "REMOTE_DRIVER_FIRMWARE",
        "Remote|Driver|Firmware",
        deprecated,
    ),
    selector("REMOTE_DRIVER_BUS", "Remote|Driver|Bus", deprecated),
    selector("REMOTE_INTERFACE_SLOT", "Remote|Interface|Slot", deprecated),
    selector("LOCAL_INTERVAL_USECS", "Local|Interval|Usecs", |report| {
        interval_us(report.request.test.local.pace)
    }),
    selector("LOCAL_INTERVAL_BURST", "Local|Interval|Burst", |report| {
        burst(report.request.test.local.pace)
    }),
    selector("REMOTE_INTERVAL_USECS", "Remote|Interval|Usecs", |report| {
        interval_us(report.request.test.remote.pace)
    }),
    selector("REMOTE_INTERVAL_BURST", "Remote|Interval|Burst", |report| {
        burst(report.request.test.remote.pace)
    }),
    selector("LOCAL_SECURITY_TYPE_ID", "Local|OS|Security|Type ID", zero),
    selector("LOCAL_SECURITY_TYPE", "Local|OS|Security|Type", deprecated),
    selector(
        "LOCAL_SECURITY_ENABLED_NUM",
        "Local|OS|Security|Enabled Num",
        zero,
    ),
    selector(
        "LOCAL_SECURITY_ENABLED",
        "Local|OS|Security|Enabled",
        deprecated,
    ),
    selector(
        "LOCAL_SECURITY_SPECIFIC",
        "Local|OS|Security|Specific",
        deprecated,
    ),
    selector("REMOTE_SECURITY_TYPE_ID", "Remote|OS|Security|Type", zero),
    selector(
        "REMOTE_SECURITY_TYPE",
        "Remote|OS|Security|Type",
        deprecated,
    ),
    selector(
        "REMOTE_SECURITY_ENABLED_NUM",
        "Remote|OS|Security|Enabled",
        zero,
    ),
    selector(
        "REMOTE_SECURITY_ENABLED",
        "Remote|OS|Security|Enabled",
        deprecated,
    ),
    selector(
        "REMOTE_SECURITY_SPECIFIC",
        "Remote|OS|Security|Specific",
        deprecated,
    ),
    selector("RESULT_BRAND", "Result|Tag", |report| {
        report.request.output.brand.as_deref().and_then(quoted)
    }),
    selector("UUID", "Test|UUID", |report| {
        report.request.output.uuid.clone()
    }),
    selector("MIN_LATENCY", "Minimum|Latency|Microseconds", |report| {
        report
            .latency
            .as_ref()
            .and_then(|latency| micros(latency.min))
    }),
    selector("MAX_LATENCY", "Maximum|Latency|Microseconds", |report| {
        report
            .latency
            .as_ref()
            .and_then(|latency| micros(latency.max))
    }),
    selector(
        "P50_LATENCY",
        "50th|Percentile|Latency|Microseconds",
        |report| {
            report
                .latency
                .as_ref()
                .and_then(|latency| micros(latency.p50))
        },
    ),
    selector(
        "P90_LATENCY",
        "90th|Percentile|Latency|Microseconds",
        |report| {
            report
                .latency
                .as_ref()
                .and_then(|latency| micros(latency.p90))
        },
    ),
    selector(
        "P99_LATENCY",
        "99th|Percentile|Latency|Microseconds",
        |report| {
            report
                .latency
                .as_ref()
                .and_then(|latency| micros(latency.p99))
        },
    ),
    selector("MEAN_LATENCY", "Mean|Latency|Microseconds", |report| {
        report
            .latency
            .as_ref()
            .and_then(|latency| two(latency.mean / 1e3))
    }),
    selector("STDDEV_LATENCY", "Stddev|Latency|Microseconds", |report| {
        report
            .latency
            .as_ref()
            .and_then(|latency| two(deviation_ns(latency) / 1e3))
    }),
    selector("LOCAL_SOCKET_PRIO", "Local|Socket|Priority", |report| {
        known(report.last.local.priority)
    }),
    selector("REMOTE_SOCKET_PRIO", "Remote|Socket|Priority", |report| {
        known(report.last.remote.priority)
    }),
    selector("LOCAL_SOCKET_TOS", "Local|Socket|TOS", |report| {
        tos(report.last.local.tos)
    }),
    selector("REMOTE_SOCKET_TOS", "Remote|Socket|TOS", |report| {
        tos(report.last.remote.tos)
    }),
    selector(
        "LOCAL_CONG_CONTROL",
        "Local|Congestion|Control|Algorithm",
        |report| text(report.last.local.congestion.as_deref().unwrap_or_default()),
    ),
    selector(
        "REMOTE_CONG_CONTROL",
        "Remote|Congestion|Control|Algorithm",
        |report| text(report.last.remote.congestion.as_deref().unwrap_or_default()),
    ),
    selector("LOCAL_FILL_FILE", "Local|Fill|File", |report| {
        text(
            report
                .request
                .test
                .local
                .fill
                .as_deref()
                .unwrap_or_default(),
        )
    }),
    selector("REMOTE_FILL_FILE", "Remote|Fill|File", |report| {
        text(
            report
                .request
                .test
                .remote
                .fill
                .as_deref()
                .unwrap_or_default(),
        )
    }),
    selector("COMMAND_LINE", "Command|Line", |report| {
        quoted(&report.request.output.command)
    }),
];

/// Of an interface that was not looked at.
fn no_interface(_: &Report) -> Option<String> {
    text("0xfffffffe")
}

fn interval_us(pace: Option<Burst>) -> Option<String> {
    whole(pace.map_or(0, |pace| pace.every.as_micros() as u64))
}

fn burst(pace: Option<Burst>) -> Option<String> {
    whole(pace.map_or(0, |pace| pace.operations))
}

fn micros(ns: u64) -> Option<String> {
    whole(ns / 1_000)
}

/// Standard deviation of the sample, from the middles of the histogram's buckets.
fn deviation_ns(latency: &Latency) -> f64 {
    let squares = latency.buckets.iter().map(|&(lowest_ns, count)| {
        count as f64 * (middle_ns(lowest_ns) as f64 - latency.mean).powi(2)
    });
    (squares.sum::<f64>() / (latency.count.max(2) - 1) as f64).sqrt()
}

fn tos(tos: Option<u8>) -> Option<String> {
    text(&tos.map_or("0xffffffff".to_owned(), |tos| format!("0x{tos:02x}")))
}
