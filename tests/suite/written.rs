//! Functions that an application writes: values against the Rust function, and what the check of their text refuses.

use libtest_mimic::Trial;
use vsla::{Device, Error, Layout, Ragged, Tensor, f16};

#[cfg(feature = "gpu")]
use crate::support::bench;
use crate::support::bench::Bench;
use crate::support::operation::{download, upload};

pub fn tests(bench: &Bench) -> Vec<Trial> {
    let mut trials = bench.all_on_each_device(&[
        ("integers", integers),
        ("floats", floats),
        ("within_the_bound_of_exp", within_the_bound_of_exp),
        ("halves", halves),
        ("views", views),
        ("nan_and_infinity", nan_and_infinity),
        ("of_nothing", of_nothing),
        ("alone", alone),
        ("in_order", in_order),
        ("refuses_operands", refuses_operands),
    ]);
    trials.push(bench.host("two_closures_of_one_text", two_closures_of_one_text));
    #[cfg(feature = "gpu")]
    trials.push(bench.on_gpu("one_plan_for_a_text", bench::gpu, one_plan_for_a_text));
    #[cfg(feature = "gpu")]
    trials.extend(bench.all_on_each_device(&[
        ("refuses_texts", refuses_texts),
        ("long_texts", long_texts),
        ("reaches_nothing", reaches_nothing),
    ]));
    trials
}

const LENGTHS: [usize; 9] = [0, 1, 3, 4, 5, 2047, 0, 4100, 2];

fn batch<T: Copy + Default>(value: impl Fn(usize) -> T) -> Ragged<T> {
    let layout = Layout::from_lengths(LENGTHS).unwrap();
    Ragged::from_fn(&layout, |element, i| value(7 * element + i)).unwrap()
}

fn integers(device: &Device) {
    let x = batch(|i| i as i32 - 2000);
    let f = device.map1("select(3 * x + 1, x / 2, x % 2 == 0)", |x: i32| {
        match x % 2 {
            0 => x / 2,
            _ => 3 * x + 1,
        }
    });
    let f = f.unwrap();
    assert_eq!(f.wgsl(), "select(3 * x + 1, x / 2, x % 2 == 0)");
    let expected = x
        .cast(|x| if x % 2 == 0 { x / 2 } else { 3 * x + 1 })
        .unwrap();
    assert_eq!(download(&f.apply(&upload(device, &x)).unwrap()), expected);

    let (a, b) = (
        batch(|i| (i as u32).wrapping_mul(0x0101_0101)),
        batch(|i| i as u32),
    );
    let text = "(a << (b % 32u)) ^\n  countOneBits(b) // bits";
    let f = device
        .map2(text, |a: u32, b| (a << (b % 32)) ^ b.count_ones())
        .unwrap();
    assert_eq!(f.wgsl(), text);
    let got = download(&f.apply(&upload(device, &a), &upload(device, &b)).unwrap());
    let both = a.values().iter().zip(b.values());
    let expected = both.map(|(&a, &b)| (a << (b % 32)) ^ b.count_ones());
    assert!(got.values().iter().copied().eq(expected));
    assert_eq!(got.layout(), a.layout());
}

fn floats(device: &Device) {
    // Every step is exact, so that fusing steps cannot change the rounding.
    let (a, b) = (
        batch(|i| (i % 2000) as f32 - 50.0),
        batch(|i| (i % 13) as f32),
    );
    let on = upload(device, &a);
    let f = device
        .map1("x * x - 2.0 * x", |x: f32| x * x - 2.0 * x)
        .unwrap();
    let expected = a.cast(|x| x * x - 2.0 * x).unwrap();
    assert_eq!(download(&f.apply(&on).unwrap()), expected);
    // The types of this closure's second operand and result are inferred.
    let f = device.map2("a * b + 1.0", |a: f32, b| a * b + 1.0).unwrap();
    let got = download(&f.apply(&on, &upload(device, &b)).unwrap());
    let expected = a.values().iter().zip(b.values()).map(|(a, b)| a * b + 1.0);
    assert!(got.values().iter().copied().eq(expected));
    // An operand may be both.
    let f = device.map2("a - b", |a: f32, b| a - b).unwrap();
    assert!(
        download(&f.apply(&on, &on).unwrap())
            .values()
            .iter()
            .all(|&y| y == 0.0)
    );
}

