//! Caches of keys and values give the bits of tensors of the same rows.

use vsla::attention::Cache;
use vsla::program::Program;
use vsla::scalar::Scalar;
use vsla::{Device, Layout, Ragged, Result, Shape, Tensor, f16};

use super::OPTIONS;
use super::case::{Case, Operands, Value};
#[cfg(feature = "gpu")]
use crate::support::bench::opened_for_one;
use crate::support::operation::upload;

/// Rows of each element: those in use, and those that are reserved.
struct Sizes {
    queries: Vec<usize>,
    lengths: Vec<usize>,
    room: Vec<usize>,
}

impl Sizes {
    fn case(&self) -> Case {
        let sizes = self
            .queries
            .iter()
            .copied()
            .zip(self.lengths.iter().copied());
        Case {
            sizes: sizes.collect(),
            heads: 4,
            key_heads: 2,
            d: 8,
            dv: 6,
            ..Case::default()
        }
    }

    /// The layout of the reserved rows, which are as wide as those of `x`.
    fn reserved<T: Scalar>(&self, x: &Ragged<T>) -> Layout {
        let shapes = x.layout().shapes().zip(&self.room).map(|(shape, room)| {
            let mut extents: Vec<usize> = shape.extents().iter().map(|n| *n as usize).collect();
            extents[0] = *room;
            Shape::new(&extents).unwrap()
        });
        Layout::from_shapes(x.layout().rank(), shapes).unwrap()
    }

    /// A cache whose reserved rows are filled with NaN.
    fn empty<T: Value>(&self, device: &Device, of: &Operands<T>) -> Cache<T> {
        let nan = |x: &Ragged<T>| {
            let layout = self.reserved(x);
            upload(
                device,
                &Ragged::from_fn(&layout, |_, _| T::rounded(f32::NAN)).unwrap(),
            )
        };
        Cache::with_lengths(nan(&of.k), nan(&of.v), &vec![0; self.room.len()]).unwrap()
    }
}

/// Rows `from(e)..to(e)` of each element.
fn rows<T: Scalar>(
    x: &Ragged<T>,
    from: impl Fn(usize) -> usize,
    to: impl Fn(usize) -> usize,
) -> Ragged<T> {
    let mut values = Vec::new();
    let mut shapes = Vec::new();
    for (element, shape) in x.layout().shapes().enumerate() {
        let mut extents: Vec<usize> = shape.extents().iter().map(|n| *n as usize).collect();
        let row: usize = extents[1..].iter().product();
        extents[0] = to(element) - from(element);
        values.extend_from_slice(&x.row(element)[from(element) * row..to(element) * row]);
        shapes.push(Shape::new(&extents).unwrap());
    }
    Ragged::from_shapes(values, x.layout().rank(), shapes).unwrap()
}

/// Appends rows in three steps, in each of which elements get different numbers of rows, and some none.
fn filled<T: Value>(device: &Device, sizes: &Sizes, of: &Operands<T>) -> Cache<T> {
    let mut cache = sizes.empty(device, of);
    let ends = |step: usize, element: usize| match (step, element % 3) {
        (0, _) => 0,
        (3, _) => sizes.lengths[element],
        (1, 0) | (2, 1) => sizes.lengths[element] / 3,
        (1, _) => 0,
        (_, _) => sizes.lengths[element] / 3 * 2,
    };
    for step in 0..3 {
        let part =
            |x: &Ragged<T>| upload(device, &rows(x, |e| ends(step, e), |e| ends(step + 1, e)));
        cache.append(&part(&of.k), &part(&of.v)).unwrap();
    }
    assert!(
        cache
            .counts()
            .iter()
            .map(|n| *n as usize)
            .eq(sizes.lengths.iter().copied())
    );
    let on_device = cache.lengths().download_blocking().unwrap();
    assert_eq!(on_device.row(0), cache.counts());
    cache
}

/// The bits of the results of attention.
fn bits<T: Value>((o, lse): (Tensor<T>, Tensor<f32>)) -> [Vec<u32>; 2] {
    let wide = |x: T| -> f32 { x.into() };
    let o = o.download_blocking().unwrap();
    let lse = lse.download_blocking().unwrap();
    [
        o.values().iter().map(|x| wide(*x).to_bits()).collect(),
        lse.values().iter().map(|x| x.to_bits()).collect(),
    ]
}

