//! Facts about the hosts (no longer filled in), durations of operations, and what was asked for.

use netperf::client::Burst;
use wire::Latency;

use super::{deprecated, known, quoted, text, two, whole, zero};
use crate::netperf::report::middle_ns;

selectors! {
    SELECTORS(report)
    "LOCAL_SYSNAME" "Local|Sysname" => deprecated();
    "LOCAL_SYSTEM_MODEL" "Local|System|Model" => deprecated();
    "LOCAL_RELEASE" "Local|Release" => deprecated();
    "LOCAL_VERSION" "Local|Version" => deprecated();
    "LOCAL_MACHINE" "Local|Machine" => deprecated();
    "REMOTE_SYSNAME" "Remote|Sysname" => deprecated();
    "REMOTE_SYSTEM_MODEL" "Remote|System|Model" => deprecated();
    "REMOTE_RELEASE" "Remote|Release" => deprecated();
    "REMOTE_VERSION" "Remote|Version" => deprecated();
    "REMOTE_MACHINE" "Remote|Machine" => deprecated();
    "LOCAL_INTERFACE_NAME" "Local|Interface|Name" => deprecated();
    "LOCAL_INTERFACE_VENDOR" "Local|Interface|Vendor" => no_interface();
    "LOCAL_INTERFACE_DEVICE" "Local|Interface|Device" => no_interface();
    "LOCAL_INTERFACE_SUBVENDOR" "Local|Interface|Subvendor" => no_interface();
    "LOCAL_INTERFACE_SUBDEVICE" "Local|Interface|Subdevice" => no_interface();
    "LOCAL_DRIVER_NAME" "Local|Driver|Name" => deprecated();
    "LOCAL_DRIVER_VERSION" "Local|Driver|Version" => deprecated();
    "LOCAL_DRIVER_FIRMWARE" "Local|Driver|Firmware" => deprecated();
    "LOCAL_DRIVER_BUS" "Local|Driver|Bus" => deprecated();
    "LOCAL_INTERFACE_SLOT" "Local|Interface|Slot" => deprecated();
    "REMOTE_INTERFACE_NAME" "Remote|Interface|Name" => deprecated();
    "REMOTE_INTERFACE_VENDOR" "Remote|Interface|Vendor" => no_interface();
    "REMOTE_INTERFACE_DEVICE" "Remote|Interface|Device" => no_interface();
    "REMOTE_INTERFACE_SUBVENDOR" "Remote|Interface|Subvendor" => no_interface();
    "REMOTE_INTERFACE_SUBDEVICE" "Remote|Interface|Subdevice" => no_interface();
    "REMOTE_DRIVER_NAME" "Remote|Driver|Name" => deprecated();
    "REMOTE_DRIVER_VERSION" "Remote|Driver|Version" => deprecated();
    "REMOTE_DRIVER_FIRMWARE" "Remote|Driver|Firmware" => deprecated();
    "REMOTE_DRIVER_BUS" "Remote|Driver|Bus" => deprecated();
    "REMOTE_INTERFACE_SLOT" "Remote|Interface|Slot" => deprecated();
    "LOCAL_INTERVAL_USECS" "Local|Interval|Usecs" => interval_us(report.request.test.local.pace);
    "LOCAL_INTERVAL_BURST" "Local|Interval|Burst" => burst(report.request.test.local.pace);
    "REMOTE_INTERVAL_USECS" "Remote|Interval|Usecs" => interval_us(report.request.test.remote.pace);
    "REMOTE_INTERVAL_BURST" "Remote|Interval|Burst" => burst(report.request.test.remote.pace);
    "LOCAL_SECURITY_TYPE_ID" "Local|OS|Security|Type ID" => zero();
    "LOCAL_SECURITY_TYPE" "Local|OS|Security|Type" => deprecated();
    "LOCAL_SECURITY_ENABLED_NUM" "Local|OS|Security|Enabled Num" => zero();
    "LOCAL_SECURITY_ENABLED" "Local|OS|Security|Enabled" => deprecated();
    "LOCAL_SECURITY_SPECIFIC" "Local|OS|Security|Specific" => deprecated();
    "REMOTE_SECURITY_TYPE_ID" "Remote|OS|Security|Type" => zero();
    "REMOTE_SECURITY_TYPE" "Remote|OS|Security|Type" => deprecated();
    "REMOTE_SECURITY_ENABLED_NUM" "Remote|OS|Security|Enabled" => zero();
    "REMOTE_SECURITY_ENABLED" "Remote|OS|Security|Enabled" => deprecated();
    "REMOTE_SECURITY_SPECIFIC" "Remote|OS|Security|Specific" => deprecated();
    "RESULT_BRAND" "Result|Tag" => report.request.output.brand.as_deref().and_then(quoted);
    "UUID" "Test|UUID" => report.request.output.uuid.clone();
    "MIN_LATENCY" "Minimum|Latency|Microseconds"
        => report.latency.as_ref().and_then(|latency| micros(latency.min));
    "MAX_LATENCY" "Maximum|Latency|Microseconds"
        => report.latency.as_ref().and_then(|latency| micros(latency.max));
    "P50_LATENCY" "50th|Percentile|Latency|Microseconds"
        => report.latency.as_ref().and_then(|latency| micros(latency.p50));
    "P90_LATENCY" "90th|Percentile|Latency|Microseconds"
        => report.latency.as_ref().and_then(|latency| micros(latency.p90));
    "P99_LATENCY" "99th|Percentile|Latency|Microseconds"
        => report.latency.as_ref().and_then(|latency| micros(latency.p99));
    "MEAN_LATENCY" "Mean|Latency|Microseconds"
        => report.latency.as_ref().and_then(|latency| two(latency.mean / 1e3));
    "STDDEV_LATENCY" "Stddev|Latency|Microseconds"
        => report.latency.as_ref().and_then(|latency| two(deviation_ns(latency) / 1e3));
    "LOCAL_SOCKET_PRIO" "Local|Socket|Priority" => known(report.last.local.priority);
    "REMOTE_SOCKET_PRIO" "Remote|Socket|Priority" => known(report.last.remote.priority);
    "LOCAL_SOCKET_TOS" "Local|Socket|TOS" => tos(report.last.local.tos);
    "REMOTE_SOCKET_TOS" "Remote|Socket|TOS" => tos(report.last.remote.tos);
    "LOCAL_CONG_CONTROL" "Local|Congestion|Control|Algorithm"
        => text(report.last.local.congestion.as_deref().unwrap_or_default());
    "REMOTE_CONG_CONTROL" "Remote|Congestion|Control|Algorithm"
        => text(report.last.remote.congestion.as_deref().unwrap_or_default());
    "LOCAL_FILL_FILE" "Local|Fill|File"
        => text( report.request.test.local.fill.as_deref().unwrap_or_default(), );
    "REMOTE_FILL_FILE" "Remote|Fill|File"
        => text( report.request.test.remote.fill.as_deref().unwrap_or_default(), );
    "COMMAND_LINE" "Command|Line" => quoted(&report.request.output.command);
}

/// Of an interface that was not looked at.
fn no_interface() -> Option<String> {
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
