//! Host data as documents of serde, checked on the way in. What they look like is said in `io/mod.rs`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::ragged::{Bsr, Layout, Offsets, Ragged, Shape, Topology};

/// A layout as people write it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<Vec<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shapes: Option<Vec<Vec<usize>>>,
}

impl Shapes {
    fn of(layout: &Layout) -> Shapes {
        let extents = |shape: Shape| shape.extents().iter().map(|&n| n as usize).collect();
        let rows = layout.rank() == 1;
        Shapes {
            lengths: rows.then(|| layout.lengths().collect()),
            rank: (!rows).then(|| layout.rank()),
            shapes: (!rows).then(|| layout.shapes().map(extents).collect()),
        }
    }

    fn layout<E: serde::de::Error>(self) -> Result<Layout, E> {
        match (self.lengths, self.rank, self.shapes) {
            (Some(lengths), None, None) => Layout::from_lengths(lengths).map_err(E::custom),
            (None, Some(rank), Some(shapes)) => {
                let of_shape = |(element, extents): (usize, Vec<usize>)| {
                    Shape::new(&extents).map_err(|error| at_element(error, element))
                };
                let shapes: Result<Vec<_>> = shapes.into_iter().enumerate().map(of_shape).collect();
                shapes
                    .and_then(|shapes| Layout::from_shapes(rank, shapes))
                    .map_err(E::custom)
            }
            _ => Err(E::custom(
                "expected `lengths`, or `rank` and `shapes`, and nothing else beside values",
            )),
        }
    }
}

/// What is wrong with a shape on its own, as what is wrong with an element.
fn at_element(error: Error, element: usize) -> Error {
    match error {
        Error::SizeOverflow { op, what, .. } => Error::SizeOverflow {
            op,
            element: Some(element),
            what,
        },
        Error::Rank {
            op, expected, got, ..
        } => Error::Rank {
            op,
            element: Some(element),
            expected,
            got,
        },
        other => other,
    }
}

/// A layout as other programs write it: the rank, and as many extents for each element.
fn numbers(layout: &Layout) -> (u8, Vec<u32>) {
    let extents = match layout.rank() {
        1 => layout.lengths().map(|length| length as u32).collect(),
        _ => layout.extents().to_vec(),
    };
    (layout.rank() as u8, extents)
}

fn layout_of<E: serde::de::Error>(rank: u8, extents: &[u32]) -> Result<Layout, E> {
    let rank = usize::from(rank);
    // Of rank 0 there is a layout of nothing, which is refused.
    let each = extents.chunks(rank.max(1));
    let shapes = each.map(|extents| extents.iter().map(|&n| n as usize).collect());
    let shapes = Shapes {
        lengths: None,
        rank: Some(rank),
        shapes: Some(shapes.collect()),
    };
    shapes.layout()
}

impl Serialize for Offsets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Offsets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Offsets::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.extents().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Shape::new(&Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => Shapes::of(self).serialize(serializer),
            false => numbers(self).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Shapes::deserialize(deserializer)?.layout();
        }
        let (rank, extents) = <(u8, Vec<u32>)>::deserialize(deserializer)?;
        layout_of(rank, &extents)
    }
}

#[derive(Serialize)]
struct BatchRef<'a, T> {
    #[serde(flatten)]
    shapes: Shapes,
    values: &'a [T],
}

// Not flattened: that would keep all of a document in memory before it is looked at, and take fields of any name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<T> {
    lengths: Option<Vec<usize>>,
    rank: Option<usize>,
    shapes: Option<Vec<Vec<usize>>>,
    values: Vec<T>,
}

impl<T: Copy + Serialize> Serialize for Ragged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.values();
        if serializer.is_human_readable() {
            let shapes = Shapes::of(self.layout());
            return BatchRef { shapes, values }.serialize(serializer);
        }
        let (rank, extents) = numbers(self.layout());
        (rank, extents, values).serialize(serializer)
    }
}

impl<'de, T: Copy + Deserialize<'de>> Deserialize<'de> for Ragged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (layout, values) = if deserializer.is_human_readable() {
            let batch = Batch::deserialize(deserializer)?;
            let shapes = Shapes {
                lengths: batch.lengths,
                rank: batch.rank,
                shapes: batch.shapes,
            };
            (shapes.layout()?, batch.values)
        } else {
            let (rank, extents, values) = <(u8, Vec<u32>, Vec<T>)>::deserialize(deserializer)?;
            (layout_of(rank, &extents)?, values)
        };
        Ragged::from_parts(layout, values).map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Places {
    shape: [usize; 2],
    block: [usize; 2],
    blocks: Vec<(u32, u32)>,
}

impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let places = Places {
            shape: self.shape(),
            block: self.block(),
            blocks: self.blocks().collect(),
        };
        places.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Topology {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Places {
            shape,
            block,
            blocks,
        } = Places::deserialize(deserializer)?;
        Topology::new(shape, block, &blocks).map_err(D::Error::custom)
    }
}

#[derive(Serialize)]
struct SetsRef<'a, T> {
    topology: &'a Topology,
    sets: usize,
    values: &'a [T],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sets<T> {
    topology: Topology,
    sets: usize,
    values: Vec<T>,
}

impl<T: Copy + Serialize> Serialize for Bsr<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sets = SetsRef {
            topology: self.topology(),
            sets: self.len(),
            values: self.values().values(),
        };
        sets.serialize(serializer)
    }
}

impl<'de, T: Copy + Deserialize<'de>> Deserialize<'de> for Bsr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sets = Sets::deserialize(deserializer)?;
        Bsr::from_sets(&sets.topology, sets.sets, sets.values).map_err(D::Error::custom)
    }
}