fn compare<T: Value>(device: &Device, sizes: &Sizes, case: &Case, seed: u64) {
    let of = case.operands::<T>(seed);
    let cache = filled(device, sizes, &of);
    let (slopes, sinks) = (upload(device, &of.slopes), upload(device, &of.sinks));
    let [q, k, v] = [&of.q, &of.k, &of.v].map(|x| upload(device, x));
    let per_head = [&slopes, &sinks];
    let over = case.options(q.attention_over(&cache), None, per_head);
    let expected = case.configured(&q, &k, &v, None, per_head);
    let [got, expected] = [over, expected].map(|attention| bits(attention.run_with_lse().unwrap()));
    assert!(got == expected, "{} {case:?}", T::DTYPE);
}

/// With every option; for elements whose reserved rows take the same kind of tile as those in use.
pub fn as_tensors(device: &Device) {
    let sizes = Sizes {
        queries: vec![5, 1, 3, 1, 0, 2, 20, 70, 1],
        lengths: vec![9, 16, 1, 40, 20, 0, 33, 100, 0],
        room: vec![16, 16, 12, 64, 20, 0, 90, 130, 40],
    };
    for (i, (name, option)) in OPTIONS.iter().enumerate() {
        let mut case = sizes.case();
        option(&mut case);
        case.axis = i % 2 == 0;
        if case.bias.is_some() {
            continue;
        }
        compare::<f32>(device, &sizes, &case, i as u64);
        if matches!(*name, "causal" | "sinks" | "softcap") {
            compare::<f16>(device, &sizes, &case, i as u64);
        }
    }
    let mut case = sizes.case();
    for (_, option) in OPTIONS {
        option(&mut case);
    }
    (case.bias, case.top_left) = (None, false);
    compare::<f32>(device, &sizes, &case, 20);
    compare::<f16>(device, &sizes, &case, 21);
    // Empty elements that reserve a few rows.
    let few = Sizes {
        queries: vec![2, 1, 20],
        lengths: vec![0, 3, 0],
        room: vec![7, 8, 16],
    };
    let nothing = few.case();
    let of = nothing.operands::<f32>(3);
    let cache = filled(device, &few, &of);
    let q = upload(device, &of.q);
    let (o, lse) = q
        .attention_over(&cache)
        .heads(4)
        .key_heads(2)
        .run_with_lse()
        .unwrap();
    let (o, lse) = (
        o.download_blocking().unwrap(),
        lse.download_blocking().unwrap(),
    );
    for element in [0, 2] {
        assert!(o.row(element).iter().all(|x| x.to_bits() == 0));
        assert!(lse.row(element).iter().all(|x| *x == f32::NEG_INFINITY));
    }
    assert!(o.row(1).iter().all(|x| x.is_finite()));
    // None at all.
    let none = Layout::from_shapes(2, []).unwrap();
    let mut cache = Cache::<f32>::new(device, &none, &none).unwrap();
    let empty = upload(device, &Ragged::<f32>::zeros(&none).unwrap());
    cache.append(&empty, &empty).unwrap();
    assert_eq!(empty.attention_over(&cache).run().unwrap().len(), 0);
}

/// Reserved rows that are cut into pieces: each query is like one key and far from all others.
pub fn of_pieces(device: &Device) {
    let sizes = Sizes {
        queries: vec![1, 2, 3, 1, 1],
        lengths: vec![1, 512, 600, 1500, 0],
        room: vec![1024, 1024, 1100, 1500, 3000],
    };
    for causal in [false, true] {
        let case = Case {
            heads: 1,
            key_heads: 1,
            d: 24,
            dv: 4,
            scale: Some(1.0),
            causal,
            ..sizes.case()
        };
        let mut of = case.operands::<f32>(1);
        // Keys are numbers of six digits in base 4, each digit a unit vector.
        let of_key = |key: usize, place: usize| f32::from(key >> (place / 4 * 2) & 3 == place % 4);
        of.k = Ragged::from_fn(of.k.layout(), |_, i| of_key(i / 24, i % 24)).unwrap();
        let seen = |element: usize, query: usize| match causal {
            true => (sizes.lengths[element] + query + 1).saturating_sub(sizes.queries[element]),
            false => sizes.lengths[element],
        };
        let key = |element: usize, query: usize| seen(element, query).saturating_sub(1);
        of.q =
            Ragged::from_fn(of.q.layout(), |e, i| 64.0 * of_key(key(e, i / 24), i % 24)).unwrap();
        of.v = Ragged::from_fn(of.v.layout(), |_, i| i as f32).unwrap();
        let cache = filled(device, &sizes, &of);
        let q = upload(device, &of.q);
        let per_head = [&of.slopes, &of.sinks].map(|x| upload(device, x));
        let attention = case.options(q.attention_over(&cache), None, per_head.each_ref());
        let o = attention.run().unwrap().download_blocking().unwrap();
        for element in 0..sizes.queries.len() {
            for (query, row) in o.row(element).chunks(4).enumerate() {
                let at = key(element, query) * 4;
                let expected = match seen(element, query) {
                    0 => [0.0; 4],
                    _ => [0, 1, 2, 3].map(|i| (at + i) as f32),
                };
                assert_eq!(row, expected, "query {query} of element {element}");
            }
        }
    }
}

