//! Tables, counts, and values that are frequent, rare or different.

use std::collections::BTreeMap;

use vsla::{Complex32, Device, Layout, Ragged, f16, scalar::Scalar};

use super::{assert_same, colours, numbered, on_views, refused, shapes, sizes};
use crate::support::operation::{download, rows, upload};

/// Tables of these lengths.
fn tables(lengths: impl IntoIterator<Item = usize>) -> Ragged<u32> {
    numbered(&Layout::from_lengths(lengths.into_iter().collect::<Vec<_>>()).unwrap())
}

fn looked_up<T: Scalar>(x: &Ragged<i32>, tables: &Ragged<T>) -> Ragged<T> {
    Ragged::from_fn(x.layout(), |e, i| {
        let table = tables.row(if tables.len() == 1 { 0 } else { e });
        let place = usize::try_from(x.row(e)[i]).unwrap_or(usize::MAX);
        table.get(place).copied().unwrap_or_default()
    })
    .unwrap()
}

fn check<T: Scalar>(device: &Device, x: &Ragged<i32>, all: &Ragged<T>) {
    // The first table is no operand, so that the others begin somewhere in the buffer.
    let on = upload(device, all).elements(1..all.len()).unwrap();
    let each = download(&on);
    on_views(
        device,
        "a table for each",
        x,
        |x, first| x.lookup(&on.elements(first..on.len())?),
        |x, first| {
            looked_up(
                x,
                &Ragged::from_rows(
                    (first..each.len())
                        .map(|e| each.row(e).to_vec())
                        .collect::<Vec<_>>(),
                )
                .unwrap(),
            )
        },
    );
    let longest = (0..each.len()).max_by_key(|&e| each.row(e).len()).unwrap();
    let one = on.elements(longest..longest + 1).unwrap();
    on_views(
        device,
        "a table for all",
        x,
        |x, _| x.lookup(&one),
        |x, _| looked_up(x, &download(&one)),
    );
}

pub fn lookup(device: &Device) {
    for layout in sizes() {
        let x = colours(&layout, "indices", 12);
        let all = tables((0..=x.len()).map(|e| 1 + e * 5 % 9));
        check(device, &x, &all);
        if x.len() < 1000 {
            check(
                device,
                &x,
                &all.cast(|i| f16::from_bits(i as u16 + 1)).unwrap(),
            );
            check(
                device,
                &x,
                &all.cast(|i| Complex32::new(i as f32, -1.0)).unwrap(),
            );
        }
        let unsigned = upload(device, &x.cast(|i| i as u32).unwrap());
        let got = unsigned.lookup(&upload(device, &tables([5]))).unwrap();
        assert_same("u32", &download(&got), &looked_up(&x, &tables([5])));
    }
    let ends = upload(device, &rows([&[i32::MIN, -1, i32::MAX, 2, 3]]));
    let got = download(
        &ends
            .lookup(&upload(device, &rows([&[1.5f32, 2.5, 3.5]])))
            .unwrap(),
    );
    assert_eq!(got.row(0), [0.0, 0.0, 0.0, 3.5, 0.0]);
    let none = ends.elements(0..0).unwrap();
    let table = upload(device, &rows::<u32, 1>([&[]]));
    assert!(none.lookup(&table).unwrap().is_empty());
    assert!(
        none.lookup(&table.elements(0..0).unwrap())
            .unwrap()
            .is_empty()
    );
}

/// A table without values has no entry for any value, which is 0 as beyond the end of any other table.
pub fn lookup_in_empty_tables(device: &Device) {
    let x = upload(device, &rows([&[0u32, 1][..], &[], &[2, 0, u32::MAX]]));
    for lengths in [&[3, 0, 0][..], &[0, 0, 0], &[0, 2, 1], &[0]] {
        let all = tables(lengths.iter().copied());
        let words = looked_up(&download(&x).cast(|i| i as i32).unwrap(), &all);
        let (table, bytes) = (upload(device, &all), x.to::<u8>().unwrap());
        assert_same("words", &download(&x.lookup(&table).unwrap()), &words);
        assert_same("bytes", &download(&bytes.lookup(&table).unwrap()), &words);
        let halves = all.cast(|i| f16::from_bits(i as u16 + 1)).unwrap();
        let got = x.lookup(&upload(device, &halves)).unwrap();
        let expected = looked_up(&download(&x).cast(|i| i as i32).unwrap(), &halves);
        assert_same("halves", &download(&got), &expected);
        let narrow = all.cast(|i| i as u8).unwrap();
        let got = bytes.lookup(&upload(device, &narrow)).unwrap();
        let expected = looked_up(&download(&x).cast(|i| i as i32).unwrap(), &narrow);
        assert_same("bytes of bytes", &download(&got), &expected);
        let element = if lengths[0] == 0 { 0 } else { 2 };
        refused(
            x.lookup_strict_blocking(&table),
            "argument",
            Some(element),
            &format!(
                "lookup_strict: element {element}: expected no value, because the table is empty, got 0"
            ),
        );
    }
}

pub fn lookup_refused(device: &Device) {
    let x = upload(device, &rows([&[0u32, 1], &[], &[2]]));
    let table = |lengths: &[usize]| upload(device, &tables(lengths.iter().copied()));
    refused(
        x.lookup(&table(&[1, 2])),
        "element_count",
        None,
        "lookup: expected 3 elements, got 2",
    );
    let matrix = upload(device, &numbered(&shapes(&[[2, 2]])));
    refused(
        x.lookup(&matrix),
        "rank",
        None,
        "lookup: expected a rank of 1 for the tables, got 2",
    );
}

