//! Options behind `--`.

use std::time::Duration;

use network::netperf::client::Kind;
use wire::Failure;

use super::omni::Omni;
use super::{Asks, Family, Mode, Name, Place, Request};
use crate::netperf::words::{fitting, number, Pair};
use crate::options::{Given, Line};

/// Bytes of the name of a congestion control; the message has no room for more.
const CONGESTION_BYTES: usize = 15;

impl Request {
    /// Takes what stands behind `--`.
    pub(super) fn take_specific(&mut self, line: &Line) -> Result<(), Failure> {
        let mut omni = (self.name == Name::Omni).then(Omni::default);
        for given in &line.options {
            let is_taken = self.take_addresses(given)?
                || self.take_sizes(given)?
                || self.take_socket(given)?
                || self.take_selection(given)
                || Omni::take(&mut omni, given)?;
            assert!(is_taken, "{} is in the table and nowhere else", given.name);
        }
        if let Some(mut omni) = omni {
            omni.imply(line);
            self.test.kind = omni.kind()?;
            if self.output.mode == Mode::Classic {
                self.output.mode = Mode::Human;
            }
        }
        let is_stream = !self.test.kind.counts_transactions();
        if line.has("-r") && is_stream {
            let given = line.options.iter().find(|given| given.name == "-r");
            let message = "a stream has no requests; -m sets the size of a send";
            return given.map_or(Ok(()), |given| Err(given.wrong(message)));
        }
        if !line.has("-R") {
            self.test.routing = !matches!(self.test.kind, Kind::UdpStream | Kind::UdpMaerts);
        }
        Ok(())
    }

    fn take_addresses(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        match given.name {
            "-H" => self.far_data.take(given)?,
            "-L" => self.near_data.take(given)?,
            "-4" | "-6" => {
                let family = match given.name {
                    "-4" => Family::V4,
                    _ => Family::V6,
                };
                for place in [&mut self.near_data, &mut self.far_data] {
                    *place = Place {
                        family,
                        ..place.clone()
                    };
                }
            }
            "-P" => Pair::shared(&text).store(
                given,
                &mut self.test.near.port,
                &mut self.test.far.port,
            )?,
            "-p" => {
                let ports = &mut self.test.client_ports;
                Pair::shared(&text).store(given, &mut ports.start, &mut ports.end)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_sizes(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        let near = &mut self.test.near;
        let far = &mut self.test.far;
        match given.name {
            "-m" => {
                let pair = Pair::separate(&text);
                pair.store_known(given, &mut near.send.size, &mut far.send.size)?;
                usual_for_zero([&mut near.send.size, &mut far.send.size]);
            }
            "-M" => {
                let pair = Pair::separate(&text);
                pair.store_known(given, &mut far.receive.size, &mut near.receive.size)?;
                usual_for_zero([&mut far.receive.size, &mut near.receive.size]);
            }
            "-s" => buffers(
                given,
                &text,
                &mut near.send_buffer,
                &mut near.receive_buffer,
            )?,
            "-S" => buffers(given, &text, &mut far.send_buffer, &mut far.receive_buffer)?,
            "-r" => Pair::shared(&text).store(
                given,
                &mut self.test.request_size,
                &mut self.test.response_size,
            )?,
            "-b" => self.test.burst = fitting(given, &text)?,
            "-W" => near.send.width = Some(fitting(given, &text)?),
            "-G" => self.test.segment_size = Some(fitting(given, &text)?),
            "-q" => self.test.pacing_rate = Some(fitting(given, &text)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_socket(&mut self, given: &Given) -> Result<bool, Failure> {
        let text = given.text().to_string_lossy();
        match given.name {
            "-D" => self.test.no_delay = true,
            "-C" => self.test.cork = true,
            "-R" => self.test.routing = number(given, &text)? != 0,
            "-n" => self.test.near.connected = true,
            "-N" => self.test.far.connected = true,
            "-e" => {
                let seconds = fitting::<u32>(given, &text)?;
                self.test.patience = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
            }
            "-f" => self.test.mtu_discovery = true,
            "-a" => self.test.defer_accept = true,
            "-U" => self.test.retry_connect = true,
            "-K" => {
                let pair = Pair::shared(&text);
                let ends = [
                    (pair.first, &mut self.test.near),
                    (pair.second, &mut self.test.far),
                ];
                for (name, end) in ends {
                    let Some(name) = name else { continue };
                    if name.len() > CONGESTION_BYTES {
                        let message = format!("\"{name}\" is longer than a name can be");
                        return Err(given.wrong(message));
                    }
                    end.congestion = Some(name.to_owned());
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_selection(&mut self, given: &Given) -> bool {
        let text = given.text().to_string_lossy();
        let mode = match given.name {
            "-o" => Mode::Csv,
            "-O" => Mode::Human,
            "-k" => Mode::Keyval,
            "-u" => {
                self.output.uuid = Some(text.into_owned());
                return true;
            }
            "-h" => {
                self.asks = Some(Asks::Help);
                return true;
            }
            _ => return false,
        };
        self.output.mode = mode;
        if text == "?" {
            self.asks = self.asks.or(Some(Asks::Selectors(mode)));
        }
        self.output.selectors = text.into_owned();
        true
    }
}

/// A size of zero bytes is that of the socket's buffer, as if none were given.
fn usual_for_zero(sizes: [&mut Option<u32>; 2]) {
    for size in sizes {
        size.take_if(|bytes| *bytes == 0);
    }
}

/// Socket buffers of one end; a negative number leaves one as it is.
fn buffers(
    given: &Given,
    text: &str,
    send: &mut Option<u32>,
    receive: &mut Option<u32>,
) -> Result<(), Failure> {
    let pair = Pair::shared(text);
    for (text, buffer) in [(pair.first, send), (pair.second, receive)] {
        match text {
            Some(text) if number(given, text)? < 0 => *buffer = None,
            Some(text) => *buffer = Some(fitting(given, text)?),
            None => {}
        }
    }
    Ok(())
}
