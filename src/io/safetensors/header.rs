//! The header of a file: a JSON object that maps names to tensors.
//!
//! The format's own crate needs the whole file, and holds many times the header in memory before it validates it. The
//! tests compare with that crate.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The tensors of a file. A tree, because it allocates in small pieces as it fills.
pub(super) struct Header(pub BTreeMap<String, Tensor>);

#[derive(Deserialize)]
pub(super) struct Tensor {
    pub dtype: String,
    pub shape: Extents,
    /// Start and end, relative to the end of the header.
    pub data_offsets: [u64; 2],
}

/// The shape of a tensor, limited to what batches need: their tensors have at most two axes.
pub(super) struct Extents {
    pub rank: usize,
    pub first: [u64; 2],
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tensors;

        impl<'de> Visitor<'de> for Tensors {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that maps names to tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut tensors = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    match tensors.entry(name) {
                        Entry::Vacant(entry) => drop(entry.insert(map.next_value()?)),
                        Entry::Occupied(entry) => {
                            let name = entry.key();
                            return Err(A::Error::custom(format_args!(
                                "two tensors named {name:?}"
                            )));
                        }
                    }
                }
                Ok(Header(tensors))
            }
        }

        deserializer.deserialize_map(Tensors)
    }
}

impl<'de> Deserialize<'de> for Extents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Extents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of extents")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Extents, A::Error> {
                let (mut rank, mut first) = (0, [0; 2]);
                while let Some(extent) = seq.next_element::<u64>()? {
                    if let Some(place) = first.get_mut(rank) {
                        *place = extent;
                    }
                    rank += 1;
                }
                Ok(Extents { rank, first })
            }
        }

        deserializer.deserialize_seq(List)
    }
}
