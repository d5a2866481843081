//! Compiles `shim/ptrace.rs` to a library of its own, which the engine carries with it: the engine
//! is static, and what the shim is loaded into is not.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim/ptrace.rs");
    let built = Path::new(&env::var_os("OUT_DIR").unwrap()).join("ptrace.so");
    let status = Command::new(env::var_os("RUSTC").unwrap())
        .args([
            "shim/ptrace.rs",
            "--crate-type=cdylib",
            "--crate-name=ptrace",
            "--edition=2024",
        ])
        .args(["-Copt-level=2", "-Cpanic=abort", "-Cstrip=symbols"])
        .arg("--target")
        .arg(env::var_os("TARGET").unwrap())
        .arg("-o")
        .arg(&built)
        .status()
        .unwrap();
    assert!(status.success(), "shim/ptrace.rs does not compile");
}
