//! When data are forced to the device: the seven methods of the original.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How files are synced. Directories never are. Whatever is done after the loop belongs to the
/// time that the rate is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMethod {
    /// Nothing is synced (-S 0).
    None,
    /// Each file is synced before it is closed (-S 1).
    Inband,
    /// After the loop, the file system is synced, then the first file of each thread (-S 2).
    SyncFirst,
    /// After the loop, each file is opened again, synced and closed, the last one first (-S 3).
    PostReverse,
    /// The file system is synced, then as `post-reverse` (-S 4).
    SyncPostReverse,
    /// After the loop, each file is opened again, synced and closed, in order (-S 5).
    Post,
    /// The file system is synced, then as `post` (-S 6).
    SyncPost,
}

/// Which files are opened again and synced when the loop is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    Nothing,
    First,
    InOrder,
    Reverse,
}

impl SyncMethod {
    /// Whether each file is synced before it is closed.
    pub fn is_inband(self) -> bool {
        self == Self::Inband
    }

    /// Whether the file system is synced when the loop is over.
    pub fn syncs_file_system(self) -> bool {
        matches!(
            self,
            Self::SyncFirst | Self::SyncPostReverse | Self::SyncPost
        )
    }

    /// What comes after that.
    pub fn again(self) -> Again {
        match self {
            Self::None | Self::Inband => Again::Nothing,
            Self::SyncFirst => Again::First,
            Self::Post | Self::SyncPost => Again::InOrder,
            Self::PostReverse | Self::SyncPostReverse => Again::Reverse,
        }
    }
}
