//! Code shared by the tests.

pub mod allocation;
pub mod bench;
pub mod compare;
pub mod corpus;
#[cfg(feature = "serde")]
pub mod documents;
pub mod lanes;
pub mod number;
pub mod operation;
pub mod places;
pub mod property;
pub mod reference;
#[cfg(feature = "safetensors")]
pub mod tensors;