fn within_the_bound_of_exp(device: &Device) {
    let x = batch(|i| (i as f32 - 2000.0) / 400.0);
    let f = device.map1("x * exp(-x)", |x: f32| x * (-x).exp()).unwrap();
    let got = download(&f.apply(&upload(device, &x)).unwrap());
    for (&x, &y) in x.values().iter().zip(got.values()) {
        let expected = f64::from(x) * f64::from(-x).exp();
        // WGSL's bound of exp, and one rounding; twice a unit covers the exponent's boundaries.
        let ulps = 3.0 + 2.0 * f64::from(x.abs()) + 1.0;
        let bound = 2.0 * ulps * f64::from(f32::EPSILON) * expected.abs();
        assert!(
            (f64::from(y) - expected).abs() <= bound,
            "{x}: {y}, but {expected}"
        );
    }
}

fn halves(device: &Device) {
    let f = device.map1("x * x + 0.5", |x: f32| x * x + 0.5).unwrap();
    let g = device.map2("a * b - a", |a: f32, b| a * b - a).unwrap();
    for base in 0..9 {
        for length in [1, 2, 3, 7, 8, 9, 4097] {
            let layout = Layout::from_lengths([base, length, base % 3]).unwrap();
            let batch = |shift: usize| {
                // A change beside the view would be noticed.
                let value = |element, i: usize| match element {
                    1 => f16::from_f32(((i + shift) % 500) as f32 / 8.0),
                    _ => f16::NAN,
                };
                Ragged::from_fn(&layout, value).unwrap()
            };
            let (a, b) = (batch(0), batch(3));
            let view = |batch| upload(device, batch).elements(1..2).unwrap();
            let got = download(&f.apply(&view(&a)).unwrap());
            let wide = |x: &f16| x.to_f32();
            let expected = a
                .row(1)
                .iter()
                .map(wide)
                .map(|x| f16::from_f32(x * x + 0.5));
            assert!(
                got.values().iter().copied().eq(expected),
                "{length} from {base}"
            );
            let got = download(&g.apply(&view(&a), &view(&b)).unwrap());
            let both = a.row(1).iter().map(wide).zip(b.row(1).iter().map(wide));
            let expected = both.map(|(a, b)| f16::from_f32(a * b - a));
            assert!(
                got.values().iter().copied().eq(expected),
                "{length} from {base}"
            );
        }
    }
}

fn views(device: &Device) {
    let f = device.map1("1 - x", |x: i32| 1 - x).unwrap();
    let g = device.map2("a - 2 * b", |a: i32, b| a - 2 * b).unwrap();
    let batch = batch(|i| i as i32);
    let x = upload(device, &batch);
    for first in 0..LENGTHS.len() {
        let part = x.elements(first..LENGTHS.len()).unwrap();
        let from = batch.layout().offsets().range(first).start;
        let expected = batch.values()[from..].iter();
        let got = download(&f.apply(&part).unwrap());
        assert!(
            got.values()
                .iter()
                .copied()
                .eq(expected.clone().map(|x| 1 - x)),
            "{first}"
        );
        let got = download(&g.apply(&part, &part).unwrap());
        assert!(
            got.values().iter().copied().eq(expected.map(|x| -x)),
            "{first}"
        );
    }
    // Shapes of any rank.
    let layout = Layout::from_shapes(3, [vsla::Shape::new(&[2, 1, 3]).unwrap(); 2]).unwrap();
    let boxes = Ragged::from_fn(&layout, |_, i| i as i32).unwrap();
    let got = download(&f.apply(&upload(device, &boxes)).unwrap());
    assert_eq!(got, boxes.cast(|x| 1 - x).unwrap());
}

