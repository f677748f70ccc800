//! Several devices as one: the elements of a batch are divided among them.
//!
//! Elements of a ragged batch never see each other, so a batch divides over devices without changing a bit of its
//! results. A [`Fleet`] is a list of devices, usually all GPUs of one model. [`Fleet::map`] takes a batch from host
//! memory, runs a function on a part of it on each device, and returns the results in the order of the elements:
//!
//! ```
//! use vsla::Ragged;
//! use vsla::fleet::{Cost, Fleet, FleetOptions};
//!
//! let fleet = Fleet::open(FleetOptions::default())?;
//! let signals = Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![], vec![4.0, 5.0]])?;
//! let filter = fleet.replicate(&Ragged::from_rows([[1.0f32, -1.0]])?)?;
//! let edges = fleet.map(&signals, Cost::values(), |device, part| {
//!     part.pair(filter.on(device)?, vsla::Pairing::AllToOne)?.conv()
//! })?;
//! assert_eq!(edges.to_vecs()?, [vec![1.0, 1.0, 1.0, -3.0], vec![], vec![4.0, 1.0, -5.0]]);
//! # Ok::<(), vsla::Error>(())
//! ```
//!
//! [`Fleet::scatter`] leaves the parts on their devices, for several functions in a row: a [`Sharded`] batch.
//! [`DataParallel`] trains a model on all devices.
//!
//! # How a batch is divided
//! With costs cᵢ of the elements ([`Cost`]) and C = Σ cᵢ, device k of N computes the elements from the first one before
//! which the costs add up to k C / N, to the first one before which they add up to (k + 1) C / N. Shares are therefore
//! contiguous, and none costs more than C / N plus the most expensive element. They depend on nothing else: two calls
//! divide a batch in the same way.
//!
//! A device takes its share in ranges of at most [`FleetOptions::range_bytes`], or a single element. On a GPU, three
//! ranges are on the way at once: one is copied to the device while another one computes and the results of a third are
//! copied back. So a device needs memory for three ranges and their results, however large the batch is, and no tensor
//! exceeds the device's binding limit because the batch does. A fleet of one device computes batches of more than
//! 2 GiB, and is faster than an upload, a call and a download in turn.
//!
//! If a range is too large all the same ([`TooLarge`](crate::Error::TooLarge), or
//! [`OutOfMemory`](crate::Error::OutOfMemory) with nothing else on the way), it is halved, down to a single element.
//!
//! # What it costs
//! Each value crosses the bus twice. On the host, a range is copied once, into the memory from which the GPU takes it,
//! and its results once, to their places in one batch. With several devices, these places are known if the number of a
//! result's values is a linear function of its element's; otherwise all results are copied once more. Planning takes
//! nanoseconds per element. Ranges are planned once as long as the batch exists, or another one of the same layout. A
//! batch that is a single range is computed on the caller's thread, as if there were no fleet.
//!
//! # Bits
//! Devices of one model give the same bits, so results do not depend on their number. Different models may round
//! differently, and so may a CPU and a GPU: a [`Fleet`] of several models has to be asked for
//! ([`FleetOptions::mixed`]).

mod batches;
mod cost;
mod data_parallel;
mod devices;
mod gathered;
mod map;
mod replicated;
mod sharded;
mod threads;

pub use batches::Batches;
pub use cost::Cost;
pub use data_parallel::DataParallel;
pub use devices::{Fleet, FleetOptions};
pub use replicated::Replicated;
pub use sharded::Sharded;