/// Memory that other handles refer to is copied first.
pub fn is_changed_alone(device: &Device) {
    let room = Layout::uniform(2, Shape::new(&[4, 2]).unwrap()).unwrap();
    let one = |x: f32| {
        let layout = Layout::uniform(2, Shape::new(&[1, 2]).unwrap()).unwrap();
        upload(
            device,
            &Ragged::from_fn(&layout, |e, i| x + (2 * e + i) as f32).unwrap(),
        )
    };
    let mut cache = Cache::new(device, &room, &room).unwrap();
    cache.append(&one(10.0), &one(20.0)).unwrap();
    let before = cache.clone();
    let keys = cache.keys().clone();
    cache.append(&one(30.0), &one(40.0)).unwrap();
    let mut branch = before.clone();
    branch.append(&one(50.0), &one(60.0)).unwrap();
    let values = |x: &Tensor<f32>| x.download_blocking().unwrap().values().to_vec();
    let (first, second) = ([10.0, 11.0], [12.0, 13.0]);
    let expected = |more: [[f32; 2]; 2]| {
        [
            first, more[0], [0.0; 2], [0.0; 2], second, more[1], [0.0; 2], [0.0; 2],
        ]
        .concat()
    };
    assert_eq!(values(cache.keys()), expected([[30.0, 31.0], [32.0, 33.0]]));
    assert_eq!(
        values(branch.keys()),
        expected([[50.0, 51.0], [52.0, 53.0]])
    );
    assert_eq!(values(before.keys()), expected([[0.0; 2]; 2]));
    assert_eq!(values(&keys), expected([[0.0; 2]; 2]));
    assert_eq!(
        (before.counts(), cache.counts()),
        (&[1, 1][..], &[2, 2][..])
    );
    // A view of other elements, and one tensor as keys and values.
    let both = upload(device, &Ragged::<f32>::zeros(&room).unwrap());
    let view = both.elements(1..2).unwrap();
    let mut of_view = Cache::with_lengths(view.clone(), view, &[3]).unwrap();
    let last = one(7.0).elements(0..1).unwrap();
    of_view.append(&last, &last.scale(2.0).unwrap()).unwrap();
    assert!(values(&both).iter().all(|x| *x == 0.0));
    assert_eq!(values(of_view.keys())[6..], [7.0, 8.0]);
    assert_eq!(values(of_view.values())[6..], [14.0, 16.0]);
    // Rows of f16 that begin at odd halves.
    let odd = |x: f32| {
        let shapes = [Shape::new(&[1, 1]).unwrap(), Shape::new(&[2, 2]).unwrap()];
        let halves = (0..5).map(|i| f16::from_f32(x + i as f32)).collect();
        let all = upload(device, &Ragged::from_shapes(halves, 2, shapes).unwrap());
        all.elements(1..2).unwrap()
    };
    let room = Layout::from_shapes(2, [Shape::new(&[3, 2]).unwrap()]).unwrap();
    let mut halves = Cache::<f16>::new(device, &room, &room).unwrap();
    halves.append(&odd(0.0), &odd(10.0)).unwrap();
    let got = |x: &Tensor<f16>| x.download_blocking().unwrap().values().to_vec();
    let expected = |x: f32| {
        let new = (1..5).map(|i| f16::from_f32(x + i as f32));
        new.chain([f16::ZERO; 2]).collect::<Vec<_>>()
    };
    assert_eq!(got(halves.keys()), expected(0.0));
    assert_eq!(got(halves.values()), expected(10.0));
}

