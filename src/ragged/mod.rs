//! Batches of elements whose shapes differ, on the host: validated once, cheap to share afterwards.
//!
//! The values of a batch lie packed end to end; [`Offsets`] say where each element ends. For ranks above 1, each
//! element also has a [`Shape`]. A [`Layout`] is the shapes and offsets without the values, shared and immutable; a
//! [`Ragged`] is a layout with values. [`Indices`] are lists of rows to take; a [`Permutation`] reorders elements. A
//! [`Topology`] lists the blocks that a block-sparse matrix stores; a [`Bsr`] is a topology with values.
//!
//! ```text
//! elements   [5, 6, 7]   []   [8, 9]
//! lengths        3        0      2
//! values     [5, 6, 7, 8, 9]
//! offsets    [0,       3, 3,     5]       element i is values[offsets[i]..offsets[i + 1]]
//! ```

#[cfg(feature = "approx")]
mod approx;
mod batch;
mod bsr;
mod checks;
mod derived;
mod display;
mod element;
mod identity;
mod indices;
mod layout;
mod offsets;
mod pairing;
mod patterns;
mod permutation;
mod rows;
mod shape;
mod topology;

pub use batch::Ragged;
pub use bsr::Bsr;
pub(crate) use element::words_of;
pub use element::{
    DType, Factor, Float, Integer, Number, Ordered, Pixel, Real, Scalar, f16_from_f64,
};
pub use indices::Indices;
pub use layout::Layout;
pub use offsets::Offsets;
pub use pairing::{PairList, Pairing};
pub use permutation::Permutation;
pub use rows::Rows;
pub use shape::{MAX_RANK, Shape};
pub use topology::Topology;

pub(crate) use display::write_values;
pub(crate) use identity::{Identity, Keeper, hash_of, hasher};
pub(crate) use offsets::{element_count, total_overflow};
pub(crate) use pairing::Pairs;
pub(crate) use shape::{check_rank, product};
pub(crate) use topology::grid;
