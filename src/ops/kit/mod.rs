//! What several operations share, below all of them: the cut of work and pairs for kernels, loops and arithmetic for
//! twins, and the numbers of tiles.

mod arithmetic;
pub(crate) mod coop_tile;
mod neighbours;
pub(crate) mod ordered;
mod pairing;
mod parallel;
pub(crate) mod product_tile;
pub(crate) mod slices;
mod stream;
mod twins;
pub(crate) mod worklist;

pub use neighbours::Neighbours;

pub(crate) use arithmetic::Arithmetic;
pub(crate) use pairing::{PAIRING, pair_params};
pub(crate) use parallel::{
    OfRun, join, par_chunks, par_elements, par_map, par_pieces, par_runs, par_tiles,
};
pub(crate) use stream::{STREAM, STREAM_TILE, Tiles, stream_groups};
pub(crate) use twins::{bits_of, twin_of};