/// Appending allocates no memory for rows.
pub fn allocates_lengths(device: &Device) {
    // A device that nothing else uses.
    let device = &match device.is_gpu() {
        #[cfg(feature = "gpu")]
        true => opened_for_one(|_| ()),
        _ => Device::cpu(),
    };
    let room = Layout::uniform(2, Shape::new(&[1 << 14, 64]).unwrap()).unwrap();
    let layout = Layout::uniform(2, Shape::new(&[1, 64]).unwrap()).unwrap();
    let one = upload(device, &Ragged::<f32>::zeros(&layout).unwrap());
    let mut cache = Cache::new(device, &room, &room).unwrap();
    cache.append(&one, &one).unwrap();
    let live = device.memory().live;
    let peak = device.memory().peak;
    for _ in 0..20 {
        cache.append(&one, &one).unwrap();
    }
    assert_eq!(device.memory().live, live);
    assert!(
        device.memory().peak < peak.max(live + (1 << 16)),
        "{:?}",
        device.memory()
    );
    // Neither does a program, apart from a fixed amount for its plan.
    let step = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        r.cache::<f32>()?.append(&x, &x)
    });
    let [keys, values, lengths] = cache.layouts();
    let plan = step.plan(&[one.layout(), keys, values, lengths]).unwrap();
    for _ in 0..20 {
        plan.run_with(&[&one], &mut [&mut cache]).unwrap();
    }
    assert!(
        device.memory().live < live + (1 << 16),
        "{:?}",
        device.memory()
    );
    assert_eq!(cache.counts(), [41, 41]);
    let held = cache.clone();
    plan.run_with(&[&one], &mut [&mut cache]).unwrap();
    assert!(device.memory().live > live + (1 << 20));
    assert_eq!(
        (held.counts(), cache.counts()),
        (&[41, 41][..], &[42, 42][..])
    );
}

/// One step of decoding: appends keys and values from x, then attends to all rows so far.
fn step(x: &Tensor<f32>, caches: &mut [&mut Cache<f32>; 2]) -> Result<Tensor<f32>> {
    let mut y = x.clone();
    for cache in caches {
        cache.append(&y.scale(0.5)?, &y.neg()?)?;
        let o = y.attention_over(cache).heads(2).causal().run()?;
        y = y.add(&o)?.tanh()?;
    }
    Ok(y)
}

