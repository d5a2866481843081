//! What the client says over each flow before anything else: the token of this measurement, so
//! that no stranger takes a flow's place, and the number of the flow.

const NUMBER_BYTES: usize = size_of::<u32>();

/// The introductions of one measurement.
#[derive(Debug, Clone)]
pub struct Introduction {
    token: Vec<u8>,
}

impl Introduction {
    /// With the token that the server gave.
    pub fn of(token: &str) -> Self {
        Self {
            token: token.as_bytes().to_vec(),
        }
    }

    /// Bytes of each.
    pub fn bytes(&self) -> usize {
        self.token.len() + NUMBER_BYTES
    }

    /// That of flow `number`.
    pub fn words(&self, number: u32) -> Vec<u8> {
        [&self.token[..], &number.to_be_bytes()].concat()
    }

    /// Which flow this is, if it is one of ours.
    pub fn number(&self, words: &[u8]) -> Option<u32> {
        let number = words.strip_prefix(&self.token[..])?;
        Some(u32::from_be_bytes(number.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_and_a_number_introduce() {
        let ours = Introduction::of("token");
        let words = ours.words(7);
        assert_eq!((words.len(), ours.number(&words)), (ours.bytes(), Some(7)));
        assert_eq!(Introduction::of("tokem").number(&words), None);
        for wrong in [&words[1..], &words[..8], b"", &[&words[..], &[0]].concat()] {
            assert_eq!(ours.number(wrong), None);
        }
    }
}
