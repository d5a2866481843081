//! Bytes that others have written, as JSON can hold them: as text, or else in base64 (RFC 4648).

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `bytes` as text; `None` where they are none, or mostly control characters, each of which would
/// take six letters of JSON. What is `truncated` may end inside a letter, which is left out.
pub fn read(bytes: &[u8], truncated: bool) -> Option<&str> {
    let is_control = |byte: &&u8| **byte < b' ' && !b"\n\t\r".contains(*byte);
    if bytes.iter().filter(is_control).count() > bytes.len() / 8 {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if truncated && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// `bytes` in base64, with padding.
pub fn in_base64(bytes: &[u8]) -> String {
    let signs_of = |[first, second, third]: [u8; 3]| {
        let bits = u32::from_be_bytes([0, first, second, third]);
        [18, 12, 6, 0].map(|shift| SIGNS[(bits >> shift) as usize & 63])
    };
    let (groups, rest) = bytes.as_chunks::<3>();
    let mut text = vec![b'='; bytes.len().div_ceil(3) * 4];
    let (places, _) = text.as_chunks_mut::<4>();
    for (place, group) in places.iter_mut().zip(groups) {
        *place = signs_of(*group);
    }
    if let (false, Some(place)) = (rest.is_empty(), places.last_mut()) {
        let mut last = [0; 3];
        last[..rest.len()].copy_from_slice(rest);
        place[..=rest.len()].copy_from_slice(&signs_of(last)[..=rest.len()]);
    }
    String::from_utf8(text).unwrap_or_else(|_| unreachable!("these signs are ASCII"))
}

/// What stands in base64, with padding; `None` for anything else.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let signs = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - signs.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in signs.as_bytes().chunks(4) {
        let mut bits = 0;
        for sign in group {
            bits = bits << 6 | SIGNS.iter().position(|known| known == sign)? as u32;
        }
        bits <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10; printf '\377\376\0' | base64
        for (bytes, base64) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"fooba", "Zm9vYmE="),
            (b"foobar", "Zm9vYmFy"),
            (b"\xff\xfe\0", "//4A"),
        ] {
            assert_eq!(in_base64(bytes), base64);
            assert_eq!(from_base64(base64).as_deref(), Some(bytes));
        }
        for wrong in ["Zg", "Zg=", "Z===", "====", "Z!==", "Zm9v\n", "Zg==Zm9v"] {
            assert_eq!(from_base64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn text_is_text() {
        assert_eq!(read("a\té\r\n".as_bytes(), false), Some("a\té\r\n"));
        assert_eq!(read(b"a\xc3", false), None);
        assert_eq!(read(b"a\xc3", true), Some("a"), "a cut is no garbage");
        assert_eq!(read(b"\xffa", true), None);
        assert_eq!(read(b"a\0\0", false), None);
        assert_eq!(read(b"1234567\0", false), Some("1234567\0"), "an eighth");
    }
}
