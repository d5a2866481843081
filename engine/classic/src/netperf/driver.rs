//! A netserver over the wire, driven from a thread of its own: figures on the way are printed by
//! the thread that holds standard output.

use std::sync::mpsc;
use std::thread;

use kit::failure::failure;
use network::netperf::client::{self, Interim, Outcome, Test};
use wire::{Failure, FailureKind};

use crate::bench::Netserver;

impl Netserver for client::Netserver {
    fn run(&mut self, test: &Test, observer: &mut dyn FnMut(Interim)) -> Result<Outcome, Failure> {
        let (sender, interims) = mpsc::channel();
        thread::scope(|scope| {
            let near_end = scope.spawn(move || {
                self.run(test, &mut |interim| {
                    // The receiver is there for as long as the sender is.
                    let _ = sender.send(interim);
                })
            });
            interims.into_iter().for_each(observer);
            near_end
                .join()
                .unwrap_or_else(|_| Err(failure(FailureKind::Internal, "the engine has a defect")))
        })
    }
}
