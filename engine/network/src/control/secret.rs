//! A shared secret, proven without passing the network: HMAC-SHA-256 (RFC 2104) over the number
//! that the server drew for this connection.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What is authenticated, so that a proof is of use for nothing else.
const PURPOSE: &[u8] = b"tiltyard control connection, near end: ";

/// A number nobody can foresee, in hexadecimal digits.
///
/// # Errors
/// Where the kernel has no random numbers.
pub fn nonce() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(hex(&bytes))
}

/// The answer to `nonce` of a peer that knows `secret`.
pub fn proof(secret: &str, nonce: &str) -> String {
    hex(&keyed(secret, nonce).finalize().into_bytes())
}

/// Whether `proof` is right; takes equally long however much of it is.
pub fn proves(secret: &str, nonce: &str, proof: &str) -> bool {
    unhex(proof).is_some_and(|proof| keyed(secret, nonce).verify_slice(&proof).is_ok())
}

fn keyed(secret: &str, nonce: &str) -> Hmac<Sha256> {
    let mut keyed = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length is a key");
    keyed.update(PURPOSE);
    keyed.update(nonce.as_bytes());
    keyed
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let pairs = digits.chunks(2);
    digits
        .len()
        .is_multiple_of(2)
        .then(|| pairs.map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_and_the_number_of_the_connection_prove() {
        let [first, second] = [nonce().unwrap(), nonce().unwrap()];
        assert_ne!(first, second);
        let proof = proof("secret", &first);
        assert!(proves("secret", &first, &proof));
        assert!(!proves("secret", &second, &proof));
        assert!(!proves("secre", &first, &proof));
        for broken in ["", "0", "zz", &proof[2..], "é"] {
            assert!(!proves("secret", &first, broken), "{broken}");
        }
    }
}
