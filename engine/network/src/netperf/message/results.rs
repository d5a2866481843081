//! What the remote end counted.

/// In [`Results::cpu_method`]: from `/proc/stat`.
pub const PROC_STAT: i32 = 8;

/// Shares of the time of all CPUs, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuPercent {
    /// Not idle.
    pub busy: f32,
    /// In programs.
    pub user: f32,
    /// In the kernel.
    pub system: f32,
    /// Idle, and something waited for a disk.
    pub iowait: f32,
    /// In interrupts.
    pub irq: f32,
    /// In software interrupts: most of what the network costs.
    pub softirq: f32,
}

impl CpuPercent {
    /// All of them.
    pub fn percents(&self) -> [f32; 6] {
        let Self {
            busy,
            user,
            system,
            iowait,
            irq,
            softirq,
        } = *self;
        [busy, user, system, iowait, irq, softirq]
    }
}

/// The sums of the remote end. A classic test's results carry only some of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Bytes received; modulo 2^32 in classic UDP tests and transactions.
    pub received_bytes: u64,
    /// Calls that received them; the messages of a classic UDP stream.
    pub receives: u32,
    /// `SO_RCVBUF` at the end, in bytes.
    pub receive_buffer: i32,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Calls that sent them.
    pub sends: u32,
    /// `SO_SNDBUF` at the end, in bytes.
    pub send_buffer: i32,
    /// Datagrams that the kernel had no room for.
    pub failed_sends: u32,
    /// Requests answered.
    pub transactions: u32,
    /// How long it took, in seconds.
    pub elapsed_s: f32,
    /// Use of the CPUs; zero when nobody asked.
    pub cpu: CpuPercent,
    /// [`PROC_STAT`]; zero when nobody asked.
    pub cpu_method: i32,
    /// How many CPUs the remote end has.
    pub cpus: i32,
    /// The busiest of them.
    pub peak_cpu: i32,
    /// How busy it was, in percent.
    pub peak_percent: f32,
    /// Segments that TCP sent again; [`super::KEEP`] where there is no TCP.
    pub retransmits: i32,
    /// Name of the congestion control, up to the first zero.
    pub congestion: [u8; 16],
}
