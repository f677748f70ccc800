//! Conversions from and to lists of Apache Arrow: against a naive reader of nested lists, bit for bit, and without
//! copies.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use bytemuck::Pod;
use fastrand::Rng;
use half::f16;
use libtest_mimic::Trial;
use vsla::io::ArrowValue;
use vsla::{Complex32, Error, Layout, Ragged, Shape};

use crate::support::bench::Bench;
use crate::support::corpus::{self, rng};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    vec![
        bench.host("arrow::nested", nested),
        bench.host("arrow::every_type", every_type),
        bench.host("arrow::corpus", every_case),
        bench.host("arrow::complex", complex),
        bench.host("arrow::copies_nothing", copies_nothing),
        bench.host("arrow::copies_once", copies_once),
        bench.host("arrow::any_alignment", any_alignment),
        bench.host("arrow::no_lists", no_lists),
        bench.host("arrow::nulls_in_order", nulls_in_order),
        bench.host("arrow::refused", refused),
        bench.host("arrow::enormous", enormous),
        bench.host("arrow::broken", broken),
        bench.host("arrow::broken_anyhow", broken_anyhow),
    ]
}

fn list(entry: DataType) -> DataType {
    DataType::new_list(entry, true)
}

fn large_list(entry: DataType) -> DataType {
    DataType::new_large_list(entry, true)
}

fn fixed(size: i32, entry: DataType) -> DataType {
    DataType::new_fixed_size_list(entry, size, true)
}

fn shape(extents: &[usize]) -> Shape {
    Shape::new(extents).unwrap()
}

/// What one place of a nested array holds.
#[derive(Clone, Debug)]
enum Tree {
    Null,
    Value(i32),
    List(Vec<Tree>),
}

/// Random entries of a type. Most lists below the outermost have one length per element, as those of matrices do.
struct Grower<'a> {
    rng: &'a mut Rng,
    nulls: bool,
    /// The length of the lists at each level.
    lengths: [usize; 4],
    /// One in so many lists has another length.
    odd: usize,
}

impl Grower<'_> {
    fn null(&mut self) -> bool {
        self.nulls && self.rng.usize(0..12) == 0
    }

    fn tree(&mut self, level: usize, data_type: &DataType) -> Tree {
        if self.null() {
            return Tree::Null;
        }
        let (entry, length) = match data_type {
            DataType::List(field) | DataType::LargeList(field) => {
                let odd = level > 0 && self.rng.usize(0..self.odd) == 0;
                (field.data_type(), self.lengths[level] + usize::from(odd))
            }
            DataType::FixedSizeList(field, size) => (field.data_type(), *size as usize),
            _ => return Tree::Value(self.rng.i32(..)),
        };
        Tree::List((0..length).map(|_| self.tree(level + 1, entry)).collect())
    }

    fn element(&mut self, data_type: &DataType) -> Tree {
        for length in &mut self.lengths {
            *length = self.rng.usize(0..4);
        }
        self.tree(0, data_type)
    }
}

/// Builds an array of these entries, hidden in as much noise as Arrow allows: entries before and after the slice,
/// values before the first list, after the last one and in null lists.
fn array(entries: &[Tree], data_type: &DataType, rng: &mut Rng) -> ArrayData {
    let (before, after) = (rng.usize(0..3), rng.usize(0..3));
    let mut all: Vec<&Tree> = vec![&Tree::Null; before];
    all.extend(entries);
    all.extend(vec![&Tree::Null; after]);
    let nulls: Vec<bool> = all.iter().map(|tree| !matches!(tree, Tree::Null)).collect();
    let noise = |rng: &mut Rng| rng.usize(0..4);

    let whole = match data_type {
        DataType::List(field) | DataType::LargeList(field) => {
            let mut inner = vec![Tree::Null; noise(rng)];
            let mut offsets = vec![inner.len()];
            for tree in &all {
                match tree {
                    Tree::List(own) => inner.extend(own.iter().cloned()),
                    _ => inner.extend(vec![Tree::Null; noise(rng)]),
                }
                offsets.push(inner.len());
            }
            inner.extend(vec![Tree::Null; noise(rng)]);
            let offsets = match data_type {
                DataType::List(_) => {
                    Buffer::from_vec(offsets.iter().map(|&end| end as i32).collect())
                }
                _ => Buffer::from_vec(offsets.iter().map(|&end| end as i64).collect()),
            };
            let child = array(&inner, field.data_type(), rng);
            ArrayData::builder(data_type.clone())
                .add_buffer(offsets)
                .add_child_data(child)
        }
        DataType::FixedSizeList(field, size) => {
            let mut inner = Vec::new();
            for tree in &all {
                match tree {
                    Tree::List(own) => inner.extend(own.iter().cloned()),
                    // Values below a null are not null.
                    _ => inner.extend((0..*size).map(|_| covered(field.data_type(), rng))),
                }
            }
            let child = array(&inner, field.data_type(), rng);
            ArrayData::builder(data_type.clone()).add_child_data(child)
        }
        _ => {
            let value = |tree: &&Tree| match tree {
                Tree::Value(value) => *value,
                _ => 0x0BAD_0BAD,
            };
            let values = Buffer::from_vec(all.iter().map(value).collect());
            ArrayData::builder(data_type.clone()).add_buffer(values)
        }
    };
    let nulls = nulls.contains(&false).then(|| NullBuffer::from(nulls));
    let whole = whole.len(all.len()).nulls(nulls).build().unwrap();
    whole.slice(before, entries.len())
}