/// Values that have no entry in their table, or no bin, are refused with their element.
pub fn strict(device: &Device) {
    let x = upload(device, &rows([&[0, 2, 1][..], &[], &[1, 0]]));
    let each = upload(device, &tables([3, 0, 2]));
    let got = x.lookup_strict_blocking(&each).unwrap();
    assert_same(
        "as lookup",
        &download(&got),
        &download(&x.lookup(&each).unwrap()),
    );
    let got = pollster::block_on(x.bincount_strict(3)).unwrap();
    assert_same(
        "as bincount",
        &download(&got),
        &download(&x.bincount(3).unwrap()),
    );
    refused(
        x.lookup_strict_blocking(&upload(device, &tables([3, 0, 1]))),
        "argument",
        Some(2),
        "lookup_strict: element 2: expected values from 0 to 0, got 1",
    );
    refused(
        pollster::block_on(x.lookup_strict(&upload(device, &tables([2])))),
        "argument",
        Some(0),
        "lookup_strict: element 0: expected values from 0 to 1, got 2",
    );
    refused(
        x.bincount_strict_blocking(2),
        "argument",
        Some(0),
        "bincount_strict: element 0: expected values from 0 to 1, got 2",
    );
    let negative = upload(device, &rows([&[0, 5][..], &[3, -1]]));
    refused(
        negative.bincount_strict_blocking(6),
        "argument",
        Some(1),
        "bincount_strict: element 1: expected values from 0 to 5, got -1",
    );
    let unsigned = upload(device, &rows([&[u32::MAX]]));
    refused(
        unsigned.bincount_strict_blocking(6),
        "argument",
        Some(0),
        "bincount_strict: element 0: expected values from 0 to 5, got 4294967295",
    );
}

/// How often each value of an element occurs.
fn counts(x: &[i32]) -> BTreeMap<i32, u32> {
    let mut counts = BTreeMap::new();
    for value in x {
        *counts.entry(*value).or_insert(0) += 1;
    }
    counts
}

pub fn bincount(device: &Device) {
    for layout in sizes() {
        let x = colours(&layout, "counted", 12);
        for number in [1, 5, 9, 5000] {
            if x.len() > 1000 && number > 100 {
                continue;
            }
            on_views(
                device,
                &format!("{number} counts"),
                &x,
                |x, _| x.bincount(number),
                |x, _| {
                    let of = |row: &[i32]| {
                        let counts = counts(row);
                        let count =
                            |value: usize| counts.get(&(value as i32)).copied().unwrap_or(0);
                        (0..number).map(count).collect::<Vec<u32>>()
                    };
                    Ragged::from_rows(x.iter().map(of).collect::<Vec<_>>()).unwrap()
                },
            );
        }
    }
    let ends = upload(device, &rows([&[0u32, u32::MAX, 3, 2, 3, 1 << 31]]));
    assert_eq!(download(&ends.bincount(3).unwrap()).row(0), [1, 0, 1]);
    assert_eq!(
        download(&ends.bincount(1 << 21).unwrap()).row(0)[..4],
        [1, 0, 1, 2]
    );
    let error = ends.bincount(0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bincount: expected 1 value or more, got 0"
    );
    let error = ends.bincount((1 << 31) + 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bincount: expected at most 2147483648 values, got 2147483649"
    );
}

pub fn common(device: &Device) {
    for layout in sizes() {
        for count in [1, 3, 12, 3000] {
            let x = colours(&layout, "common", count);
            let one = |x: &Ragged<i32>, of: fn(&BTreeMap<i32, u32>) -> Option<u32>| {
                let value = |row: &[i32]| {
                    let counts = counts(row);
                    let wanted = of(&counts);
                    // The lowest value with this count.
                    let found = counts.iter().find(|(_, count)| Some(**count) == wanted);
                    [found.map_or(0, |(value, _)| *value)]
                };
                Ragged::from_rows(x.iter().map(value).collect::<Vec<_>>()).unwrap()
            };
            on_views(
                device,
                "most common",
                &x,
                |x, _| x.most_common(),
                |x, _| one(x, |counts| counts.values().max().copied()),
            );
            on_views(
                device,
                "least common",
                &x,
                |x, _| x.least_common(),
                |x, _| one(x, |counts| counts.values().min().copied()),
            );
        }
    }
    let ends = upload(device, &rows([&[u32::MAX, 0, u32::MAX, 1 << 31], &[7, 3]]));
    assert_eq!(
        download(&ends.most_common().unwrap()).values(),
        [u32::MAX, 3]
    );
    assert_eq!(download(&ends.least_common().unwrap()).values(), [0, 3]);
}

pub fn palette(device: &Device) {
    for layout in sizes() {
        for count in [1, 12, 3000] {
            let x = colours(&layout, "palette", count);
            on_views(
                device,
                "palette",
                &x,
                |x, _| x.palette_blocking(),
                |x, _| {
                    let of = |row: &[i32]| counts(row).into_keys().collect::<Vec<i32>>();
                    Ragged::from_rows(x.iter().map(of).collect::<Vec<_>>()).unwrap()
                },
            );
        }
    }
    let x = upload(device, &rows([&[u32::MAX, 0, u32::MAX], &[]]));
    let got = pollster::block_on(x.palette()).unwrap();
    assert_same("u32", &download(&got), &rows([&[0, u32::MAX], &[]]));
}
