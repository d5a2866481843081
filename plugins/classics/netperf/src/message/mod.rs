//! The messages of netperf's control connection: of one fixed size, answered one by one, without
//! frame or version. Word 0 is the type; word 1 is, in a request, the CPU that the remote end shall
//! run on and, in an answer, an errno; the rest belongs to the type. All words are big-endian.
//!
//! Every layout is written once, over [`Words`], and serves for reading and for writing. Reading
//! never fails: a message shorter than its layout reads as zeros, since what the numbers mean,
//! and which of them are sensible, is for the ends to judge.

mod request;
mod results;
mod types;
mod words;

pub use request::{
    address_of, flag, words_of, Moves, Request, FAMILY_IPV4, FAMILY_IPV6, KEEP, RECEIVE, SEND,
};
pub use results::{CpuPercent, Response, Results, PROC_STAT};
pub use types::{TestType, Type};
pub use words::{Reader, Words, Writer};

/// The longest message of any generation, in bytes.
pub const LARGEST_BYTES: usize = 656;

/// Bytes before what belongs to the type.
const HEAD_BYTES: usize = 8;

/// No CPU is asked for.
const ANY_CPU: i32 = -1;

/// The releases of netperf between which the wire changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Generation {
    /// 2.4: messages of 256 bytes, classic requests only.
    V2_4,
    /// 2.6: 656 bytes; the results of an omni test lack five shares of CPU time.
    V2_6,
    /// 2.7 and later.
    #[default]
    V2_7,
}

impl Generation {
    /// Size of each message, in bytes.
    pub fn message_bytes(self) -> usize {
        match self {
            Self::V2_4 => 256,
            Self::V2_6 | Self::V2_7 => LARGEST_BYTES,
        }
    }
}

/// One message of either direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Word 0. An answer's may be anything: a stock netserver leaves bytes swapped in it.
    pub type_word: i32,
    /// Word 1: CPU or errno.
    pub status: i32,
    /// What belongs to the type.
    data: [u8; LARGEST_BYTES - HEAD_BYTES],
}

impl Message {
    /// An empty message.
    pub fn new(type_word: i32, status: i32) -> Self {
        Self {
            type_word,
            status,
            data: [0; LARGEST_BYTES - HEAD_BYTES],
        }
    }

    /// Asks for a test, to be run on `cpu` of the remote end if one is named.
    pub fn request(test: TestType, request: &Request, cpu: Option<u32>) -> Self {
        let cpu = cpu.and_then(|cpu| i32::try_from(cpu).ok());
        let mut message = Self::new(test.request(), cpu.unwrap_or(ANY_CPU));
        request.clone().lay_out(test, &mut message.writer());
        message
    }

    /// Tells where the data of a test go, and what was granted.
    pub fn response(test: TestType, response: &Response) -> Self {
        let mut message = Self::new(test.response(), 0);
        response.clone().lay_out(test, &mut message.writer());
        message
    }

    /// Tells what a test came to at this end.
    pub fn results(test: TestType, results: &Results, generation: Generation) -> Self {
        let mut message = Self::new(test.results(), 0);
        let mut writer = message.writer();
        results.clone().lay_out(test, generation, &mut writer);
        message
    }

    /// The word that a netserver started with a passphrase wants to hear first; cut to fit.
    pub fn passphrase(word: &str) -> Self {
        let mut message = Self::new(Type::Passphrase.word(), 0);
        // The last byte stays zero: the reader takes it for a C string.
        let room = Generation::V2_4.message_bytes() - HEAD_BYTES - 1;
        let length = word.len().min(room);
        message.data[..length].copy_from_slice(&word.as_bytes()[..length]);
        message
    }

    /// The bytes that go over the connection.
    pub fn to_bytes(&self, generation: Generation) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(generation.message_bytes());
        bytes.extend(self.type_word.to_be_bytes());
        bytes.extend(self.status.to_be_bytes());
        bytes.extend(&self.data);
        bytes.truncate(generation.message_bytes());
        bytes
    }

    /// Reads a message of any size; what is missing is zero, what is too much is left out.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut whole = [0; LARGEST_BYTES];
        let length = bytes.len().min(LARGEST_BYTES);
        whole[..length].copy_from_slice(&bytes[..length]);
        let mut head = Reader::new(&whole);
        let mut message = Self::new(0, 0);
        head.word(&mut message.type_word);
        head.word(&mut message.status);
        message.data.copy_from_slice(&whole[HEAD_BYTES..]);
        message
    }

    /// The test that this message asks for, read as `test`.
    pub fn to_request(&self, test: TestType) -> Request {
        let mut request = Request::default();
        request.lay_out(test, &mut self.reader());
        request
    }

    /// This answer, read as that to the request of `test`.
    pub fn to_response(&self, test: TestType) -> Response {
        let mut response = Response::default();
        response.lay_out(test, &mut self.reader());
        response
    }

    /// This answer, read as the results of `test`.
    pub fn to_results(&self, test: TestType, generation: Generation) -> Results {
        let mut results = Results::default();
        results.lay_out(test, generation, &mut self.reader());
        results
    }

    /// The passphrase in this message, as far as its first zero byte.
    pub fn to_passphrase(&self) -> &[u8] {
        let end = self.data.iter().position(|&byte| byte == 0);
        &self.data[..end.unwrap_or(self.data.len())]
    }

    /// The CPU that the remote end shall run on; `None` for any.
    pub fn cpu(&self) -> Option<u32> {
        u32::try_from(self.status).ok()
    }

    /// Writes over what belongs to the type, from its begin.
    pub fn writer(&mut self) -> Writer<'_> {
        Writer::new(&mut self.data)
    }

    /// Reads what belongs to the type, from its begin.
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(&self.data)
    }
}

#[cfg(test)]
mod tests;