/// An entry without nulls, with lists of random lengths.
fn covered(data_type: &DataType, rng: &mut Rng) -> Tree {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) => {
            let length = rng.usize(0..3);
            Tree::List(
                (0..length)
                    .map(|_| covered(field.data_type(), rng))
                    .collect(),
            )
        }
        DataType::FixedSizeList(field, size) => Tree::List(
            (0..*size)
                .map(|_| covered(field.data_type(), rng))
                .collect(),
        ),
        _ => Tree::Value(0x0BAD_0BAD),
    }
}

/// What a naive reader makes of an element: its values, and for each level of lists the lengths that occur.
fn flattened(
    tree: &Tree,
    data_type: &DataType,
    level: usize,
    fill: i32,
    values: &mut Vec<i32>,
    lengths: &mut [Vec<usize>],
) {
    let null = Tree::Null;
    let (entry, size) = match data_type {
        DataType::List(field) | DataType::LargeList(field) => (field.data_type(), 0),
        DataType::FixedSizeList(field, size) => (field.data_type(), *size as usize),
        _ => {
            values.push(match tree {
                Tree::Value(value) => *value,
                _ => fill,
            });
            return;
        }
    };
    let nulls = vec![&null; size];
    let entries = match tree {
        Tree::List(entries) => entries.iter().collect(),
        _ => nulls,
    };
    lengths[level].push(entries.len());
    for tree in entries {
        flattened(tree, entry, level + 1, fill, values, lengths);
    }
}

/// The first null of an element, from the outside in; its index.
fn first_null(tree: &Tree, rank: usize) -> Option<Vec<usize>> {
    let mut level = vec![(vec![], tree)];
    for _ in 0..=rank {
        if let Some((index, _)) = level.iter().find(|(_, tree)| matches!(tree, Tree::Null)) {
            return Some(index.clone());
        }
        let mut next = Vec::new();
        for (index, tree) in level {
            if let Tree::List(entries) = tree {
                for (i, entry) in entries.iter().enumerate() {
                    next.push(([&index[..], &[i]].concat(), entry));
                }
            }
        }
        level = next;
    }
    None
}