fn nan_and_infinity(device: &Device) {
    let rows = [
        vec![1.0, f32::NAN, 2.0],
        vec![f32::INFINITY, 3.0],
        vec![-f32::INFINITY, 4.0],
    ];
    let x = upload(device, &Ragged::from_rows(rows).unwrap());
    // Not even an expression without x changes a NaN.
    let f = device.map1("7.0", |_: f32| 7.0).unwrap();
    let y = download(&f.apply(&x).unwrap());
    assert!(y.row(0)[1].is_nan());
    assert_eq!([y.row(0)[0], y.row(0)[2]], [7.0; 2]);
    assert_eq!([y.row(1), y.row(2)], [[7.0; 2]; 2]);
    let f = device.map1("2.0 * x", |x: f32| 2.0 * x).unwrap();
    let y = download(&f.apply(&x).unwrap());
    assert_eq!(
        [y.row(1), y.row(2)],
        [[f32::INFINITY, 6.0], [-f32::INFINITY, 8.0]]
    );
    let f = device.map2("max(a, b)", |a: f32, b| a.max(b)).unwrap();
    let ones = device.full(x.layout(), 1.0).unwrap();
    for y in [f.apply(&x, &ones), f.apply(&ones, &x)] {
        let y = download(&y.unwrap());
        assert!(y.row(0)[1].is_nan());
        assert_eq!([y.row(0)[0], y.row(0)[2]], [1.0, 2.0]);
        assert_eq!([y.row(1), y.row(2)], [[f32::INFINITY, 3.0], [1.0, 4.0]]);
    }
}

fn of_nothing(device: &Device) {
    let f = device.map1("x + 1.0", |x: f32| x + 1.0).unwrap();
    let g = device.map2("a + b", |a: f32, b| a + b).unwrap();
    for lengths in [vec![], vec![0, 0]] {
        let x = upload(
            device,
            &Ragged::full(&Layout::from_lengths(lengths).unwrap(), 1.0).unwrap(),
        );
        assert_eq!(f.apply(&x).unwrap().layout(), x.layout());
        assert_eq!(g.apply(&x, &x).unwrap().layout(), x.layout());
        assert!(download(&g.apply(&x, &x).unwrap()).values().is_empty());
    }
}

/// An element has the same bits alone and in a batch.
fn alone(device: &Device) {
    let batch = batch(|i| (i as f32).sin() * 3.0);
    let f = device
        .map1("exp(x) / (1.0 + x * x)", |x: f32| x.exp() / (1.0 + x * x))
        .unwrap();
    let all = download(&f.apply(&upload(device, &batch)).unwrap());
    for element in 0..batch.len() {
        let one = Ragged::from_rows([batch.row(element)]).unwrap();
        let got = download(&f.apply(&upload(device, &one)).unwrap());
        let bits = |row: &[f32]| row.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(got.row(0)), bits(all.row(element)), "{element}");
    }
}

/// Between other operations, in the order of the calls.
fn in_order(device: &Device) {
    let x = upload(
        device,
        &Ragged::from_rows([vec![1.0f32, 2.0, 3.0], vec![4.0]]).unwrap(),
    );
    let double = device.map1("2.0 * x", |x: f32| 2.0 * x).unwrap();
    let minus = device.map2("a - b", |a: f32, b| a - b).unwrap();
    let mut y = x.clone();
    for _ in 0..10 {
        y = minus
            .apply(&double.apply(&y.add(&x).unwrap()).unwrap(), &y)
            .unwrap();
    }
    // y ← 2 (y + x) − y = y + 2 x.
    let total = y.sum().unwrap();
    assert_eq!(download(&total).values(), [126.0, 84.0]);
    // A map of one device is a map of every device.
    let elsewhere = upload(&Device::cpu(), &Ragged::from_rows([[5.0f32]]).unwrap());
    assert_eq!(
        download(&double.apply(&elsewhere).unwrap()).values(),
        [10.0]
    );
}

fn refuses_operands(device: &Device) {
    let f = device.map2("a + b", |a: f32, b| a + b).unwrap();
    let of = |rows: &[Vec<f32>]| upload(device, &Ragged::from_rows(rows).unwrap());
    let two = of(&[vec![1.0, 2.0], vec![3.0]]);
    let text = |other: &Tensor<f32>| f.apply(&two, other).unwrap_err().to_string();
    assert_eq!(
        text(&of(&[vec![1.0, 2.0], vec![3.0, 0.0]])),
        "map2: element 1: expected the shape (1), got (2)"
    );
    assert_eq!(
        text(&of(&[vec![1.0, 2.0]])),
        "map2: expected batches of equal size, got 2 elements and 1"
    );
    let matrices = upload(
        device,
        &Ragged::full(
            &Layout::from_shapes(2, [vsla::Shape::new(&[1, 1]).unwrap(); 2]).unwrap(),
            1.0,
        )
        .unwrap(),
    );
    assert_eq!(
        text(&matrices),
        "map2: expected a rank of 1, as in the left batch, got 2"
    );
    let limited = upload(&device.with_work_limit(2), &download(&two));
    let g = device.map1("x", |x: f32| x).unwrap();
    assert!(matches!(
        g.apply(&limited),
        Err(Error::WorkLimit { op: "map1", .. })
    ));
}

