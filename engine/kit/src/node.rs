//! NUMA nodes: which CPUs they have, and whose memory a thread takes.

use std::fs;
use std::io;

/// Nodes that a memory policy can name here.
const NODES_MAX: u32 = 1_024;

/// CPUs of a NUMA node, ascending.
///
/// # Errors
/// There is no such node, or it has no CPUs.
pub fn cpus_of(node: u32) -> io::Result<Vec<u32>> {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    let cpus = parse_list(fs::read_to_string(path)?.trim());
    match cpus.is_empty() || node >= NODES_MAX {
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(cpus),
    }
}

/// A list as the kernel writes it, `0-3,8`.
pub fn parse_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Ascending numbers as the kernel lists them.
pub fn as_list(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut().filter(|(_, last)| *last + 1 == cpu) {
            Some((_, last)) => *last = cpu,
            None => parts.push((cpu, cpu)),
        }
    }
    let part = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.into_iter().map(part).collect::<Vec<_>>().join(",")
}

/// Lets this thread, and those it starts, take memory of `node` while there is some; `None`: as by
/// default. See set_mempolicy(2).
///
/// # Errors
/// The kernel refuses; a sandbox may forbid it.
pub fn prefer(node: Option<u32>) -> io::Result<()> {
    let mut mask = [0u64; (NODES_MAX / 64) as usize];
    let mode = match node {
        Some(node) => {
            mask[node as usize / 64] |= 1 << (node % 64);
            libc::MPOL_PREFERRED
        }
        None => libc::MPOL_DEFAULT,
    };
    // The kernel reads one bit less than the given count.
    let bits = u64::from(NODES_MAX) + 1;
    // SAFETY: the mask has as many bits as are named.
    let status = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), bits) };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The node whose memory this thread prefers, as the kernel says; see get_mempolicy(2).
pub fn preferred() -> Option<u32> {
    let mut mode: libc::c_int = 0;
    let mut mask = [0u64; (NODES_MAX / 64) as usize];
    let (bits, none) = (u64::from(NODES_MAX), std::ptr::null::<u8>());
    // SAFETY: the mask has as many bits as are named; no address is asked about.
    let status = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            mask.as_mut_ptr(),
            bits,
            none,
            0,
        )
    };
    let is_ours = status == 0 && mode == libc::MPOL_PREFERRED;
    let node = (0..NODES_MAX).find(|&node| mask[node as usize / 64] >> (node % 64) & 1 == 1);
    node.filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-2,7"), [0, 1, 2, 7]);
        assert_eq!(parse_list("5"), [5]);
        assert!(parse_list("").is_empty());
        for text in ["0-2,7", "5", "", "0-1,3-4"] {
            assert_eq!(as_list(parse_list(text)), text);
        }
    }

    #[test]
    fn a_node_that_is_not_there_has_no_cpus() {
        cpus_of(99_999).unwrap_err();
    }
}
