//! Sources that come with the library.

mod files;
mod memory;
mod rate;
mod socket;

pub use files::FileStream;
pub use memory::MemoryStream;
pub use rate::{RateRow, RateStream};
pub use socket::SocketStream;