/// The outcome of reading: a batch, or the kind and the element of an error, and the index of a null.
type Outcome = Result<Ragged<i32>, (&'static str, Option<usize>, Vec<usize>)>;

fn naive(trees: &[Tree], data_type: &DataType, fill: Option<i32>) -> Outcome {
    let sizes = {
        let (mut sizes, mut inner) = (Vec::new(), data_type);
        loop {
            inner = match inner {
                DataType::List(field) | DataType::LargeList(field) => {
                    sizes.push(0);
                    field.data_type()
                }
                DataType::FixedSizeList(field, size) => {
                    sizes.push(*size as usize);
                    field.data_type()
                }
                _ => break sizes,
            };
        }
    };
    let rank = sizes.len();
    let (mut values, mut shapes) = (Vec::new(), Vec::new());
    for (element, tree) in trees.iter().enumerate() {
        let mut lengths = vec![Vec::new(); rank];
        let fill_or_any = fill.unwrap_or_default();
        flattened(tree, data_type, 0, fill_or_any, &mut values, &mut lengths);
        let null = first_null(tree, rank).filter(|_| fill.is_none());
        let uneven = lengths
            .iter()
            .position(|own| own.iter().any(|&n| n != own[0]));
        // Levels are read from the outside in. A null is found before the lengths of its own level are compared.
        match (null, uneven) {
            (Some(index), Some(level)) if index.len() <= level => {
                return Err(("null", Some(element), index));
            }
            (Some(index), None) => return Err(("null", Some(element), index)),
            (_, Some(_)) => return Err(("shape", Some(element), vec![])),
            (None, None) => {}
        }
        let extents = lengths.iter().zip(&sizes);
        let extents: Vec<_> = extents
            .map(|(own, &size)| *own.first().unwrap_or(&size))
            .collect();
        shapes.push(shape(&extents));
    }
    Ok(Ragged::from_shapes(values, rank, shapes).unwrap())
}

fn outcome(read: vsla::Result<Ragged<i32>>) -> Outcome {
    read.map_err(|error| {
        let index = match &error {
            Error::Null { index, .. } => index.clone(),
            _ => vec![],
        };
        (error.kind(), error.element(), index)
    })
}

/// Random nested lists, sliced and with nulls at every level, are read as a naive reader reads them, and what was read
/// is written and read again.
fn nested() {
    let leaf = DataType::Int32;
    let kinds: [fn(DataType, i32) -> DataType; 3] = [
        |entry, _| list(entry),
        |entry, _| large_list(entry),
        |entry, size| fixed(size, entry),
    ];
    let mut rng = rng("arrow::nested");
    let (mut read, mut refused, mut filled, mut written) = (0, 0, 0, 0);
    for round in 0..6000 {
        let rank = rng.usize(1..=3);
        let data_type = (0..rank).fold(leaf.clone(), |entry, _| {
            kinds[rng.usize(0..3)](entry, rng.i32(0..4))
        });
        let (nulls, odd) = (round % 3 > 0, if round % 5 == 0 { 8 } else { 10_000 });
        let mut grower = Grower {
            rng: &mut rng,
            nulls,
            lengths: [0; 4],
            odd,
        };
        let trees: Vec<_> = (0..round % 7).map(|_| grower.element(&data_type)).collect();
        let array = array(&trees, &data_type, &mut rng);

        let strict = outcome(Ragged::from_arrow(array.clone()));
        assert_eq!(
            strict,
            naive(&trees, &data_type, None),
            "{data_type}: {trees:?}"
        );
        let lenient = outcome(Ragged::from_arrow_or(array, -7));
        assert_eq!(
            lenient,
            naive(&trees, &data_type, Some(-7)),
            "{data_type}: {trees:?}"
        );
        read += usize::from(strict.is_ok());
        refused += usize::from(strict.is_err());
        filled += usize::from(strict.is_err() && lenient.is_ok());
        if let Ok(batch) = lenient
            && let Ok(again) = batch.clone().into_arrow(&data_type)
        {
            assert_eq!(again.data_type(), &data_type);
            again.validate_full().unwrap();
            assert_eq!(Ragged::from_arrow(again).unwrap(), batch);
            written += 1;
        }
    }
    let counts = [read, refused, filled, written];
    assert!(counts.iter().all(|&count| count > 500), "{counts:?}");
}

fn bytes<T: Pod>(batch: &Ragged<T>) -> &[u8] {
    bytemuck::cast_slice(batch.values())
}

/// Arbitrary bits, including all kinds of NaN, through every kind of list.
fn every_type() {
    fn of<T: ArrowValue + std::fmt::Debug>(number: DataType) {
        let mut rng = rng("arrow::every_type");
        for rank in 1..=8 {
            let shapes: Vec<_> = (0..rng.usize(0..6))
                .map(|_| shape(&(0..rank).map(|_| rng.usize(1..4)).collect::<Vec<_>>()))
                .collect();
            let layout = Layout::from_shapes(rank, shapes).unwrap();
            let uniform = Layout::uniform(5, shape(&vec![2; rank])).unwrap();
            let lists = (0..rank).fold(number.clone(), |entry, axis| match axis % 2 {
                0 => list(entry),
                _ => large_list(entry),
            });
            let boxes = (0..rank).fold(number.clone(), |entry, _| fixed(2, entry));
            for (layout, data_type) in [(layout, lists), (uniform, boxes)] {
                let mut values = vec![T::zeroed(); layout.total()];
                rng.fill(bytemuck::cast_slice_mut(&mut values));
                let batch = Ragged::from_parts(layout, values).unwrap();
                let array = batch.clone().into_arrow(&data_type).unwrap();
                assert_eq!((array.data_type(), array.len()), (&data_type, batch.len()));
                for array in [array.clone(), array] {
                    let again = Ragged::<T>::from_arrow(array).unwrap();
                    assert_eq!(again.layout(), batch.layout());
                    assert!(bytes(&again) == bytes(&batch), "{data_type}");
                }
            }
        }
    }

    of::<f64>(DataType::Float64);
    of::<f32>(DataType::Float32);
    of::<f16>(DataType::Float16);
    of::<i8>(DataType::Int8);
    of::<i16>(DataType::Int16);
    of::<i32>(DataType::Int32);
    of::<i64>(DataType::Int64);
    of::<u8>(DataType::UInt8);
    of::<u16>(DataType::UInt16);
    of::<u32>(DataType::UInt32);
    of::<u64>(DataType::UInt64);
    of::<Complex32>(fixed(2, DataType::Float32));
}

fn every_case() {
    for case in corpus::all() {
        let (batch, _) = case.floats();
        if batch.layout().rank() > 1 {
            continue;
        }
        for data_type in [list(DataType::Float32), large_list(DataType::Float32)] {
            let array = batch.clone().into_arrow(&data_type).unwrap();
            let again = Ragged::<f32>::from_arrow(array).unwrap();
            assert!(again.layout() == batch.layout() && bytes(&again) == bytes(&batch));
        }
    }
}

/// A null part makes a complex value null.
fn complex() {
    let number = |re, im| Complex32::new(re, im);
    let parts = Buffer::from_vec(vec![9.0f32, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let nulls = |valid: &[bool]| Some(NullBuffer::from(valid));
    let of = |of_parts: &[bool], of_values: &[bool]| {
        let parts = ArrayData::builder(DataType::Float32)
            .len(8)
            .add_buffer(parts.clone());
        let parts = parts.nulls(nulls(of_parts)).build().unwrap();
        let pairs = ArrayData::builder(fixed(2, DataType::Float32))
            .len(4)
            .add_child_data(parts);
        let pairs = pairs.nulls(nulls(of_values)).build().unwrap().slice(1, 3);
        let lists = ArrayData::builder(list(fixed(2, DataType::Float32))).len(2);
        let lists = lists
            .add_buffer(Buffer::from_vec(vec![0i32, 1, 3]))
            .add_child_data(pairs);
        lists.build().unwrap()
    };
    let all = of(&[true; 8], &[true; 4]);
    let read = Ragged::<Complex32>::from_arrow(all.clone()).unwrap();
    let expected = [
        vec![number(1.0, 2.0)],
        vec![number(3.0, 4.0), number(5.0, 6.0)],
    ];
    assert_eq!(read.to_vecs().unwrap(), expected);
    // The same array as pairs of floats.
    let pairs = Ragged::<f32>::from_arrow(all).unwrap();
    assert_eq!(pairs.shape(1), shape(&[2, 2]));

    let mut of_parts = [true; 8];
    of_parts[7] = false;
    for array in [
        of(&of_parts, &[true; 4]),
        of(&[true; 8], &[true, true, true, false]),
    ] {
        let error = Ragged::<Complex32>::from_arrow(array.clone()).unwrap_err();
        let index = vec![1];
        let expected = Error::Null {
            op: "from_arrow",
            element: 1,
            index,
        };
        assert_eq!(error, expected);
        let read = Ragged::from_arrow_or(array, number(0.0, 7.0)).unwrap();
        assert_eq!(read.row(1), [number(3.0, 4.0), number(0.0, 7.0)]);
    }
}

/// Both ways, values stay where they are.
fn copies_nothing() {
    fn of<T: ArrowValue + std::fmt::Debug + PartialEq>(values: [T; 6], number: DataType) {
        let cases = [
            (&[6][..], &[2, 0, 4][..], list(number.clone())),
            (&[6], &[2, 0, 4], large_list(number.clone())),
            (&[3], &[3, 3], fixed(3, number.clone())),
            (&[3, 2], &[6], list(fixed(2, number.clone()))),
        ];
        for (extents, lengths, data_type) in cases {
            // As a vector that grew: its capacity is larger than its length.
            let mut vector = Vec::with_capacity(20);
            vector.extend(values);
            let at = vector.as_ptr();
            let batch = match extents.len() {
                1 => Ragged::from_lengths(vector, lengths.iter().copied()),
                rank => Ragged::from_shapes(vector, rank, [shape(extents)]),
            };
            let array = batch.unwrap().into_arrow(&data_type).unwrap();
            let batch = Ragged::<T>::from_arrow(array).unwrap();
            assert_eq!((batch.values().as_ptr(), batch.values()), (at, &values[..]));
        }
    }

    of([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], DataType::Float32);
    of([1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0], DataType::Float64);
    of(
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(f16::from_f32),
        DataType::Float16,
    );
    of([1u8, 2, 3, 4, 5, 6], DataType::UInt8);
    of([1i64, 2, 3, 4, 5, 6], DataType::Int64);
    let values = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(|re| Complex32::new(re, -re));
    of(values, fixed(2, DataType::Float32));

    // Nulls are replaced in place, and values after the last list are cut off.
    let values = vec![1i32, 2, 3, 4];
    let at = values.as_ptr();
    let array = ArrayData::builder(DataType::Int32)
        .len(4)
        .add_buffer(Buffer::from_vec(values));
    let array = array
        .nulls(Some(NullBuffer::from(vec![true, false, true, true])))
        .build()
        .unwrap();
    let lists = ArrayData::builder(list(DataType::Int32))
        .len(1)
        .add_child_data(array);
    let lists = lists
        .add_buffer(Buffer::from_vec(vec![0i32, 3]))
        .build()
        .unwrap();
    let batch = Ragged::from_arrow_or(lists, 7).unwrap();
    assert_eq!(
        (batch.values().as_ptr(), batch.values()),
        (at, &[1, 7, 3][..])
    );
}

/// Shared values and those of a slice are copied, and the array keeps its own.
fn copies_once() {
    let batch = Ragged::from_rows([vec![1, 2], vec![3], vec![4, 5]]).unwrap();
    let array = batch.clone().into_arrow(&list(DataType::Int32)).unwrap();
    let mut first = Ragged::<i32>::from_arrow(array.clone()).unwrap();
    first.values_mut().fill(0);
    let part = array.slice(1, 2);
    drop(array);
    let rest = Ragged::<i32>::from_arrow(part.clone()).unwrap();
    assert_eq!(rest.to_vecs().unwrap(), [vec![3], vec![4, 5]]);
    let mut rest = Ragged::<i32>::from_arrow(part.slice(0, 1)).unwrap();
    assert_eq!(rest.values(), [3]);
    rest.values_mut().fill(0);
    assert_eq!(Ragged::<i32>::from_arrow(part).unwrap().values(), [3, 4, 5]);

    // An odd number of floats of capacity, which no vector of complex values has.
    let mut floats = Vec::with_capacity(5);
    floats.extend([1.0f32, 2.0]);
    assert_eq!(floats.capacity(), 5);
    let floats = ArrayData::builder(DataType::Float32)
        .len(2)
        .add_buffer(Buffer::from_vec(floats));
    let values = ArrayData::builder(fixed(2, DataType::Float32)).len(1);
    let values = values
        .add_child_data(floats.build().unwrap())
        .build()
        .unwrap();
    let lists = ArrayData::builder(fixed(1, fixed(2, DataType::Float32))).len(1);
    let lists = lists.add_child_data(values).build().unwrap();
    let batch = Ragged::<Complex32>::from_arrow(lists).unwrap();
    assert_eq!(batch.values(), [Complex32::new(1.0, 2.0)]);
}

/// Values and offsets that other programs placed at any address.
fn any_alignment() {
    let misplaced = |bytes: &[u8]| {
        let shifted = [&[0], bytes].concat();
        Buffer::from_vec(shifted).slice(1)
    };
    let values = misplaced(bytemuck::cast_slice(&[1.5f64, 2.5, 3.5]));
    for (data_type, offsets) in [
        (
            list(DataType::Float64),
            misplaced(bytemuck::cast_slice(&[0i32, 2, 3])),
        ),
        (
            large_list(DataType::Float64),
            misplaced(bytemuck::cast_slice(&[0i64, 2, 3])),
        ),
    ] {
        // Arrow refuses such buffers when it validates an array, and aligns them otherwise.
        let child = ArrayData::builder(DataType::Float64)
            .len(3)
            .add_buffer(values.clone());
        let child = child.align_buffers(true).build().unwrap();
        let lists = ArrayData::builder(data_type)
            .len(2)
            .add_buffer(offsets)
            .add_child_data(child);
        let lists = lists.align_buffers(true).build().unwrap();
        let batch = Ragged::<f64>::from_arrow(lists).unwrap();
        assert_eq!(batch.to_vecs().unwrap(), [vec![1.5, 2.5], vec![3.5]]);
    }
}

/// Arrays without lists, without values, and with lists of no values.
fn no_lists() {
    let number = || DataType::UInt8;
    let types = [
        (list(number()), &[0][..]),
        (large_list(number()), &[0]),
        (fixed(4, number()), &[4]),
        (list(fixed(3, number())), &[0, 3]),
        (list(list(number())), &[0, 0]),
        (fixed(0, list(number())), &[0, 0]),
        (list(fixed(0, fixed(7, number()))), &[0, 0, 7]),
    ];
    for (data_type, extents) in types {
        // An empty array, which need not have offsets.
        let none = ArrayData::new_empty(&data_type);
        let batch = Ragged::<u8>::from_arrow(none).unwrap();
        assert_eq!((batch.len(), batch.layout().rank()), (0, extents.len()));
        let again = batch.into_arrow(&data_type).unwrap();
        assert_eq!((again.len(), again.data_type()), (0, &data_type));
        let nulls = ArrayData::new_null(&data_type, 3);
        let error = Ragged::<u8>::from_arrow(nulls.clone()).unwrap_err();
        let index = vec![];
        assert_eq!(
            error,
            Error::Null {
                op: "from_arrow",
                element: 0,
                index
            }
        );
        let batch = Ragged::<u8>::from_arrow_or(nulls, 9).unwrap();
        assert_eq!(batch.layout(), &Layout::uniform(3, shape(extents)).unwrap());
        assert!(batch.values().iter().all(|&value| value == 9));
        let again = batch.clone().into_arrow(&data_type).unwrap();
        assert_eq!(Ragged::<u8>::from_arrow(again).unwrap(), batch);
    }
    // Lists of no values have lengths.
    let shapes = [shape(&[3, 0]), shape(&[1, 0])];
    let batch = Ragged::<u8>::from_shapes(vec![], 2, shapes).unwrap();
    for data_type in [list(list(number())), list(fixed(0, number()))] {
        let array = batch.clone().into_arrow(&data_type).unwrap();
        assert_eq!(Ragged::<u8>::from_arrow(array).unwrap(), batch);
    }
}

/// The first null by element, not by level; those of no element are none.
fn nulls_in_order() {
    let values = ArrayData::builder(DataType::Int32).len(5);
    let values = values.add_buffer(Buffer::from_vec(vec![0i32, 1, 2, 3, 4]));
    let valid = BooleanBuffer::collect_bool(5, |i| i != 0 && i != 3);
    let values = values.nulls(Some(NullBuffer::new(valid))).build().unwrap();
    let lists = ArrayData::builder(list(DataType::Int32))
        .len(4)
        .add_child_data(values);
    let lists = lists.add_buffer(Buffer::from_vec(vec![1i32, 3, 4, 4, 5]));
    let valid = NullBuffer::from(vec![true, true, false, true]);
    let lists = lists.nulls(Some(valid)).build().unwrap();
    let null = |array: ArrayData| match Ragged::<i32>::from_arrow(array).unwrap_err() {
        Error::Null { element, index, .. } => (element, index),
        other => panic!("{other}"),
    };
    assert_eq!(null(lists.clone()), (1, vec![0]));
    assert_eq!(null(lists.slice(2, 2)), (0, vec![]));
    assert_eq!(
        Ragged::<i32>::from_arrow(lists.slice(3, 1))
            .unwrap()
            .values(),
        [4]
    );
    assert_eq!(
        Ragged::<i32>::from_arrow(lists.slice(0, 1))
            .unwrap()
            .values(),
        [1, 2]
    );
}

fn refused() {
    let read = |data_type: &DataType| {
        Ragged::<f32>::from_arrow(ArrayData::new_empty(data_type)).unwrap_err()
    };
    let float = || DataType::Float32;
    let boxes = |extents: &[[usize; 2]]| {
        let layout = Layout::from_shapes(2, extents.iter().map(|extents| shape(extents)));
        Ragged::full(&layout.unwrap(), 1.0f32).unwrap()
    };
    let rows = Ragged::from_rows([vec![1.0f32], vec![1.0, 2.0]]).unwrap();
    let uneven = {
        let inner = Ragged::from_rows([&[1.0f32, 2.0][..], &[3.0, 4.0], &[5.0]]).unwrap();
        let inner = inner.into_arrow(&list(float())).unwrap();
        let lists = ArrayData::builder(list(list(float())))
            .len(2)
            .add_child_data(inner);
        lists
            .add_buffer(Buffer::from_vec(vec![0i32, 1, 3]))
            .build()
            .unwrap()
    };
    let deep = (0..9).fold(float(), |entry, _| list(entry));
    let huge = Ragged::<u8>::from_shapes(vec![], 2, [shape(&[1 << 31, 0])]).unwrap();
    let cases = [
        (
            read(&float()),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got Float32",
        ),
        (
            read(&DataType::Utf8),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got Utf8",
        ),
        (
            read(&DataType::new_list(DataType::Boolean, true)),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got List(Boolean)",
        ),
        (
            read(&DataType::ListView(std::sync::Arc::new(
                Field::new_list_field(float(), true),
            ))),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got ListView(Float32)",
        ),
        (
            read(&list(DataType::Dictionary(
                Box::new(DataType::Int8),
                Box::new(float()),
            ))),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got \
             List(Dictionary(Int8, Float32))",
        ),
        (
            read(&DataType::new_list(DataType::Float64, false)),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got List(non-null Float64)",
        ),
        (
            Ragged::<Complex32>::from_arrow(ArrayData::new_empty(&list(float()))).unwrap_err(),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of FixedSizeList(2) of Float32, got \
             List(Float32)",
        ),
        (
            Ragged::<Complex32>::from_arrow(ArrayData::new_empty(&fixed(2, float()))).unwrap_err(),
            "from_arrow: expected lists (List, LargeList or FixedSizeList) of FixedSizeList(2) of Float32, got \
             FixedSizeList(2 x Float32)",
        ),
        (read(&deep), "from_arrow: expected a rank of 1 to 8, got 9"),
        (
            Ragged::<f32>::from_arrow(uneven).unwrap_err(),
            "from_arrow: element 1: expected the shape (2, 2), got a list of 1 at [1]",
        ),
        (
            rows.clone().into_arrow(&float()).unwrap_err(),
            "into_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got Float32",
        ),
        (
            rows.clone().into_arrow(&list(list(float()))).unwrap_err(),
            "into_arrow: expected as many levels of lists as the elements have axes, 1, got List(List(Float32))",
        ),
        (
            rows.clone().into_arrow(&fixed(1, float())).unwrap_err(),
            "into_arrow: element 1: expected the shape (1), got (2)",
        ),
        (
            rows.into_arrow(&fixed(-1, float())).unwrap_err(),
            "into_arrow: expected lists (List, LargeList or FixedSizeList) of Float32, got FixedSizeList(-1 x Float32)",
        ),
        (
            boxes(&[[2, 3], [0, 3], [1, 4]])
                .into_arrow(&list(fixed(3, float())))
                .unwrap_err(),
            "into_arrow: element 2: expected the shape (1, 3), got (1, 4)",
        ),
        (
            boxes(&[[2, 3], [0, 3]])
                .into_arrow(&list(list(float())))
                .unwrap_err(),
            "into_arrow: element 1: expected the shape (0, 0) or a FixedSizeList, got (0, 3)",
        ),
        (
            huge.into_arrow(&list(list(DataType::UInt8))).unwrap_err(),
            "into_arrow: expected a LargeList for 2147483648 entries in all, got List(List(UInt8))",
        ),
    ];
    for (error, text) in cases {
        assert_eq!(error.to_string(), text);
    }
}

/// Lists of nothing, which take no memory, in numbers that no batch can have.
fn enormous() {
    let nothing = |len: usize| {
        let values = ArrayData::new_empty(&DataType::UInt8);
        let lists = ArrayData::builder(fixed(0, DataType::UInt8)).len(len);
        lists.add_child_data(values).build().unwrap()
    };
    let error = |array: ArrayData| {
        let error = Ragged::<u8>::from_arrow(array).unwrap_err();
        (error.kind(), error.element(), error.to_string())
    };
    let text =
        "from_arrow: a batch of 8589934592 elements exceeds the 32-bit index limit of 4294967295"
            .to_owned();
    assert_eq!(error(nothing(1 << 33)), ("size_overflow", None, text));

    let lists = ArrayData::builder(large_list(fixed(0, DataType::UInt8))).len(3);
    let lists = lists.add_buffer(Buffer::from_vec(vec![5i64, 7, 1 << 32, (1 << 33) + 8]));
    let lists = lists.add_child_data(nothing(1 << 34)).build().unwrap();
    let (kind, element, _) = error(lists.clone());
    assert_eq!((kind, element), ("size_overflow", Some(2)));
    let few = Ragged::<u8>::from_arrow(lists.slice(0, 2)).unwrap();
    assert_eq!(
        [few.shape(0), few.shape(1)],
        [shape(&[2, 0]), shape(&[(1 << 32) - 7, 0])]
    );
}

/// An array that only `unsafe` code can make.
#[allow(unsafe_code, reason = "safe code cannot break the rules")]
fn unchecked(
    data_type: DataType,
    len: usize,
    buffers: Vec<Buffer>,
    entries: ArrayData,
) -> ArrayData {
    let array = ArrayData::builder(data_type).len(len).buffers(buffers);
    // SAFETY: not sound. But no unsafe code reads the array: the library takes it apart, and its crates for tests only
    // drop it.
    unsafe { array.add_child_data(entries).build_unchecked() }
}

/// Offsets that decrease, are negative, or are beyond the values, and parts that are missing or too short.
fn broken() {
    let numbers = || {
        let values = ArrayData::builder(DataType::Int32).len(4);
        let values = values.add_buffer(Buffer::from_vec(vec![1i32, 2, 3, 4]));
        values.build().unwrap()
    };
    let error = |array| match Ragged::<i32>::from_arrow(array) {
        Err(error) => error.to_string(),
        Ok(batch) => panic!("{batch}"),
    };
    let of = |offsets: [i32; 4]| {
        let large = offsets.map(i64::from).to_vec();
        let errors = [
            (list(DataType::Int32), Buffer::from_vec(offsets.to_vec())),
            (large_list(DataType::Int32), Buffer::from_vec(large)),
        ]
        .map(|(data_type, offsets)| error(unchecked(data_type, 3, vec![offsets], numbers())));
        assert_eq!(errors[0], errors[1]);
        let prefix = "from_arrow: expected lists of element ";
        errors[0].strip_prefix(prefix).unwrap().to_owned()
    };
    assert_eq!(of([0, 3, 2, 4]), "1 within 4 entries, got one from 3 to 2");
    assert_eq!(of([0, 3, 3, 5]), "2 within 4 entries, got one from 3 to 5");
    assert_eq!(
        of([-1, 3, 3, 4]),
        "0 within 4 entries, got one from -1 to 3"
    );
    assert_eq!(
        of([0, 1, -2, 4]),
        "1 within 4 entries, got one from 1 to -2"
    );
    assert_eq!(of([9, 9, 9, 9]), "0 within 4 entries, got one from 9 to 9");

    // Sound inside, and in one null list, whose offsets are compared, too.
    let inner = unchecked(
        list(DataType::Int32),
        2,
        vec![Buffer::from_vec(vec![0i32, 9, 4])],
        numbers(),
    );
    let valid = inner
        .clone()
        .into_builder()
        .nulls(Some(NullBuffer::from(vec![false, true])));
    #[allow(unsafe_code, reason = "as above")]
    // SAFETY: as above.
    let null = unsafe { valid.build_unchecked() };
    let text = "from_arrow_or: expected lists of element 0 within 4 entries, got one from 0 to 9";
    assert_eq!(
        Ragged::from_arrow_or(null, 0).unwrap_err().to_string(),
        text
    );
    let outer = unchecked(
        list(list(DataType::Int32)),
        1,
        vec![Buffer::from_vec(vec![0i32, 2])],
        inner,
    );
    assert_eq!(error(outer), text.replace("_or", ""));

    let list = || list(DataType::Int32);
    let offsets = |offsets: &[i32]| vec![Buffer::from_vec(offsets.to_vec())];
    let cases = [
        unchecked(list(), 3, vec![], numbers()),
        unchecked(list(), 3, offsets(&[0, 1, 2]), numbers()),
        unchecked(list(), usize::MAX, offsets(&[0, 1, 2]), numbers()),
        unchecked(
            large_list(DataType::Int32),
            3,
            offsets(&[0, 1, 2, 3]),
            numbers(),
        ),
        unchecked(fixed(3, DataType::Int32), 2, vec![], numbers()),
        unchecked(
            fixed(i32::MAX, DataType::Int32),
            usize::MAX / 2,
            vec![],
            numbers(),
        ),
        unchecked(
            list(),
            1,
            offsets(&[0, 1]),
            ArrayData::new_empty(&DataType::Int64),
        ),
        unchecked(list(), 0, offsets(&[0]), ArrayData::new_empty(&list())),
    ];
    for array in cases {
        let error = error(array);
        let expected =
            "from_arrow: expected an array that follows the rules of Arrow, got parts of ";
        assert!(error.starts_with(expected), "{error}");
    }
}

/// Random parts, of which few fit together, give a batch or an error, and never a panic. Whatever Arrow accepts is not
/// refused as broken.
fn broken_anyhow() {
    let mut rng = rng("arrow::broken_anyhow");
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let count = rng.usize(0..8);
        let values = Buffer::from_vec(vec![7u8; rng.usize(0..8)]);
        let numbers = ArrayData::builder(DataType::UInt8).add_buffer(values);
        let mut array = random(numbers, count, &mut rng);
        let rank = rng.usize(1..=3);
        for _ in 0..rank {
            let entry = array.data_type().clone();
            let len = rng.usize(0..5);
            // Mostly ascending, from numbers that mostly fit.
            let limit = array.len() as i64 + i64::from(rng.u8(0..8) == 0);
            let mut offsets: Vec<_> = (0..len + 1).map(|_| rng.i64(0..=limit)).collect();
            if rng.u8(0..4) > 0 {
                offsets.sort_unstable();
            }
            if rng.u8(0..16) == 0 {
                offsets[0] -= 3;
            }
            let builder = match rng.u8(0..3) {
                0 => {
                    let offsets = offsets.iter().map(|&offset| offset as i32).collect();
                    ArrayData::builder(list(entry)).add_buffer(Buffer::from_vec(offsets))
                }
                1 => ArrayData::builder(large_list(entry)).add_buffer(Buffer::from_vec(offsets)),
                _ => ArrayData::builder(fixed(rng.i32(0..3), entry)),
            };
            array = random(builder.add_child_data(array), len, &mut rng);
        }
        let valid = array.validate_full().is_ok();
        let strict = Ragged::<u8>::from_arrow(array.clone());
        let lenient = Ragged::<u8>::from_arrow_or(array, 1);
        for outcome in [strict, lenient] {
            match outcome {
                Ok(_) => read += 1,
                Err(error) => {
                    assert!(error.kind() != "argument" || !valid, "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(read > 2000 && refused > 2000, "{read} {refused}");
}

/// Finishes an array of about so many entries, mostly as it should be.
#[allow(unsafe_code, reason = "safe code cannot break the rules")]
fn random(array: arrow_data::ArrayDataBuilder, len: usize, rng: &mut Rng) -> ArrayData {
    let len = len + usize::from(rng.u8(0..16) == 0);
    let offset = usize::from(rng.u8(0..16) == 0);
    let nulls = (rng.u8(0..4) == 0).then(|| {
        let len = len + usize::from(rng.u8(0..16) == 0);
        NullBuffer::from((0..len).map(|_| rng.u8(0..8) > 0).collect::<Vec<_>>())
    });
    // SAFETY: as in `unchecked`.
    unsafe { array.len(len).offset(offset).nulls(nulls).build_unchecked() }
}
