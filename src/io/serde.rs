//! Serde support for host data, validated when deserializing. `io/mod.rs` documents the formats.
//!
//! Lists are read incrementally, ignoring any length that a document promises, and lists of lists go into a single
//! vector. Memory therefore stays proportional to the document.

use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{layout_of, places};
use crate::error::Named;
use crate::error::{Count, Error, Result};
use crate::host;
use crate::ragged::{Bsr, Layout, MAX_RANK, Offsets, Ragged, Shape, Topology, check_rank, grid};

/// Appends a list to a vector and returns its length.
struct Append<'a, T>(&'a mut Vec<T>);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Append<'_, T> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Append<'_, T> {
    type Value = usize;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        // In some formats a value of a zero-sized type takes no bytes, so a small document could hold any number of
        // them.
        if size_of::<T>() == 0 {
            return Err(A::Error::custom(
                "expected values of a type that is not zero-sized",
            ));
        }
        let before = self.0.len();
        while let Some(value) = seq.next_element()? {
            host::push(self.0, value)
                .named("deserialize")
                .map_err(A::Error::custom)?;
        }
        Ok(self.0.len() - before)
    }
}

/// A flat list.
struct List<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Vec::new();
        Append(&mut values).deserialize(deserializer)?;
        Ok(List(values))
    }
}

/// A list of lists.
struct Lists<T> {
    /// The values of all lists, end to end.
    values: Vec<T>,
    lengths: Vec<u32>,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lists<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
            type Value = Lists<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of lists")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Lists<T>, A::Error> {
                let (mut values, mut lengths) = (Vec::new(), Vec::new());
                while let Some(length) = seq.next_element_seed(Append(&mut values))? {
                    let length = u32::try_from(length)
                        .map_err(|_| A::Error::custom("expected lists of fewer than 2³² values"))?;
                    host::push(&mut lengths, length)
                        .named("deserialize")
                        .map_err(A::Error::custom)?;
                }
                Ok(Lists { values, lengths })
            }
        }

        deserializer.deserialize_seq(Each(PhantomData))
    }
}

/// Serializes the iterator that a closure returns as a list.
struct Listed<F>(F);

impl<I: IntoIterator<Item: Serialize>, F: Fn() -> I> Serialize for Listed<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The human-readable form of a batch: its shapes, and its values if it has any.
#[derive(Serialize)]
struct BatchRef<L, S, V> {
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<L>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shapes: Option<S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<V>,
}

fn serialize_batch<S: Serializer, V: Serialize>(
    layout: &Layout,
    values: Option<V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let rows = layout.rank() == 1;
    let batch = BatchRef {
        lengths: rows.then_some(Listed(|| layout.lengths())),
        rank: (!rows).then(|| layout.rank()),
        shapes: (!rows).then_some(Listed(|| layout.shapes())),
        values,
    };
    batch.serialize(serializer)
}

/// The same for deserializing a layout. A batch has a separate struct because `#[serde(flatten)]` buffers the whole
/// document in memory and accepts unknown fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    lengths: Option<List<u32>>,
    rank: Option<usize>,
    shapes: Option<Lists<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<T> {
    lengths: Option<List<u32>>,
    rank: Option<usize>,
    shapes: Option<Lists<u32>>,
    values: List<T>,
}

impl Shapes {
    fn layout<E: serde::de::Error>(self) -> Result<Layout, E> {
        let layout = match (self.lengths, self.rank, self.shapes) {
            (Some(lengths), None, None) => layout_of("layout", 1, lengths.0),
            (None, Some(rank), Some(shapes)) => of_rank(rank, &shapes.lengths)
                .and_then(|()| layout_of("layout", rank, shapes.values)),
            _ => {
                return Err(E::custom(
                    "expected either `lengths`, or `rank` and `shapes`, and no other field beside `values`",
                ));
            }
        };
        layout.map_err(E::custom)
    }
}

/// Checks that all shapes are of rank `rank`, given their numbers of extents.
fn of_rank(rank: usize, extents: &[u32]) -> Result<()> {
    check_rank(rank).named("layout")?;
    match extents.iter().position(|&extents| extents as usize != rank) {
        None => Ok(()),
        Some(element) => Err(Error::rank(rank, extents[element] as usize)
            .named("layout")
            .at(element)),
    }
}

/// The binary form of a layout: the rank, and as many extents per element.
fn numbers(layout: &Layout) -> (u8, impl Serialize + '_) {
    let extents = Listed(move || {
        let rows = layout.rank() == 1;
        let lengths = layout.lengths().map(|length| length as u32);
        let lengths = lengths.take(if rows { usize::MAX } else { 0 });
        Sized(
            lengths.chain(layout.extents().iter().copied()),
            layout.len() * layout.rank(),
        )
    });
    (layout.rank() as u8, extents)
}

/// An iterator with its exact length, which binary formats write first.
struct Sized<I>(I, usize);

impl<I: Iterator> Iterator for Sized<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1, Some(self.1))
    }
}

