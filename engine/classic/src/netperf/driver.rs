//! A netserver over the wire. The local end has a thread of its own: figures on the way are printed
//! by the one that holds standard output.

use std::sync::mpsc;
use std::thread;

use kit::failure::{bad_parameter, failure};
use kit::place;
use network::netperf::client::{self, Interim, Outcome, Test};
use wire::{Failure, FailureKind};

use crate::bench::Netserver;

impl Netserver for client::Netserver {
    fn run(
        &mut self,
        test: &Test,
        cpu: Option<u32>,
        observer: &mut dyn FnMut(Interim),
    ) -> Result<Outcome, Failure> {
        let (sender, interims) = mpsc::channel();
        thread::scope(|scope| {
            let local_end = scope.spawn(move || {
                cpu.map_or(Ok(()), pin_to)?;
                self.run(test, &mut |interim| {
                    // The receiver is there for as long as the sender is.
                    let _ = sender.send(interim);
                })
            });
            interims.into_iter().for_each(observer);
            let defect = || failure(FailureKind::Internal, "the engine has a defect");
            local_end.join().unwrap_or_else(|_| Err(defect()))
        })
    }
}

fn pin_to(cpu: u32) -> Result<(), Failure> {
    place::pin_to(cpu).map_err(|error| {
        let message = format!("option -T: cannot run on CPU {cpu}: {error}");
        bad_parameter("-T", message)
    })
}
