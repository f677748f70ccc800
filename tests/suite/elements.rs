//! Whole elements: selected, reordered, joined and split.

use libtest_mimic::Trial;
use vsla::batch::Permutation;
use vsla::{Complex32, Device, Error, Layout, Ragged, Result, Shape, Tensor, f16, scalar::Scalar};

use crate::support::bench::Bench;
use crate::support::corpus;
use crate::support::number::{Number, widened};
use crate::support::operation::{Binary, Expected, Operation, download, one, pick, rows, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let cases = || [corpus::all(), corpus::boxes()].concat();
    let mut trials = Operation::new()
        .with(back_and_forth::<f32>("reorder", sorted_and_restored))
        .trials(bench, "sort", cases());
    trials.extend(
        Operation::new()
            .with(back_and_forth::<f32>("join", split_and_joined))
            .trials(bench, "join", cases()),
    );
    trials.extend(bench.all_on_each_device(&[
        ("select::any_order", any_order),
        ("select::every_type_and_base", every_type_and_base),
        ("select::refusals", select_refusals),
        ("sort::goldens", sort_goldens),
        ("join::every_type_and_place", every_type_and_place),
        ("join::many", many),
        ("join::refusals", join_refusals),
        ("split", split),
    ]));
    trials.push(bench.host("orders", orders));
    trials
}

/// Two operations of which the second inverts the first.
fn back_and_forth<T: Number>(
    name: &'static str,
    run: fn(&Tensor<T>, &Tensor<T>) -> Result<Tensor<T>>,
) -> Binary<T, T> {
    Binary {
        name,
        run,
        paired: None,
        expected: Some(|a, _, _| Expected::exact::<T>(widened(a))),
        spreads: false,
        series_only: false,
    }
}

fn sorted_and_restored<T: Scalar>(x: &Tensor<T>, _: &Tensor<T>) -> Result<Tensor<T>> {
    let (sorted, order) = x.sort_by_length()?;
    assert!(sorted.layout().lengths().is_sorted());
    sorted.reorder(&order.inverse())
}

fn split_and_joined<T: Scalar>(x: &Tensor<T>, _: &Tensor<T>) -> Result<Tensor<T>> {
    let (third, half) = (x.len() / 3, x.len() / 2);
    let parts = x.split(&[third, half - third, x.len() - half])?;
    parts[0].join(&[&parts[1], &parts[2]])
}

fn any_order(device: &Device) {
    let cases = [corpus::all(), corpus::boxes()].concat();
    for case in cases {
        let (x, _) = case.integers::<u32>();
        let mut rng = corpus::rng(&case.name);
        // Skips giant elements, which would occur more than once.
        let count = match x.values().len() > 1 << 18 {
            true => x.len() / 2,
            false => x.len() + x.len() / 3,
        };
        let elements: Vec<u32> = match x.len() {
            0 => Vec::new(),
            len => (0..count).map(|_| rng.u32(..len as u32)).collect(),
        };
        let got = upload(device, &x).select(&elements).unwrap();
        let wanted: Vec<usize> = elements.iter().map(|&i| i as usize).collect();
        assert!(download(&got) == pick(&x, &wanted), "{}", case.name);
    }
}

/// A batch of distinct values.
fn numbered<T: Scalar>(layout: &Layout, value: impl Fn(u32) -> T) -> Ragged<T> {
    let mut at = 0;
    Ragged::from_fn(layout, |_, _| {
        at += 1;
        value(at)
    })
    .unwrap()
}

fn halves(at: u32) -> f16 {
    f16::from_bits((at % 0x7C00) as u16)
}

fn complex(at: u32) -> Complex32 {
    Complex32::new(at as f32, -0.5)
}

fn every_type_and_base(device: &Device) {
    fn of<T: Scalar>(device: &Device, value: fn(u32) -> T) {
        for base in 0..9 {
            let layout = [base, 3, 0, 1, 8, 2049, 4, 2, 17, 1, 1, 1, 6];
            let x = numbered(&Layout::from_lengths(layout).unwrap(), value);
            let view = upload(device, &x).elements(1..13).unwrap();
            let elements = [11, 3, 0, 1, 8, 4, 4, 2, 10, 9, 5, 6, 7, 0];
            let got = download(&view.select(&elements).unwrap());
            let wanted = elements.map(|i| i as usize + 1);
            assert!(got == pick(&x, &wanted), "from {base}");
        }
    }
    of(device, |at| f32::from_bits(at | 0x8000_0000));
    of(device, halves);
    of(device, complex);
}

fn select_refusals(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3][..], &[4, 5]]));
    let wrong = x.select(&[1, 0, 2]).unwrap_err();
    let expected = Error::Index {
        op: "select",
        element: None,
        position: 2,
        index: 2,
        len: 2,
    };
    assert_eq!(wrong, expected);
    assert_eq!(
        wrong.to_string(),
        "select: position 2: the index 2 is not below 2"
    );
    let wrong = x.reorder(&Permutation::new([0]).unwrap()).unwrap_err();
    assert_eq!(wrong.to_string(), "reorder: expected 2 elements, got 1");
    // More values than 32 bits can count; refused before memory is needed.
    let one = upload(
        device,
        &Ragged::zeros(&Layout::from_lengths([1 << 20]).unwrap()).unwrap(),
    );
    let wrong = Tensor::<f32>::select(&one, &vec![0; 4096]).unwrap_err();
    assert_eq!(
        (wrong.kind(), wrong.element()),
        ("size_overflow", Some(4095))
    );
}