/// The CPU runs the function that it was given, not one of the same text.
fn two_closures_of_one_text() {
    let device = Device::cpu();
    let x = upload(&device, &Ragged::from_rows([[1.0f32, 2.0]]).unwrap());
    let one = device.map1("x + 1.0", |x: f32| x + 1.0).unwrap();
    let other = device.map1("x + 1.0", |x: f32| x + 2.0).unwrap();
    for _ in 0..2 {
        assert_eq!(download(&one.apply(&x).unwrap()).values(), [2.0, 3.0]);
        assert_eq!(download(&other.apply(&x).unwrap()).values(), [3.0, 4.0]);
    }
    let plans = device.counters().plans;
    assert_eq!(
        download(&one.clone().apply(&x).unwrap()).values(),
        [2.0, 3.0]
    );
    assert_eq!(device.counters().plans, plans);
}

#[cfg(feature = "gpu")]
fn refuses_texts(device: &Device) {
    let one = |text: &str| device.map1(text, |x: f32| x).unwrap_err();
    for (text, expected) in [
        (
            "x; } fn evil() {",
            "map1: line 1: expected one expression, got ';'\n  x; } fn evil() {\n   ^",
        ),
        (
            "x }",
            "map1: line 1: expected one expression, got '}'\n  x }\n    ^",
        ),
        (
            "x * y",
            "map1: line 1: no definition in scope for identifier: `y`",
        ),
        (
            "x +\n  1.0 * z",
            "map1: line 2: no definition in scope for identifier: `z`",
        ),
        ("x) + (x", "map1: line 1: "),
        ("", "map1: line 1: "),
        ("x +", "map1: line 1: "),
        ("/* x", "map1: line 1: "),
        // Nothing of the kernel is in scope: neither its operands' buffers nor its parameters nor its functions.
        (
            "p.values",
            "map1: line 1: no definition in scope for identifier: `p`",
        ),
        (
            "y[0].x",
            "map1: line 1: no definition in scope for identifier: `y`",
        ),
        ("x[0]", "map1: line 1: "),
        (
            "s + t",
            "map1: line 1: no definition in scope for identifier: `s`",
        ),
        (
            "value(x, x, x)",
            "map1: line 1: no definition in scope for identifier: `value`",
        ),
        (
            "is_nan(x)",
            "map1: line 1: no definition in scope for identifier: `is_nan`",
        ),
        ("own(x)", "map1: line 1: "),
        ("x, x", "map1: line 1: "),
        ("x = 1.0", "map1: line 1: "),
        ("x > 0.0", "map1: line 1: "),
        ("1u", "map1: line 1: "),
        ("vec2(x, x)", "map1: line 1: "),
        ("f16(x)", "map1: line 1: "),
        ("f32(f64(x))", "map1: line 1: "),
        ("subgroupAdd(x)", "map1: line 1: "),
        ("dpdx(x)", "map1: line 1: "),
        ("workgroupBarrier()", "map1: line 1: "),
        ("$(FILES)", "map1: line 1: expected one expression, got '$'"),
        (
            "x\n#endif",
            "map1: line 2: expected one expression, got '#'",
        ),
        ("@id(1) x", "map1: line 1: expected one expression, got '@'"),
    ] {
        let error = one(text);
        assert!(
            matches!(error, Error::Wgsl { op: "map1", .. }),
            "{text}: {error:?}"
        );
        assert!(error.to_string().starts_with(expected), "{text}: {error}");
        assert_eq!(error.kind(), "wgsl");
    }
    let error = one("x * y").to_string();
    assert!(error.ends_with("\n  x * y\n      ^"), "{error}");
    let error = device.map2("a * x", |a: f32, _| a).unwrap_err().to_string();
    assert!(
        error.starts_with("map2: line 1: no definition in scope for identifier: `x`"),
        "{error}"
    );
    let error = device.map1("x * 1.5", |x: i32| x).unwrap_err();
    assert!(matches!(error, Error::Wgsl { line: 1, .. }), "{error}");
}