/// Twenty steps of one plan give the bits of twenty eager ones, even if clones of caches are held or their tensors are
/// outputs.
pub fn recorded(device: &Device) {
    let program = Program::new(device, |r| {
        let mut first = r.cache::<f32>()?;
        let x: Tensor<f32> = r.input()?;
        let mut second = r.cache::<f32>()?;
        let old = first.clone();
        let y = step(&x, &mut [&mut first, &mut second])?;
        // A clone from before the step still attends to the old rows.
        r.output(&y)?;
        r.output(&x.attention_over(&old).heads(2).run()?)?;
        r.output(second.lengths())
    });
    let rooms = [30, 21, 50].map(|n| Shape::new(&[n, 8]).unwrap());
    let room = Layout::from_shapes(2, rooms).unwrap();
    let new = |counts: [usize; 3]| {
        let zeros = || upload(device, &Ragged::<f32>::zeros(&room).unwrap());
        Cache::with_lengths(zeros(), zeros(), &counts).unwrap()
    };
    let layout = [1, 1, 2].map(|n| Shape::new(&[n, 8]).unwrap());
    let layout = Layout::from_shapes(2, layout).unwrap();
    let start = Ragged::from_fn(&layout, |e, i| ((e * 7 + i * 5) % 11) as f32 * 0.1 - 0.5).unwrap();
    let mut eager = [new([3, 0, 0]), new([0, 1, 0])];
    let mut kept = [new([3, 0, 0]), new([0, 1, 0])];
    let [keys, values, lengths] = eager[0].layouts().map(Layout::clone);
    let plan = program
        .plan(&[&keys, &values, &lengths, &layout, &keys, &values, &lengths])
        .unwrap();
    let (mut x, mut y) = (upload(device, &start), upload(device, &start));
    let mut held = None;
    for i in 0..20 {
        let before = x.attention_over(&eager[0]).heads(2).run().unwrap();
        let [a, b] = &mut eager;
        x = step(&x, &mut [a, b]).unwrap();
        let [a, b] = &mut kept;
        let outputs = plan.run_with(&[&y], &mut [a, b]).unwrap();
        y = outputs.get(0).unwrap();
        let bits = |x: &Tensor<f32>| {
            let x = x.download_blocking().unwrap();
            x.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(&x), bits(&y), "step {i}");
        assert_eq!(
            bits(&before),
            bits(&outputs.get(1).unwrap()),
            "before step {i}"
        );
        let lengths = outputs.get::<u32>(2).unwrap().download_blocking().unwrap();
        assert_eq!(lengths.row(0), kept[1].counts());
        assert_eq!(kept[0].counts(), eager[0].counts());
        if i == 7 {
            held = Some((kept[0].clone(), bits(kept[0].keys())));
        }
    }
    assert_eq!(program.counters().plans, 1);
    // The caller holds two outputs, and caches their lengths, while the next run writes others.
    assert!(program.counters().outputs <= 4, "{:?}", program.counters());
    let (held, keys) = held.unwrap();
    let now = held.keys().download_blocking().unwrap();
    assert!(now.values().iter().map(|x| x.to_bits()).eq(keys));
    // Element 1 of the second cache is full, and nothing happens to either.
    let counts = kept.each_ref().map(|cache| cache.counts().to_vec());
    let [a, b] = &mut kept;
    let error = plan.run_with(&[&y], &mut [a, b]).unwrap_err();
    assert_eq!(
        (error.kind(), error.op(), error.element()),
        ("shape", "run", Some(1))
    );
    assert!(error.to_string().contains("in cache 1"), "{error}");
    assert_eq!(counts, kept.each_ref().map(|cache| cache.counts().to_vec()));
    let lengths = kept[0].lengths().download_blocking().unwrap();
    assert_eq!(lengths.row(0), counts[0]);
}