fn sort_goldens(device: &Device) {
    let x = upload(device, &rows([&[1, 2][..], &[3], &[], &[4], &[5, 6]]));
    let (sorted, order) = x.sort_by_length().unwrap();
    let got = download(&sorted).to_vecs().unwrap();
    assert_eq!(got, [vec![], vec![3], vec![4], vec![1, 2], vec![5, 6]]);
    assert_eq!(order.as_slice(), [2, 1, 3, 0, 4]);
    // Sorts by the number of values, not by extents; shapes are preserved.
    let shapes = [[5, 0], [1, 4], [3, 1]].map(|extents| Shape::new(&extents).unwrap());
    let x = Ragged::from_shapes((0..7).collect(), 2, shapes).unwrap();
    let (sorted, _) = upload(device, &x).sort_by_length().unwrap();
    assert_eq!(download(&sorted), pick(&x, &[0, 2, 1]));
}

fn every_type_and_place(device: &Device) {
    fn of<T: Scalar>(device: &Device, value: fn(u32) -> T) {
        for length in 0..10 {
            let lengths = [5, length, 0, 2049, length, 3, 1, 1, 1, length, 70];
            let x = numbered(&Layout::from_lengths(lengths).unwrap(), value);
            let tensor = upload(device, &x);
            let parts = tensor.split(&[1; 11]).unwrap();
            // In reverse order, so that neighbours in the buffer are not neighbours in the result.
            let others: Vec<_> = parts[1..10].iter().rev().collect();
            let got = download(&parts[10].join(&others).unwrap());
            let wanted: Vec<usize> = (1..11).rev().collect();
            assert!(got == pick(&x, &wanted), "{length}");
        }
    }
    of(device, |at| f32::from_bits(at | 0x8000_0000));
    of(device, halves);
    of(device, complex);
}

fn many(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3][..], &[4, 5]]));
    let joined = x.join(&[&x; 300]).unwrap();
    let expected = (0..301).flat_map(|_| [vec![1, 2, 3], vec![4, 5]]);
    assert_eq!(
        download(&joined).to_vecs().unwrap(),
        expected.collect::<Vec<_>>()
    );
    // Joining a single batch copies nothing; joining empty batches keeps the layout of the other.
    let nothing = x.elements(0..0).unwrap();
    assert_eq!(download(&x.join(&[]).unwrap()), download(&x));
    assert_eq!(
        download(&nothing.join(&[&x, &nothing]).unwrap()),
        download(&x)
    );
    assert!(download(&nothing.join(&[&nothing]).unwrap()).is_empty());
}

fn join_refusals(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3]]));
    let boxes = upload(device, &one(&[1, 2], &[1, 2]));
    let wrong = x.join(&[&x, &boxes]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "join: expected a rank of 1, as in the first batch, got 2"
    );
    if device.is_gpu() {
        let elsewhere = upload(&Device::cpu(), &rows([&[1]]));
        let wrong = x.join(&[&elsewhere]).unwrap_err();
        assert_eq!((wrong.op(), wrong.kind()), ("join", "device_mismatch"));
    }
}

fn split(device: &Device) {
    let x = upload(device, &rows([&[1, 2, 3][..], &[4, 5], &[6]]));
    let parts = x.split(&[0, 2, 0, 1]).unwrap();
    let parts: Vec<_> = parts
        .iter()
        .map(|part| download(part).to_vecs().unwrap())
        .collect();
    let expected = [
        vec![],
        vec![vec![1, 2, 3], vec![4, 5]],
        vec![],
        vec![vec![6]],
    ];
    assert_eq!(parts, expected);
    for counts in [&[1, 1][..], &[4], &[], &[usize::MAX, 4]] {
        let wrong = x.split(counts).unwrap_err();
        assert_eq!((wrong.op(), wrong.kind()), ("split", "element_count"));
    }
    assert!(x.elements(0..0).unwrap().split(&[]).unwrap().is_empty());
}

fn orders() {
    let wrong = Permutation::new([0, 3, 1]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "order: position 1: the index 3 is not below 3"
    );
    let wrong = Permutation::new([2, 0, 2]).unwrap_err();
    assert_eq!(
        (wrong.kind(), wrong.to_string().as_str()),
        (
            "duplicate_index",
            "order: positions 0 and 2 both have the index 2; list each index once"
        )
    );
    assert!(Permutation::new([]).unwrap().is_empty());
    let order = Permutation::new([2, 0, 1]).unwrap();
    assert_eq!(order.inverse().inverse(), order);
    assert_ne!(order.inverse(), order);
    // Compared with a stable sort, over several digits of the keys.
    let mut rng = corpus::rng("orders");
    for most in [0, 1, 5, 2047, 2048, 3_000_000] {
        let lengths: Vec<usize> = (0..900).map(|_| rng.usize(0..=most)).collect();
        let mut expected: Vec<u32> = (0..900).collect();
        expected.sort_by_key(|&i| lengths[i as usize]);
        let order = Permutation::by_length(&Layout::from_lengths(lengths).unwrap()).unwrap();
        assert_eq!(order.as_slice(), expected, "up to {most}");
        assert_eq!(
            Permutation::new(expected).unwrap().inverse(),
            order.inverse()
        );
    }
}