/// The deepest texts exhaust no stack; deeper and longer ones are refused.
#[cfg(feature = "gpu")]
fn long_texts(device: &Device) {
    let x = upload(device, &Ragged::from_rows([[1u32]]).unwrap());
    let long = format!("x{}", "+x".repeat(200));
    let f = device.map1(&long, |x: u32| 201 * x).unwrap();
    assert_eq!(download(&f.apply(&x).unwrap()).values(), [201]);
    let error = device.map1(&format!("{long}+x"), |x: u32| x).unwrap_err();
    let expected = "map1: expected an expression of at most 200 operators and brackets, got 201";
    assert_eq!(error.to_string(), expected);
    let error = device
        .map1(&format!("x{}", " ".repeat(4096)), |x: u32| x)
        .unwrap_err();
    let expected = "map1: expected an expression of at most 4096 bytes, got 4097";
    assert_eq!(error.to_string(), expected);
    for (open, close) in [("(", ")"), ("~", ""), ("max(x, ", ")"), ("u32(", ")")] {
        for deep in [50, 200] {
            let text = format!("{}x{}", open.repeat(deep), close.repeat(deep));
            let made = device.map1(&text, |x: u32| x);
            assert!(deep > 50 || made.is_ok(), "{text}");
        }
    }
}

/// An index outside of an array gives an arbitrary value, and has no other effect.
#[cfg(feature = "gpu")]
fn reaches_nothing(device: &Device) {
    let x = upload(
        device,
        &Ragged::from_rows([[0u32, 1, 7, u32::MAX]]).unwrap(),
    );
    let f = device
        .map1("array(5u, 6u)[x]", |x: u32| if x == 0 { 5 } else { 6 })
        .unwrap();
    assert_eq!(download(&f.apply(&x).unwrap()).values()[..2], [5, 6]);
    let f = device
        .map1("7u / x", |x: u32| 7u32.checked_div(x).unwrap_or(7))
        .unwrap();
    assert_eq!(download(&f.apply(&x).unwrap()).values(), [7, 7, 1, 0]);
    let f = device
        .map1("(x > 1u && x < 9u) || x == 0u", |_: u32| 0)
        .unwrap_err();
    assert!(matches!(f, Error::Wgsl { .. }));
    let text = "select(0u, 1u, (x > 1u && x < 9u) || x == 0u)";
    let f = device
        .map1(text, |x: u32| u32::from((x > 1 && x < 9) || x == 0))
        .unwrap();
    assert_eq!(download(&f.apply(&x).unwrap()).values(), [1, 0, 1, 0]);
}

/// On a GPU, maps of one text share pipelines and plans.
#[cfg(feature = "gpu")]
fn one_plan_for_a_text(_: &Device) {
    let device = bench::opened_for_one(|_| ());
    let x = upload(
        &device,
        &Ragged::from_rows([vec![1.0f32, 2.0], vec![0.5]]).unwrap(),
    );
    let make = || {
        device
            .map1("x * 3.0 + 0.125", |x: f32| x * 3.0 + 0.125)
            .unwrap()
    };
    let first = make();
    assert_eq!(device.info().pipelines, 1);
    let expected = download(&first.apply(&x).unwrap());
    let plans = device.counters().plans;
    assert_eq!(download(&make().apply(&x).unwrap()), expected);
    assert_eq!(
        (device.counters().plans, device.info().pipelines),
        (plans, 1)
    );
    let other = device
        .map1("x * 3.0 + 0.25", |x: f32| x * 3.0 + 0.25)
        .unwrap();
    assert_eq!(
        download(&other.apply(&x).unwrap()).values(),
        [3.25, 6.25, 1.75]
    );
    assert_eq!(
        (device.counters().plans, device.info().pipelines),
        (plans + 1, 2)
    );
}
