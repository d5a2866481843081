//! The floor under every storage measurement: the same loop with a backend that does nothing.

use kit::{Content, PassProbe, Probe};

use crate::backend::null::NullFile;
use crate::io::watch::Alone;
use crate::io::{AtPosition, Check, NoHooks, Pump, Step};

const RECORD_BYTES: usize = 4_096;
const OPERATIONS: u64 = 200;
const REPETITIONS: usize = 5;

/// Time that one operation costs when it moves nothing, in ns: the median of a few regions.
pub fn operation_ns() -> f64 {
    let Ok(content) = Content::classic(RECORD_BYTES) else {
        return f64::NAN;
    };
    let mut buffer = [0; RECORD_BYTES];
    let mut probe = PassProbe::new();
    let mut regions_ns = [0.0; REPETITIONS];
    for region_ns in &mut regions_ns {
        probe.start();
        let mut pump = Pump {
            file: &mut NullFile,
            watch: &mut Alone(&mut probe),
            hooks: &mut NoHooks::new(&content, Check::Nothing),
            record_bytes: RECORD_BYTES,
            buffer: &mut buffer,
            times_seeks: true,
            checksum: 0,
        };
        let steps = (0..OPERATIONS).map(|record| Step::new(record, true));
        // The null backend cannot fail; a stop asked for now is seen by the trial itself.
        let _ = pump.run::<AtPosition>(steps);
        let reading = probe.finish();
        *region_ns = reading.elapsed_ns as f64 / reading.operations.max(1) as f64;
    }
    regions_ns.sort_by(f64::total_cmp);
    regions_ns[REPETITIONS / 2]
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_operation_that_does_nothing_costs_little() {
        let operation_ns = super::operation_ns();
        assert!(
            operation_ns > 0.0 && operation_ns < 10_000.0,
            "{operation_ns}"
        );
    }
}