pub fn refusals(device: &Device) {
    let of = |shapes: &[&[usize]]| {
        let all = shapes.iter().map(|shape| Shape::new(shape).unwrap());
        let layout = Layout::from_shapes(shapes[0].len(), all).unwrap();
        upload(device, &Ragged::<f32>::zeros(&layout).unwrap())
    };
    fn refused<R>(result: Result<R>, kind: &str, text: &str) {
        let error = result.map(|_| ()).unwrap_err();
        assert!(
            error.kind() == kind && error.to_string().contains(text),
            "{error}"
        );
    }
    let room = of(&[&[4, 6], &[2, 6]]);
    let mut cache =
        Cache::with_lengths(room.copy().unwrap(), room.copy().unwrap(), &[1, 1]).unwrap();
    let before = cache.keys().download_blocking().unwrap();
    let full = of(&[&[3, 6], &[2, 6]]).add_scalar(1.0).unwrap();
    let error = cache.append(&full, &full).unwrap_err();
    assert_eq!(
        error.to_string(),
        "append: element 1: expected the shape (1, 6) or fewer rows, the room that is left, got (2, 6)"
    );
    let wide = of(&[&[1, 6], &[1, 5]]);
    let fits = of(&[&[1, 6], &[1, 6]]);
    let fewer = of(&[&[1, 6], &[0, 6]]);
    refused(
        cache.append(&wide, &wide),
        "shape",
        "element 1: expected the shape (1, 6), as in the cache",
    );
    refused(
        cache.append(&fits, &fewer),
        "shape",
        "element 1: expected the shape (1, ..) of the values",
    );
    let vectors = of(&[&[1], &[1]]);
    refused(
        cache.append(&vectors, &vectors),
        "rank",
        "2, as in the cache",
    );
    let one = of(&[&[1, 6]]);
    refused(cache.append(&one, &one), "batch_size", "2");
    assert_eq!(cache.counts(), [1, 1]);
    assert_eq!(cache.keys().download_blocking().unwrap(), before);
    assert_eq!(cache.lengths().download_blocking().unwrap().row(0), [1, 1]);

    let new = |shapes: &[&[usize]], others: &[&[usize]]| {
        Cache::<f32>::new(device, of(shapes).layout(), of(others).layout())
    };
    refused(new(&[&[3]], &[&[3]]), "rank", "2 or 3");
    refused(
        new(&[&[3, 2]], &[&[4, 2]]),
        "shape",
        "(3, ..) of the values",
    );
    refused(
        new(&[&[3, 2], &[3, 4]], &[&[3, 2], &[3, 2]]),
        "shape",
        "element 1",
    );
    refused(new(&[&[3, 2]], &[&[3, 2], &[1, 2]]), "batch_size", "1");
    let odd = Layout::uniform(1, Shape::new(&[3, 3]).unwrap()).unwrap();
    refused(
        Cache::<f16>::new(device, &odd, &odd),
        "unsupported",
        "odd number",
    );
    let lengths = |lengths: &[usize]| Cache::with_lengths(room.clone(), room.clone(), lengths);
    refused(lengths(&[1]), "element_count", "2");
    refused(lengths(&[4, 3]), "shape", "element 1");

    refused(
        fits.attention_over(&cache)
            .bias(&of(&[&[1, 4], &[1, 2]]))
            .run(),
        "unsupported",
        "bias",
    );
    let other = Device::cpu();
    if device.is_gpu() {
        let elsewhere = upload(&other, &Ragged::<f32>::zeros(fits.layout()).unwrap());
        refused(
            cache.append(&elsewhere, &elsewhere),
            "device_mismatch",
            "append",
        );
    }

    let [keys, values, counts] = cache.layouts().map(Layout::clone);
    let all = [fits.layout(), &keys, &values, &counts];
    let program = |body: fn(&mut Cache<f32>, &Tensor<f32>) -> Result<()>| {
        Program::new(device, move |r| {
            let x: Tensor<f32> = r.input()?;
            let mut cache: Cache<f32> = r.cache()?;
            body(&mut cache, &x)?;
            r.output(&x)
        })
    };
    let twice = program(|cache, x| {
        let mut clone = cache.clone();
        cache.append(x, x)?;
        clone.append(x, x)
    });
    refused(twice.plan(&all), "recording", "of its clones only to one");
    let beyond = program(|cache, x| {
        cache.append(x, x)?;
        cache.append(x, x)?;
        cache.append(x, x)
    });
    let error = beyond.plan(&all).unwrap_err();
    assert_eq!((error.kind(), error.element()), ("shape", Some(1)));
    let constant = cache.clone();
    let outside = Program::new(device, move |r| {
        let x: Tensor<f32> = r.input()?;
        constant.clone().append(&x, &x)?;
        r.output(&x)
    });
    refused(
        outside.plan(&[fits.layout()]),
        "recording",
        "Recording::cache",
    );
    let slopes = Program::new(device, |r| {
        let x: Tensor<f32> = r.input()?;
        let mut cache: Cache<f32> = r.cache()?;
        cache.append(&x, &x)?;
        let loss = x.attention_over(&cache).run()?.sum()?.sum_batch()?;
        let [slope] = r.gradients(&loss, [&x])?;
        r.output(&slope)
    });
    refused(
        slopes.plan(&all),
        "recording",
        "attention has no gradient over a cache",
    );
    let odd = [fits.layout(), &keys, &values, fits.layout()];
    refused(
        program(|_, _| Ok(())).plan(&odd),
        "argument",
        "one vector of 2 lengths",
    );
    refused(
        program(|_, _| Ok(())).plan(&all[..3]),
        "recording",
        "three for each cache",
    );

    let plan = program(|cache, x| cache.append(x, x)).plan(&all).unwrap();
    refused(plan.run(&[&fits]), "argument", "1 cache");
    refused(plan.run_with(&[], &mut [&mut cache]), "argument", "1 input");
    let mut other =
        Cache::with_lengths(of(&[&[4, 6], &[3, 6]]), of(&[&[4, 6], &[3, 6]]), &[0, 0]).unwrap();
    let error = plan.run_with(&[&fits], &mut [&mut other]).unwrap_err();
    assert_eq!((error.kind(), error.element()), ("layout", Some(1)));
    let mut halves = Cache::<f16>::new(device, &keys, &values).unwrap();
    refused(plan.run_with(&[&fits], &mut [&mut halves]), "layout", "f16");
    plan.run_with(&[&fits], &mut [&mut cache]).unwrap();
    assert_eq!(cache.counts(), [2, 2]);
}