fn layout_of_numbers<E: serde::de::Error>(rank: u8, extents: List<u32>) -> Result<Layout, E> {
    let rank = usize::from(rank);
    let whole = check_rank(rank)
        .named("layout")
        .and_then(|()| match extents.0.len() % rank {
            0 => Ok(()),
            rest => Err(Error::rank(rank, rest)
                .named("layout")
                .at(extents.0.len() / rank)),
        });
    let layout = whole.and_then(|()| layout_of("layout", rank, extents.0));
    layout.map_err(E::custom)
}

impl Serialize for Offsets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Offsets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Offsets::new(List::deserialize(deserializer)?.0).map_err(D::Error::custom)
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.extents().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let extents = List::<u32>::deserialize(deserializer)?.0;
        check_rank(extents.len())
            .named("shape")
            .map_err(D::Error::custom)?;
        let mut sides = [0; MAX_RANK];
        for (side, &extent) in sides.iter_mut().zip(&extents) {
            *side = extent as usize;
        }
        Shape::new(&sides[..extents.len()]).map_err(D::Error::custom)
    }
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serialize_batch(self, None::<()>, serializer),
            false => numbers(self).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Shapes::deserialize(deserializer)?.layout();
        }
        let (rank, extents) = Deserialize::deserialize(deserializer)?;
        layout_of_numbers(rank, extents)
    }
}

impl<T: Copy + Serialize> Serialize for Ragged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.values();
        if serializer.is_human_readable() {
            return serialize_batch(self.layout(), Some(values), serializer);
        }
        let (rank, extents) = numbers(self.layout());
        (rank, extents, values).serialize(serializer)
    }
}

impl<'de, T: Copy + Deserialize<'de>> Deserialize<'de> for Ragged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (layout, values) = if deserializer.is_human_readable() {
            let batch = Batch::<T>::deserialize(deserializer)?;
            let shapes = Shapes {
                lengths: batch.lengths,
                rank: batch.rank,
                shapes: batch.shapes,
            };
            (shapes.layout()?, batch.values)
        } else {
            let (rank, extents, values) = Deserialize::deserialize(deserializer)?;
            (layout_of_numbers(rank, extents)?, values)
        };
        Ragged::from_parts(layout, values.0).map_err(D::Error::custom)
    }
}

/// A topology that lists every row and column of the grid, so that a document is never smaller than the topology that
/// it describes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Places<R, C> {
    shape: [usize; 2],
    block: [usize; 2],
    /// The columns of the blocks in each row.
    rows: R,
    /// The number of blocks in each column.
    columns: C,
}

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let order = self.order(false);
        let row = |row| Listed(move || order.row(row).iter().map(|&[_, column]| column));
        let places = Places {
            shape: self.shape(),
            block: self.block(),
            rows: Listed(|| (0..self.grid()[0]).map(row)),
            columns: Listed(|| self.order(true).counts()),
        };
        places.serialize(serializer)
    }
}

impl Places<Lists<u32>, List<u32>> {
    fn topology(self) -> Result<Topology> {
        let wrong =
            |expected: String, got: String| Error::argument(expected, got).named("topology");
        let [rows, columns] = grid(self.shape, self.block)?;
        let listed = self.rows.lengths.len();
        if listed != rows {
            let expected = format!("block lists for the grid's {}", Count(rows, "row"));
            return Err(wrong(expected, Count(listed, "row").to_string()));
        }
        let listed = self.columns.0.len();
        if listed != columns {
            let expected = format!("block counts for the grid's {}", Count(columns, "column"));
            return Err(wrong(expected, Count(listed, "column").to_string()));
        }
        let places = places("topology", &self.rows.lengths, &self.rows.values)?;
        let topology = Topology::new(self.shape, self.block, &places)?;
        let counts = topology.order(true).counts().zip(&self.columns.0);
        let wrong_one = counts
            .enumerate()
            .find(|(_, (count, listed))| count != *listed);
        if let Some((column, (count, &listed))) = wrong_one {
            let expected = format!("a count of {count} for column {column}");
            return Err(wrong(expected, listed.to_string()));
        }
        Ok(topology)
    }
}

impl<'de> Deserialize<'de> for Topology {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let places = Places::<Lists<u32>, List<u32>>::deserialize(deserializer)?;
        places.topology().map_err(D::Error::custom)
    }
}

/// Block-sparse matrices. The values of each matrix are a separate list, so there cannot be more matrices than the
/// document contains.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sets<P, V> {
    topology: P,
    sets: V,
}

impl<T: Copy + Serialize> Serialize for Bsr<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sets = Sets {
            topology: self.topology(),
            sets: Listed(|| self.values().iter()),
        };
        sets.serialize(serializer)
    }
}

impl<'de, T: Copy + Deserialize<'de>> Deserialize<'de> for Bsr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Sets { topology, sets } = Sets::<Topology, Lists<T>>::deserialize(deserializer)?;
        let expected = topology.set();
        if let Some(element) = sets
            .lengths
            .iter()
            .position(|&length| length as usize != expected)
        {
            return Err(D::Error::custom(
                Error::length(element, expected, sets.lengths[element] as usize).named("bsr"),
            ));
        }
        let matrices = Bsr::from_sets(&topology, sets.lengths.len(), sets.values);
        matrices.map_err(D::Error::custom)
    }
}
