//! The types of messages. A test's request, response and results have three numbers in a row.

/// What a message is about, by the word at its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Say more about what is done; answered, and otherwise without effect here.
    DebugOn,
    /// Say less again.
    DebugOff,
    /// The answer to both.
    DebugOk,
    /// How many CPUs there are, and how fast they idle.
    Calibrate,
    /// The word without which some netservers say nothing.
    Passphrase,
    /// Facts about the system: no longer filled in.
    System,
    /// A test is asked for.
    Test(TestType),
}

/// Type words of everything but tests.
const PLAIN: [(Type, i32); 6] = [
    (Type::DebugOn, 1),
    (Type::DebugOff, 2),
    (Type::DebugOk, 3),
    (Type::Calibrate, 5),
    (Type::Passphrase, 6),
    (Type::System, 600),
];

impl Type {
    /// Word 0 of such a message.
    pub fn word(self) -> i32 {
        if let Self::Test(test) = self {
            return test.request();
        }
        let name = PLAIN.iter().find(|(known, _)| *known == self);
        name.expect("every other type is in the table").1
    }

    /// The type of a request; `None` if it is unknown.
    pub fn of(word: i32) -> Option<Self> {
        let plain = PLAIN.iter().find(|(_, known)| *known == word);
        plain.map(|(known, _)| *known).or_else(|| {
            let test = TestType::ALL
                .into_iter()
                .find(|test| test.request() == word);
            test.map(Self::Test)
        })
    }
}

/// The tests by their requests: one of the omni kind can be any; the others, older, are what
/// they are called. A sendfile test is a TCP stream to the remote end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestType {
    /// Any direction, any protocol.
    Omni,
    /// The remote end receives.
    TcpStream,
    /// The remote end sends.
    TcpMaerts,
    /// Requests and responses over one connection.
    TcpRr,
    /// A connection for every request and response.
    TcpCrr,
    /// Connections and nothing else.
    TcpCc,
    /// The remote end receives datagrams.
    UdpStream,
    /// Requests and responses in datagrams.
    UdpRr,
}

impl TestType {
    /// Every one of them.
    pub const ALL: [Self; 8] = [
        Self::Omni,
        Self::TcpStream,
        Self::TcpMaerts,
        Self::TcpRr,
        Self::TcpCrr,
        Self::TcpCc,
        Self::UdpStream,
        Self::UdpRr,
    ];

    /// Word 0 of its request.
    pub fn request(self) -> i32 {
        match self {
            Self::TcpStream => 10,
            Self::TcpRr => 13,
            Self::UdpStream => 16,
            Self::UdpRr => 19,
            Self::TcpCrr => 34,
            Self::TcpMaerts => 94,
            Self::Omni => 97,
            Self::TcpCc => 300,
        }
    }

    /// Word 0 of the first answer.
    pub fn response(self) -> i32 {
        self.request() + 1
    }

    /// Word 0 of the second.
    pub fn results(self) -> i32 {
        self.request() + 2
    }
}
